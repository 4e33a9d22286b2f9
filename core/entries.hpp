// A first layer over rows that are mostly zero, such as words of a text: what a row has is listed, and only the weights
// it meets are read.
//
//   entries_forward         z[b][o] = bias[o] + sum over entries of value w[column][o]
//   thin_entries_forward    the same for a thin layer (thin.hpp)
//   entries_gradient        g[i][o] = sum over entries of column i of value d[b][o]
//   thin_entries_gradient   the same for a thin layer
//
// Sums run in the order of the dense kernels, and a zero changes none of them: the results are theirs, bit by bit.
#pragma once

#include <span>

#include "batch.hpp"
#include "layout.hpp"
#include "random.hpp"
#include "team.hpp"

namespace linnet {

template <class T>
struct Entry {
  int column;
  T value;
};

// entries = those of row r of the batch, in rising order of columns.
template <class T>
void list_entries(std::vector<Entry<T>>& entries, const Batch<T>& batch, int r) {
  const Columns& x = *batch.x;
  const std::int64_t row = batch.row(r);
  entries.clear();
  bool sorted = true;
  auto add = [&](int column, T value) {
    sorted = sorted && (entries.empty() || entries.back().column < column);
    entries.push_back({column, value});
  };
  each_dense<T>(x, row, add);
  x.each_entry(row, [&](int column, double value) { add(x.dense_cols + column, static_cast<T>(value)); });
  if (!sorted) std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.column < b.column; });
}

// Dropout of a row's entries: those that `dropout` in random.hpp would drop from the whole row.
template <class T>
void drop_entries(std::vector<Entry<T>>& entries, double rate, std::uint64_t key, std::uint64_t row) {
  const DropRow drop(rate, key, row);
  const T scale = static_cast<T>(1.0 / (1.0 - rate));
  std::erase_if(entries, [&](const Entry<T>& e) { return drop(static_cast<std::uint32_t>(e.column)); });
  for (Entry<T>& e : entries) e.value *= scale;
}

