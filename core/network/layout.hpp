// How the parameters of a network lie in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/narrow.hpp"
#include "network/network.hpp"

namespace linnet::inline LINNET_ISA {

// Where the parameters of one layer lie in `packed`:
//   in panels (kernels/product.hpp): inputs + 1 rows per panel, the last row the biases;
//   narrow (kernels/narrow.hpp): a block of all inputs, or one each of the inputs before and from `cut` on, then one
//   row of biases.
// Padding is zero and stays zero.
template <class T>
struct LayerLayout {
  // Between two blocks: the processor prefetches, and must not take away lines that another core is about to write.
  static constexpr std::ptrdiff_t gap = 8 * Narrow<T>::line;

  bool narrow = false;
  int inputs = 0, outputs = 0;
  int cut = 0;  // at a line's start, 0: there is one block
  std::ptrdiff_t start = 0, size = 0;

  std::ptrdiff_t panel(int p) const { return start + p * (inputs + std::ptrdiff_t{1}) * lanes<T>; }

  int blocks() const { return cut > 0 ? 2 : 1; }
  NarrowBlock block(int b) const {
    if (cut > 0 && b == 0) return {{0, cut}, start, cut};
    return {
        {cut, inputs}, start + (cut > 0 ? outputs * std::ptrdiff_t{cut} + gap : 0), Narrow<T>::padded(inputs) - cut};
  }
  NarrowBlock block_of(int input) const { return block(cut > 0 && input >= cut ? 1 : 0); }
  std::ptrdiff_t biases() const {  // of a narrow layer
    const NarrowBlock last = block(blocks() - 1);
    return last.start + outputs * last.ld;
  }
};

// Number of inputs whose gradient is handed over at a time.
constexpr int gradient_rows = 32, narrow_gradient_inputs = 128;

// Neighbouring parameters of one kind: of one output, or of `outputs` interleaved ones. Sums over theta are made by
// output, so that the width of a vector does not matter.
struct Segment {
  int layer;
  bool bias;
  std::ptrdiff_t start, count;
  int outputs;
};

template <class T>
struct Layout {
  std::vector<LayerLayout<T>> layers;
  std::ptrdiff_t size = 0;

  // For training on batches of `batch_rows` rows; 0: for no training.
  explicit Layout(const Network& net, std::int64_t batch_rows = 0) {
    for (const LayerSpec& spec : net.layers) {
      LayerLayout<T> layer;
      // few outputs over some inputs; of a first layer the user's own rows
      layer.narrow = spec.inputs >= Narrow<T>::line &&
                     (layers.empty() ? spec.outputs <= Narrow<T>::max_outputs && spec.dropout == 0
                                     : spec.outputs <= Narrow<T>::max_outputs_above);
      layer.inputs = spec.inputs;
      layer.outputs = spec.outputs;
      layer.start = size;
      if (layer.narrow && layers.empty() && batch_rows >= min_split_rows && batch_rows <= max_split_rows)
        layer.cut = middle(net);
      if (layer.narrow)
        layer.size = layer.biases() - layer.start + Narrow<T>::padded(spec.outputs);
      else
        layer.size = panels_of<T>(spec.outputs) * (spec.inputs + std::ptrdiff_t{1}) * lanes<T>;
      size += layer.size;
      layers.push_back(layer);
    }
  }

  // Batches of fewer rows are too small to share, and larger ones are cut into blocks of rows.
  static constexpr int min_split_rows = 16, max_split_rows = 127;

  // Where the inputs of a narrow first layer are cut in two, if it has many and does nearly all the work: two members
  // of a team can then take one half each, forward and backward (Pass::run_split). Sums over the inputs are formed
  // half by half, whoever forms them.
  static int middle(const Network& net) {
    const LayerSpec& first = net.layers.front();
    const int lines = Narrow<T>::padded(first.inputs) / Narrow<T>::line;
    const std::ptrdiff_t all = net.parameters(), above = all - (first.inputs + std::ptrdiff_t{1}) * first.outputs;
    return lines >= 16 && above <= std::min<std::ptrdiff_t>(4096, all / 8) ? lines / 2 * Narrow<T>::line : 0;
  }

  // All parameters, padding included, as segments of weights or of biases.
  std::vector<Segment> segments() const {
    std::vector<Segment> all;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const LayerLayout<T>& layer = layers[l];
      const int index = static_cast<int>(l);
      if (layer.narrow) {
        for (int b = 0; b < layer.blocks(); ++b)
          for (int o = 0; o < layer.outputs; ++o)
            all.push_back({index, false, layer.block(b).at(o, layer.block(b).inputs.first), layer.block(b).ld, 1});
        all.push_back({index, true, layer.biases(), Narrow<T>::padded(layer.outputs), 1});
      } else {
        for (int p = 0; p < panels_of<T>(layer.outputs); ++p) {
          const std::ptrdiff_t weights = std::ptrdiff_t{layer.inputs} * lanes<T>;
          all.push_back({index, false, layer.panel(p), weights, lanes<T>});
          all.push_back({index, true, layer.panel(p) + weights, lanes<T>, lanes<T>});
        }
      }
    }
    return all;
  }

  // Visits each parameter as f(index in theta, index in packed), in an order that suits the cache.
  template <class F>
  void each(F&& f) const {
    constexpr int V = lanes<T>, rows = 64;
    std::ptrdiff_t start = 0;
    for (const LayerLayout<T>& layer : layers) {
      const std::ptrdiff_t outputs = layer.outputs, all = layer.inputs + std::ptrdiff_t{1};
      if (layer.narrow) {
        for (std::ptrdiff_t i = 0; i < all; ++i)
          for (int o = 0; o < layer.outputs; ++o)
            f(start + i * outputs + o,
              i < layer.inputs ? layer.block_of(static_cast<int>(i)).at(o, static_cast<int>(i)) : layer.biases() + o);
      } else {
        for (std::ptrdiff_t i0 = 0; i0 < all; i0 += rows)
          for (int p = 0; p * V < layer.outputs; ++p)
            for (std::ptrdiff_t i = i0; i < std::min(all, i0 + rows); ++i) {
              const std::ptrdiff_t flat = start + i * outputs + p * V, at = layer.panel(p) + i * V;
              const int count = std::min(V, layer.outputs - p * V);
              for (int o = 0; o < count; ++o) f(flat + o, at + o);
            }
      }
      start += all * outputs;
    }
  }
};

}  // namespace linnet::inline LINNET_ISA
