// The largest error of every function of core/base/vecmath.hpp, in units of the last place, against the C library in
// the next wider type. Prints "name type max_ulp" lines; exits with 1 if a bound is exceeded or a special value
// (infinity, NaN, signed zero, overflow) is wrong. With an argument, prints a checksum of all results instead of the
// errors: builds that differ only in vector width must agree on it.
//
//   g++ -std=c++20 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -march=x86-64-v3 vecmath_accuracy.cpp
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/vecmath.hpp"

namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T>
using Word = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;

// Bit patterns from a fixed stride visit all signs, exponents, infinities and NaNs; as few doubles among those lie
// where the functions do something, evenly spread values follow.
template <class T>
std::vector<T> inputs() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {0, T(-0.0), 1, -1, 2, -2, T(0.5), T(-0.5), 5, -5, 50, -50, 1000, -1000, Limits::infinity(),
                      -Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::lowest(), Limits::min(),
                      -Limits::min(), Limits::denorm_min(), -Limits::denorm_min(), -1 + Limits::epsilon() / 2,
                      // Around the thresholds of overflow and underflow of exp:
                      T(88.72283), T(88.72284), T(-103.97207), T(-103.97208), T(709.7827128933840),
                      T(709.7827128933841), T(-745.1332191019411), T(-745.1332191019412)};
  const bool single = sizeof(T) == 4;
  const Word<T> stride = static_cast<Word<T>>(single ? 1009 : 0x00004b6d3a1f0e55);
  for (Word<T> word = 0, i = 0; i < (single ? 4256000 : 224000); ++i, word += stride)
    x.push_back(std::bit_cast<T>(word));
  for (const T range : {T(0.1), T(1), T(6), T(40), T(800)}) {
    for (int i = -32000; i < 32000; ++i) x.push_back(range * (static_cast<T>(i) + T(0.3)) / 32000);
  }
  while (x.size() % 64 != 0) x.push_back(0);  // whole vectors of any width
  return x;
}

template <class T>
double ulps(T got, Wide<T> expected) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(expected);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : wrong;
  if (expected == 0) return got == 0 && std::signbit(got) == std::signbit(expected) ? 0 : wrong;
  using Limits = std::numeric_limits<T>;
  const int exponent = rounded == 0 ? Limits::min_exponent : std::max(std::ilogb(rounded) + 1, Limits::min_exponent);
  return static_cast<double>(std::ldexp(std::abs(got - expected), Limits::digits - exponent));
}

bool failed = false, checksum_only = false;
std::uint64_t checksum = 14695981039346656037u;

template <class T, class Function, class Reference>
void check(const char* name, double bound, Function function, Reference reference) {
  constexpr int lanes = linnet::lanes<T>;
  static const std::vector<T> x = inputs<T>();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); i += lanes) {
    T y[lanes];
    linnet::store<T>(y, function(linnet::Vec<T>(linnet::load<T>(&x[i]))));
    for (int j = 0; j < lanes; ++j) {
      checksum = (checksum ^ std::bit_cast<Word<T>>(y[j])) * 1099511628211u;
      if (!checksum_only) worst = std::max(worst, ulps<T>(y[j], reference(static_cast<Wide<T>>(x[i + j]))));
    }
  }
  if (!linnet::has_fma) bound = std::max(4.0, 2 * bound - 2);
  if (worst > bound) failed = true;
  if (!checksum_only) std::printf("%s %s %.3f\n", name, sizeof(T) == 4 ? "float" : "double", worst);
}

// Without a wider type than double (Apple silicon, MSVC), double goes unchecked.
template <class Function, class Reference>
void check(const char* name, double bound_float, double bound_double, Function function, Reference reference) {
  check<float>(name, bound_float, function, reference);
  if constexpr (std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits) {
    check<double>(name, bound_double, function, reference);
  }
}

}  // namespace

int main(int argc, char**) {
  checksum_only = argc > 1;
#define CHECK(name, bound_float, bound_double, ...) \
  check(#name, bound_float, bound_double, [](auto v) { return linnet::name(v); }, [](auto x) { return __VA_ARGS__; })
  CHECK(exp, 1.5, 1.5, std::exp(x));
  CHECK(expm1, 2.5, 3, std::expm1(x));
  CHECK(log, 1.5, 1.5, std::log(x));
  CHECK(log1p, 2.5, 3, std::log1p(x));
  CHECK(tanh, 2.5, 3, std::tanh(x));
  CHECK(sigmoid, 2.5, 3, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)));
  CHECK(softplus, 2.5, 3, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
  CHECK(erf, 2.5, 3, std::erf(x));
  CHECK(gauss_cdf, 6, 7, std::erfc(x * -0.707106781186547524400844362104849039L) / 2);
  if (checksum_only) std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum));
  return failed;
}
