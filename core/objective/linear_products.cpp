// Sums of a linear model besides its objective: products of its columns with vectors and matrices.
#include <algorithm>

#include "objective/linear_blocks.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

constexpr int V = lanes<double>;

}  // namespace

// Cuts the sparse columns into ranges of about equally many entries, one per member, judged by a sample of the rows.
void Linear::cut_columns() {
  constexpr std::int64_t enough = 1000;
  const std::int64_t row_stride = std::max<std::int64_t>(1, columns_.rows / enough);
  std::vector<std::int64_t> before(columns_.sparse_cols + 1);  // entries of the columns before
  for (std::int64_t r = 0; r < columns_.rows; ++r) {
    columns_.with_sparse(r, [&](const auto* column, const auto*, std::int64_t count) {
      sorted_ = sorted_ && std::is_sorted(column, column + count);
    });
    if (r % row_stride == 0) columns_.each_entry(r, [&](int c, double) { ++before[c + 1]; });
  }
  for (int c = 0; c < columns_.sparse_cols; ++c) before[c + 1] += before[c];
  const int members =
      members_for(8 * columns_.entries_per_row * outputs_ * static_cast<double>(columns_.rows), threads_);
  for (int t = 0; t <= members; ++t) {
    const auto at = std::lower_bound(before.begin(), before.end(), before.back() * t / members);
    cuts_.push_back(t == 0 ? 0 : t == members ? columns_.sparse_cols : static_cast<int>(at - before.begin()));
  }
}

// out (sparse columns x outputs) = x' dz, from the slopes that were kept.
bool Linear::scatter(double* out, const Interrupted& interrupted) {
  if (cuts_.empty()) cut_columns();
  const int K = outputs_;
  Interrupt interrupt(interrupted);
  const int parts = static_cast<int>(cuts_.size()) - 1;
  team_.share(parts, parts, [&](int rank, std::int64_t part) {
    const int c0 = cuts_[part], c1 = cuts_[part + 1];
    std::fill(out + std::ptrdiff_t{c0} * K, out + std::ptrdiff_t{c1} * K, 0.0);
    for (std::int64_t r = 0; r < columns_.rows; ++r) {
      if (r % 1024 == 0 && interrupt.in_vain(rank)) return false;
      const double* slope = slopes_.get() + r * K;
      auto put_all = [&](auto&& add) {
        const auto put = [&](std::ptrdiff_t c, double v) { add(c, plan_.squared ? v * v : v); };
        columns_.with_sparse(r, [&](const auto* column, const auto* value, std::int64_t count) {
          std::int64_t e = 0;
          if (sorted_) {
            e = std::lower_bound(column, column + count, c0) - column;
            count = std::lower_bound(column + e, column + count, c1) - column;
            for (; e < count; ++e) put(column[e], static_cast<double>(value[e]));
          } else {
            for (; e < count; ++e)
              if (column[e] >= c0 && column[e] < c1) put(column[e], static_cast<double>(value[e]));
          }
        });
        columns_.each_level(r, [&](int c) {
          if (c >= c0 && c < c1) put(c, 1.0);
        });
      };
      if (K == 1) {
        const double d = slope[0];
        put_all([&](std::ptrdiff_t c, double v) { out[c] += v * d; });
      } else {
        put_all([&](std::ptrdiff_t c, double v) {
          for (int k = 0; k < K; ++k) out[c * K + k] += v * slope[k];
        });
      }
    }
    return true;
  });
  return !interrupt.happened();
}

bool Linear::predict(const double* theta, double* out, const Interrupted& interrupted) {
  set_theta(theta);
  prepare({}, columns_.rows);
  return over_blocks(interrupted, [&](Scratch& s, PartialSum&, std::int64_t first, int rows) {
    linear_output(s, first, rows);
    if (outputs_ == 1)
      std::copy_n(s.z.get(), rows, out + first);
    else
      for (int r = 0; r < rows; ++r)
        for (int k = 0; k < outputs_; ++k) out[(first + r) * outputs_ + k] = s.z[(k / V * ld_ + r) * V + k % V];
  });
}

bool Linear::gradient(const double* d, double* out, const Interrupted& interrupted) {
  return products(d, out, false, interrupted);
}

bool Linear::squares(const double* d, double* out, const Interrupted& interrupted) {
  return products(d, out, true, interrupted);
}

