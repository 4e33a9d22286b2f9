// The columns of a linear model, read where the user has them: dense tables (an array, or the columns of a data frame
// one by one), a sparse matrix by rows, and columns of codes, each of which stands for as many 0/1 columns as it has
// levels and is never expanded. Columns are numbered in that order: dense, sparse, levels.
#pragma once

#include <utility>

#include "design.hpp"

namespace linnet {

// A sparse matrix by rows: the entries of row r are those from start[r] to start[r + 1].
struct SparseRows {
  const std::int64_t* start = nullptr;
  const void* column = nullptr;  // int32 or int64
  bool long_column = false;
  Design::Kind kind = Design::Kind::f64;
  const void* value = nullptr;
  int cols = 0;
};

// Whether some row names a column twice.
inline bool has_duplicates(const SparseRows& x, std::int64_t rows) {
  std::vector<std::int64_t> last(x.cols, -1);  // the row that named a column last
  auto look = [&](const auto* column) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t e = x.start[r]; e < x.start[r + 1]; ++e)
        if (std::exchange(last[column[e]], r) == r) return true;
    return false;
  };
  return x.long_column ? look(static_cast<const std::int64_t*>(x.column))
                       : look(static_cast<const std::int32_t*>(x.column));
}

// A code 0 .. levels - 1 a row; any other has no effect.
struct CodeColumn {
  const std::int32_t* code = nullptr;
  int levels = 0;
};

// Rows of a block: neighbours from `first` on, or those that an index names.
struct BlockRows {
  std::int64_t first = 0;
  const std::int64_t* index = nullptr;

  std::int64_t operator()(std::int64_t r) const { return index ? index[first + r] : first + r; }
};

struct Columns {
  std::int64_t rows = 0;
  std::vector<Design> tables;
  std::vector<double> center;  // taken off the dense columns
  SparseRows sparse;
  std::vector<CodeColumn> codes;
  int dense_cols = 0, sparse_cols = 0;  // sparse_cols: those of the sparse matrix and all levels

  int cols() const { return dense_cols + sparse_cols; }

  // Calls f(columns, values, count) with what row r has in the sparse matrix, in whatever types.
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
      const std::int32_t code = c.code[r];
      if (code >= 0 && code < c.levels) f(first + code);
      first += c.levels;
    }
  }

  // Calls f(column, value) for what row r has in the sparse matrix and in the code columns; columns count from 0 here.
  template <class F>
  LINNET_INLINE void each_entry(std::int64_t r, F&& f) const {
    with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
      for (std::int64_t e = 0; e < count; ++e) f(static_cast<int>(column[e]), static_cast<double>(value[e]));
    });
    each_level(r, [&](int column) { f(column, 1.0); });
  }

  // Σ value theta[column] over the same entries.
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

// panels (rows x (dense columns + 1)) = rows of the tables less their centers, then a one: the column of the intercept.
// What is left of the last panel stays as it is.
inline void pack(double* panels, std::ptrdiff_t ld, const Columns& x, BlockRows row, int rows) {
  constexpr int V = lanes<double>;
  auto at = [&](int r, int c) -> double& { return panels[(c / V * ld + r) * V + c % V]; };
  auto copy = [&](const Design& table, const auto* data, int begin) {
    const double* center = x.center.data() + begin;
    if (table.col_stride != 1 || table.cols < V || begin % V) {  // column by column
      for (int c = 0; c < table.cols; ++c) {
        const auto* from = data + c * table.col_stride;
        double* to = &at(0, begin + c);
        for (int r = 0; r < rows; ++r) to[r * V] = static_cast<double>(from[row(r) * table.row_stride]) - center[c];
      }
      return;
    }
    const int whole = table.cols / V * V;
    for (int r = 0; r < rows; ++r) {
      const auto* from = data + row(r) * table.row_stride;
      double* to = &at(r, begin);
      for (int c = 0; c < whole; c += V, to += ld * V) {
        Vec<double> v;
        for (int lane = 0; lane < V; ++lane) v[lane] = static_cast<double>(from[c + lane]);
        store(to, v - load(center + c));
      }
      for (int c = whole; c < table.cols; ++c) to[c - whole] = static_cast<double>(from[c]) - center[c];
    }
  };
  int begin = 0;
  for (const Design& table : x.tables) {
    switch (table.kind) {
      case Design::Kind::f32:
        copy(table, static_cast<const float*>(table.data), begin);
        break;
      case Design::Kind::f64:
        copy(table, static_cast<const double*>(table.data), begin);
        break;
      case Design::Kind::u8:
        copy(table, static_cast<const std::uint8_t*>(table.data), begin);
        break;
    }
    begin += table.cols;
  }
  for (int r = 0; r < rows; ++r) at(r, x.dense_cols) = 1;
}

}  // namespace linnet
