// A first layer over rows that are mostly zero, such as words of a text, levels of categories or the pixels of an
// image: what a row has is listed, and only the weights it meets are read.
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

// The entries of one row, in rising order of columns, in space that is kept for the next row.
template <class T>
class RowEntries {
 public:
  const Entry<T>* begin() const { return space_.data(); }
  const Entry<T>* end() const { return space_.data() + count_; }

  // How many lie in columns before this one.
  int before(int column) const {
    return static_cast<int>(
        std::lower_bound(begin(), end(), column, [](const Entry<T>& e, int c) { return e.column < c; }) - begin());
  }

  // Those of row r of the batch.
  void list(const Batch<T>& batch, int r) {
    const Columns& x = *batch.x;
    const std::int64_t row = batch.row(r);
    count_ = 0;
    int begin = 0;
    for (const Design& table : x.tables) {
      with_data(table, [&](const auto* data) { list_table(begin, table, data + row * table.row_stride); });
      begin += table.cols;
    }
    const std::int64_t in_matrix = x.sparse.cols ? x.sparse.start[row + 1] - x.sparse.start[row] : 0;
    Entry<T>* const from = room_for(x.codes.size() + in_matrix);
    Entry<T>* to = from;
    bool sorted = true;
    x.each_entry(row, [&](int column, double value) {
      *to = {x.dense_cols + column, static_cast<T>(value)};
      sorted = sorted && (to == from || to[-1].column < to->column);
      ++to;
    });
    count_ += to - from;
    if (!sorted) std::sort(from, to, [](auto& a, auto& b) { return a.column < b.column; });
  }

  // Dropout: those that `dropout` in random.hpp would drop from the whole row.
  void drop(double rate, std::uint64_t key, std::uint64_t row) {
    const DropRow dropped(rate, key, row);
    const T scale = static_cast<T>(1.0 / (1.0 - rate));
    Entry<T>* const last = std::remove_if(space_.data(), space_.data() + count_, [&](const Entry<T>& e) {
      return dropped(static_cast<std::uint32_t>(e.column));
    });
    count_ = last - space_.data();
    for (Entry<T>* e = space_.data(); e < last; ++e) e->value *= scale;
  }

 private:
  // Where so many more can be put.
  Entry<T>* room_for(std::size_t more) {
    if (space_.size() < count_ + more) space_.resize(std::max(2 * space_.size(), count_ + more));
    return space_.data() + count_;
  }

  // What a row of a table has that is not zero.
  template <class S>
  void list_table(int begin, const Design& table, const S* row) {
    constexpr int together = 64;  // a bit each in a word: one loop for all that it finds
    for (int c = 0; c < table.cols; c += together) {
      const int last = std::min(table.cols, c + together);
      Entry<T>* const from = room_for(together);
      Entry<T>* to = from;
      int next = c;
      if constexpr (std::is_floating_point_v<S>) {
        std::uint64_t found = 0;
        for (; table.col_stride == 1 && next + lanes<S> <= last; next += lanes<S>)
          found |= std::uint64_t{nonzero_bits<S>(load(row + next))} << (next - c);
        for (; found; found &= found - 1) {
          const int at = c + __builtin_ctzll(found);
          *to++ = {begin + at, static_cast<T>(row[at])};
        }
      }
      for (; next < last; ++next) {
        const S value = row[next * table.col_stride];
        *to = {begin + next, static_cast<T>(value)};
        to += value != 0;
      }
      count_ += to - from;
    }
  }

  std::vector<Entry<T>> space_;
  std::size_t count_ = 0;
};

