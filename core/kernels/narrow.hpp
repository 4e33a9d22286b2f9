// A layer with few outputs, such as softmax regression on images or the last layer of a network for two classes. Here
// vectors run along the INPUTS, and no register lane is spent on outputs that do not exist. A first layer reads the
// user's rows in place, without gathering; a later one the panels of the layer below.
//
//   narrow_forward, narrow_panels_forward      z[b][o] = bias[o] + sum_i x[b][i] w[o][i]
//   narrow_gradient, narrow_panels_gradient    g[o][i] = sum_b d[b][o] x[b][i]
//   narrow_panels_backward                   d[b][i] = sum_o dz[b][o] w[o][i]
//
// Weights are stored as outputs x inputs, each row padded with zeros to whole lines (64 bytes). z and d are in panels
// (see kernels/product.hpp). A sum over inputs is kept in one partial sum per lane of a line and folded by halves at
// the end, so that its value does not depend on the vector width.
#pragma once

#include <cstring>

#include "kernels/product.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// Some inputs of a narrow layer and where their weights lie: a row of whole lines for each output.
struct NarrowBlock {
  Part inputs;
  std::ptrdiff_t start, ld;

  std::ptrdiff_t at(int output, int input) const { return start + output * ld + (input - inputs.first); }
};

template <class T>
struct Narrow {
  static constexpr int line = cache_line / static_cast<int>(sizeof(T));  // values
  static constexpr int vectors = cache_line / vector_bytes;              // of a line
  static constexpr int max_outputs = 16, max_outputs_above = 4;          // of a first layer, of a later one
  // forward tile: rows x outputs (x vectors) sums in registers; a single row takes more outputs at once
  static constexpr int rows = vectors == 1 ? 4 : vectors == 2 ? 3 : 1;
  static constexpr int outputs = vectors == 1 ? 5 : 2;
  static constexpr int outputs_of_one_row = vectors == 1 ? 10 : vectors == 2 ? 5 : 2;
  // gradient tile: outputs x lines
  static constexpr int gradient_outputs = vectors == 1 ? 10 : vectors == 2 ? 4 : 2;
  static constexpr int gradient_lines = vectors == 1 ? 2 : 1;

  static constexpr int padded(int inputs) { return (inputs + line - 1) / line * line; }
};

// The sum of a line's values: lane i + lane i + n/2, again and again.
template <class T>
LINNET_INLINE T fold(const T* sum) {
  constexpr int L = Narrow<T>::line;
  T s[L];
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) s[i] = sum[i];
#pragma GCC unroll 4
  for (int half = L / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) s[i] += s[i + half];
  return s[0];
}

// sums (R rows x C outputs, a line each, a row `sums_ld` lines apart) += x w over `count` inputs from `from` on, whose
// first weight is at w.
template <class T, int R, int C>
LINNET_INLINE void narrow_forward_tile(T* sums, int sums_ld, const T* const* x, const T* w, std::ptrdiff_t w_ld,
                                       int from, int count, bool first) {
  constexpr int L = Narrow<T>::line, V = lanes<T>, N = Narrow<T>::vectors;
  Vec<T> sum[R][C][N];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 10
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sum[r][c][n] = first ? Vec<T>{} : load(sums + (r * sums_ld + c) * L + n * V);
  auto step = [&](auto&& row, int i) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      Vec<T> a[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) a[r] = in_register(load(row(r) + n * V));
#pragma GCC unroll 10
      for (int c = 0; c < C; ++c) {
        const Vec<T> b = load(w + c * w_ld + (i - from) + n * V);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[r][c][n] = fma(a[r], b, sum[r][c][n]);
      }
    }
  };
  const int whole = from + count / L * L;
  for (int i = from; i < whole; i += L) step([&](int r) { return x[r] + i; }, i);
  if (whole < from + count) {
    alignas(cache_line) T tail[R][L] = {};
    for (int r = 0; r < R; ++r) std::memcpy(tail[r], x[r] + whole, (from + count - whole) * sizeof(T));
    step([&](int r) { return static_cast<const T*>(tail[r]); }, whole);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 10
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(sums + (r * sums_ld + c) * L + n * V, sum[r][c][n]);
}

// Folds V vectors of partial sums into a vector of their sums, one per lane: lane i + lane i + n/2, again and again, as
// `fold` does.
template <int D, int N, class V>
LINNET_INLINE V fold_all(V* m) {
  constexpr auto all = std::make_index_sequence<N>{};
#pragma GCC unroll 8
  for (int r = 0; r < D; ++r) m[r] = exchange_low<D>(m[r], m[r + D], all) + exchange_high<D>(m[r], m[r + D], all);
  if constexpr (D > 1)
    return fold_all<D / 2, N>(m);
  else
    return m[0];
}

