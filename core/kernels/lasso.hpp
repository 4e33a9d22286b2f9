// One step of an l1-penalised problem: the minimum of its quadratic model,
//   g'd + d'Hd / 2 + sum_j l1_j |theta_j + d_j|,
// by cycling through the coordinates and minimising over each exactly: zeros of the minimum are exactly zero.
#pragma once

#include <cmath>
#include <vector>

#include "base/simd.hpp"
#include "threads/interrupt.hpp"

namespace linnet::inline LINNET_ISA {

// d (n) = the minimum, starting from d = 0. `h` (n x n) symmetric; coordinates with free[j] = 0 stay. With
// nonnegative[j] the sum theta_j + d_j is kept at or above zero. Ends when a round gains less than `tolerance`, or
// after `rounds` of them; returns how many there were, 0 when interrupted.
inline int lasso_step(double* d, const double* h, const double* g, const double* theta, const double* l1,
                      const std::uint8_t* free, const std::uint8_t* nonnegative, std::ptrdiff_t n, double tolerance,
                      int rounds, Interrupt& interrupt) {
  constexpr int V = lanes<double>;
  std::vector<double> slope(g, g + n);  // g + H d
  std::fill_n(d, n, 0.0);
  std::vector<std::ptrdiff_t> active;
  bool all = true;
  for (int round = 1;; ++round) {
    double gain = 0;
    auto visit = [&](std::ptrdiff_t j) {
      const double curvature = h[j * n + j];
      if (!free[j] || !(curvature > 0)) return;
      const double from = theta[j] + d[j], middle = from - slope[j] / curvature, width = l1[j] / curvature;
      double to = std::abs(middle) <= width ? 0.0 : middle - std::copysign(width, middle);
      if (nonnegative[j] && to < 0) to = 0;
      const double move = to - from;
      if (move == 0) return;
      gain = std::max(gain, move * move * curvature);
      d[j] = to - theta[j];
      const double* row = h + j * n;
      const Vec<double> by = broadcast(move);
      std::ptrdiff_t i = 0;
      for (; i + V <= n; i += V) store(slope.data() + i, fma(by, load(row + i), load(slope.data() + i)));
      for (; i < n; ++i) slope[i] = std::fma(move, row[i], slope[i]);
    };
    if (all) {
      active.clear();
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        visit(j);
        if (theta[j] + d[j] != 0 || l1[j] == 0) active.push_back(j);
      }
    } else {
      for (const std::ptrdiff_t j : active) visit(j);
    }
    if (round == rounds) return round;
    if (interrupt.due()) return 0;
    if (gain <= tolerance) {
      if (all) return round;
      all = true;  // the nonzero ones no longer move: check all of them once more
    } else {
      all = false;
    }
  }
}

}  // namespace linnet::inline LINNET_ISA
