// A head row by row: mean, loss, slope and curvature at given z, in float64 and without weights. The results for a row
// depend on that row alone. Sums over rows are in objective/; the formulas of all are in heads/formulas.hpp.
#pragma once

#include <algorithm>

#include "base/buffer.hpp"
#include "heads/family.hpp"

namespace linnet::inline LINNET_ISA {

// The requested arrays; null: not requested.
struct HeadRows {
  double* mean = nullptr;       // rows x outputs
  double* loss = nullptr;       // rows
  double* slope = nullptr;      // dloss/dz, rows x outputs
  double* curvature = nullptr;  // d2loss/dz_k2, rows x outputs: see diagonal_lanes
  bool expected = false;        // the curvature's mean over the distribution of t
};

template <class Formulas>
void rows_by_formulas(const Formulas& formulas, const double* z, const Targets<double>& targets, std::int64_t rows,
                      int outputs, const HeadRows& wanted) {
  constexpr int V = lanes<double>;
  const std::ptrdiff_t size = std::ptrdiff_t{outputs} * V;
  const Buffer<double> block(size), t(size), out(size);
  for (std::int64_t first = 0; first < rows; first += V) {
    const int count = static_cast<int>(std::min<std::int64_t>(V, rows - first));
    std::int64_t row[V];
    for (int lane = 0; lane < V; ++lane) {
      row[lane] = first + std::min(lane, count - 1);  // beyond the end, the last row repeated
      for (int k = 0; k < outputs; ++k) block[k * V + lane] = z[row[lane] * outputs + k];
    }
    auto put = [&](double* to) {
      for (int lane = 0; to && lane < count; ++lane)
        for (int k = 0; k < outputs; ++k) to[row[lane] * outputs + k] = out[k * V + lane];
    };
    if (wanted.mean) mean_lanes(formulas, out.get(), block.get(), outputs), put(wanted.mean);
    if (!wanted.loss && !wanted.slope && !wanted.curvature) continue;
    with_targets(formulas, targets, row, outputs, t.get(), [&](auto&& target) {
      if (wanted.curvature) {
        diagonal_lanes(formulas, out.get(), block.get(), outputs, target, wanted.expected);
        put(wanted.curvature);
      }
      const Vec<double> loss = loss_lanes<true>(formulas, out.get(), block.get(), outputs, target, broadcast(1.0));
      for (int lane = 0; wanted.loss && lane < count; ++lane) wanted.loss[row[lane]] = loss[lane];
      put(wanted.slope);
    });
  }
}

// z: rows x outputs. Only the mean needs no targets.
inline void head_rows(Head head, const double* z, const Targets<double>& targets, std::int64_t rows, int outputs,
                      const HeadRows& wanted) {
  with_formulas<double>(head,
                        [&](const auto& formulas) { rows_by_formulas(formulas, z, targets, rows, outputs, wanted); });
}

}  // namespace linnet::inline LINNET_ISA