// z: rows x outputs in panels, of which [p0..p1) are computed; w as in product.hpp, the bias its last row.
template <class T>
void entries_forward(T* z, std::ptrdiff_t z_ld, const std::vector<Entry<T>>* rows, const T* w, int inputs, int r0,
                     int r1, int p0, int p1, bool relu) {
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
void thin_entries_forward(T* z, std::ptrdiff_t z_ld, const std::vector<Entry<T>>* rows, const T* w, const T* bias,
                          int inputs, int outputs, int r0, int r1) {
  constexpr int V = lanes<T>, L = Thin<T>::line;
  const std::ptrdiff_t w_ld = Thin<T>::padded(inputs);
  for (int r = r0; r < r1; ++r) {
    T sums[Thin<T>::most_outputs * L] = {};
    for (const Entry<T>& e : rows[r]) {
      T* sum = sums + e.column % L;
      for (int o = 0; o < outputs; ++o) sum[o * L] = fused(e.value, w[o * w_ld + e.column], sum[o * L]);
    }
    for (int o = 0; o < outputs; ++o) z[(o / V * z_ld + r) * V + o % V] = fold(sums + o * L) + bias[o];
  }
}

// The entries of a batch whose columns lie in one part of the inputs, by blocks of neighbouring columns; inside a block
// in the order of rows.
template <class T>
class ByBlock {
 public:
  struct Placed {
    int row, column;
    T value;
  };

  void sort(const std::vector<Entry<T>>* rows, int count, Part inputs, int block) {
    start_.assign((inputs.last - inputs.first + block - 1) / block + 2, 0);
    auto each = [&](auto&& f) {
      for (int r = 0; r < count; ++r) {
        auto e = std::lower_bound(rows[r].begin(), rows[r].end(), inputs.first,
                                  [](const Entry<T>& entry, int column) { return entry.column < column; });
        for (; e != rows[r].end() && e->column < inputs.last; ++e) f(r, *e, (e->column - inputs.first) / block);
      }
    };
    each([&](int, const Entry<T>&, int b) { ++start_[b + 2]; });
    for (std::size_t b = 2; b < start_.size(); ++b) start_[b] += start_[b - 1];
    placed_.resize(start_.back());
    // block b begins at start_[b + 1] and, when all its entries have come, at start_[b]
    each([&](int r, const Entry<T>& e, int b) { placed_[start_[b + 1]++] = {r, e.column, e.value}; });
  }

  std::span<const Placed> operator[](int b) const {
    return {placed_.data() + start_[b], static_cast<std::size_t>(start_[b + 1] - start_[b])};
  }

 private:
  std::vector<std::ptrdiff_t> start_;
  std::vector<Placed> placed_;
};

// g (`panels` panels of g_ld rows, the first of them input i0): those of `entries`, all from i0 on.
template <class T>
void entries_gradient(T* g, std::ptrdiff_t g_ld, std::span<const typename ByBlock<T>::Placed> entries, const T* d,
                      std::ptrdiff_t d_ld, int i0, int panels) {
  constexpr int V = lanes<T>;
  std::fill_n(g, panels * g_ld * V, T(0));
  for (const auto& e : entries) {
    const Vec<T> value = broadcast(e.value);
    for (int p = 0; p < panels; ++p) {
      T* sum = g + (p * g_ld + e.column - i0) * V;
      store(sum, fma(value, load(d + (p * d_ld + e.row) * V), load(sum)));
    }
  }
}

// g: `outputs` rows, g_ld apart.
template <class T>
void thin_entries_gradient(T* g, std::ptrdiff_t g_ld, std::span<const typename ByBlock<T>::Placed> entries, const T* d,
                           std::ptrdiff_t d_ld, int i0, int outputs) {
  constexpr int V = lanes<T>;
  std::fill_n(g, outputs * g_ld, T(0));
  for (const auto& e : entries) {
    for (int o = 0; o < outputs; ++o) {
      T& sum = g[o * g_ld + e.column - i0];
      sum = fused(d[(o / V * d_ld + e.row) * V + o % V], e.value, sum);
    }
  }
}

// The gradient sums of some inputs of a layer, as Pass::gradient emits them.
template <class T, class Emit>
void gradient_of_entries(const LayerLayout<T>& place, const std::vector<Entry<T>>* rows, int count, Part inputs,
                         const T* d, std::ptrdiff_t d_ld, ByBlock<T>& entries, T* tile, Emit& emit) {
  constexpr int V = lanes<T>, C = Tile<T>::panels;
  if constexpr (requires { emit.takes_row; }) {
    if (place.thin && count == 1 && emit.takes_row) {
      for (const Entry<T>& e : rows[0]) {
        if (e.column < inputs.first || e.column >= inputs.last) continue;
        for (int o = 0; o < place.outputs; ++o)
          emit.row(place.row(o) + e.column, &e.value, d[o / V * d_ld * V + o % V], 1);
      }
      return;
    }
  }
  bool skips_zeros = false;
  if constexpr (requires { emit.skips_zeros; }) skips_zeros = emit.skips_zeros;
  // few inputs together where that leaves out zeros
  const int thin_block = skips_zeros ? Thin<T>::line : thin_gradient_inputs;
  const int block = place.thin ? thin_block : skips_zeros ? 4 : gradient_rows;
  const int panels = panels_of<T>(place.outputs);
  entries.sort(rows, count, inputs, block);
  for (int i = inputs.first, b = 0; i < inputs.last; i += block, ++b) {
    if (skips_zeros && entries[b].empty()) continue;
    const int n = std::min(block, inputs.last - i);
    if (place.thin) {
      thin_entries_gradient(tile, block, entries[b], d, d_ld, i, place.outputs);
      for (int o = 0; o < place.outputs; ++o) emit(0, place.row(o) + i, tile + o * block, Thin<T>::padded(n), false);
      continue;
    }
    for (int p = 0; p < panels; p += C) {
      const int width = std::min(C, panels - p);
      if constexpr (requires { emit.prefetch(std::ptrdiff_t{}, 0); })
        for (int c = 0; c < width; ++c) emit.prefetch(place.panel(p + c) + i * V, n * V);
      entries_gradient(tile, block, entries[b], d + p * d_ld * V, d_ld, i, width);
      for (int c = 0; c < width; ++c) emit(0, place.panel(p + c) + i * V, tile + c * block * V, n * V, false);
    }
  }
}

}  // namespace linnet
