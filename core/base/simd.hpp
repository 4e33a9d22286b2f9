// The vector types of one instruction set. All numeric code of the core is written on them, so that the same source
// becomes SSE, AVX2, AVX-512 or NEON code by compiler flags alone; each instruction set is a module of its own, chosen
// at import. There is no template machinery: a Vec<T> is a GCC/Clang vector, and + - * / < ?: work on it lane by lane.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "base/isa.hpp"

// A test build may ask for wider vectors than the machine has (slow, same bytes): see
// docs/decisions/0004-same-bytes.md.
#if !defined(LINNET_VECTOR_BYTES)
#if defined(__AVX512F__)
#define LINNET_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define LINNET_VECTOR_BYTES 32
#else
#define LINNET_VECTOR_BYTES 16
#endif
#endif

#define LINNET_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define LINNET_X86 1
#else
#define LINNET_X86 0
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define LINNET_FMA 1
#else
#define LINNET_FMA 0
#endif

namespace linnet::inline LINNET_ISA {

inline constexpr int vector_bytes = LINNET_VECTOR_BYTES;
inline constexpr int cache_line = 64;
inline constexpr bool has_fma = LINNET_FMA;  // a fused multiply-add: without it, last bits differ

template <class T>
struct VecTypes;

template <>
struct VecTypes<float> {
  typedef float vec __attribute__((vector_size(vector_bytes)));
  typedef float unaligned __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
  typedef std::int32_t ivec __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t uvec __attribute__((vector_size(vector_bytes)));
};

template <>
struct VecTypes<double> {
  typedef double vec __attribute__((vector_size(vector_bytes)));
  typedef double unaligned __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
  typedef std::int64_t ivec __attribute__((vector_size(vector_bytes)));
  typedef std::uint64_t uvec __attribute__((vector_size(vector_bytes)));
};

template <class T>
using Vec = typename VecTypes<T>::vec;  // lanes<T> values of T
template <class T>
using IVec = typename VecTypes<T>::ivec;  // integers of T's size: what a comparison of two Vec<T> gives (-1 or 0)
template <class T>
using UVec = typename VecTypes<T>::uvec;

template <class T>
inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
LINNET_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VecTypes<T>::unaligned*>(p);
}

template <class T>
LINNET_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VecTypes<T>::unaligned*>(p) = v;
}

template <class T>
LINNET_INLINE Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // x - 0 is x, bit for bit, and compiles to the bare broadcast
}

// The first n values at p, and zeros in the other lanes; nothing beyond the n values is read.
template <class T>
LINNET_INLINE Vec<T> load_some(const T* p, int n) {
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
  else
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
#else
  T values[lanes<T>] = {};
  for (int i = 0; i < n; ++i) values[i] = p[i];
  return load(values);
#endif
}

// A value read from memory once: keeps the compiler from reading it again at each use.
template <class V>
LINNET_INLINE V in_register(V v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));  // any of the 32 registers
#elif LINNET_X86 && LINNET_VECTOR_BYTES <= 32
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

// a * b + c, rounded once where the machine has a fused multiply-add (`has_fma`). Always written explicitly: the
// compiler may not contract expressions by itself, so that the rounding of a formula can be read off its source.
LINNET_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && LINNET_VECTOR_BYTES == 32
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__FMA__) && LINNET_VECTOR_BYTES == 16
  return _mm_fmadd_ps(a, b, c);
#elif defined(__ARM_FEATURE_FMA) && LINNET_VECTOR_BYTES == 16
  return vfmaq_f32(c, a, b);
#elif LINNET_FMA
  Vec<float> out;
  for (int i = 0; i < lanes<float>; ++i) out[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return out;
#else
  return a * b + c;
#endif
}

LINNET_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__) && LINNET_VECTOR_BYTES == 32
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__FMA__) && LINNET_VECTOR_BYTES == 16
  return _mm_fmadd_pd(a, b, c);
#elif defined(__ARM_FEATURE_FMA) && LINNET_VECTOR_BYTES == 16
  return vfmaq_f64(c, a, b);
#elif LINNET_FMA
  Vec<double> out;
  for (int i = 0; i < lanes<double>; ++i) out[i] = __builtin_fma(a[i], b[i], c[i]);
  return out;
#else
  return a * b + c;
#endif
}

