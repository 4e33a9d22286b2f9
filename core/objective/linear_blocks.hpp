// How linear_sums.cpp and linear_products.cpp go over the rows: in blocks, by threads, into partial sums.
#pragma once

#include "kernels/product.hpp"
#include "objective/linear_sums.hpp"

namespace linnet::inline LINNET_ISA {

constexpr int max_partial_sums = 16;

// Threads write to partial sums and scratch row by row: no two of them share a cache line.
struct alignas(cache_line) Linear::PartialSum {
  Sums sums;
  Buffer<double> dense;             // pair by pair: panels x (dense columns + 1) rows of V
  Buffer<double> sparse_gradient;   // sparse columns x outputs
  Buffer<double> sparse_curvature;  // pair by pair: sparse columns x (dense columns + 1 in panels, sparse columns)
};

struct alignas(cache_line) Linear::Scratch {
  struct Entry {
    int column;
    double value;
  };
  Buffer<double> x, scaled, z;  // panels: rows x (dense columns + 1), the same weighted, rows x outputs if several
  Buffer<double> dz, curved;    // outputs x rows
  Buffer<double> z_lanes, t_lanes, out_lanes;
  Buffer<double> loss, factor;
  std::vector<Entry> entries;
  Ahead ahead;  // the next block
};

// Rows [first, last) where they lie in one piece.
inline Ahead memory_of(const Columns& x, std::int64_t first, std::int64_t last) {
  if (x.tables.size() != 1 || x.tables[0].col_stride != 1) return {};
  const Design& table = x.tables[0];
  const std::ptrdiff_t row = table.row_stride * table.bytes();
  const char* data = static_cast<const char*>(table.data);
  return {data + first * row, data + last * row};
}

// panels (rows x (dense columns + 1)) = rows of the tables less their centers, then a one: the column of the intercept.
// The rest of the last panel is left unchanged.
inline void pack(double* panels, std::ptrdiff_t ld, const Columns& x, const double* center, BlockRows row, int rows) {
  constexpr int V = lanes<double>;
  pack_tables(panels, ld, x, center, row, 0, rows);
  for (int r = 0; r < rows; ++r) panels[(x.dense_cols / V * ld + r) * V + x.dense_cols % V] = 1;
}

// z (one per row) = x theta, for rows in panels. The sums over every eighth column are added last, so that the width of
// a vector does not matter.
inline void row_dots(double* z, const double* x, std::ptrdiff_t ld, const double* theta, int panels, int rows) {
  constexpr int V = lanes<double>, parts = std::max(1, 8 / V);
  static_assert(V <= 8);
  for (int r = 0; r < rows; r += V) {
    Vec<double> sum[V][parts];  // in registers: all indices are known at compile time
#pragma GCC unroll 8
    for (int i = 0; i < V; ++i)
#pragma GCC unroll 4
      for (int q = 0; q < parts; ++q) sum[i][q] = Vec<double>{};
    for (int p = 0; p < panels; p += parts) {
#pragma GCC unroll 4
      for (int q = 0; q < parts; ++q) {
        if (p + q >= panels) break;
        const Vec<double> t = load(theta + (p + q) * V);
        const double* from = x + ((p + q) * ld + r) * V;
#pragma GCC unroll 8
        for (int i = 0; i < V; ++i) sum[i][q] = fma(load(from + i * V), t, sum[i][q]);
      }
    }
    Vec<double> m[V];
#pragma GCC unroll 8
    for (int i = 0; i < V; ++i) {
#pragma GCC unroll 4
      for (int half = parts / 2; half >= 1; half /= 2)
#pragma GCC unroll 4
        for (int q = 0; q < half; ++q) sum[i][q] = sum[i][q] + sum[i][q + half];
      m[i] = sum[i][0];
    }
    transpose_rounds<V / 2, V>(m);
    for (int half = V / 2; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i) m[i] = m[i] + m[i + half];
    store(z + r, m[0]);
  }
}

// Calls work(scratch, partial sum, first row, rows) for one block of rows in `row_stride`, partial sum by partial sum;
// `index`: of these rows, where first counts in the index.
template <class Work>
bool Linear::over_blocks(const Interrupted& interrupted, Work&& work, int row_stride,
                         const std::vector<std::int64_t>& index) {
  const std::int64_t all = index.empty() ? columns_.rows : static_cast<std::int64_t>(index.size());
  const std::int64_t blocks = (all + block_rows_ - 1) / block_rows_;
  const auto partials = static_cast<std::int64_t>(partial_sums_.size());
  const int threads = static_cast<int>(std::min<std::int64_t>(members_, partials));
  Interrupt interrupt(interrupted);
  team_.share(threads, partials, [&](int rank, std::int64_t s) {
    for (std::int64_t b = blocks * s / partials; b < blocks * (s + 1) / partials; ++b) {
      if (b % row_stride) continue;
      if (interrupt.in_vain(rank)) return false;
      const std::int64_t first = b * block_rows_;
      const int rows = static_cast<int>(std::min<std::int64_t>(block_rows_, all - first));
      const std::int64_t next = std::min(all, first + row_stride * std::int64_t{block_rows_});
      scratch_[rank].ahead =
          index.empty() ? memory_of(columns_, next, std::min<std::int64_t>(all, next + block_rows_)) : Ahead{};
      pack(scratch_[rank].x.get(), ld_, columns_, center_.data(), {first, index.empty() ? nullptr : index.data()},
           rows);
      work(scratch_[rank], partial_sums_[s], first, rows);
    }
    return true;
  });
  return !interrupt.happened();
}

}  // namespace linnet::inline LINNET_ISA
