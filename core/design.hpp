// A batch of rows and how it comes into panels: the one place where the type and the memory layout of the user's data
// are dealt with.
#pragma once

#include <cstdint>
#include <vector>

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

// Targets: one label a row, or one row of `outputs` values.
template <class T>
struct Targets {
  const std::int32_t* labels = nullptr;
  const T* values = nullptr;
};

// Rows [first, first + rows) of an order (null: as they lie) over a table.
template <class T>
struct Batch {
  const Design* x = nullptr;
  Targets<T> t;
  const T* weights = nullptr;  // null: all one
  const T* offset = nullptr;   // rows x outputs, added to the last layer's z; null: none
  const std::uint32_t* order = nullptr;
  std::int64_t first = 0;
  int rows = 0;

  std::int64_t row(int r) const { return order ? order[first + r] : first + r; }
};

template <class T, class S>
void gather_as(T* panels, std::ptrdiff_t ld, const Batch<T>& batch, int r0, int r1) {
  constexpr int V = lanes<T>;
  const Design x = *batch.x;  // copies: a store to the panels could change what a reference refers to
  const Batch<T> b = batch;
  const int whole = x.cols / V * V;
  for (int r = r0; r < r1; ++r) {
    const S* from = static_cast<const S*>(x.data) + b.row(r) * x.row_stride;
    T* to = panels + r * V;
    if (x.col_stride == 1) {
      for (int c = 0; c < whole; c += V, to += ld * V) {
        if constexpr (std::is_same_v<T, S>) {
          store(to, load(from + c));
        } else {
          for (int lane = 0; lane < V; ++lane) to[lane] = static_cast<T>(from[c + lane]);
        }
      }
      for (int c = whole; c < x.cols; ++c) to[c - whole] = static_cast<T>(from[c]);
    } else {
      for (int c = 0; c < x.cols; ++c) panels[(c / V * ld + r) * V + c % V] = static_cast<T>(from[c * x.col_stride]);
    }
  }
}

// panels (rows [r0..r1) x cols) = the batch's rows, converted to T.
template <class T>
void gather(T* panels, std::ptrdiff_t ld, const Batch<T>& batch, int r0, int r1) {
  switch (batch.x->kind) {
    case Design::Kind::f32:
      return gather_as<T, float>(panels, ld, batch, r0, r1);
    case Design::Kind::f64:
      return gather_as<T, double>(panels, ld, batch, r0, r1);
    case Design::Kind::u8:
      return gather_as<T, std::uint8_t>(panels, ld, batch, r0, r1);
  }
}

// rows[r] = where row r of the batch lies as T: in the user's table, or converted into `space` (rows x cols).
template <class T>
void point_at_rows(const T** rows, std::vector<T>& space, const Batch<T>& batch, int r0, int r1) {
  const Design& x = *batch.x;
  constexpr Design::Kind own = std::is_same_v<T, float> ? Design::Kind::f32 : Design::Kind::f64;
  if (x.kind == own && x.col_stride == 1) {
    for (int r = r0; r < r1; ++r) rows[r] = static_cast<const T*>(x.data) + batch.row(r) * x.row_stride;
    return;
  }
  auto convert = [&](auto* data) {
    for (int r = r0; r < r1; ++r) {
      T* to = space.data() + static_cast<std::ptrdiff_t>(r) * x.cols;
      const auto* from = data + batch.row(r) * x.row_stride;
      for (int c = 0; c < x.cols; ++c) to[c] = static_cast<T>(from[c * x.col_stride]);
      rows[r] = to;
    }
  };
  switch (x.kind) {
    case Design::Kind::f32:
      return convert(static_cast<const float*>(x.data));
    case Design::Kind::f64:
      return convert(static_cast<const double*>(x.data));
    case Design::Kind::u8:
      return convert(static_cast<const std::uint8_t*>(x.data));
  }
}

// Asks for rows [r0..r1) of a batch to be brought into the cache while something else is computed. Inlined by force:
// GCC takes a function that only prefetches for one that does nothing.
template <class T>
LINNET_INLINE void prefetch_rows(const Batch<T>& batch, int r0, int r1) {
  const Design& x = *batch.x;
  if (x.col_stride != 1) return;
  const std::ptrdiff_t size = x.kind == Design::Kind::f32 ? 4 : x.kind == Design::Kind::f64 ? 8 : 1;
  for (int r = r0; r < r1; ++r) {
    const char* row = static_cast<const char*>(x.data) + batch.row(r) * x.row_stride * size;
    for (std::ptrdiff_t at = 0; at < x.cols * size; at += cache_line) __builtin_prefetch(row + at, 0, 2);
  }
}

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
