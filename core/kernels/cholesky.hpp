// Symmetric positive semidefinite systems: a = l l', in the given order. A row whose pivot is mere rounding error
// depends on the rows before it: it is skipped, and its unknown is zero.
//
//   l_ij = (a_ij - sum over k < j of l_ik l_jk) / l_jj
//
// Blocks of columns are computed from left to right. Most of the work, the terms of the sum from earlier blocks, is a
// product of panels (kernels/product.hpp). Every sum is one chain of multiply-adds in ascending order of k,
// whatever the width of a vector and of a block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/buffer.hpp"
#include "kernels/product.hpp"
#include "threads/interrupt.hpp"

namespace linnet::inline LINNET_ISA {

// Overwrites the lower triangle of a (n x n) with l. A pivot counts as zero when it is less than `tolerance` times the
// diagonal it came from; kept[i] is then 0 and row and column i of l are zero. False when interrupted.
inline bool cholesky(double* a, std::ptrdiff_t n, double tolerance, std::uint8_t* kept, Interrupt& interrupt) {
  constexpr int V = lanes<double>, block = 48;  // columns, a multiple of V
  const int rows = static_cast<int>(n);
  const std::ptrdiff_t ld = (n + 15) / 16 * 16 + cache_line / vector_bytes;  // an odd number of cache lines
  const Buffer<double> l(panels_of<double>(rows) * ld * V), turned(block * ld);
  double diagonal[block * block];  // l of a block's own rows, column by column
  auto element = [&](std::ptrdiff_t i, std::ptrdiff_t j) -> double& { return l[(j / V * ld + i) * V + j % V]; };
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) element(i, j) = a[i * n + j];

  for (int start = 0; start < rows; start += block) {
    if (interrupt.due()) return false;
    const int width = std::min(block, rows - start), panels = panels_of<double>(width), last = start + width;
    double* columns = l.get() + std::ptrdiff_t{start / V} * ld * V;
    // subtract what earlier blocks contribute: columns -= l (rows from start on) times l (the block's own rows)'
    for (int q = 0; q < panels; ++q) {
      for (int k = 0; k < start; k += V) {
        double* to = turned.get() + (std::ptrdiff_t{q} * start + k) * V;
        transpose_square(to, l.get() + (k / V * ld + start + q * V) * V);
        for (int i = 0; i < V; ++i) store(to + i * V, -load(to + i * V));
      }
    }
    product<double>(columns, ld, nullptr, 0, l.get(), ld, turned.get(), start, start, start, rows, 0, panels, true);
    // the block's own rows
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j <= i; ++j) {
        double sum = element(start + i, start + j);
        for (int k = 0; k < j; ++k) sum = fused(-diagonal[k * block + i], diagonal[k * block + j], sum);
        if (i == j) {
          kept[start + j] = sum > tolerance * a[(start + j) * (n + 1)];  // false for NaN
          sum = kept[start + j] ? std::sqrt(sum) : 0.0;
        } else {
          sum = kept[start + j] ? sum / diagonal[j * block + j] : 0.0;
        }
        element(start + i, start + j) = diagonal[j * block + i] = sum;
      }
    }
    // the rows below, one per lane
    for (int i = last; i < rows; i += V) {
      Vec<double> row[block];
      auto* x = reinterpret_cast<double*>(row);
      for (int q = 0; q < panels; ++q) transpose_square(x + q * V * V, columns + (q * ld + i) * V);
      for (int k = 0; k < width; ++k) {
        const double* of_column = diagonal + k * block;
        const Vec<double> found = kept[start + k] ? row[k] / of_column[k] : Vec<double>{};
        row[k] = found;
#pragma GCC unroll 4
        for (int j = k + 1; j < width; ++j) row[j] = fma(-found, broadcast(of_column[j]), row[j]);
      }
      for (int q = 0; q < panels; ++q) transpose_square(columns + (q * ld + i) * V, x + q * V * V);
    }
  }

  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) a[i * n + j] = kept[i] ? element(i, j) : 0.0;
  return true;
}

// Each row of x (rows x n) becomes the solution of l l' x = x for the rows of l kept, zero for the others. A group of
// rows of x shares one pass over l, which may be far away in memory.
inline void cholesky_solve(const double* l, std::ptrdiff_t n, const std::uint8_t* kept, double* x,
                           std::ptrdiff_t rows) {
  constexpr std::ptrdiff_t group = 16;
  for (; rows > 0; rows -= group, x += group * n) {
    const double* end = x + std::min(group, rows) * n;
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (double* y = x; y < end; y += n) y[i] = kept[i] ? (y[i] - dot(l + i * n, y, i)) / l[i * n + i] : 0.0;
    for (std::ptrdiff_t i = n - 1; i >= 0; --i) {
      if (!kept[i]) continue;
      for (double* y = x; y < end; y += n) {
        const double found = y[i] /= l[i * n + i];
        for (std::ptrdiff_t j = 0; j < i; ++j) y[j] = fused(-l[i * n + j], found, y[j]);
      }
    }
  }
}

// x (n) = the solution of a x = x, a (n x n) symmetric and positive definite, scaled to a diagonal of ones first.
// Unknowns whose pivot is mere rounding error are zero. `l` (n x n), `scale` (n) and `kept` (n) are scratch.
inline void cholesky_solve_scaled(const double* a, std::ptrdiff_t n, double* x, double* l, double* scale,
                                  std::uint8_t* kept) {
  constexpr double least_pivot = 1e-14;
  Interrupt unasked(nullptr);
  for (std::ptrdiff_t i = 0; i < n; ++i) scale[i] = a[i * (n + 1)] > 0 ? 1 / std::sqrt(a[i * (n + 1)]) : 0.0;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) l[i * n + j] = a[i * n + j] * scale[i] * scale[j];
  cholesky(l, n, least_pivot, kept, unasked);
  for (std::ptrdiff_t i = 0; i < n; ++i) x[i] *= scale[i];
  cholesky_solve(l, n, kept, x, 1);
  for (std::ptrdiff_t i = 0; i < n; ++i) x[i] *= scale[i];
}

}  // namespace linnet::inline LINNET_ISA