// V of the sums of a row at `sums` (a line each), those from the `count`-th on zero.
template <class T>
LINNET_INLINE Vec<T> fold_lines(const T* sums, int count) {
  constexpr int V = lanes<T>, L = Narrow<T>::line, N = Narrow<T>::vectors;
  Vec<T> folded[V];
#pragma GCC unroll 16
  for (int k = 0; k < V; ++k) {
    Vec<T> part[N] = {};
#pragma GCC unroll 4
    for (int n = 0; n < N && k < count; ++n) part[n] = load(sums + k * L + n * V);
#pragma GCC unroll 2
    for (int half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 2
      for (int n = 0; n < half; ++n) part[n] = part[n] + part[n + half];
    folded[k] = part[0];
  }
  return fold_all<V / 2, V>(folded);
}

// The sums of one row over `count` inputs of C outputs, V of them or fewer: kept in registers.
template <class T, int C>
LINNET_INLINE Vec<T> narrow_forward_row(const T* x, const T* w, std::ptrdiff_t w_ld, int count) {
  constexpr int L = Narrow<T>::line, V = lanes<T>, N = Narrow<T>::vectors;
  Vec<T> sum[C][N] = {};
  auto step = [&](const T* from, const T* weights) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      const Vec<T> a = in_register(load(from + n * V));
#pragma GCC unroll 10
      for (int c = 0; c < C; ++c) sum[c][n] = fma(a, load(weights + c * w_ld + n * V), sum[c][n]);
    }
  };
  const int whole = count / L * L;
  for (int i = 0; i < whole; i += L) step(x + i, w + i);
  if (whole < count) {
    alignas(cache_line) T tail[L] = {};
    std::memcpy(tail, x + whole, (count - whole) * sizeof(T));
    step(tail, w + whole);
  }
  Vec<T> folded[V] = {};
#pragma GCC unroll 10
  for (int c = 0; c < C; ++c) {
#pragma GCC unroll 2
    for (int half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 2
      for (int n = 0; n < half; ++n) sum[c][n] = sum[c][n] + sum[c][n + half];
    folded[c] = sum[c][0];
  }
  return fold_all<V / 2, V>(folded);
}

// Over the inputs of a block. x: one pointer per row of the batch. Blocks of rows and inputs are such that a block of
// w stays in L1. `onto`: the sum is added to what is in z.
template <class T>
void narrow_forward(T* z, std::ptrdiff_t z_ld, const T* const* x, const T* packed, NarrowBlock weights, const T* bias,
                    int outputs, int r0, int r1, bool onto = false) {
  constexpr int V = lanes<T>, L = Narrow<T>::line, R = Narrow<T>::rows, row_block = 2 * R;
  const Part inputs = weights.inputs;
  auto put = [&](Vec<T> sum, int o, int r) {
    T* const to = z + (o / V * z_ld + r) * V;
    if (bias) sum = sum + load(bias + o);
    store(to, onto ? load(to) + sum : sum);
  };
  constexpr int most = std::min(V, Narrow<T>::outputs_of_one_row);
  if (r1 - r0 == 1 && outputs <= most) {
    with_constant<most>(outputs, [&](auto c) {
      put(narrow_forward_row<T, c.value>(x[r0] + inputs.first, packed + weights.start, weights.ld,
                                         inputs.last - inputs.first),
          0, r0);
    });
    return;
  }
  const int block = std::max(1, 16384 / (outputs * cache_line)) * L;
  alignas(cache_line) T sums[row_block * Narrow<T>::max_outputs * L];
  auto tiles = [&](auto n, auto width, int rb, int r, int i, int count) {
    for (int o = 0; o < outputs; o += width.value) {
      with_constant<width.value>(std::min<int>(width.value, outputs - o), [&](auto c) {
        narrow_forward_tile<T, n.value, c.value>(sums + ((r - rb) * outputs + o) * L, outputs, x + r,
                                                 packed + weights.at(o, i), weights.ld, i, count, i == inputs.first);
      });
    }
  };
  for (int rb = r0; rb < r1; rb += row_block) {
    const int r_end = std::min(r1, rb + row_block);
    for (int i = inputs.first; i < inputs.last; i += block) {
      const int count = std::min(block, inputs.last - i);
      for (int r = rb; r < r_end; r += R) {
        if (r_end - r == 1)
          tiles(std::integral_constant<int, 1>{}, std::integral_constant<int, Narrow<T>::outputs_of_one_row>{}, rb, r,
                i, count);
        else
          with_constant<R>(std::min(R, r_end - r), [&](auto n) {
            tiles(n, std::integral_constant<int, Narrow<T>::outputs>{}, rb, r, i, count);
          });
      }
    }
    for (int r = rb; r < r_end; ++r)
      for (int o = 0; o < outputs; o += V) put(fold_lines(sums + ((r - rb) * outputs + o) * L, outputs - o), o, r);
  }
}

