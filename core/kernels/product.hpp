// Matrix products on panels.
//
// A matrix of `rows` x `cols` is stored as panels of V columns, V = lanes<T>: element (r, c) lies at
// ((c / V) * ld + r) * V + c % V, where ld >= rows is the number of rows allocated. Weights (inputs x outputs) and
// activations (batch x units) are both stored so. That one layout makes all three products of a layer stream through
// memory without packing: a broadcast operand reads V neighbours, a vector operand one whole panel row.
//
//   product            z[b][o]  = start[o] + sum_k a[b][k] w[k][o]     forward, and (with a transposed slab) delta
//   outer_product      g[i][o]  = sum_b a[b][i] d[b][o]                weight gradient
//   column_sums        g[o]     = sum_b d[b][o]                        bias gradient
//
// Every output element is one chain of fused multiply-adds in ascending order of the summed index. Tiles, blocks and
// threads decide which thread computes an element and when, never its value: that makes results independent of the
// number of threads and of the vector width.
#pragma once

#include <algorithm>
#include <utility>

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {

// Register tiles: rows x panels sums. 16 vector registers hold 12 sums, their operands and a broadcast; 32 hold 24.
// Fewer panels mean more rows, so that there are always enough independent sums to hide the latency of a multiply-add.
template <class T>
struct Tile {
  static constexpr bool many_registers = vector_bytes == 64 || (vector_bytes == 16 && !LINNET_X86);
  static constexpr int sums = many_registers ? 24 : vector_bytes == 16 ? 8 : 12;
  static constexpr int panels = sums == 8 ? 2 : 3;
  static constexpr int rows(int panels) { return std::min(12, sums / panels); }
  static constexpr int depth_block = 1024 / static_cast<int>(sizeof(T));  // x panels of an operand: a block for L1
  // of a gradient tile: must divide lanes<T>
  static constexpr int inputs(int panels) {
    int n = lanes<T>;
    while (n > sums / panels) n /= 2;
    return n;
  }
};

template <class T>
constexpr int panels_of(int cols) {
  return (cols + lanes<T> - 1) / lanes<T>;
}

// Applied to finished sums before they leave the registers: the most common activation, or its derivative.
template <class T>
struct Finish {
  bool relu = false;        // max(0, z)
  const T* mask = nullptr;  // a matrix like z: sums are dropped where it is not above 0
};

// z (R x C panels) = init + a (R x depth) w (depth x C panels); init is a row per panel, or z itself when null.
template <class T, int R, int C>
LINNET_INLINE void product_tile(T* z, std::ptrdiff_t z_ld, const T* init, std::ptrdiff_t init_ld, const T* a,
                                std::ptrdiff_t a_ld, const T* w, std::ptrdiff_t w_ld, int depth, Finish<T> finish) {
  constexpr int V = lanes<T>;
  Vec<T> sum[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) sum[r][c] = init ? load(init + c * init_ld * V) : load(z + (c * z_ld + r) * V);

  auto step = [&](const T* a_k, const T* w_k) {
    Vec<T> row[C];
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) row[c] = load(w_k + c * w_ld * V);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec<T> x = broadcast(a_k[r * V]);
#pragma GCC unroll 3
      for (int c = 0; c < C; ++c) sum[r][c] = fma(x, row[c], sum[r][c]);
    }
  };
  const int whole = depth / V * V;
  for (int k = 0; k < whole; k += V, a += a_ld * V) {
    // The step from panel to panel is too long for the processor to prefetch by itself.
    for (int i = 0; i < R * V; i += cache_line / static_cast<int>(sizeof(T))) __builtin_prefetch(a + 2 * a_ld * V + i);
#pragma GCC unroll 4
    for (int lane = 0; lane < V; ++lane, w += V) step(a + lane, w);
  }
  for (int lane = 0; lane < depth - whole; ++lane, w += V) step(a + lane, w);

  if (finish.relu) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int c = 0; c < C; ++c) sum[r][c] = max(Vec<T>{}, sum[r][c]);
  }
  if (finish.mask) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int c = 0; c < C; ++c) sum[r][c] = load(finish.mask + (c * z_ld + r) * V) > T(0) ? sum[r][c] : Vec<T>{};
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) store(z + (c * z_ld + r) * V, sum[r][c]);
}

