// What a network is, and how its parameters lie in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "family.hpp"
#include "optimizer.hpp"
#include "team.hpp"
#include "thin.hpp"

namespace linnet {

struct LayerSpec {
  int inputs = 0, outputs = 0;
  Activation activation = Activation::identity;
  double leak = 0;     // slope of leaky_relu below zero
  double dropout = 0;  // rate at which this layer's INPUTS are dropped in training
  Penalty penalty;     // on the weights
  bool bias = true;    // false: the biases stay as they are, at zero
};

struct Network {
  std::vector<LayerSpec> layers;
  Head head;
  CustomLoss custom;  // of a custom head

  // How many of `wanted` threads may work on it: what a custom head calls knows nothing of other threads, and may
  // throw.
  int most_threads(int wanted) const { return head.family == Family::custom ? 1 : wanted; }

  int inputs() const { return layers.front().inputs; }
  int outputs() const { return layers.back().outputs; }

  std::ptrdiff_t parameters() const {
    std::ptrdiff_t n = 0;
    for (const auto& layer : layers) n += (layer.inputs + std::ptrdiff_t{1}) * layer.outputs;
    return n;
  }
};

// Where the parameters of one layer lie in `packed`:
//   in panels (product.hpp): inputs + 1 rows a panel, the last row the biases;
//   thin (thin.hpp): a block of all inputs, or one each of the inputs before and from `cut` on, then one row of biases.
// Padding is zero and stays zero.
template <class T>
struct LayerLayout {
  // Between two blocks: the processor reads ahead, and must not take away what another core is about to write.
  static constexpr std::ptrdiff_t gap = 8 * Thin<T>::line;

  bool thin = false;
  int inputs = 0, outputs = 0;
  int cut = 0;  // at a line's start, 0: there is one block
  std::ptrdiff_t start = 0, size = 0;

  std::ptrdiff_t panel(int p) const { return start + p * (inputs + std::ptrdiff_t{1}) * lanes<T>; }

  int blocks() const { return cut > 0 ? 2 : 1; }
  ThinBlock block(int b) const {
    if (cut > 0 && b == 0) return {{0, cut}, start, cut};
    return {{cut, inputs}, start + (cut > 0 ? outputs * std::ptrdiff_t{cut} + gap : 0), Thin<T>::padded(inputs) - cut};
  }
  ThinBlock block_of(int input) const { return block(cut > 0 && input >= cut ? 1 : 0); }
  std::ptrdiff_t biases() const {  // of a thin layer
    const ThinBlock last = block(blocks() - 1);
    return last.start + outputs * last.ld;
  }
};

// Inputs whose gradient is handed over together.
constexpr int gradient_rows = 32, thin_gradient_inputs = 128;

// Neighbouring parameters of one kind: of one output, or of `outputs` that take turns. Sums over theta are made by
// output, so that the width of a vector does not matter.
struct Stretch {
  int layer;
  bool bias;
  std::ptrdiff_t start, count;
  int outputs;
};

template <class T>
struct Layout {
  std::vector<LayerLayout<T>> layers;
  std::ptrdiff_t size = 0;

  // Of a network that is trained on batches of so many rows; 0: that is not trained.
  explicit Layout(const Network& net, std::int64_t batch_rows = 0) {
    for (const LayerSpec& spec : net.layers) {
      LayerLayout<T> layer;
      // few outputs over some inputs; of a first layer the user's own rows
      layer.thin =
          spec.inputs >= Thin<T>::line && (layers.empty() ? spec.outputs <= Thin<T>::most_outputs && spec.dropout == 0
                                                          : spec.outputs <= Thin<T>::most_outputs_above);
      layer.inputs = spec.inputs;
      layer.outputs = spec.outputs;
      layer.start = size;
      if (layer.thin && layers.empty() && batch_rows >= least_halved && batch_rows <= most_halved)
        layer.cut = middle(net);
      if (layer.thin)
        layer.size = layer.biases() - layer.start + Thin<T>::padded(spec.outputs);
      else
        layer.size = panels_of<T>(spec.outputs) * (spec.inputs + std::ptrdiff_t{1}) * lanes<T>;
      size += layer.size;
      layers.push_back(layer);
    }
  }

  // Batches of fewer rows are too small to share, and larger ones are cut into blocks of rows.
  static constexpr int least_halved = 16, most_halved = 127;

  // Where the inputs of a thin first layer are cut in two, if it has many and does nearly all the work: two members of
  // a team can then take one half each, forward and backward (Pass::run_halves). Sums over the inputs are made by
  // halves, whoever makes them.
  static int middle(const Network& net) {
    const LayerSpec& first = net.layers.front();
    const int lines = Thin<T>::padded(first.inputs) / Thin<T>::line;
    const std::ptrdiff_t all = net.parameters(), above = all - (first.inputs + std::ptrdiff_t{1}) * first.outputs;
    return lines >= 16 && above <= std::min<std::ptrdiff_t>(4096, all / 8) ? lines / 2 * Thin<T>::line : 0;
  }

  // All parameters, padding included, as stretches of weights or of biases.
  std::vector<Stretch> stretches() const {
    std::vector<Stretch> all;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const LayerLayout<T>& layer = layers[l];
      const int index = static_cast<int>(l);
      if (layer.thin) {
        for (int b = 0; b < layer.blocks(); ++b)
          for (int o = 0; o < layer.outputs; ++o)
            all.push_back({index, false, layer.block(b).at(o, layer.block(b).inputs.first), layer.block(b).ld, 1});
        all.push_back({index, true, layer.biases(), Thin<T>::padded(layer.outputs), 1});
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

  // Visits every parameter as f(index in theta, index in packed), in an order that suits the cache.
  template <class F>
  void each(F&& f) const {
    constexpr int V = lanes<T>, rows = 64;
    std::ptrdiff_t start = 0;
    for (const LayerLayout<T>& layer : layers) {
      const std::ptrdiff_t outputs = layer.outputs, all = layer.inputs + std::ptrdiff_t{1};
      if (layer.thin) {
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

}  // namespace linnet