// g (C outputs, g_ld apart, x `lines` lines) = sum_b d[b][o..] x[b][i..]; `count` inputs of the last line are real.
// `next`: as many rows, whose inputs of the same columns are prefetched meanwhile; null: none.
template <class T, int C, int Lines>
LINNET_INLINE void narrow_gradient_tile(T* g, std::ptrdiff_t g_ld, const T* const* x, const T* d, std::ptrdiff_t d_ld,
                                        int batch, int i, int first, int count, const T* const* next) {
  constexpr int L = Narrow<T>::line, V = lanes<T>, N = Narrow<T>::vectors * Lines;
  Vec<T> sum[C][N];
#pragma GCC unroll 10
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sum[c][n] = Vec<T>{};
  auto step = [&](const T* row, auto&& delta) {
    Vec<T> a[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) a[n] = in_register(load(row + n * V));
#pragma GCC unroll 10
    for (int c = 0; c < C; ++c) {
      const Vec<T> e = broadcast(delta(c));
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sum[c][n] = fma(e, a[n], sum[c][n]);
    }
  };
  std::ptrdiff_t at[C];
  for (int c = 0; c < C; ++c) at[c] = ((first + c) / V * d_ld) * V + (first + c) % V;
  if (count == L && first % V + C <= V) {  // deltas of one panel are neighbours
    const T* from = d + at[0];
    if (next) {
      for (int b = 0; b < batch; ++b) {
#pragma GCC unroll 2
        for (int line = 0; line < Lines; ++line) __builtin_prefetch(next[b] + i + line * L, 0, 2);
        step(x[b] + i, [&](int c) { return from[b * V + c]; });
      }
    } else {
      for (int b = 0; b < batch; ++b) step(x[b] + i, [&](int c) { return from[b * V + c]; });
    }
  } else {
    alignas(cache_line) T tail[Lines * L] = {};
    for (int b = 0; b < batch; ++b) {
      if (count < L) std::memcpy(tail, x[b] + i, ((Lines - 1) * L + count) * sizeof(T));
      step(count < L ? tail : x[b] + i, [&](int c) { return d[at[c] + b * V]; });
    }
  }
#pragma GCC unroll 10
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) store(g + c * g_ld + n * V, sum[c][n]);
}

// g (outputs, g_ld apart) for inputs [i0..i1), i0 at a line's start; the lanes past the last input come out zero.
template <class T>
void narrow_gradient(T* g, std::ptrdiff_t g_ld, const T* const* x, const T* d, std::ptrdiff_t d_ld, int batch, int i0,
                     int i1, int outputs, const T* const* next = nullptr) {
  constexpr int L = Narrow<T>::line, C = Narrow<T>::gradient_outputs;
  for (int i = i0; i < i1;) {
    const int lines = std::min(Narrow<T>::gradient_lines, (i1 - i + L - 1) / L);
    const int count = std::min(L, i1 - i - (lines - 1) * L);
    with_constant<Narrow<T>::gradient_lines>(lines, [&](auto n) {
      for (int o = 0; o < outputs; o += C) {
        with_constant<C>(std::min(C, outputs - o), [&](auto c) {
          narrow_gradient_tile<T, c.value, n.value>(g + o * g_ld + (i - i0), g_ld, x, d, d_ld, batch, i, o, count,
                                                    o == 0 ? next : nullptr);
        });
      }
    });
    i += lines * L;
  }
}

