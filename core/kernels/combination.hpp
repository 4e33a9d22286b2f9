// A linear combination of columns, row by row, in about twice the precision of its numbers and rounded once at the end.
// Otherwise, what remains of a column after subtracting others that nearly determine it would have no correct digits
// left.
//
// A product is p = a b and its error fma(a, b, -p); a sum s = x + y has the error (x - (s - v)) + (y - v), v = s - x.
#pragma once

#include <algorithm>
#include <cmath>

#include "data/columns.hpp"
#include "threads/interrupt.hpp"

namespace linnet::inline LINNET_ISA {

// out (rows) = last factor + sum over columns of factor times x; false when interrupted.
inline bool combination(const Columns& x, const double* factor, double* out, Interrupt& interrupt) {
  constexpr std::int64_t block = 256;  // rows
  double high[block], low[block];
  auto add = [&](std::int64_t i, double a, double b) {
    const double p = a * b, s = high[i] + p, v = s - high[i];
    low[i] += ((high[i] - (s - v)) + (p - v)) + std::fma(a, b, -p);
    high[i] = s;
  };
  for (std::int64_t first = 0; first < x.rows; first += block) {
    if (interrupt.due()) return false;
    const std::int64_t rows = std::min(block, x.rows - first);
    std::fill_n(high, rows, factor[x.cols()]);
    std::fill_n(low, rows, 0.0);
    const double* of_table = factor;
    for (const Design& table : x.tables) {
      with_data(table, [&](const auto* data) {
        for (int c = 0; c < table.cols; ++c) {
          if (of_table[c] == 0) continue;
          const auto* from = data + first * table.row_stride + c * table.col_stride;
          for (std::int64_t i = 0; i < rows; ++i) add(i, of_table[c], static_cast<double>(from[i * table.row_stride]));
        }
      });
      of_table += table.cols;
    }
    for (std::int64_t i = 0; x.sparse_cols && i < rows; ++i)
      x.each_entry(first + i, [&](int c, double v) { add(i, of_table[c], v); });
    for (std::int64_t i = 0; i < rows; ++i) out[first + i] = high[i] + low[i];
  }
  return true;
}

}  // namespace linnet::inline LINNET_ISA
