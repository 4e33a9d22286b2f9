// The columns of a model, read where the user has them: dense tables (an array, or the columns of a data frame one by
// one), a sparse matrix by rows, and columns of codes, each of which stands for as many 0/1 columns as it has levels.
// Columns are numbered in that order: dense, sparse, levels. 0/1 columns exist for a few rows at a time at most.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "data/dense.hpp"

namespace linnet::inline LINNET_ISA {

// A sparse matrix by rows: the entries of row r are those from start[r] to start[r + 1].
struct SparseRows {
  const std::int64_t* start = nullptr;
  const void* column = nullptr;  // int32 or int64
  bool long_column = false;
  Design::Kind kind = Design::Kind::f64;
  const void* value = nullptr;
  int cols = 0;
  std::int64_t max_row_entries = 0;  // entries
};

// Whether any row has two entries in the same column.
inline bool has_duplicates(const SparseRows& x, std::int64_t rows) {
  std::vector<std::int64_t> last;  // by column: the last row with an entry in it, of rows whose columns do not ascend
  auto look = [&](const auto* column) {
    for (std::int64_t r = 0; r < rows; ++r) {
      bool rises = true;
      for (std::int64_t e = x.start[r] + 1; e < x.start[r + 1]; ++e) rises &= column[e - 1] < column[e];
      if (rises) continue;
      if (last.empty()) last.assign(x.cols, -1);
      for (std::int64_t e = x.start[r]; e < x.start[r + 1]; ++e)
        if (std::exchange(last[column[e]], r) == r) return true;
    }
    return false;
  };
  return x.long_column ? look(static_cast<const std::int64_t*>(x.column))
                       : look(static_cast<const std::int32_t*>(x.column));
}

// One code 0 .. levels - 1 per row, in as few bytes as hold it; any other value has no effect.
struct CodeColumn {
  const void* code = nullptr;  // int8, int16 or int32
  int bytes = 4;
  int levels = 0;

  LINNET_INLINE const char* place(std::int64_t r) const { return static_cast<const char*>(code) + r * bytes; }
  LINNET_INLINE int operator[](std::int64_t r) const {
    if (bytes == 1) return static_cast<const std::int8_t*>(code)[r];
    if (bytes == 2) return static_cast<const std::int16_t*>(code)[r];
    return static_cast<const std::int32_t*>(code)[r];
  }
};

// Rows of a block: consecutive from `first` on, or those listed by an index.
struct BlockRows {
  std::int64_t first = 0;
  const std::int64_t* index = nullptr;

  std::int64_t operator()(std::int64_t r) const { return index ? index[first + r] : first + r; }
};

struct Columns {
  std::int64_t rows = 0;
  std::vector<Design> tables;
  SparseRows sparse;
  std::vector<CodeColumn> codes;
  int dense_cols = 0, sparse_cols = 0;  // sparse_cols: those of the sparse matrix and all levels
  double entries_per_row = 0;           // mean number of nonzero values per row: see count_entries

  int cols() const { return dense_cols + sparse_cols; }

  // An upper bound on the nonzero values of a row.
  std::int64_t max_entries() const {
    return std::int64_t{dense_cols} + sparse.max_row_entries + static_cast<std::int64_t>(codes.size());
  }

  // Counts one per column of codes, the entries of the sparse matrix, and the nonzero values in a sample of the tables'
  // rows.
  void count_entries() {
    constexpr std::int64_t looked_at = 32;
    const std::int64_t some = std::min(rows, looked_at);
    double in_tables = 0;
    for (const Design& table : tables) {
      with_data(table, [&](const auto* data) {
        for (std::int64_t i = 0; i < some; ++i) {
          const auto* row = data + i * rows / some * table.row_stride;
          for (int c = 0; c < table.cols; ++c) in_tables += row[c * table.col_stride] != 0;
        }
      });
    }
    const double in_matrix = sparse.cols ? static_cast<double>(sparse.start[rows] - sparse.start[0]) : 0;
    entries_per_row = static_cast<double>(codes.size()) +
                      in_tables / static_cast<double>(std::max<std::int64_t>(1, some)) +
                      in_matrix / static_cast<double>(std::max<std::int64_t>(1, rows));
  }

  // Calls f(columns, values, count) with the entries of row r in the sparse matrix, in their own types.
  template <class F>
  LINNET_INLINE void with_sparse(std::int64_t r, F&& f) const {
    if (sparse.cols == 0) return;
    const std::int64_t first = sparse.start[r], count = sparse.start[r + 1] - first;
    auto by_value = [&](const auto* column) {
      if (sparse.kind == Design::Kind::f64)
        f(column + first, static_cast<const double*>(sparse.value) + first, count);
      else
        f(column + first, static_cast<const float*>(sparse.value) + first, count);
    };
    if (sparse.long_column)
      by_value(static_cast<const std::int64_t*>(sparse.column));
    else
      by_value(static_cast<const std::int32_t*>(sparse.column));
  }