// x: panels of the layer below, padding included, which meets weights of zero.
template <class T>
void narrow_panels_forward(T* z, std::ptrdiff_t z_ld, const T* x, std::ptrdiff_t x_ld, const T* w, const T* bias,
                           int inputs, int outputs, int r0, int r1) {
  constexpr int V = lanes<T>, N = Narrow<T>::vectors, R = std::min(V, 16 / N);  // rows whose sums stay in registers
  const std::ptrdiff_t w_ld = Narrow<T>::padded(inputs);
  const int panels = panels_of<T>(inputs);
  for (int r = r0; r < r1; r += V) {
    for (int o = 0; o < outputs; ++o) {
      Vec<T> row[V];
#pragma GCC unroll 16
      for (int first = 0; first < V; first += R) {
        Vec<T> sum[N][R] = {};
        auto step = [&](int p, int n) {
          const Vec<T> weights = load(w + o * w_ld + p * V);
          const T* from = x + (p * x_ld + r + first) * V;
#pragma GCC unroll 16
          for (int i = 0; i < R; ++i) sum[n][i] = fma(weights, load(from + i * V), sum[n][i]);
        };
        int p = 0;
        for (; p + N <= panels; p += N)
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) step(p + n, n);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n)
          if (p + n < panels) step(p + n, n);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
          for (int half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 2
            for (int n = 0; n < half; ++n) sum[n][i] = sum[n][i] + sum[n + half][i];
          row[first + i] = sum[0][i];
        }
      }
      const Vec<T> total = fold_all<V / 2, V>(row) + bias[o];
      for (int i = 0; i < V; ++i) z[(o / V * z_ld + r + i) * V + o % V] = total[i];
    }
  }
}

// d (panels of the layer below) = sum_o dz[b][o] w[o][..], kept where `mask`, a matrix like d, is above 0; null: all.
// dz has as many rows per panel.
template <class T, int C>
LINNET_INLINE void narrow_panels_backward_tile(T* d, const T* mask, std::ptrdiff_t d_ld, const T* dz, const T* w,
                                               std::ptrdiff_t w_ld, int panels, int r0, int r1) {
  constexpr int V = lanes<T>;
  for (int p = 0; p < panels; ++p) {
    Vec<T> row[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) row[c] = load(w + c * w_ld + p * V);
    for (int r = r0; r < r1; ++r) {
      Vec<T> sum{};
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum = fma(broadcast(dz[(c / V * d_ld + r) * V + c % V]), row[c], sum);
      const std::ptrdiff_t at = (p * d_ld + r) * V;
      if (mask) sum = load(mask + at) > T(0) ? sum : Vec<T>{};
      store(d + at, sum);
    }
  }
}

template <class T>
void narrow_panels_backward(T* d, const T* mask, std::ptrdiff_t d_ld, const T* dz, const T* w, int inputs, int outputs,
                            int r0, int r1) {
  with_constant<Narrow<T>::max_outputs_above>(outputs, [&](auto c) {
    narrow_panels_backward_tile<T, c.value>(d, mask, d_ld, dz, w, Narrow<T>::padded(inputs), panels_of<T>(inputs), r0,
                                            r1);
  });
}

// g (C outputs, g_ld apart, x P panels from the one at x on) = sum_b d[b][o..] x[b][..].
template <class T, int C, int P>
LINNET_INLINE void narrow_panels_tile(T* g, std::ptrdiff_t g_ld, const T* x, std::ptrdiff_t x_ld, const T* d,
                                      int rows) {
  constexpr int V = lanes<T>;
  Vec<T> sum[C][P] = {};
  for (int b = 0; b < rows; ++b) {
    Vec<T> a[P];
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) a[p] = load(x + (p * x_ld + b) * V);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const Vec<T> e = broadcast(d[b * V + c]);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) sum[c][p] = fma(e, a[p], sum[c][p]);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) store(g + c * g_ld + p * V, sum[c][p]);
}

// g (outputs, g_ld apart) for inputs [i0..i1), i0 at a line's start; the lanes past the last input come out zero.
template <class T>
void narrow_panels_gradient(T* g, std::ptrdiff_t g_ld, const T* x, std::ptrdiff_t x_ld, const T* d, std::ptrdiff_t d_ld,
                            int rows, int i0, int i1, int outputs) {
  constexpr int V = lanes<T>, C = std::min(V, Narrow<T>::max_outputs_above), P = Tile<T>::sums / C < 4 ? 2 : 4;
  for (int i = i0; i < i1; i += P * V)
    with_constant<P>(std::min(P, panels_of<T>(i1 - i)), [&](auto p) {
      for (int o = 0; o < outputs; o += C)
        with_constant<C>(std::min(C, outputs - o), [&](auto c) {
          narrow_panels_tile<T, c.value, p.value>(g + o * g_ld + (i - i0), g_ld, x + i / V * x_ld * V, x_ld,
                                                  d + o / V * d_ld * V + o % V, rows);
        });
    });
  for (int o = 0; o < outputs; ++o)
    std::fill(g + o * g_ld + (i1 - i0), g + o * g_ld + Narrow<T>::padded(i1 - i0), T(0));
}

}  // namespace linnet::inline LINNET_ISA
