// The backward pass through a network (network/pass.hpp): deltas from layer to layer, and the sums of the gradient.
#pragma once

#include "network/pass.hpp"

namespace linnet::inline LINNET_ISA {

// Costs of a layer's gradient and weight update, in cycles; the last panel is usually not full, and a single one runs
// slower.
template <class T>
double Pass<T>::work_of(const LayerLayout<T>& layer) const {
  constexpr int begin = 12;   // of starting, in inputs: what other members computed must be fetched first
  constexpr int update = 30;  // per vector of weights
  const double panels = panels_of<T>(layer.outputs), rows = capacity_;
  if (layer.narrow)
    return static_cast<double>(std::ptrdiff_t{layer.inputs} * layer.outputs / lanes<T>) * (rows + update);
  if (by_entries_ && &layer == &layout_.layers.front())
    return layer.inputs * (rows * filled_ * (2.2 * panels + 14) + 1.3 * update * panels);
  return (layer.inputs + begin) * (panels + 1) * (rows + update);
}

// The inputs of each layer, cut into threads_ ranges of equal work.
template <class T>
void Pass<T>::plan_gradient() {
  owned_.assign(threads_, std::vector<Part>(net_.layers.size()));
  owned_split_.assign(2, std::vector<Part>(net_.layers.size()));
  owned_split_[0] = all_inputs_;
  const int middle = layout_.layers[0].cut;
  if (threads_ > 1) owned_split_[0][0].last = middle, owned_split_[1][0] = {middle, net_.inputs()};
  double total = 0, before = 0;
  for (const auto& layer : layout_.layers) total += work_of(layer);
  for (std::size_t l = 0; l < net_.layers.size(); ++l) {
    const LayerSpec& layer = net_.layers[l];
    const double work = work_of(layout_.layers[l]);
    for (int rank = 0; rank < threads_; ++rank) {
      auto cut = [&](int r) {
        const double share = std::clamp((total * r / threads_ - before) / work, 0.0, 1.0);
        const int grain = layout_.layers[l].narrow ? Narrow<T>::line : lanes<T>;
        return std::min(layer.inputs, static_cast<int>(share * layer.inputs / grain + 0.5) * grain);
      };
      owned_[rank][l] = {cut(rank), rank + 1 == threads_ ? layer.inputs : cut(rank + 1)};
    }
    before += work;
  }
}

template <class T>
template <GradientSink<T> Sink>
void Pass<T>::gradient(int rank, Part part, const std::vector<Part>& owned, const PassMode& mode, const Sink& sink,
                       const T* const* next) {
  constexpr int V = lanes<T>, C = Tile<T>::panels;
  T* tile = tile_[rank].get();
  const int rows = part.last - part.first;
  const std::ptrdiff_t skipped = std::ptrdiff_t{part.first} * V;  // of a panel
  for (std::size_t l = 0; l < net_.layers.size(); ++l) {
    const LayerSpec& layer = net_.layers[l];
    const Part inputs = owned[l];
    const LayerLayout<T>& place = layout_.layers[l];
    const T* d = d_[l].get() + skipped;
    const int panels = panels_of<T>(layer.outputs);
    if (layer.bias && inputs.last == layer.inputs && inputs.first < inputs.last) {
      T* sums = lanes_[rank].get();
      column_sums(sums, d, ld_, rows, panels);
      for (int p = 0; p < panels; ++p)
        sink(l, place.narrow ? place.biases() + p * V : place.panel(p) + layer.inputs * std::ptrdiff_t{V}, sums + p * V,
             V, true);
    }
    if (l == 0 && by_entries_) {
      const int* begin = inputs.first > 0 ? begins_.data() + part.first * threads_ + rank : nullptr;
      gradient_of_entries(place, entries_.data() + part.first, rows, inputs, begin, threads_, d, ld_, by_column_[rank],
                          tile, sink);
      continue;
    }
    if (place.narrow && l == 0 && rows == 1 && sink.takes_row()) {
      for (int b = 0; b < place.blocks(); ++b) {
        const NarrowBlock block = place.block(b);
        const int first = std::max(inputs.first, block.inputs.first), last = std::min(inputs.last, block.inputs.last);
        if (first < last)
          sink.row(block, first, last - first, layer.outputs, rows_[part.first] + first,
                   [&](int o) { return d[o / V * ld_ * V + o % V]; });
      }
      continue;
    }
    if (place.narrow) {
      for (int i = inputs.first, n; i < inputs.last; i += n) {
        const NarrowBlock block = place.block_of(i);
        n = std::min(narrow_gradient_inputs, std::min(inputs.last, block.inputs.last) - i);
        if (l == 0)
          narrow_gradient(tile, narrow_gradient_inputs, rows_.data() + part.first, d, ld_, rows, i, i + n,
                          layer.outputs, next);
        else
          narrow_panels_gradient(tile, narrow_gradient_inputs, input_of(static_cast<int>(l), mode) + skipped, ld_, d,
                                 ld_, rows, i, i + n, layer.outputs);
        for (int o = 0; o < layer.outputs; ++o)
          sink(l, block.at(o, i), tile + o * narrow_gradient_inputs, Narrow<T>::padded(n), false);
      }
      continue;
    }
    const T* a = input_of(static_cast<int>(l), mode) + skipped;
    // blocks of a that stay in L2 while all of d is read
    const int block = std::max(gradient_rows, 131072 / (rows * vector_bytes) * V / gradient_rows * gradient_rows);
    for (int ib = inputs.first; ib < inputs.last; ib += block) {
      if (sink.cut_short()) return;
      for (int p = 0; p < panels; p += C) {
        const int count = std::min(C, panels - p);
        for (int i = ib; i < std::min(inputs.last, ib + block); i += gradient_rows) {
          const int n = std::min({gradient_rows, inputs.last - i, ib + block - i});
          if constexpr (Sink::in_place) {
            outer_product(sink.sums + place.panel(p) + std::ptrdiff_t{i} * V, layer.inputs + 1, a, ld_, d + p * ld_ * V,
                          ld_, rows, i, n, count, sink.onto);
            continue;
          }
          for (int c = 0; c < count; ++c) sink.prefetch(place.panel(p + c) + std::ptrdiff_t{i} * V, n * V);
          outer_product(tile, gradient_rows, a, ld_, d + p * ld_ * V, ld_, rows, i, n, count);
          for (int c = 0; c < count; ++c)
            sink(l, place.panel(p + c) + std::ptrdiff_t{i} * V, tile + c * gradient_rows * V, n * V, false);
        }
      }
    }
  }
}

// wt = the transposed weights of layer l: `inputs` panels, each with the outputs of `outputs` panels as rows.
template <class T>
void Pass<T>::transpose(T* wt, const T* packed, int l, Part inputs, Part outputs) {
  constexpr int V = lanes<T>;
  const LayerLayout<T>& layer = layout_.layers[l];
  const std::ptrdiff_t ld = outputs.last - outputs.first;
  if (layer.narrow) {  // stored that way already, except for the order of its vectors
    for (int p = inputs.first; p < inputs.last; ++p)
      for (int o = 0; o < layer.outputs; ++o)
        store(wt + ((p - inputs.first) * ld * V + o) * V, load(packed + layer.block(0).at(o, p * V)));
    return;
  }
  for (int o = outputs.first; o < outputs.last; ++o) {
    for (int p = inputs.first; p < inputs.last; ++p) {
      const T* from = packed + layer.panel(o) + std::ptrdiff_t{p} * V * V;
      T* to = wt + ((p - inputs.first) * ld + (o - outputs.first)) * V * V;
      if ((p + 1) * V <= layer.inputs) {
        transpose_square(to, from);
      } else {
        for (int i = 0; i < V; ++i)
          for (int k = 0; k < V; ++k) to[k * V + i] = p * V + i < layer.inputs ? from[i * V + k] : T(0);
      }
    }
  }
}

// dh of the layer below l = d W' in a large network: slabs of W' are transposed as they are needed, and the outputs
// taken in blocks, so that a block of d stays in L2 while all slabs are used.
template <class T>
void Pass<T>::backward_by_slabs(int rank, const T* packed, int l, Part rows, Part panels, Interrupt* interrupt) {
  constexpr int V = lanes<T>, block = Tile<T>::depth_block;
  const int outputs = net_.layers[l].outputs;
  T* slab = transposed_[rank].get();
  for (int o = 0; o < outputs; o += block) {
    const int count = std::min(block, outputs - o);
    for (int p = panels.first; p < panels.last; p += slab_panels) {
      if (interrupt && interrupt->in_vain(rank)) return;
      const int p1 = std::min(panels.last, p + slab_panels);
      transpose(slab, packed, l, {p, p1}, {o / V, o / V + panels_of<T>(count)});
      const T* mask = o + count == outputs ? relu_mask(l - 1) : nullptr;
      product<T>(d_[l - 1].get() + p * ld_ * V, ld_, nullptr, 0, d_[l].get() + o * ld_, ld_, slab,
                 panels_of<T>(count) * V, count, rows.first, rows.last, 0, p1 - p, o > 0,
                 {false, mask ? mask + p * ld_ * V : nullptr});
    }
  }
}

// Dropout of layer l's inputs, on their gradient.
template <class T>
void Pass<T>::drop_gradient(int l, const PassMode& mode, Part rows, Part panels) {
  if (!mode.dropout || net_.layers[l].dropout <= 0) return;
  T* d = d_[l - 1].get();
  dropout(d, d, ld_, net_.layers[l].dropout, mode.key + l, mode.position, rows.first, rows.last, panels.first,
          panels.last);
}

// dz from dh, in place.
template <class T>
void Pass<T>::through_activation(int l, const LayerSpec& layer, Part rows, Part panels, int rank) {
  constexpr int V = lanes<T>;
  T *d = d_[l].get(), *z = z_[l].get();
  const T* h = h_[l].get() ? h_[l].get() : z;
  if (is_joint(layer.activation)) {
    T* p = lanes_[rank].get() + panels_of<T>(layer.outputs) * V * V;
    for_lanes(d, ld_, layer.outputs, rows.first, rows.last, lanes_[rank].get(), [&](T* block, int r) {
      for (int q = 0; q < panels_of<T>(layer.outputs); ++q) transpose_square(p + q * V * V, h + (q * ld_ + r) * V);
      softmax_backward_lanes(block, p, layer.outputs);
      return true;
    });
    return;
  }
  for (int q = panels.first; q < panels.last; ++q) {
    const std::ptrdiff_t at = (q * ld_ + rows.first) * V;
    activation_backward(d + at, z + at, h + at, std::ptrdiff_t{rows.last - rows.first} * V, layer.activation,
                        layer.leak);
  }
}

}  // namespace linnet::inline LINNET_ISA