// Calls f(integral_constant<n>) for a run-time n in 1..Max.
template <int Max, class F>
LINNET_INLINE void with_constant(int n, F&& f) {
  if constexpr (Max == 1) {
    f(std::integral_constant<int, 1>{});
  } else {
    if (n == Max)
      f(std::integral_constant<int, Max>{});
    else
      with_constant<Max - 1>(n, f);
  }
}

// Calls f(first, integral_constant<n>) for pieces of [first, last): as many of Size as there are, then of 4, 2 and 1.
template <int Size, class F>
LINNET_INLINE void in_pieces(int first, int last, F&& f) {
  for (; first + Size <= last; first += Size) f(first, std::integral_constant<int, Size>{});
  if constexpr (Size > 1) {
    if (first < last) in_pieces<(Size > 4 ? 4 : Size / 2)>(first, last, f);
  }
}

constexpr int product_rows = 256;  // rows of a block of a, which stays in L2

// z[r0..r1) x panels [p0..p1) = start + a w, start one row of panels (the bias) or zero when null; with `onto`, what is
// in z. a: rows x depth, w: depth x cols (w_ld rows per panel), all in panels.
template <class T>
void product(T* z, std::ptrdiff_t z_ld, const T* start, std::ptrdiff_t start_ld, const T* a, std::ptrdiff_t a_ld,
             const T* w, std::ptrdiff_t w_ld, int depth, int r0, int r1, int p0, int p1, bool onto = false,
             Finish<T> finish = {}) {
  constexpr int V = lanes<T>, C = Tile<T>::panels;
  constexpr int depth_block = Tile<T>::depth_block;  // block of w: depth_block x C panels, in L1
  static const Vec<T> zero[1] = {Vec<T>{}};
  if (!start) start = reinterpret_cast<const T*>(zero), start_ld = 0;
  for (int rb = r0; rb < r1; rb += product_rows) {
    const int r_end = std::min(r1, rb + product_rows);
    for (int k = 0; k == 0 || k < depth; k += depth_block) {
      const int k_count = std::min(depth_block, depth - k);
      for (int p = p0; p < p1; p += C) {
        with_constant<C>(std::min(C, p1 - p), [&](auto c) {
          const T* init = k == 0 && !onto ? start + p * start_ld * V : nullptr;
          const bool last = k + k_count >= depth;
          in_pieces<Tile<T>::rows(c.value)>(rb, r_end, [&](int r, auto n) {
            const std::ptrdiff_t at = (p * z_ld + r) * V;
            const Finish<T> now{last && finish.relu, last && finish.mask ? finish.mask + at : nullptr};
            product_tile<T, n.value, c.value>(z + at, z_ld, init, start_ld, a + (k / V * a_ld + r) * V, a_ld,
                                              w + (p * w_ld + k) * V, w_ld, k_count, now);
          });
        });
      }
    }
  }
}

// Memory that will be read soon, brought into the cache while something else is computed.
struct Ahead {
  const char* next = nullptr;
  const char* end = nullptr;

  LINNET_INLINE void fetch() {
    if (next >= end) return;
    __builtin_prefetch(next, 0, 2);
    next += cache_line;
  }
};

