// The user's table and targets, read where they lie.
#pragma once

#include <cstdint>

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {

// The user's table, read in place: element (r, c) at data[r * row_stride + c * col_stride], strides in elements.
struct Design {
  enum class Kind { f32, f64, u8 };
  Kind kind = Kind::f32;
  const void* data = nullptr;
  std::ptrdiff_t row_stride = 0, col_stride = 1;
  std::int64_t rows = 0;
  int cols = 0;

  std::ptrdiff_t bytes() const { return kind == Kind::f64 ? 8 : kind == Kind::f32 ? 4 : 1; }  // of a value
};

// Calls f with the table's data in its own type.
template <class F>
LINNET_INLINE void with_data(const Design& x, F&& f) {
  switch (x.kind) {
    case Design::Kind::f32:
      return f(static_cast<const float*>(x.data));
    case Design::Kind::f64:
      return f(static_cast<const double*>(x.data));
    case Design::Kind::u8:
      return f(static_cast<const std::uint8_t*>(x.data));
  }
}

// Targets: one label per row, or one row of `outputs` values.
template <class T>
struct Targets {
  const std::int32_t* labels = nullptr;
  const T* values = nullptr;
};

// The first value that is NaN or infinite: its row and column, or {-1, -1}.
struct Cell {
  std::int64_t row = -1, col = -1;
};

// Whether all n values are finite: 0 * x is 0 for finite x, NaN otherwise.
template <class S>
bool all_finite(const S* x, std::int64_t n) {
  constexpr int V = lanes<S>, parts = 4;  // an addition waits for the one before it
  Vec<S> sum[parts] = {};
  std::int64_t i = 0;
  for (; i + parts * V <= n; i += parts * V)
    for (int p = 0; p < parts; ++p) sum[p] = fma(load(x + i + p * V), Vec<S>{}, sum[p]);
  S total = 0;
  for (; i < n; ++i) total += x[i] * S(0);
  for (int p = 0; p < parts; ++p)
    for (int lane = 0; lane < V; ++lane) total += sum[p][lane];
  return total == S(0);
}

template <class S>
Cell first_nonfinite(const S* data, std::int64_t rows, std::int64_t cols, std::ptrdiff_t row_stride,
                     std::ptrdiff_t col_stride) {
  // checks groups of rows at memory speed (several rows where they are contiguous), then locates the value
  constexpr std::int64_t piece = 4096;
  const std::int64_t group =
      row_stride == cols ? std::max<std::int64_t>(1, piece / std::max<std::int64_t>(1, cols)) : 1;
  for (std::int64_t first = 0; first < rows; first += group) {
    const std::int64_t last = std::min(rows, first + group);
    if (col_stride == 1 && all_finite(data + first * row_stride, (last - first) * cols)) continue;
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t c = 0; c < cols; ++c)
        if (!(data[r * row_stride + c * col_stride] * S(0) == S(0))) return {r, c};
  }
  return {};
}

}  // namespace linnet::inline LINNET_ISA
