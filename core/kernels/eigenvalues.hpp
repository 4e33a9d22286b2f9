// Eigenvalues of a symmetric matrix, without vectors: reflections make it tridiagonal, rotations (implicit QL) make
// that diagonal. LAPACK's results would depend on the BLAS below it; here each sum has one order.
//
// A reflection of row i, with u the rest of it and h = u'u / 2:    p = A u / h,  q = p - u (u'p) / 2h,
// A becomes A - u q' - q u'. Of A only the lower triangle is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/product.hpp"
#include "threads/interrupt.hpp"

namespace linnet::inline LINNET_ISA {

// Overwrites a (n x n, only the lower triangle is read); `values` (n) in ascending order. All NaN if a has
// values that are not finite, or the rotations do not converge. False when interrupted.
inline bool eigenvalues(double* a, std::ptrdiff_t n, double* values, Interrupt& interrupt) {
  double largest = 0;
  bool finite = true;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    for (std::ptrdiff_t j = 0; j <= i; ++j) {
      finite = finite && std::isfinite(a[i * n + j]);
      largest = std::max(largest, std::abs(a[i * n + j]));
    }
  }
  std::fill_n(values, n, finite ? 0.0 : std::numeric_limits<double>::quiet_NaN());
  if (!finite || largest == 0) return true;
  const int exponent = std::ilogb(largest);  // scaling by a power of two rounds nothing and keeps squares finite
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) a[i * n + j] = std::scalbn(a[i * n + j], -exponent);

  std::vector<double> beside(static_cast<std::size_t>(n)), q(static_cast<std::size_t>(n));
  for (std::ptrdiff_t i = n - 1; i > 0; --i) {
    if (interrupt.due()) return false;
    double* u = a + i * n;
    const double rest = dot(u, u, i - 1), last = u[i - 1];
    if (rest == 0) {  // already tridiagonal here
      beside[i] = last;
      continue;
    }
    const double length = std::sqrt(rest + last * last);
    beside[i] = last > 0 ? -length : length;
    u[i - 1] = last - beside[i];
    const double h = rest + last * last - last * beside[i];
    std::fill_n(q.begin(), i, 0.0);
    for (std::ptrdiff_t j = 0; j < i; ++j) {
      const double* row = a + j * n;
      const double by = u[j];
      q[j] = dot(row, u, j + 1);
      for (std::ptrdiff_t k = 0; k < j; ++k) q[k] += by * row[k];
    }
    for (std::ptrdiff_t j = 0; j < i; ++j) q[j] /= h;
    const double half = dot(q.data(), u, i) / (h + h);
    for (std::ptrdiff_t j = 0; j < i; ++j) q[j] -= half * u[j];
    for (std::ptrdiff_t j = 0; j < i; ++j) {
      double* row = a + j * n;
      const double of_u = u[j], of_q = q[j];
      for (std::ptrdiff_t k = 0; k <= j; ++k) row[k] -= of_u * q[k] + of_q * u[k];
    }
  }
  for (std::ptrdiff_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  std::rotate(beside.begin(), beside.begin() + 1, beside.end());  // [i]: between i and i + 1
  beside[n - 1] = 0;

  constexpr double rounding = std::numeric_limits<double>::epsilon();
  constexpr int max_rounds = 100;
  for (std::ptrdiff_t first = 0; first < n; ++first) {
    for (int round = 0;; ++round) {
      std::ptrdiff_t end = first;
      while (end + 1 < n && std::abs(beside[end]) > rounding * (std::abs(values[end]) + std::abs(values[end + 1])) &&
             std::abs(beside[end]) > std::numeric_limits<double>::min())
        ++end;
      if (end == first) break;
      if (round == max_rounds) {
        std::fill_n(values, n, std::numeric_limits<double>::quiet_NaN());
        return true;
      }
      double g = (values[first + 1] - values[first]) / (2 * beside[first]), r = std::sqrt(g * g + 1);
      g = values[end] - values[first] + beside[first] / (g + (g < 0 ? -r : r));
      double s = 1, c = 1, p = 0;
      std::ptrdiff_t i = end - 1;
      for (; i >= first; --i) {
        const double f = s * beside[i], b = c * beside[i];
        r = std::sqrt(f * f + g * g);
        beside[i + 1] = r;
        if (r == 0) {
          values[i + 1] -= p;
          beside[end] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = values[i + 1] - p;
        r = (values[i] - g) * s + 2 * c * b;
        p = s * r;
        values[i + 1] = g + p;
        g = c * r - b;
      }
      if (i >= first) continue;
      values[first] -= p;
      beside[first] = g;
      beside[end] = 0;
    }
  }
  std::sort(values, values + n);
  for (std::ptrdiff_t i = 0; i < n; ++i) values[i] = std::scalbn(values[i], exponent);
  return true;
}

}  // namespace linnet::inline LINNET_ISA
