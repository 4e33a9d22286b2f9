// The head on panels: loss and dloss/dz of a chunk of rows, and the predictions from the last layer. Panels are
// transposed V rows at a time into vectors that hold one output of V rows each: one row per lane.
#pragma once

#include <vector>

#include "data/batch.hpp"
#include "heads/family.hpp"
#include "kernels/product.hpp"

namespace linnet::inline LINNET_ISA {

// Writes a block of lanes (cols vectors, with room for whole panels) back to rows [r, r + V) of the panels.
template <class T>
void store_lanes(T* panels, std::ptrdiff_t ld, T* block, int cols, int r) {
  constexpr int V = lanes<T>;
  for (int k = cols; k < panels_of<T>(cols) * V; ++k) store(block + k * V, Vec<T>{});  // padding stays zero
  for (int p = 0; p < panels_of<T>(cols); ++p) transpose_square(panels + (p * ld + r) * V, block + p * V * V);
}

// Calls work(block, r) for groups of V rows with the columns of `panels` as vectors, one row per lane; the block is
// written back when work returns true.
template <class T, class Work>
void for_lanes(const T* panels, std::ptrdiff_t ld, int cols, int r0, int r1, T* block, Work&& work) {
  constexpr int V = lanes<T>;
  for (int r = r0; r < r1; r += V) {
    for (int p = 0; p < panels_of<T>(cols); ++p) transpose_square(block + p * V * V, panels + (p * ld + r) * V);
    if (work(block, r)) store_lanes(const_cast<T*>(panels), ld, block, cols, r);
  }
}

// A head, and the last layer's arrays for a chunk of rows.
template <class T>
struct HeadPanels {
  Head head;
  const CustomLoss& custom;  // of a custom head
  int outputs;
  const T* z;  // input of the head
  T* dz;       // output: dloss/dz, or null
  std::ptrdiff_t ld;
  T* loss;    // output: the loss of each row
  T* fitted;  // output: the mean of each row, rows of the table x outputs, or null
};

// A custom loss, for rows [r0, r1) of a batch.
template <class T>
void custom_head_rows(const Batch<T>& batch, const HeadPanels<T>& to, int r0, int r1) {
  constexpr int V = lanes<T>;
  const int outputs = to.outputs, rows = r1 - r0;
  const std::size_t size = static_cast<std::size_t>(rows) * outputs;
  std::vector<double> z(size), t(size), dz(size), loss(rows);
  auto each = [&](auto&& f) {  // f(place in a matrix by rows, place in the panels, row of the table, output)
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < outputs; ++k)
        f(std::ptrdiff_t{r} * outputs + k, (k / V * to.ld + r0 + r) * V + k % V, batch.row(r0 + r), k);
  };
  each([&](std::ptrdiff_t i, std::ptrdiff_t at, std::int64_t row, int k) {
    z[i] = to.z[at];
    t[i] = batch.t.values[row * outputs + k];
    if (batch.offset) z[i] += batch.offset[row * outputs + k];
    if (to.fitted) to.fitted[row * outputs + k] = static_cast<T>(z[i]);
  });
  to.custom(z.data(), t.data(), rows, outputs, loss.data(), dz.data());
  auto weight = [&](std::int64_t row) { return batch.weights ? static_cast<double>(batch.weights[row]) : 1.0; };
  for (int r = 0; r < rows; ++r) to.loss[r0 + r] = static_cast<T>(loss[r] * weight(batch.row(r0 + r)));
  if (!to.dz) return;
  each([&](std::ptrdiff_t i, std::ptrdiff_t at, std::int64_t row, int) {
    to.dz[at] = static_cast<T>(dz[i] * weight(row));
  });
}

// Loss and dz of rows [r0, r1) of a batch, times the row weights. `lanes_of_rows`: scratch for two blocks.
template <class T>
void head_rows_of(const Batch<T>& batch, const HeadPanels<T>& to, int r0, int r1, T* lanes_of_rows) {
  constexpr int V = lanes<T>;
  if (is_external(to.head)) return custom_head_rows(batch, to, r0, r1);
  const int outputs = to.outputs;
  T* scratch = lanes_of_rows + panels_of<T>(outputs) * V * V;
  with_formulas<T>(to.head, [&](const auto& formulas) {
    for_lanes(to.z, to.ld, outputs, r0, r1, lanes_of_rows, [&](T* block, int r) {
      std::int64_t row[V];
      for (int lane = 0; lane < V; ++lane) row[lane] = batch.row(std::min(r + lane, batch.rows - 1));
      Vec<T> weight = broadcast(T(1));
      if (batch.weights)
        for (int lane = 0; lane < V; ++lane) weight[lane] = batch.weights[row[lane]];
      if (batch.offset)
        for (int k = 0; k < outputs; ++k)
          for (int lane = 0; lane < V; ++lane) block[k * V + lane] += batch.offset[row[lane] * outputs + k];
      if (to.fitted) {
        mean_lanes(formulas, scratch, block, outputs);
        for (int lane = 0; lane < std::min(V, r1 - r); ++lane)
          for (int k = 0; k < outputs; ++k) to.fitted[row[lane] * outputs + k] = scratch[k * V + lane];
      }
      const Vec<T> loss = with_targets(formulas, batch.t, row, outputs, scratch, [&](auto&& target) {
        return loss_lanes<false>(formulas, block, block, outputs, target, weight);
      });
      store(to.loss + r, loss);
      if (to.dz) store_lanes(to.dz, to.ld, block, outputs, r);
      return false;
    });
  });
}

// out (rows [r0, r1) x outputs, from its first row) = the mean of each row, or z itself.
template <class T>
void read_output(Head head, int outputs, const T* z, std::ptrdiff_t ld, int r0, int r1, bool mean, T* lanes_of_rows,
                 T* out) {
  for_lanes(z, ld, outputs, r0, r1, lanes_of_rows, [&](T* block, int r) {
    if (mean) with_formulas<T>(head, [&](const auto& formulas) { mean_lanes(formulas, block, block, outputs); });
    for (int lane = 0; lane < std::min(lanes<T>, r1 - r); ++lane)
      for (int k = 0; k < outputs; ++k) out[std::ptrdiff_t{r + lane} * outputs + k] = block[k * lanes<T> + lane];
    return false;
  });
}

}  // namespace linnet::inline LINNET_ISA