  // Calls f(column) for the levels of row r.
  template <class F>
  LINNET_INLINE void each_level(std::int64_t r, F&& f) const {
    int first = sparse.cols;
    for (const CodeColumn& c : codes) {
      const int code = c[r];
      if (code >= 0 && code < c.levels) f(first + code);
      first += c.levels;
    }
  }

  // Calls f(column, value) for the entries of row r in the sparse matrix and in the code columns, which count
  // from 0 here.
  template <class F>
  LINNET_INLINE void each_entry(std::int64_t r, F&& f) const {
    with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
      for (std::int64_t e = 0; e < count; ++e) f(static_cast<int>(column[e]), static_cast<double>(value[e]));
    });
    each_level(r, [&](int column) { f(column, 1.0); });
  }

  // Σ value theta[column] over those entries of row r.
  double entries_dot(std::int64_t r, const double* theta) const {
    double sum[4] = {};  // four at a time: an addition waits for the one before it
    with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
      std::int64_t e = 0;
      for (; e + 4 <= count; e += 4)
        for (int i = 0; i < 4; ++i) sum[i] += static_cast<double>(value[e + i]) * theta[column[e + i]];
      for (; e < count; ++e) sum[0] += static_cast<double>(value[e]) * theta[column[e]];
    });
    each_level(r, [&](int column) { sum[1] += theta[column]; });
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
};

// panels (rows [r0..r1)) = rows row(r) of a table, from column `begin` of the panels on, converted to T. `center`, one
// per column, is subtracted; nullptr: nothing.
template <class T, class S, class Center, class Row>
void pack_table(T* panels, std::ptrdiff_t ld, int begin, const Design& table, const S* data, Center center, Row row,
                int r0, int r1) {
  constexpr int V = lanes<T>;
  constexpr bool centered = !std::is_null_pointer_v<Center>;
  const std::ptrdiff_t row_stride = table.row_stride, col_stride = table.col_stride;  // copies: the panels could alias
  const int cols = table.cols, whole = cols / V * V;
  auto at = [=](int r, int c) { return panels + (c / V * ld + r) * V + c % V; };
  auto value_of = [=](S value, int c) {
    if constexpr (centered)
      return static_cast<T>(value) - center[c];
    else
      return static_cast<T>(value);
  };
  if (col_stride != 1 || cols < V || begin % V) {  // column by column
    for (int c = 0; c < cols; ++c) {
      const S* from = data + c * col_stride;
      T* to = at(0, begin + c);
      for (int r = r0; r < r1; ++r) to[r * V] = value_of(from[row(r) * row_stride], c);
    }
    return;
  }
  const int rest = cols - whole;
  for (int r = r0; r < r1; ++r) {
    const S* from = data + row(r) * row_stride;
    T* to = at(r, begin);
    for (int c = 0; c < whole; c += V, to += ld * V) {
      if constexpr (std::is_same_v<T, S> && centered)
        store(to, load(from + c) - load(center + c));
      else if constexpr (std::is_same_v<T, S>)
        store(to, load(from + c));
      else
        for (int lane = 0; lane < V; ++lane) to[lane] = value_of(from[c + lane], c + lane);
    }
    if (rest == 0) continue;
    if constexpr (std::is_same_v<T, S> && centered)  // zeros beyond, where the next table's columns follow
      store(to, load_some(from + whole, rest) - load_some(center + whole, rest));
    else if constexpr (std::is_same_v<T, S>)
      store(to, load_some(from + whole, rest));
    else
      for (int c = whole; c < cols; ++c) to[c - whole] = value_of(from[c], c);
  }
}

// Packs all tables as above, one after the other.
template <class T, class Center, class Row>
void pack_tables(T* panels, std::ptrdiff_t ld, const Columns& x, Center center, Row row, int r0, int r1) {
  int begin = 0;
  for (const Design& table : x.tables) {
    with_data(table, [&](const auto* data) {
      if constexpr (std::is_null_pointer_v<Center>)
        pack_table(panels, ld, begin, table, data, nullptr, row, r0, r1);
      else
        pack_table(panels, ld, begin, table, data, center + begin, row, r0, r1);
    });
    begin += table.cols;
  }
}

}  // namespace linnet::inline LINNET_ISA
