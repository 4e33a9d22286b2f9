// A batch of rows and how it enters a network: the only place that deals with the type and the memory layout of the
// user's data.
#pragma once

#include <algorithm>

#include "data/columns.hpp"

namespace linnet::inline LINNET_ISA {

// Rows [first, first + rows) of an order (null: as stored) over the columns.
template <class T>
struct Batch {
  const Columns* x = nullptr;
  Targets<T> t;
  const T* weights = nullptr;  // null: all one
  const T* offset = nullptr;   // rows x outputs, added to the last layer's z; null: none
  const std::uint32_t* order = nullptr;
  std::int64_t first = 0;
  int rows = 0;

  std::int64_t row(int r) const { return order ? order[first + r] : first + r; }
};

// panels (rows [r0..r1) x cols) = the batch's rows, converted to T, levels as columns of 0 and 1.
template <class T>
void gather(T* panels, std::ptrdiff_t ld, const Batch<T>& batch, int r0, int r1) {
  constexpr int V = lanes<T>;
  const Batch<T> b = batch;  // a copy: a store to the panels could change what a reference refers to
  const Columns& x = *b.x;
  if (x.sparse_cols > 0)
    for (int p = x.dense_cols / V; p * V < x.cols(); ++p)
      std::fill_n(panels + (p * ld + r0) * V, static_cast<std::ptrdiff_t>(r1 - r0) * V, T(0));
  pack_tables<T>(panels, ld, x, nullptr, [=](int r) { return b.row(r); }, r0, r1);
  if (x.sparse_cols == 0) return;
  for (int r = r0; r < r1; ++r) {
    x.each_entry(b.row(r), [&](int column, double value) {
      const int c = x.dense_cols + column;
      panels[(c / V * ld + r) * V + c % V] = static_cast<T>(value);
    });
  }
}

// Calls f(column, value) for each nonzero value of row r in the tables.
template <class T, class F>
void each_dense(const Columns& x, std::int64_t r, F&& f) {
  int begin = 0;
  for (const Design& table : x.tables) {
    with_data(table, [&](const auto* data) {
      const auto* from = data + r * table.row_stride;
      for (int c = 0; c < table.cols; ++c) f(begin + c, static_cast<T>(from[c * table.col_stride]));
    });
    begin += table.cols;
  }
}

// Whether each row of the user's table is contiguous values of type T.
template <class T>
bool in_place(const Columns& x) {
  constexpr Design::Kind own = std::is_same_v<T, float> ? Design::Kind::f32 : Design::Kind::f64;
  return x.tables.size() == 1 && x.sparse_cols == 0 && x.tables[0].kind == own && x.tables[0].col_stride == 1;
}

// rows[r] = where row r of the batch lies as T: in the user's table, or written into `space` (rows x cols).
template <class T>
void point_at_rows(const T** rows, std::vector<T>& space, const Batch<T>& batch, int r0, int r1) {
  const Columns& x = *batch.x;
  if (in_place<T>(x)) {
    const Design& table = x.tables[0];
    for (int r = r0; r < r1; ++r) rows[r] = static_cast<const T*>(table.data) + batch.row(r) * table.row_stride;
    return;
  }
  for (int r = r0; r < r1; ++r) {
    T* to = space.data() + static_cast<std::ptrdiff_t>(r) * x.cols();
    each_dense<T>(x, batch.row(r), [&](int column, T value) { to[column] = value; });
    std::fill_n(to + x.dense_cols, x.sparse_cols, T(0));
    x.each_entry(batch.row(r), [&](int column, double value) { to[x.dense_cols + column] = static_cast<T>(value); });
    rows[r] = to;
  }
}

// Prefetches rows [r0..r1) of a batch while something else is computed: of each dense table the columns [c0..c1), and
// the codes. Forced inline: GCC takes a function that only prefetches for one that does nothing.
template <class T>
LINNET_INLINE void prefetch_rows(const Batch<T>& batch, int r0, int r1, int c0, int c1) {
  const Columns& x = *batch.x;
  for (const Design& table : x.tables) {
    if (table.col_stride != 1 && table.cols != 1) continue;
    const std::ptrdiff_t size = table.bytes();
    const std::ptrdiff_t end = std::min(c1, table.cols) * size;
    for (int r = r0; r < r1; ++r) {
      const char* row = static_cast<const char*>(table.data) + batch.row(r) * table.row_stride * size;
      for (std::ptrdiff_t at = c0 * size; at < end; at += cache_line) __builtin_prefetch(row + at, 0, 2);
    }
  }
  for (const CodeColumn& column : x.codes)
    for (int r = r0; r < r1; ++r) __builtin_prefetch(column.place(batch.row(r)), 0, 2);
}

}  // namespace linnet::inline LINNET_ISA
