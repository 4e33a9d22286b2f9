// Symmetric positive semidefinite systems: a = l l', row by row, in the order given. A row whose pivot is nothing but
// rounding depends on the rows before it: it is left out, and its unknown is zero. All sums run over sixteen partial
// sums, whatever the width of a vector.
#pragma once

#include <cmath>
#include <cstdint>

#include "interrupt.hpp"
#include "simd.hpp"

namespace linnet {

inline double dot(const double* a, const double* b, std::ptrdiff_t n) {
  constexpr int V = lanes<double>, parts = 16 / V;
  Vec<double> sum[parts] = {};
  std::ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int p = 0; p < parts; ++p) sum[p] = fma(load(a + i + p * V), load(b + i + p * V), sum[p]);
  double part[16];
  for (int p = 0; p < parts; ++p) store(part + p * V, sum[p]);
  for (int p = 0; i < n; ++i, ++p) part[p] = std::fma(a[i], b[i], part[p]);
  for (int half = 8; half >= 1; half /= 2)
    for (int p = 0; p < half; ++p) part[p] += part[p + half];
  return part[0];
}

// Overwrites the lower triangle of a (n x n) with l. A pivot counts as zero when it is less than `tolerance` times the
// diagonal it came from; kept[i] is then 0 and row and column i of l are zero. False when interrupted.
inline bool cholesky(double* a, std::ptrdiff_t n, double tolerance, std::uint8_t* kept, Interrupt& interrupt) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    if (interrupt.due()) return false;
    double* row = a + i * n;
    for (std::ptrdiff_t j = 0; j < i; ++j) row[j] = kept[j] ? (row[j] - dot(row, a + j * n, j)) / a[j * n + j] : 0.0;
    const double pivot = row[i] - dot(row, row, i);
    kept[i] = pivot > tolerance * row[i];  // false for NaN
    row[i] = kept[i] ? std::sqrt(pivot) : 0.0;
    if (!kept[i])
      for (std::ptrdiff_t j = 0; j < i; ++j) row[j] = 0;
  }
  return true;
}

// x (n) = the solution of l l' x = x for the rows kept, zero for the others.
inline void cholesky_solve(const double* l, std::ptrdiff_t n, const std::uint8_t* kept, double* x) {
  for (std::ptrdiff_t i = 0; i < n; ++i) x[i] = kept[i] ? (x[i] - dot(l + i * n, x, i)) / l[i * n + i] : 0.0;
  for (std::ptrdiff_t i = n - 1; i >= 0; --i) {
    if (!kept[i]) continue;
    x[i] /= l[i * n + i];
    for (std::ptrdiff_t j = 0; j < i; ++j) x[j] = std::fma(-l[i * n + j], x[i], x[j]);
  }
}

}  // namespace linnet
