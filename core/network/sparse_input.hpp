// A first layer over rows that are mostly zero, such as words of a text, levels of categories or the pixels of an
// image: the entries of a row are listed, and only the weights they meet are read.
//
//   entries_forward         z[b][o] = bias[o] + sum over entries of value w[column][o]
//   narrow_entries_forward    the same for a narrow layer (kernels/narrow.hpp)
//   entries_gradient        g[i][o] = sum over entries of column i of value d[b][o]
//   narrow_entries_gradient   the same for a narrow layer
//
// Sums run in the order of the dense kernels, and a zero changes none of them: the results are the same bits.
#pragma once

#include "data/entries.hpp"
#include "network/gradient_sink.hpp"
#include "network/layout.hpp"

namespace linnet::inline LINNET_ISA {

// z: rows x outputs in panels, of which [p0..p1) are computed; w as in kernels/product.hpp, the bias its last row.
template <class T>
void entries_forward(T* z, std::ptrdiff_t z_ld, const RowEntries<T>* rows, const T* w, int inputs, int r0, int r1,
                     int p0, int p1, bool relu) {
  constexpr int V = lanes<T>, most = 8;  // panels whose sums stay in registers
  const std::ptrdiff_t w_ld = (inputs + std::ptrdiff_t{1}) * V;
  for (int r = r0; r < r1; ++r) {
    for (int p = p0; p < p1; p += most) {
      with_constant<most>(std::min(most, p1 - p), [&](auto count) {
        const T* from = w + p * w_ld;
        Vec<T> sum[count.value];
#pragma GCC unroll 8
        for (int q = 0; q < count.value; ++q) sum[q] = load(from + q * w_ld + inputs * std::ptrdiff_t{V});
        for (const Entry<T>& e : rows[r]) {
          const Vec<T> value = broadcast(e.value);
          const T* weights = from + e.column * std::ptrdiff_t{V};
#pragma GCC unroll 8
          for (int q = 0; q < count.value; ++q) sum[q] = fma(value, load(weights + q * w_ld), sum[q]);
        }
#pragma GCC unroll 8
        for (int q = 0; q < count.value; ++q)
          store(z + ((p + q) * z_ld + r) * V, relu ? max(Vec<T>{}, sum[q]) : sum[q]);
      });
    }
  }
}

template <class T>
void narrow_entries_forward(T* z, std::ptrdiff_t z_ld, const RowEntries<T>* rows, const T* packed,
                            const LayerLayout<T>& place, int r0, int r1) {
  constexpr int V = lanes<T>, L = Narrow<T>::line;
  const T* bias = packed + place.biases();
  for (int r = r0; r < r1; ++r) {
    const Entry<T>* e = rows[r].begin();
    T z_of_row[Narrow<T>::max_outputs] = {};
    for (int b = 0; b < place.blocks(); ++b) {
      const NarrowBlock block = place.block(b);
      T sums[Narrow<T>::max_outputs * L] = {};
      for (; e != rows[r].end() && e->column < block.inputs.last; ++e) {
        T* sum = sums + e->column % L;
        const T* w = packed + block.at(0, e->column);
        for (int o = 0; o < place.outputs; ++o) sum[o * L] = fused(e->value, w[o * block.ld], sum[o * L]);
      }
      for (int o = 0; o < place.outputs; ++o) {
        T sum = fold(sums + o * L);
        if (b + 1 == place.blocks()) sum += bias[o];
        z_of_row[o] = b == 0 ? sum : z_of_row[o] + sum;
      }
    }
    for (int o = 0; o < place.outputs; ++o) z[(o / V * z_ld + r) * V + o % V] = z_of_row[o];
  }
}

constexpr int entry_panels = 4;  // of d, read at a time: those of a batch stay in L1 and L2

// g (C panels, g_ld rows apart; one row of each) = the gradient sums of one column.
template <class T, int C>
LINNET_INLINE void entries_gradient(T* g, std::ptrdiff_t g_ld, std::span<const typename ByColumn<T>::Placed> entries,
                                    const T* d, std::ptrdiff_t d_ld) {
  constexpr int V = lanes<T>;
  Vec<T> sum[C] = {};
  for (const auto& e : entries) {
    const Vec<T> value = broadcast(e.value);
    const T* from = d + e.row * std::ptrdiff_t{V};
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) sum[c] = fma(value, load(from + c * d_ld * V), sum[c]);
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) store(g + c * g_ld * V, sum[c]);
}

// g: `outputs` values, g_ld apart.
template <class T>
void narrow_entries_gradient(T* g, std::ptrdiff_t g_ld, std::span<const typename ByColumn<T>::Placed> entries,
                             const T* d, std::ptrdiff_t d_ld, int outputs) {
  constexpr int V = lanes<T>;
  for (const auto& e : entries)
    for (int o = 0; o < outputs; ++o) {
      T& sum = g[o * g_ld];
      sum = fused(d[(o / V * d_ld + e.row) * V + o % V], e.value, sum);
    }
}

// The gradient sums of some inputs of a layer, as Pass::gradient gives them to a sink.
template <class T, GradientSink<T> Sink>
void gradient_of_entries(const LayerLayout<T>& place, const RowEntries<T>* rows, int count, Part inputs,
                         const int* begin, int step, const T* d, std::ptrdiff_t d_ld, ByColumn<T>& entries, T* tile,
                         const Sink& sink) {
  constexpr int V = lanes<T>, C = entry_panels;
  if (place.narrow && count == 1 && sink.takes_row()) {
    for (const Entry<T>& e : rows[0]) {
      if (e.column < inputs.first || e.column >= inputs.last) continue;
      sink.row(place.block_of(e.column), e.column, 1, place.outputs, &e.value,
               [&](int o) { return d[o / V * d_ld * V + o % V]; });
    }
    return;
  }
  const bool skips_zeros = sink.skips_zeros();
  // few inputs at a time where that skips zeros
  const int narrow_block = skips_zeros ? Narrow<T>::line : narrow_gradient_inputs;
  const int block = place.narrow ? narrow_block : skips_zeros ? 4 : gradient_rows;
  const int panels = panels_of<T>(place.outputs);
  entries.sort(rows, count, inputs, begin, step);
  for (int i = inputs.first, n; i < inputs.last; i += n) {
    const int end = place.narrow ? std::min(inputs.last, place.block_of(i).inputs.last) : inputs.last;
    const int last = std::min(i + block, end);
    n = last - i;
    if (skips_zeros && entries.empty(i, last)) continue;
    if (place.narrow) {
      std::fill_n(tile, place.outputs * block, T(0));
      for (int k = i; k < last; ++k) narrow_entries_gradient(tile + (k - i), block, entries[k], d, d_ld, place.outputs);
      for (int o = 0; o < place.outputs; ++o)
        sink(0, place.block_of(i).at(o, i), tile + o * block, Narrow<T>::padded(n), false);
      continue;
    }
    for (int p = 0; p < panels; p += C) {
      const int width = std::min(C, panels - p);
      for (int c = 0; c < width; ++c) sink.prefetch(place.panel(p + c) + std::ptrdiff_t{i} * V, n * V);
      with_constant<C>(width, [&](auto c) {
        for (int k = i; k < last; ++k)
          entries_gradient<T, c.value>(tile + (k - i) * V, block, entries[k], d + p * d_ld * V, d_ld);
      });
      for (int c = 0; c < width; ++c)
        sink(0, place.panel(p + c) + std::ptrdiff_t{i} * V, tile + c * block * V, n * V, false);
    }
  }
}

}  // namespace linnet::inline LINNET_ISA