// fma of single values, rounded as the vector version rounds.
template <class T>
LINNET_INLINE T fused(T a, T b, T c) {
#if LINNET_FMA
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

LINNET_INLINE Vec<float> sqrt(Vec<float> a) {
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  return _mm512_sqrt_ps(a);
#elif defined(__AVX__) && LINNET_VECTOR_BYTES == 32
  return _mm256_sqrt_ps(a);
#elif defined(__SSE2__) && LINNET_VECTOR_BYTES == 16
  return _mm_sqrt_ps(a);
#else
  Vec<float> out;
  for (int i = 0; i < lanes<float>; ++i) out[i] = __builtin_sqrtf(a[i]);
  return out;
#endif
}

LINNET_INLINE Vec<double> sqrt(Vec<double> a) {
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  return _mm512_sqrt_pd(a);
#elif defined(__AVX__) && LINNET_VECTOR_BYTES == 32
  return _mm256_sqrt_pd(a);
#elif defined(__SSE2__) && LINNET_VECTOR_BYTES == 16
  return _mm_sqrt_pd(a);
#else
  Vec<double> out;
  for (int i = 0; i < lanes<double>; ++i) out[i] = __builtin_sqrt(a[i]);
  return out;
#endif
}

// max as "a if a > b, else b", and min likewise: NaN in a gives b, NaN in b gives NaN. That is what x86 computes in one
// instruction, which GCC does not find by itself.
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
LINNET_INLINE Vec<float> max(Vec<float> a, Vec<float> b) { return _mm512_max_ps(a, b); }
LINNET_INLINE Vec<float> min(Vec<float> a, Vec<float> b) { return _mm512_min_ps(a, b); }
LINNET_INLINE Vec<double> max(Vec<double> a, Vec<double> b) { return _mm512_max_pd(a, b); }
LINNET_INLINE Vec<double> min(Vec<double> a, Vec<double> b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX__) && LINNET_VECTOR_BYTES == 32
LINNET_INLINE Vec<float> max(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
LINNET_INLINE Vec<float> min(Vec<float> a, Vec<float> b) { return _mm256_min_ps(a, b); }
LINNET_INLINE Vec<double> max(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
LINNET_INLINE Vec<double> min(Vec<double> a, Vec<double> b) { return _mm256_min_pd(a, b); }
#elif defined(__SSE2__) && LINNET_VECTOR_BYTES == 16
LINNET_INLINE Vec<float> max(Vec<float> a, Vec<float> b) { return _mm_max_ps(a, b); }
LINNET_INLINE Vec<float> min(Vec<float> a, Vec<float> b) { return _mm_min_ps(a, b); }
LINNET_INLINE Vec<double> max(Vec<double> a, Vec<double> b) { return _mm_max_pd(a, b); }
LINNET_INLINE Vec<double> min(Vec<double> a, Vec<double> b) { return _mm_min_pd(a, b); }
#else
template <class V>
LINNET_INLINE V max(V a, V b) {
  return a > b ? a : b;
}
template <class V>
LINNET_INLINE V min(V a, V b) {
  return a < b ? a : b;
}
#endif

// The bits of a vector, seen as another vector of the same size.
template <class To, class From>
LINNET_INLINE To bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(v);
}

// One bit per lane, the first lane lowest: whether its value is not zero. NaN is not zero.
template <class T>
LINNET_INLINE std::uint32_t nonzero_bits(Vec<T> v) {
  constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__) && LINNET_VECTOR_BYTES == 64
  if constexpr (single)
    return _mm512_cmp_ps_mask(v, Vec<T>{}, _CMP_NEQ_UQ);
  else
    return _mm512_cmp_pd_mask(v, Vec<T>{}, _CMP_NEQ_UQ);
#elif defined(__AVX__) && LINNET_VECTOR_BYTES == 32
  const IVec<T> lanes_of = v != Vec<T>{};
  if constexpr (single)
    return _mm256_movemask_ps(bits<Vec<T>>(lanes_of));
  else
    return _mm256_movemask_pd(bits<Vec<T>>(lanes_of));
#elif defined(__SSE2__) && LINNET_VECTOR_BYTES == 16
  const IVec<T> lanes_of = v != Vec<T>{};
  if constexpr (single)
    return _mm_movemask_ps(bits<Vec<T>>(lanes_of));
  else
    return _mm_movemask_pd(bits<Vec<T>>(lanes_of));
#else
  std::uint32_t found = 0;
  for (int lane = 0; lane < lanes<T>; ++lane) found |= std::uint32_t{v[lane] != T(0)} << lane;
  return found;
#endif
}

LINNET_INLINE Vec<float> abs(Vec<float> v) { return bits<Vec<float>>(bits<UVec<float>>(v) & 0x7fffffffu); }
LINNET_INLINE Vec<double> abs(Vec<double> v) {
  return bits<Vec<double>>(bits<UVec<double>>(v) & 0x7fffffffffffffffull);
}

}  // namespace linnet::inline LINNET_ISA
