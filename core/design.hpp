// The user's table and targets, read where they lie.
#pragma once

#include <cstdint>

#include "simd.hpp"

namespace linnet {

// The user's table, read in place: element (r, c) at data[r * row_stride + c * col_stride], strides in elements.
struct Design {
  enum class Kind { f32, f64, u8 };
  Kind kind = Kind::f32;
  const void* data = nullptr;
  std::ptrdiff_t row_stride = 0, col_stride = 1;
  std::int64_t rows = 0;
  int cols = 0;
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

// Targets: one label a row, or one row of `outputs` values.
template <class T>
struct Targets {
  const std::int32_t* labels = nullptr;
  const T* values = nullptr;
};

// The first value that is NaN or infinite: its row and column, or {-1, -1}.
struct Cell {
  std::int64_t row = -1, col = -1;
};

template <class S>
Cell first_nonfinite(const S* data, std::int64_t rows, std::int64_t cols, std::ptrdiff_t row_stride,
                     std::ptrdiff_t col_stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const S* row = data + r * row_stride;
    if (col_stride == 1) {  // 0 * x is 0 for finite x, NaN otherwise: one pass at memory speed, then look closer
      Vec<S> sum{};
      std::int64_t c = 0;
      for (; c + lanes<S> <= cols; c += lanes<S>) sum = fma(load(row + c), Vec<S>{}, sum);
      S total = 0;
      for (; c < cols; ++c) total += row[c] * S(0);
      for (int lane = 0; lane < lanes<S>; ++lane) total += sum[lane];
      if (total == S(0)) continue;
    }
    for (std::int64_t c = 0; c < cols; ++c)
      if (!(row[c * col_stride] * S(0) == S(0))) return {r, c};
  }
  return {};
}

}  // namespace linnet