// g (R rows x C panels) = sum over b of a[b][0..R) x d[b][C panels]; with `onto`, added to what is there.
template <class T, int R, int C>
LINNET_INLINE void outer_tile(T* g, std::ptrdiff_t g_ld, const T* a, const T* d, std::ptrdiff_t d_ld, int batch,
                              bool onto, auto&& meanwhile) {
  constexpr int V = lanes<T>;
  Vec<T> sum[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) sum[r][c] = Vec<T>{};
#pragma GCC unroll 2
  for (int b = 0; b < batch; ++b, a += V, d += V) {
    meanwhile();
    Vec<T> row[C];
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) row[c] = load(d + c * d_ld * V);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec<T> x = broadcast(a[r]);
#pragma GCC unroll 3
      for (int c = 0; c < C; ++c) sum[r][c] = fma(x, row[c], sum[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int c = 0; c < C; ++c) {
      T* const to = g + (c * g_ld + r) * V;
      store(to, onto ? load(to) + sum[r][c] : sum[r][c]);
    }
}

// g (rows 0..count) = sum_b a[b][i0 + row] d[b][..] for `panels` <= Tile::panels panels of d; i0 a multiple of V.
// `meanwhile` is called once per row and tile.
template <class T>
void outer_product(T* g, std::ptrdiff_t g_ld, const T* a, std::ptrdiff_t a_ld, const T* d, std::ptrdiff_t d_ld,
                   int batch, int i0, int count, int panels, bool onto, auto&& meanwhile) {
  constexpr int V = lanes<T>;
  with_constant<Tile<T>::panels>(panels, [&](auto c) {
    in_pieces<Tile<T>::inputs(c.value)>(i0, i0 + count, [&](int i, auto n) {
      outer_tile<T, n.value, c.value>(g + (i - i0) * V, g_ld, a + i / V * a_ld * V + i % V, d, d_ld, batch, onto,
                                      meanwhile);
    });
  });
}

template <class T>
void outer_product(T* g, std::ptrdiff_t g_ld, const T* a, std::ptrdiff_t a_ld, const T* d, std::ptrdiff_t d_ld,
                   int batch, int i0, int count, int panels, bool onto = false) {
  outer_product(g, g_ld, a, a_ld, d, d_ld, batch, i0, count, panels, onto, [] {});
}

// g (one row of `panels` panels, V apart) = sum_b d[b][..]: the gradient of the biases.
template <class T>
void column_sums(T* g, const T* d, std::ptrdiff_t d_ld, int batch, int panels) {
  constexpr int V = lanes<T>, C = 8;  // enough independent sums to hide the latency of an addition
  for (int p = 0; p < panels; p += C) {
    with_constant<C>(std::min(C, panels - p), [&](auto c) {
      Vec<T> sum[c.value];
#pragma GCC unroll 8
      for (int q = 0; q < c.value; ++q) sum[q] = Vec<T>{};
      for (int b = 0; b < batch; ++b)
#pragma GCC unroll 8
        for (int q = 0; q < c.value; ++q) sum[q] = sum[q] + load(d + ((p + q) * d_ld + b) * V);
#pragma GCC unroll 8
      for (int q = 0; q < c.value; ++q) store(g + (p + q) * V, sum[q]);
    });
  }
}

// Exchange between two rows of a square at distance D: where the lane's bit D is clear, `low` keeps x and takes y from
// D lanes below; `high` is the rest.
template <int D, class V, std::size_t... I>
LINNET_INLINE V exchange_low(V x, V y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (I & D ? sizeof...(I) + I - D : I)...);
}

template <int D, class V, std::size_t... I>
LINNET_INLINE V exchange_high(V x, V y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (I & D ? sizeof...(I) + I : I + D)...);
}

template <int D, int N, class V>
LINNET_INLINE void transpose_rounds(V* m) {
  constexpr auto all = std::make_index_sequence<N>{};
#pragma GCC unroll 16
  for (int r = 0; r < N; ++r) {
    if (r & D) continue;
    const V x = m[r], y = m[r + D];
    m[r] = exchange_low<D>(x, y, all);
    m[r + D] = exchange_high<D>(x, y, all);
  }
  if constexpr (D > 1) transpose_rounds<D / 2, N>(m);
}

// out (V rows of V lanes) = in (V rows of V lanes) transposed, in log2(V) rounds of pairwise exchanges.
template <class T>
LINNET_INLINE void transpose_square(T* out, const T* in) {
  constexpr int V = lanes<T>;
  Vec<T> m[V];
#pragma GCC unroll 16
  for (int r = 0; r < V; ++r) m[r] = load(in + r * V);
  transpose_rounds<V / 2, V>(m);
#pragma GCC unroll 16
  for (int r = 0; r < V; ++r) store(out + r * V, m[r]);
}

// The sum of a_i b_i over sixteen partial sums, whatever the width of a vector.
inline double dot(const double* a, const double* b, std::ptrdiff_t n) {
  constexpr int V = lanes<double>, parts = 16 / V;
  Vec<double> sum[parts] = {};
  std::ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int p = 0; p < parts; ++p) sum[p] = fma(load(a + i + p * V), load(b + i + p * V), sum[p]);
  double part[16];
  for (int p = 0; p < parts; ++p) store(part + p * V, sum[p]);
  for (int p = 0; i < n; ++i, ++p) part[p] = fused(a[i], b[i], part[p]);
  for (int half = 8; half >= 1; half /= 2)
    for (int p = 0; p < half; ++p) part[p] += part[p + half];
  return part[0];
}

}  // namespace linnet::inline LINNET_ISA
