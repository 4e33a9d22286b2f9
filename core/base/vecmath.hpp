// Elementary functions on the vectors of base/simd.hpp, for float and double: exp, expm1, log, log1p, tanh, sigmoid,
// softplus, erf and gauss_cdf. Each is straight-line code (no branches, tables or libm), so a lane's result depends on
// that lane's input alone and is the same at every vector width. Without a fused multiply-add (x86-64-v2) the last bits
// differ. Measured bounds: tests/core/vecmath_accuracy.cpp.
//
// Polynomials are minimax fits whose coefficients were rounded to the type one at a time, the others refitted after
// each; "2^-k" behind one is its largest relative error in the function it serves.
#pragma once

#include <limits>
#include <type_traits>

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {
namespace vecmath {

template <class V>
concept FloatVector = std::is_same_v<V, Vec<float>> || std::is_same_v<V, Vec<double>>;

// What the formulas need to know about a type: its bit layout, ln 2 as the sum of two numbers, and where functions
// reach their limits. ln2_hi has so few bits that n * ln2_hi is exact for every exponent n, with or without a fused
// multiply-add.
template <class V>
struct Format;

template <>
struct Format<Vec<float>> {
  using T = float;
  using Word = std::uint32_t;
  static constexpr int mantissa_bits = 23, bias = 127;
  static constexpr Word mantissa_mask = 0x007fffff;
  static constexpr Word one = 0x3f800000, sqrt_half = 0x3f3504f3;  // the bits of 1 and sqrt(1/2)
  static constexpr T log2e = 0x1.715476p+0f, ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f;
  static constexpr T exp_min = -104, exp_max = 89;  // e^x rounds to 0 below, to infinity above
  static constexpr T expm1_min = -20, tanh_max = 10, erf_max = 4, gauss_max = 14.5f;
  static constexpr T gauss_round = 0x1.8p15f;  // x + gauss_round is rounded to a multiple of 2^-8
};

template <>
struct Format<Vec<double>> {
  using T = double;
  using Word = std::uint64_t;
  static constexpr int mantissa_bits = 52, bias = 1023;
  static constexpr Word mantissa_mask = 0x000fffffffffffff;
  static constexpr Word one = 0x3ff0000000000000, sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr T log2e = 0x1.71547652b82fep+0, ln2_hi = 0x1.62e42fefa4p-1, ln2_lo = -0x1.8432a1b0e2634p-43;
  static constexpr T exp_min = -746, exp_max = 710;
  static constexpr T expm1_min = -40, tanh_max = 20, erf_max = 6, gauss_max = 39;
  static constexpr T gauss_round = 0x1.8p32;  // 2^-20
};

template <class V>
using Scalar = typename Format<V>::T;
template <class V>
using Word = typename Format<V>::Word;  // the bits of a lane
template <class V>
using Words = UVec<Scalar<V>>;  // the bits of all lanes

// c as a vector: lets a template write constants the same way for both types.
template <FloatVector V>
LINNET_INLINE V all(Scalar<V> c) {
  return broadcast<Scalar<V>>(c);
}

// c0 + c1 x + c2 x^2 + ..., as (c0 + c1 x) + x^2 ((c2 + c3 x) + x^2 (...)): the pairs do not wait for each other, so
// the chain of dependent operations, which bounds the speed, is half as long as with Horner's rule.
template <FloatVector V, class... C>
LINNET_INLINE V polynomial(V x, C... coefficients) {
  constexpr int n = sizeof...(C);
  const Scalar<V> c[n + 1] = {coefficients..., 0};
  const V z = x * x;
  constexpr int top = (n - 1) & ~1;
  V p = n % 2 == 1 ? all<V>(c[top]) : fma(x, all<V>(c[top + 1]), all<V>(c[top]));
  for (int i = top - 2; i >= 0; i -= 2) p = fma(p, z, fma(x, all<V>(c[i + 1]), all<V>(c[i])));
  return p;
}

// magnitude >= 0 with the sign bit of x (which also gives f(-0) = -0).
template <FloatVector V>
LINNET_INLINE V with_sign_of(V x, V magnitude) {
  const Words<V> sign = bits<Words<V>>(all<V>(Scalar<V>(-0.0)));
  return bits<V>((bits<Words<V>>(x) & sign) | bits<Words<V>>(magnitude));
}

// ---- exp and its relatives: x = n ln2 + r with |r| <= ln2 / 2, e^x = 2^n e^r --------------------------------------

// n stays where the rounding left it, in the low bits of 1.5 * 2^mantissa_bits + n (a conversion to 64-bit integers
// would be scalar code on AVX2). Shifting left by mantissa_bits keeps only n, in the place of a number's exponent.
template <FloatVector V>
struct Reduced {
  V r;
  Words<V> n;
};

template <FloatVector V>
LINNET_INLINE Reduced<V> exp_reduce(V x) {
  using F = Format<V>;
  constexpr Scalar<V> round = Scalar<V>(Word<V>(3) << (F::mantissa_bits - 1));
  const V shifted = fma(x, all<V>(F::log2e), all<V>(round));
  const V n = shifted - round;
  const V r = fma(n, all<V>(-F::ln2_lo), fma(n, all<V>(-F::ln2_hi), x));
  return {r, bits<Words<V>>(shifted)};
}

// q(r) in e^r = 1 + r + r^2 q(r).
LINNET_INLINE Vec<float> exp_tail(Vec<float> r) {
  return polynomial(r, 0.5f, 0x1.5554d4p-3f, 0x1.5555d6p-5f, 0x1.121132p-7f, 0x1.6c2bc2p-10f);  // expm1: 2^-25.6
}

LINNET_INLINE Vec<double> exp_tail(Vec<double> r) {
  return polynomial(r, 0x1.0000000000005p-1, 0x1.555555555554fp-3, 0x1.5555555552273p-5, 0x1.1111111114d9p-7,
                    0x1.6c16c17ec6d49p-10, 0x1.a01a01871488p-13, 0x1.a019a7d3bb8e2p-16, 0x1.71de669d73d71p-19,
                    0x1.28a16f4309ae4p-22, 0x1.ae98a44f6bc63p-26);  // 2^-55.6
}

template <FloatVector V>
LINNET_INLINE V expm1_of_r(V r) {
  return fma(r * r, exp_tail(r), r);  // the rounding of r^2 q(r) hardly matters: it is at most a fifth of r
}

// unit * 2^n, which must be a normal number.
template <FloatVector V>
LINNET_INLINE V power_of_two(Words<V> n, Scalar<V> unit = 1) {
  using F = Format<V>;
  return bits<V>((n << F::mantissa_bits) + bits<Words<V>>(all<V>(unit)));
}

// (y + growth y) 2^n for results down to the subnormals and up to infinity, which 2^n alone would not reach: half of n
// at a time. Both products with a power of two are exact, but for the rounding of a subnormal result.
template <FloatVector V>
LINNET_INLINE V scale(V y, V growth, Words<V> n) {
  const Words<V> half = n >> 1;
  const V scaled = y * power_of_two<V>(half);
  return fma(growth, scaled, scaled) * power_of_two<V>(n - half);
}

// ---- log and its relatives: log(2^k (1 + f)) = k ln2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2) ----------------

// log(1 + f) - f.
LINNET_INLINE Vec<float> log_tail(Vec<float> f) {
  return f * f *
         polynomial(f, -0x1.fffff8p-2f, 0x1.55555p-2f, -0x1.00043ap-2f, 0x1.99a42cp-3f, -0x1.54237p-3f, 0x1.226a58p-3f,
                    -0x1.0f540ep-3f, 0x1.0886f2p-3f, -0x1.38393ep-4f);  // 2^-27.8
}

// In double a polynomial in f would need 21 terms; log(1 + f) = 2 atanh(s) with s = f / (2 + f) has a short series
// 2 s + s R(s^2). As 2 s = f - s f, that is f - f^2/2 + s (f^2/2 + R), where the rounding of s hardly matters.
LINNET_INLINE Vec<double> log_tail(Vec<double> f) {
  const Vec<double> s = f / (2.0 + f);
  const Vec<double> z = s * s;
  const Vec<double> p =
      polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff63p-2, 0x1.24924941db4cep-2, 0x1.c71c521a1216ap-3,
                 0x1.74663ba5b4344p-3, 0x1.39a20b4e11077p-3, 0x1.2f0255e8ab4e1p-3);  // 2^-59.5
  const Vec<double> h = 0.5 * f * f;
  return fma(s, fma(z, p, h), -h);
}

// log(2^k (1 + f)). The small terms are added first.
template <FloatVector V>
LINNET_INLINE V log_sum(V k, V f) {
  using F = Format<V>;
  return fma(k, all<V>(F::ln2_hi), f + fma(k, all<V>(F::ln2_lo), log_tail(f)));
}

// The bits of x > 0, moved so that their exponent field is the biased k of x = 2^k m, sqrt(1/2) <= m < sqrt(2).
template <FloatVector V>
LINNET_INLINE Words<V> log_bits(V x) {
  using F = Format<V>;
  return bits<Words<V>>(x) + (F::one - F::sqrt_half);
}

// k + bias, as a number: an integer put into the low bits of 2^mantissa_bits.
template <FloatVector V>
LINNET_INLINE V log_exponent(Words<V> moved) {
  using F = Format<V>;
  constexpr Scalar<V> big = Scalar<V>(Word<V>(1) << F::mantissa_bits);
  return bits<V>((moved >> F::mantissa_bits) | bits<Words<V>>(all<V>(big))) - big;
}

// y, the logarithm of x, where 0 < x < infinity; the limit (or NaN) elsewhere.
template <FloatVector V>
LINNET_INLINE V log_limits(V x, V y) {
  using Limits = std::numeric_limits<Scalar<V>>;
  const V infinity = all<V>(Limits::infinity());
  y = x < infinity ? y : infinity;
  return x > 0 ? y : (x == 0 ? -infinity : all<V>(Limits::quiet_NaN()));
}

// ---- the normal distribution ----------------------------------------------------------------------------------------

// Phi(-a) for a >= 0, given e^(-a^2/2) = 2^n e^r. Their quotient is smooth, 1/2 at 0 and falling like 1/a: a rational
// function p/q fits it on the whole range. All its terms are positive, so nothing cancels; the constant terms are added
// last, because near 0 every rounding of p and q shows.
LINNET_INLINE Vec<float> gauss_tail(Vec<float> a, Vec<float> r, Words<Vec<float>> n) {
  const Vec<float> p = polynomial(a, 0x1.bfada8p-2f, 0x1.758474p-3f, 0x1.4a6f6ap-5f, 0x1.0ab3eep-8f);
  const Vec<float> q =
      polynomial(a, 0x1.ac1902p+0f, 0x1.32f37p+0f, 0x1.de6c1ap-2f, 0x1.9e2aap-4f, 0x1.4e4224p-7f);  // 2^-26.4
  return scale(fma(a, p, broadcast(0.5f)), expm1_of_r(r), n) / fma(a, q, broadcast(1.0f));
}

LINNET_INLINE Vec<double> gauss_tail(Vec<double> a, Vec<double> r, Words<Vec<double>> n) {
  const Vec<double> p = polynomial(
      a, 0x1.a7a6dd99f71f7p-1, 0x1.5b930f089f6b2p-1, 0x1.6d52d4282b259p-2, 0x1.0dd7724d0792fp-3, 0x1.236287f5f7291p-5,
      0x1.d13936da826dbp-8, 0x1.0f7109f2e5c1cp-10, 0x1.bcd1713b2aa6fp-14, 0x1.d16efd7c907c9p-18, 0x1.de1774f54a4bcp-23);
  const Vec<double> q =
      polynomial(a, 0x1.39f4839c4c69p+1, 0x1.684984797f2efp+1, 0x1.ffba5a87542cp+0, 0x1.f4f22ee755b53p-1,
                 0x1.63e0e72f1c104p-2, 0x1.77af88de20177p-4, 0x1.27df6c71ca5bep-6, 0x1.567aede3c979bp-9,
                 0x1.175565b5b192ap-12, 0x1.23aacf6b93614p-16, 0x1.2b9978ba1760dp-21);  // 2^-55.6
  return scale(fma(a, p, broadcast(0.5)), expm1_of_r(r), n) / fma(a, q, broadcast(1.0));
}

// erf(a) / a - 1 for 0 <= a <= 1/2, as a function of z = a^2.
LINNET_INLINE Vec<float> erf_series(Vec<float> z) {
  return polynomial(z, 0x1.06eba8p-3f, -0x1.812734p-2f, 0x1.ce2544p-4f, -0x1.b66846p-6f, 0x1.35465ep-8f);  // 2^-29.3
}

LINNET_INLINE Vec<double> erf_series(Vec<double> z) {
  return polynomial(z, 0x1.06eba8214db68p-3, -0x1.812746b0379b3p-2, 0x1.ce2f21a03d697p-4, -0x1.b82ce30f1f0a1p-6,
                    0x1.565bcbf5e93d7p-8, -0x1.c02d4ea4882cap-11, 0x1.f98d9594d1fc8p-14, -0x1.f22297bb6e819p-17,
                    0x1.8b392953e842fp-20);  // 2^-56
}

// ---- the functions --------------------------------------------------------------------------------------------------
// In min(limit, x) and max(limit, x) the limit comes first so that NaN stays NaN.

template <FloatVector V>
LINNET_INLINE V exp(V x) {
  using F = Format<V>;
  const auto [r, n] = exp_reduce(min(all<V>(F::exp_max), max(all<V>(F::exp_min), x)));
  return scale(all<V>(1), expm1_of_r(r), n);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), halved on the way because 2^n may be just above the largest number.
template <FloatVector V>
LINNET_INLINE V expm1(V x) {
  using F = Format<V>;
  const auto [r, n] = exp_reduce(min(all<V>(F::exp_max), max(all<V>(F::expm1_min), x)));
  const V h = power_of_two<V>(n, Scalar<V>(0.5));
  const V y = fma(expm1_of_r(r), h, h - Scalar<V>(0.5));
  return x + 1 == 1 ? x : y + y;  // -0, and no halving of subnormal x
}

template <FloatVector V>
LINNET_INLINE V log(V x) {
  using F = Format<V>;
  using T = Scalar<V>;
  constexpr T up = Word<V>(2) << F::mantissa_bits;  // makes a subnormal x normal
  const auto subnormal = x < std::numeric_limits<T>::min();
  const auto moved = log_bits(subnormal ? x * up : x);
  const V k = log_exponent<V>(moved) - (subnormal ? all<V>(F::bias + F::mantissa_bits + 1) : all<V>(F::bias));
  const V m = bits<V>((moved & F::mantissa_mask) + F::sqrt_half);
  return log_limits(x, log_sum(k, m - 1));
}

// 1 + x = 2^k (1 + f) gives f = 2^-k x + (2^-k - 1), free of the rounding of 1 + x. 2^-k x is a subtraction in x's
// exponent field: where k is not 0, x is a normal number.
template <FloatVector V>
LINNET_INLINE V log1p(V x) {
  using F = Format<V>;
  const V u = 1 + x;
  const Words<V> moved = log_bits(u);
  const V k = log_exponent<V>(moved) - F::bias;
  const Words<V> shift = (moved & ~F::mantissa_mask) - F::one;     // k, in the place of an exponent
  const V unit = k < F::bias - 1 ? bits<V>(F::one - shift) : V{};  // 2^-k; the largest k would leave its range
  const V f = bits<V>(bits<Words<V>>(x) - shift) + (unit - 1);
  return u == 1 ? x : log_limits(u, log_sum(k, f));  // tiny x: x - x^2/2 rounds to x, and -0 to -0
}

// With y = e^(2|x|) - 1: tanh|x| = y / (y + 2), where errors of y fade as it grows.
template <FloatVector V>
LINNET_INLINE V tanh(V x) {
  const V a = min(all<V>(Format<V>::tanh_max), abs(x));
  const auto [r, n] = exp_reduce(a + a);
  const V s = power_of_two<V>(n);
  const V y = fma(expm1_of_r(r), s, s - 1);
  return with_sign_of(x, y / (y + 2));
}

// Only e^-|x| is formed, which cannot overflow: 1 / (1 + e^-x) for x >= 0, e^x / (1 + e^x) below.
template <FloatVector V>
LINNET_INLINE V sigmoid(V x) {
  const V e = exp(-abs(x));
  return (x < 0 ? e : all<V>(1)) / (1 + e);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|). Here 1 + e is in [1, 2], so k is 0 or 1.
template <FloatVector V>
LINNET_INLINE V softplus(V x) {
  using T = Scalar<V>;
  const V e = exp(-abs(x));
  const auto upper = e > T(0.41421356237309505);  // 1 + e > sqrt(2)
  const V k = upper ? all<V>(1) : V{};
  const V f = upper ? T(0.5) * (e - 1) : e;
  return max(x, V{}) + log_sum(k, f);  // NaN comes from the right summand alone
}

// 1 - erfc(|x|), or a series near 0, where that would cancel. erfc(a) = 2 Phi(-sqrt(2) a).
template <FloatVector V>
LINNET_INLINE V erf(V x) {
  using T = Scalar<V>;
  const V a = min(all<V>(Format<V>::erf_max), abs(x));
  const V z = a * a;
  const auto [r, n] = exp_reduce(0 - z);  // -z would flip the sign of NaN, and which sign survives would be arbitrary
  const V tail = gauss_tail(T(1.4142135623730951) * a, r, n);
  const V y = a < T(0.5) ? fma(a, erf_series(z), a) : 1 - (tail + tail);
  return with_sign_of(x, y);
}

// Phi(x), the integral of the normal density up to x. To keep the relative accuracy of the left tail, where an error of
// x^2/2 counts in full, |x| = b + c with so few bits in b that b^2 is exact: x^2 = b^2 + c (|x| + b).
template <FloatVector V>
LINNET_INLINE V gauss_cdf(V x) {
  using F = Format<V>;
  using T = Scalar<V>;
  const V a = min(all<V>(F::gauss_max), abs(x));
  const V b = (a + F::gauss_round) - F::gauss_round;
  const auto [r, n] = exp_reduce(T(-0.5) * b * b);
  const V tail = gauss_tail(a, r - T(0.5) * (a - b) * (a + b), n);
  return x < 0 ? tail : 1 - tail;
}

}  // namespace vecmath

using vecmath::erf, vecmath::exp, vecmath::expm1, vecmath::gauss_cdf, vecmath::log, vecmath::log1p, vecmath::sigmoid,
    vecmath::softplus, vecmath::tanh;

}  // namespace linnet::inline LINNET_ISA
