// out = X S X' u for a sparse matrix X with few rows and very many columns, S diagonal: what moves a solver that seeks
// weights among combinations of the rows.
//
// X is kept once more, by columns, with two bytes for a row's number. A column is read once: its product with u, and
// right away its share of the result, so that all random access is to two vectors as long as there are rows. Columns
// with a single entry, which is most of them in a matrix of words, only add to the diagonal of X S X'.
//
// Columns are cut into strands as the shape of the problem says, and the strands' sums are added in order: the same
// bytes for any number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "columns.hpp"
#include "interrupt.hpp"
#include "team.hpp"

namespace linnet {

class RowProducts {
 public:
  static constexpr std::int64_t most_rows = 1 << 16, most_entries = (std::int64_t{1} << 31) - 1;

  // x names no column twice in a row; `scale`: the diagonal of S, one a column. Nothing of both is needed afterwards.
  RowProducts(const Columns& x, const double* scale, int threads)
      : rows_(x.rows), threads_(threads), kind_(x.sparse.kind), diagonal_(x.rows) {
    const int cols = x.sparse.cols;
    std::vector<std::int32_t> next(cols);  // first the number of entries, then where the next of them goes
    for (std::int64_t r = 0; r < rows_; ++r)
      x.with_sparse(r, [&](const auto* column, const auto*, std::int64_t count) {
        for (std::int64_t e = 0; e < count; ++e) ++next[column[e]];
      });
    std::int32_t total = 0;
    for (int c = 0; c < cols; ++c) {
      const std::int32_t entries = next[c];
      next[c] = entries > 1 ? total : alone;
      if (entries < 2) continue;
      start_.push_back(total);
      scale_.push_back(scale[c]);
      total += entries;
    }
    start_.push_back(total);
    row_ = Buffer<std::uint16_t>(total);
    if (kind_ == Design::Kind::f64)
      fill(x, scale, next, wide_ = Buffer<double>(total));
    else
      fill(x, scale, next, narrow_ = Buffer<float>(total));
  }

  std::int64_t rows() const { return rows_; }

  // u, out: rows x outputs. False when interrupted.
  bool apply(const double* u, int outputs, double* out, const Interrupt::Ask& interrupted) {
    return kind_ == Design::Kind::f64 ? apply(wide_.get(), u, outputs, out, interrupted)
                                      : apply(narrow_.get(), u, outputs, out, interrupted);
  }

 private:
  static constexpr std::int32_t alone = -1;
  static constexpr std::ptrdiff_t strand_memory = 4 << 20;  // numbers in the sums of all strands

  template <class T>
  void fill(const Columns& x, const double* scale, std::vector<std::int32_t>& next, const Buffer<T>& values) {
    for (std::int64_t r = 0; r < rows_; ++r)
      x.with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
        for (std::int64_t e = 0; e < count; ++e) {
          const auto c = column[e];
          const auto v = static_cast<double>(value[e]);
          if (next[c] == alone) {
            diagonal_[r] += scale[c] * v * v;
          } else {
            const std::int32_t to = next[c]++;
            row_[to] = static_cast<std::uint16_t>(r);
            values[to] = static_cast<T>(v);
          }
        }
      });
  }

  template <class T>
  bool apply(const T* values, const double* u, int outputs, double* out, const Interrupt::Ask& interrupted) {
    const std::ptrdiff_t size = rows_ * outputs;
    const int strands = static_cast<int>(std::clamp<std::ptrdiff_t>(strand_memory / size, 1, 16));
    if (sums_.size() != size * strands) sums_ = Buffer<double>(size * strands);
    Interrupt interrupt(interrupted);
    team_.run(std::min(threads_, strands), [&](int rank) {
      std::vector<double> t(outputs);
      for (int s = rank; s < strands; s += team_.size()) {
        auto cut = [&](int at) {  // the first column of a strand
          return std::lower_bound(start_.begin(), start_.end(), std::int64_t{start_.back()} * at / strands) -
                 start_.begin();
        };
        double* z = sums_.get() + s * size;
        std::fill_n(z, size, 0.0);
        for (std::int64_t c = cut(s), last = cut(s + 1); c < last; ++c) {
          if (c % 1024 == 0 && interrupt.in_vain(rank)) break;
          const std::int64_t count = start_[c + 1] - start_[c];
          const std::uint16_t* row = row_.get() + start_[c];
          const T* value = values + start_[c];
          if (outputs == 1)
            add_column(row, value, count, scale_[c], u, z);
          else
            add_column(row, value, count, scale_[c], u, outputs, t.data(), z);
        }
      }
    });
    for (std::int64_t r = 0; r < rows_; ++r)
      for (int k = 0; k < outputs; ++k) out[r * outputs + k] = diagonal_[r] * u[r * outputs + k];
    for (int s = 0; s < strands; ++s) {
      const double* z = sums_.get() + s * size;
      for (std::ptrdiff_t i = 0; i < size; ++i) out[i] += z[i];
    }
    return !interrupt.happened();
  }

  // z += x (scale x'u) for a column x
  template <class T>
  static void add_column(const std::uint16_t* __restrict row, const T* __restrict value, std::int64_t count,
                         double scale, const double* __restrict u, double* __restrict z) {
    double sum[4] = {};  // four at a time: an addition waits for the one before it
    std::int64_t e = 0;
    for (; e + 4 <= count; e += 4)
      for (int i = 0; i < 4; ++i) sum[i] = fused(static_cast<double>(value[e + i]), u[row[e + i]], sum[i]);
    for (; e < count; ++e) sum[0] = fused(static_cast<double>(value[e]), u[row[e]], sum[0]);
    const double t = scale * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (e = 0; e + 4 <= count; e += 4) {  // rows of a column differ
      double next[4];
      for (int i = 0; i < 4; ++i) next[i] = fused(static_cast<double>(value[e + i]), t, z[row[e + i]]);
      for (int i = 0; i < 4; ++i) z[row[e + i]] = next[i];
    }
    for (; e < count; ++e) z[row[e]] = fused(static_cast<double>(value[e]), t, z[row[e]]);
  }

  // the same for several outputs
  template <class T>
  static void add_column(const std::uint16_t* row, const T* value, std::int64_t count, double scale, const double* u,
                         int outputs, double* t, double* z) {
    std::fill_n(t, outputs, 0.0);
    for (std::int64_t e = 0; e < count; ++e) {
      const double* from = u + std::ptrdiff_t{row[e]} * outputs;
      for (int k = 0; k < outputs; ++k) t[k] += static_cast<double>(value[e]) * from[k];
    }
    for (int k = 0; k < outputs; ++k) t[k] *= scale;
    for (std::int64_t e = 0; e < count; ++e) {
      double* to = z + std::ptrdiff_t{row[e]} * outputs;
      for (int k = 0; k < outputs; ++k) to[k] += static_cast<double>(value[e]) * t[k];
    }
  }

  const std::int64_t rows_;
  const int threads_;
  const Design::Kind kind_;
  std::vector<std::int32_t> start_;  // of the columns with several entries, and one more
  std::vector<double> scale_;
  Buffer<std::uint16_t> row_;
  Buffer<double> wide_;  // the values, in the type they came in
  Buffer<float> narrow_;
  Buffer<double> diagonal_;
  Buffer<double> sums_;  // strands x rows x outputs
  Team team_;
};

}  // namespace linnet
