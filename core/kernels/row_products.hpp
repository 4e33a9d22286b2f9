// out = X S X' u for a sparse matrix X with few rows and very many columns, S diagonal: the step of a solver whose
// weights are linear combinations of rows.
//
// A copy of X is kept by columns, with two bytes for a row index and four for a value: half the size of the matrix
// itself. So values are rounded to single precision (sums are not), and a solver that needs more digits takes them from
// the matrix: see fit/solvers/dual_sparse.py. A column is read once: its product with u, and right away its share of
// the result, so that all random access is to pairs of numbers, one per row. Columns with a single entry, which is most
// of them in a matrix of words, only add to the diagonal of X S X'.
//
// Columns are cut into ranges by the shape of the problem alone, each with a partial sum, and these are added in order:
// the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "data/columns.hpp"
#include "threads/interrupt.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

class RowProducts {
 public:
  static constexpr std::int64_t max_rows = 1 << 16, max_entries = (std::int64_t{1} << 31) - 1;

  // No row of x has two entries in one column; `penalty`: the diagonal of the inverse of S, one per column. Neither is
  // used afterwards.
  RowProducts(const Columns& x, const double* penalty, int threads)
      : rows_(x.rows), threads_(threads), diagonal_(x.rows) {
    const std::int64_t *start = x.sparse.start, cols = x.sparse.cols;
    const std::int64_t all = start[rows_] - start[0];
    // each thread counts and places the entries of its own rows; their counters stay small beside the entries
    const int parts = static_cast<int>(std::clamp<std::int64_t>(all / (4 * cols + 1), 1, std::min(threads, 8)));
    auto cut = [&](int part) { return std::lower_bound(start, start + rows_, start[0] + all * part / parts) - start; };
    std::vector<std::int32_t> next(parts * cols);  // first the number of entries, then where the next of them goes
    auto over_rows = [&](auto&& work) {
      team_.share(parts, parts, [&](int, std::int64_t which) {
        const int part = static_cast<int>(which);
        const std::int64_t last = part + 1 == parts ? rows_ : cut(part + 1);
        for (std::int64_t r = cut(part); r < last; ++r)
          x.with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
            for (std::int64_t e = 0; e < count; ++e) work(r, column[e], value[e], &next[part * cols + column[e]]);
          });
        return true;
      });
    };
    over_rows([](std::int64_t, auto, auto, std::int32_t* to) { ++*to; });
    auto entries = [&](std::int64_t c) {
      std::int32_t sum = 0;
      for (int part = 0; part < parts; ++part) sum += next[part * cols + c];
      return sum;
    };
    std::size_t several = 0;
    for (std::int64_t c = 0; c < cols; ++c) several += entries(c) > 1;
    start_.reserve(several + 1);
    scale_.reserve(several);
    std::int32_t total = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      const bool shared = entries(c) > 1;
      if (shared) start_.push_back(total), scale_.push_back(1 / penalty[c]);
      for (int part = 0; part < parts; ++part) {  // rows of a column in order
        const std::int32_t count = std::exchange(next[part * cols + c], shared ? total : alone);
        if (shared) total += count;
      }
    }
    start_.push_back(total);
    entries_ = Buffer<Entry>(total, false);
    over_rows([&](std::int64_t r, auto c, auto given, std::int32_t* to) {
      const auto v = static_cast<double>(given);
      if (*to == alone) {
        diagonal_[r] += v * v / penalty[c];
      } else {
        entries_[(*to)++] = {static_cast<float>(std::clamp(v, -largest, largest)), static_cast<std::uint16_t>(r)};
      }
    });
  }

  std::int64_t rows() const { return rows_; }

  // u, out: rows x outputs. False when interrupted.
  bool apply(const double* u, int outputs, double* out, const Interrupt::Ask& interrupted) {
    const std::ptrdiff_t size = rows_ * outputs;
    const int partials = static_cast<int>(std::clamp<std::ptrdiff_t>(partial_sum_memory / size, 1, max_partial_sums));
    const int threads = members_for(8.0 * start_.back() * outputs, std::min(threads_, partials));
    const std::ptrdiff_t pairs_size = outputs == 1 ? 2 * size * threads : 0;
    if (sums_.size() != pairs_size + size * partials) sums_ = Buffer<double>(pairs_size + size * partials, false);
    Interrupt interrupt(interrupted);
    team_.share(threads, partials, [&](int rank, std::int64_t s) {
      std::vector<double> t(outputs);
      auto cut = [&](std::int64_t at) {  // the first column of a partial sum
        return std::lower_bound(start_.begin(), start_.end(), std::int64_t{start_.back()} * at / partials) -
               start_.begin();
      };
      auto each_column = [&](auto&& add) {
        for (std::int64_t c = cut(s), last = cut(s + 1); c < last; ++c) {
          if (c % 1024 == 0 && interrupt.in_vain(rank)) break;
          add(entries_.get() + start_[c], start_[c + 1] - start_[c], scale_[c]);
        }
      };
      double* z = sums_.get() + pairs_size + s * size;
      if (outputs == 1) {
        double* pairs = sums_.get() + 2 * size * rank;
        for (std::int64_t r = 0; r < rows_; ++r) pairs[2 * r] = u[r], pairs[2 * r + 1] = 0;
        each_column([&](auto... column) { add_column(column..., pairs); });
        for (std::int64_t r = 0; r < rows_; ++r) z[r] = pairs[2 * r + 1];
      } else {
        std::fill_n(z, size, 0.0);
        each_column([&](auto... column) { add_column(column..., u, outputs, t.data(), z); });
      }
      return !interrupt.happened();
    });
    for (std::int64_t r = 0; r < rows_; ++r)
      for (int k = 0; k < outputs; ++k) out[r * outputs + k] = diagonal_[r] * u[r * outputs + k];
    for (int s = 0; s < partials; ++s) {
      const double* z = sums_.get() + pairs_size + s * size;
      for (std::ptrdiff_t i = 0; i < size; ++i) out[i] += z[i];
    }
    return !interrupt.happened();
  }

 private:
  struct __attribute__((packed)) Entry {  // six bytes
    float value;
    std::uint16_t row;
  };

  static constexpr std::int32_t alone = -1;
  static constexpr double largest = 1e30;  // squares of floats up to here are far from infinite
  static constexpr int max_partial_sums = 8;
  static constexpr std::ptrdiff_t partial_sum_memory = 4 << 20;  // numbers in all partial sums together

  // z += x (scale x'u) for a column x; u and z of a row lie side by side, in one cache line
  static void add_column(const Entry* __restrict x, std::int64_t count, double scale, double* __restrict pairs) {
    auto value = [&](std::int64_t e) { return static_cast<double>(x[e].value); };
    auto u = [&](std::int64_t e) { return pairs[2 * std::ptrdiff_t{x[e].row}]; };
    auto z = [&](std::int64_t e) -> double& { return pairs[2 * std::ptrdiff_t{x[e].row} + 1]; };
    double sum[4] = {};  // four at a time: an addition waits for the one before it
    std::int64_t e = 0;
    for (; e + 4 <= count; e += 4)
      for (int i = 0; i < 4; ++i) sum[i] = fused(value(e + i), u(e + i), sum[i]);
    for (; e < count; ++e) sum[0] = fused(value(e), u(e), sum[0]);
    const double t = scale * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (e = 0; e + 4 <= count; e += 4) {  // rows of a column differ
      double next[4];
      for (int i = 0; i < 4; ++i) next[i] = fused(value(e + i), t, z(e + i));
      for (int i = 0; i < 4; ++i) z(e + i) = next[i];
    }
    for (; e < count; ++e) z(e) = fused(value(e), t, z(e));
  }

  // add_column for several outputs
  static void add_column(const Entry* x, std::int64_t count, double scale, const double* u, int outputs, double* t,
                         double* z) {
    std::fill_n(t, outputs, 0.0);
    for (std::int64_t e = 0; e < count; ++e) {
      const double *from = u + std::ptrdiff_t{x[e].row} * outputs, value = static_cast<double>(x[e].value);
      for (int k = 0; k < outputs; ++k) t[k] += value * from[k];
    }
    for (int k = 0; k < outputs; ++k) t[k] *= scale;
    for (std::int64_t e = 0; e < count; ++e) {
      double* to = z + std::ptrdiff_t{x[e].row} * outputs;
      const double value = static_cast<double>(x[e].value);
      for (int k = 0; k < outputs; ++k) to[k] += value * t[k];
    }
  }

  const std::int64_t rows_;
  const int threads_;
  std::vector<std::int32_t> start_;  // of the columns with several entries, and one more
  std::vector<double> scale_;
  Buffer<Entry> entries_;
  Buffer<double> diagonal_;
  Buffer<double> sums_;  // of a single output threads x rows x (u, z); then partial sums x rows x outputs
  Team team_;
};

}  // namespace linnet::inline LINNET_ISA