// z: rows x outputs in panels, of which [p0..p1) are computed; w as in product.hpp, the bias its last row.
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
void thin_entries_forward(T* z, std::ptrdiff_t z_ld, const RowEntries<T>* rows, const T* packed,
                          const LayerLayout<T>& place, int r0, int r1) {
  constexpr int V = lanes<T>, L = Thin<T>::line;
  const T* bias = packed + place.biases();
  for (int r = r0; r < r1; ++r) {
    const Entry<T>* e = rows[r].begin();
    T z_of_row[Thin<T>::most_outputs] = {};
    for (int b = 0; b < place.blocks(); ++b) {
      const ThinBlock block = place.block(b);
      T sums[Thin<T>::most_outputs * L] = {};
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

// The entries of a batch whose columns lie in one part of the inputs, by columns; inside a column in the order of rows.
template <class T>
class ByColumn {
 public:
  struct Placed {
    int row;
    T value;
  };

  // begin[r * step]: where row r's entries of the part begin; null: at its first.
  void sort(const RowEntries<T>* rows, int count, Part inputs, const int* begin, int step) {
    first_ = inputs.first;
    start_.assign(inputs.last - inputs.first + 2, 0);
    auto each = [&](auto&& f) {  // f(row, column counted from the part's first, value)
      for (int r = 0; r < count; ++r)
        for (const Entry<T>*e = rows[r].begin() + (begin ? begin[r * step] : 0), *const end = rows[r].end();
             e != end && e->column < inputs.last; ++e)
          f(r, e->column - first_, e->value);
    };
    each([&](int, int column, T) { ++start_[column + 2]; });
    for (std::size_t c = 2; c < start_.size(); ++c) start_[c] += start_[c - 1];
    if (static_cast<int>(placed_.size()) < start_.back()) placed_.resize(start_.back());
    // a column begins at start_[column + 1] and, when all its entries have come, at start_[column]
    each([&](int r, int column, T value) { placed_[start_[column + 1]++] = {r, value}; });
  }

  std::span<const Placed> operator[](int column) const {
    const int* start = start_.data() + (column - first_);
    return {placed_.data() + start[0], static_cast<std::size_t>(start[1] - start[0])};
  }

  // Whether there are none of columns i to last - 1.
  bool empty(int i, int last) const { return start_[i - first_] == start_[last - first_]; }

 private:
  int first_ = 0;
  std::vector<int> start_;
  std::vector<Placed> placed_;
};

constexpr int entry_panels = 4;  // of d, read together: those of a batch stay in the first caches

// g (C panels, g_ld rows apart; one row of each) = those of a column.
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
void thin_entries_gradient(T* g, std::ptrdiff_t g_ld, std::span<const typename ByColumn<T>::Placed> entries, const T* d,
                           std::ptrdiff_t d_ld, int outputs) {
  constexpr int V = lanes<T>;
  for (const auto& e : entries)
    for (int o = 0; o < outputs; ++o) {
      T& sum = g[o * g_ld];
      sum = fused(d[(o / V * d_ld + e.row) * V + o % V], e.value, sum);
    }
}

// The gradient sums of some inputs of a layer, as Pass::gradient emits them.
template <class T, class Emit>
void gradient_of_entries(const LayerLayout<T>& place, const RowEntries<T>* rows, int count, Part inputs,
                         const int* begin, int step, const T* d, std::ptrdiff_t d_ld, ByColumn<T>& entries, T* tile,
                         Emit& emit) {
  constexpr int V = lanes<T>, C = entry_panels;
  if constexpr (requires { emit.takes_row; }) {
    if (place.thin && count == 1 && emit.takes_row) {
      for (const Entry<T>& e : rows[0]) {
        if (e.column < inputs.first || e.column >= inputs.last) continue;
        emit.row(place.block_of(e.column), e.column, 1, place.outputs, &e.value,
                 [&](int o) { return d[o / V * d_ld * V + o % V]; });
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
  entries.sort(rows, count, inputs, begin, step);
  for (int i = inputs.first, n; i < inputs.last; i += n) {
    const int end = place.thin ? std::min(inputs.last, place.block_of(i).inputs.last) : inputs.last;
    const int last = std::min(i + block, end);
    n = last - i;
    if (skips_zeros && entries.empty(i, last)) continue;
    if (place.thin) {
      std::fill_n(tile, place.outputs * block, T(0));
      for (int k = i; k < last; ++k) thin_entries_gradient(tile + (k - i), block, entries[k], d, d_ld, place.outputs);
      for (int o = 0; o < place.outputs; ++o)
        emit(0, place.block_of(i).at(o, i), tile + o * block, Thin<T>::padded(n), false);
      continue;
    }
    for (int p = 0; p < panels; p += C) {
      const int width = std::min(C, panels - p);
      if constexpr (requires { emit.prefetch(std::ptrdiff_t{}, 0); })
        for (int c = 0; c < width; ++c) emit.prefetch(place.panel(p + c) + std::ptrdiff_t{i} * V, n * V);
      with_constant<C>(width, [&](auto c) {
        for (int k = i; k < last; ++k)
          entries_gradient<T, c.value>(tile + (k - i) * V, block, entries[k], d + p * d_ld * V, d_ld);
      });
      for (int c = 0; c < width; ++c)
        emit(0, place.panel(p + c) + std::ptrdiff_t{i} * V, tile + c * block * V, n * V, false);
    }
  }
}

}  // namespace linnet