bool Linear::products(const double* d, double* out, bool squared, const Interrupted& interrupted) {
  prepare({true, false, {}, squared}, columns_.rows);
  const std::ptrdiff_t panels = panels_of<double>(columns_.dense_cols + 1);
  bool done = over_blocks(interrupted, [&](Scratch& s, PartialSum& partial, std::int64_t first, int rows) {
    for (std::ptrdiff_t p = 0; squared && p < panels; ++p) {
      double* x = s.x.get() + p * ld_ * V;
      for (int r = 0; r < rows; ++r) store(x + r * V, load(x + r * V) * load(x + r * V));
    }
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < outputs_; ++k) s.dz[k * ld_ + r] = d[(first + r) * outputs_ + k];
    add(s, partial, {first}, rows);
  });
  if (done) collect(out, nullptr, 1);
  if (done && scattered_) done = scatter(out + std::ptrdiff_t{columns_.dense_cols} * outputs_, interrupted);
  return done;
}

bool Linear::gradient_by_group(const double* d, const std::int64_t* group, double* out,
                               const Interrupted& interrupted) {
  const int K = outputs_, dense = columns_.dense_cols;
  prepare({}, columns_.rows);
  partial_sums_.resize(1);  // groups lie anywhere, so one thread takes all rows in order
  const bool done = over_blocks(interrupted, [&](Scratch& s, PartialSum&, std::int64_t first, int rows) {
    for (int r = 0; r < rows; ++r) {
      double* to = out + group[first + r] * size();
      const double* slope = d + (first + r) * K;
      auto put = [&](std::ptrdiff_t column, double x) {
        for (int k = 0; k < K; ++k) to[column * K + k] += x * slope[k];
      };
      for (int c = 0; c < dense; ++c) put(c, s.x[(std::ptrdiff_t{c / V} * ld_ + r) * V + c % V]);
      columns_.each_entry(first + r, [&](int c, double v) { put(std::ptrdiff_t{dense} + c, v); });
      put(columns_.cols(), 1);
    }
  });
  return done;
}

bool Linear::sandwich(const double* w, double* out, const Interrupted& interrupted) {
  std::vector<std::int64_t> index;
  if (std::find(w, w + columns_.rows, 0.0) != w + columns_.rows)
    for (std::int64_t r = 0; r < columns_.rows; ++r)
      if (w[r] != 0) index.push_back(r);
  if (index.empty() && w[0] == 0) index.push_back(0);  // all are 0
  prepare({false, false, {{0, 0}}}, index.empty() ? columns_.rows : static_cast<std::int64_t>(index.size()));
  const bool done = over_blocks(
      interrupted,
      [&](Scratch& s, PartialSum& partial, std::int64_t first, int rows) {
        const BlockRows row{first, index.empty() ? nullptr : index.data()};
        for (int r = 0; r < rows; ++r) s.factor[r] = w[row(r)], s.curved[r] = 1;
        add(s, partial, row, rows);
      },
      1, index);
  if (done) collect(nullptr, out, 1);
  return done;
}

bool Linear::quadratic(const double* m, double* out, const Interrupted& interrupted) {
  const int cols = columns_.cols(), dense = columns_.dense_cols;
  const double used_columns = dense + columns_.entries_per_row;
  prepare({}, columns_.rows, used_columns * used_columns);
  return over_blocks(interrupted, [&](Scratch& s, PartialSum&, std::int64_t first, int rows) {
    std::vector<double> x(cols + 1);
    std::vector<int> used;
    for (int r = 0; r < rows; ++r) {
      used.clear();
      for (int c = 0; c < dense; ++c) x[c] = s.x[(std::ptrdiff_t{c / V} * ld_ + r) * V + c % V], used.push_back(c);
      columns_.each_entry(first + r, [&](int c, double v) { x[dense + c] = v, used.push_back(dense + c); });
      x[cols] = 1;
      used.push_back(cols);
      double total = 0;
      for (const int i : used) {
        double sum = 0;
        for (const int j : used) sum += m[std::ptrdiff_t{i} * (cols + 1) + j] * x[j];
        total += x[i] * sum;
      }
      out[first + r] = total;
    }
  });
}

}  // namespace linnet::inline LINNET_ISA
