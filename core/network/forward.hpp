// The forward pass through a network (network/pass.hpp): rows into the first layer, from layer to layer, and the head.
// They are `inline`, as if defined in the class, so that the compiler inlines these small functions, which makes each
// step of a small network measurably faster.
#pragma once

#include "network/pass.hpp"

namespace linnet::inline LINNET_ISA {

// Rows of the table into the first layer's inputs.
template <class T>
inline void Pass<T>::enter(const Batch<T>& batch, const PassMode& mode, int r0, int r1) {
  if (by_entries_) {
    const double rate = mode.dropout ? net_.layers[0].dropout : 0;
    for (int r = r0; r < r1; ++r) {
      entries_[r].list(batch, r);
      if (rate > 0) entries_[r].drop(rate, mode.key, mode.position + r);
      // found now, where the row is in the cache
      for (int rank = 1; mode.gradient && rank < threads_; ++rank)
        begins_[r * threads_ + rank] = entries_[r].before(owned_[rank][0].first);
    }
    return;
  }
  if (narrow()) {
    point_at_rows(rows_.data(), converted_, batch, r0, r1);
    return;
  }
  gather(x_.get(), ld_, batch, r0, r1);
  drop_inputs(0, x_.get(), mode, {r0, r1}, {0, panels_of<T>(net_.inputs())});
}

// Dropout on some of the inputs of layer l, by the member that has just computed them.
template <class T>
inline void Pass<T>::drop_inputs(std::size_t l, const T* from, const PassMode& mode, Part rows, Part panels) {
  if (!mode.dropout || l >= net_.layers.size() || net_.layers[l].dropout <= 0) return;
  dropout(dropped_[l].get(), from, ld_, net_.layers[l].dropout, mode.key + l, mode.position, rows.first, rows.last,
          panels.first, panels.last);
}

template <class T>
inline void Pass<T>::forward(const T* packed, int l, const PassMode& mode, Part rows, Part panels, int rank,
                             Interrupt* interrupt) {
  constexpr int V = lanes<T>;
  const LayerSpec& layer = net_.layers[l];
  const LayerLayout<T>& place = layout_.layers[l];
  const T* w = packed + place.start;
  T* z = z_[l].get();
  const bool relu = rectifies(layer.activation);
  if (place.narrow && (l > 0 || by_entries_))  // written output by output; the activation takes whole vectors
    for (int p = panels.first; p < panels.last; ++p)
      std::fill_n(z + (p * ld_ + rows.first) * V, std::ptrdiff_t{rows.last - rows.first} * V, T(0));
  if (l == 0 && by_entries_ && place.narrow) {
    narrow_entries_forward(z, ld_, entries_.data(), packed, place, rows.first, rows.last);
  } else if (place.narrow && l == 0) {
    for (int b = 0; b < place.blocks(); ++b)
      narrow_forward(z, ld_, rows_.data(), packed, place.block(b),
                     b + 1 == place.blocks() ? packed + place.biases() : nullptr, layer.outputs, rows.first, rows.last,
                     b > 0);
  } else if (place.narrow) {
    narrow_panels_forward(z, ld_, input_of(l, mode), ld_, w, packed + place.biases(), layer.inputs, layer.outputs,
                          rows.first, rows.last);
  } else {
    const std::ptrdiff_t w_ld = layer.inputs + 1;
    // panels between two checks of the interrupt, some hundredths of a second
    const int panel_step = std::max(8, 500'000'000 / (product_rows * V) / layer.inputs);
    for (int r = rows.first; r < rows.last; r += product_rows) {
      const int r1 = std::min(rows.last, r + product_rows);
      for (int p = panels.first; p < panels.last; p += panel_step) {
        if (interrupt && interrupt->in_vain(rank)) return;
        const int p1 = std::min(panels.last, p + panel_step);
        if (l == 0 && by_entries_)
          entries_forward(z, ld_, entries_.data(), w, layer.inputs, r, r1, p, p1, relu);
        else
          product(z, ld_, w + layer.inputs * std::ptrdiff_t{V}, w_ld, input_of(l, mode), ld_, w, w_ld, layer.inputs, r,
                  r1, p, p1, false, {relu, nullptr});
      }
    }
  }
  activate(l, mode, rows, panels, rank);
}

// Completes a layer's outputs from its sums: its activation, and dropout for the layer above.
template <class T>
inline void Pass<T>::activate(int l, const PassMode& mode, Part rows, Part panels, int rank) {
  constexpr int V = lanes<T>;
  const LayerSpec& layer = net_.layers[l];
  T* z = z_[l].get();
  T* h = h_[l].get() ? h_[l].get() : z;
  const bool done = rectifies(layer.activation) && !layout_.layers[l].narrow;
  if (is_joint(layer.activation)) {
    for_lanes(z, ld_, layer.outputs, rows.first, rows.last, lanes_[rank].get(), [&](T* block, int) {
      softmax_lanes(block, block, layer.outputs);
      return true;
    });
  } else if (!done) {
    for (int p = panels.first; p < panels.last; ++p) {
      const std::ptrdiff_t at = (p * ld_ + rows.first) * V;
      activation_forward(h + at, z + at, std::ptrdiff_t{rows.last - rows.first} * V, layer.activation, layer.leak);
    }
  }
  drop_inputs(l + 1, h, mode, rows, panels);
}

// All layers after the first, for some rows and by one member.
template <class T>
inline void Pass<T>::run_above(int rank, const T* packed, const Batch<T>& batch, const PassMode& mode, T* fitted,
                               Part rows) {
  const int last = static_cast<int>(net_.layers.size()) - 1;
  for (int l = 1; l <= last; ++l)
    forward(packed, l, mode, rows, {0, panels_of<T>(net_.layers[l].outputs)}, rank, nullptr);
  head(batch, mode, fitted, rows.first, rows.last, rank);
  if (!mode.gradient) return;
  for (int l = last; l >= 1; --l) {
    const LayerSpec& layer = net_.layers[l];
    const Part panels{0, panels_of<T>(layer.inputs)};
    if (layout_.layers[l].narrow)
      narrow_panels_backward(d_[l - 1].get(), relu_mask(l - 1), ld_, d_[l].get(), packed + layout_.layers[l].start,
                             layer.inputs, layer.outputs, rows.first, rows.last);
    else
      product<T>(d_[l - 1].get(), ld_, nullptr, 0, d_[l].get(), ld_, transposed_of(rank, l),
                 panels_of<T>(layer.outputs) * lanes<T>, layer.outputs, rows.first, rows.last, 0, panels.last, false,
                 {false, relu_mask(l - 1)});
    drop_gradient(l, mode, rows, panels);
    if (!relu_mask(l - 1)) through_activation(l - 1, net_.layers[l - 1], rows, panels, rank);
  }
}

// Loss and dloss/dz of the last layer.
template <class T>
inline void Pass<T>::head(const Batch<T>& batch, const PassMode& mode, T* fitted, int r0, int r1, int rank) {
  if (!batch.t.labels && !batch.t.values) return;
  const int l = static_cast<int>(net_.layers.size()) - 1;
  const HeadPanels<T> to{net_.head, net_.custom, net_.outputs(), output_matrix(), mode.gradient ? d_[l].get() : nullptr,
                         ld_,       loss_.get(), fitted};
  head_rows_of(batch, to, r0, r1, lanes_[rank].get());
  if (mode.gradient) through_activation(l, net_.layers[l], {r0, r1}, {0, panels_of<T>(net_.outputs())}, rank);
}

}  // namespace linnet::inline LINNET_ISA
