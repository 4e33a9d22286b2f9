// Optimizers as one vector update each: (g, w, s) -> (w, s), where s are the vectors of the arrays that the rule keeps,
// on any segment of the flat arrays. The same function serves the fused step (g fresh from a register tile) and the
// plain one (g from a buffer), so both give the same bytes. To add an optimizer: a line in train/rules.def, a branch in
// `update_vector`.
//
//   sgd        w -= r g
//   momentum   v = m v - r g;  w += v                        nesterov   w += m v - r g
//   adagrad    s += g^2;  w -= r g / sqrt(s + e)
//   rmsprop    s = rho s + (1 - rho) g^2;  w -= r g / sqrt(s + e)
//   adam       m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= r_t m / (sqrt(v) + e),
//              r_t = r sqrt(1 - b2^t) / (1 - b1^t)           adamw      w -= r decay w first (weights, never biases)
//   amsgrad    adamw's m and v;  u = max(u, v);  w -= r_t m / (sqrt(u) + e)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "network/network.hpp"

namespace linnet::inline LINNET_ISA {

enum class Rule {
#define LINNET_RULE(name, states, corrected, decays) name,
#include "train/rules.def"
#undef LINNET_RULE
};

// The columns of train/rules.def.
struct RuleTraits {
  int states;
  bool corrected, decays;
};

constexpr RuleTraits traits_of(Rule rule) {
  switch (rule) {
#define LINNET_RULE(name, states, corrected, decays) \
  case Rule::name:                                   \
    return {states, corrected, decays};
#include "train/rules.def"
#undef LINNET_RULE
  }
  __builtin_unreachable();
}

constexpr int max_states = std::max({
#define LINNET_RULE(name, states, corrected, decays) states,
#include "train/rules.def"
#undef LINNET_RULE
});

struct OptimizerSpec {
  Rule rule = Rule::sgd;
  double momentum = 0.9;              // momentum, nesterov; rho of rmsprop
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double epsilon = 1e-7;
  double initial_accumulator = 0.1;  // adagrad
  double decay = 0;                  // adamw: decoupled weight decay
  double clip_norm = 0;              // 0: none; else the gradient is scaled down to this norm

  int states() const { return traits_of(rule).states; }

  // The initial value of the rule's array k.
  double initial_state(int k) const { return rule == Rule::adagrad && k == 0 ? initial_accumulator : 0; }
};

// The rule's arrays, which lie as the parameters do.
template <class T>
struct States {
  int count = 0;
  T* array[max_states] = {};
};

// b^n by repeated squaring: the same bits on every machine, unlike pow.
inline double power(double b, std::int64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, b *= b)
    if (n % 2) result *= b;
  return result;
}

// One step's numbers: gradient = shrink * (scale * sum + l2 w + l1 sign(w)), then the rule at rate `rate`.
template <class T>
struct StepSize {
  T scale, shrink = 1, rate, decay, momentum, beta1, beta2, epsilon;

  StepSize(const OptimizerSpec& spec, double learning_rate, std::int64_t step, double gradient_scale)
      : scale(static_cast<T>(gradient_scale)),
        rate(static_cast<T>(learning_rate)),
        decay(static_cast<T>(traits_of(spec.rule).decays ? learning_rate * spec.decay : 0)),
        momentum(static_cast<T>(spec.momentum)),
        beta1(static_cast<T>(spec.beta1)),
        beta2(static_cast<T>(spec.beta2)),
        epsilon(static_cast<T>(spec.epsilon)) {
    if (traits_of(spec.rule).corrected)
      rate = static_cast<T>(learning_rate * std::sqrt(1 - power(spec.beta2, step)) / (1 - power(spec.beta1, step)));
  }
};

template <class T, Rule rule>
LINNET_INLINE void update_vector(Vec<T>& w, Vec<T>* s, Vec<T> g, const StepSize<T>& step) {
  if constexpr (rule == Rule::sgd) {
    w = w - step.rate * g;
  } else if constexpr (rule == Rule::momentum || rule == Rule::nesterov) {
    s[0] = step.momentum * s[0] - step.rate * g;
    w = rule == Rule::momentum ? w + s[0] : w + (step.momentum * s[0] - step.rate * g);
  } else if constexpr (rule == Rule::adagrad) {
    s[0] = s[0] + g * g;
    w = w - step.rate * g / sqrt(s[0] + step.epsilon);
  } else if constexpr (rule == Rule::rmsprop) {
    s[0] = step.momentum * s[0] + (T(1) - step.momentum) * (g * g);
    w = w - step.rate * g / sqrt(s[0] + step.epsilon);
  } else {
    static_assert(rule == Rule::adam || rule == Rule::adamw || rule == Rule::amsgrad, "a rule without a branch");
    s[0] = s[0] + (g - s[0]) * (T(1) - step.beta1);
    s[1] = s[1] + (g * g - s[1]) * (T(1) - step.beta2);
    if constexpr (rule == Rule::amsgrad) s[2] = max(s[2], s[1]);  // this order keeps a NaN a NaN
    w = w - step.rate * s[0] / (sqrt(s[rule == Rule::amsgrad ? 2 : 1]) + step.epsilon);
  }
}

template <class F>
LINNET_INLINE void with_rule(Rule rule, F&& f) {
  switch (rule) {
#define LINNET_RULE(name, states, corrected, decays) \
  case Rule::name:                                   \
    return f(std::integral_constant<Rule, Rule::name>{});
#include "train/rules.def"
#undef LINNET_RULE
  }
}

// The gradient of the objective at V parameters, from their gradient sums: data term plus penalty.
template <class T>
LINNET_INLINE Vec<T> penalised(Vec<T> sum, Vec<T> w, T scale, T l1, T l2) {
  Vec<T> g = scale * sum;
  if (l2 != T(0)) g = g + l2 * w;
  if (l1 != T(0)) g = g + (w > T(0) ? broadcast(l1) : (w < T(0) ? broadcast(-l1) : Vec<T>{}));
  return g;
}

// Updates the `count` parameters (a multiple of the vector length) from place `at` on; g are their gradient sums.
// Biases come with a zero penalty and `decayed` false.
template <class T>
void update(Rule rule, T* w, const States<T>& states, std::ptrdiff_t at, const T* g, std::ptrdiff_t count,
            const StepSize<T>& step, Penalty penalty, bool decayed) {
  constexpr int V = lanes<T>;
  const T l1 = static_cast<T>(penalty.l1), l2 = static_cast<T>(penalty.l2);
  const T keep = decayed ? T(1) - step.decay : T(1);
  with_rule(rule, [=, &states](auto r) {  // by value: a reference would be read again after every store
    constexpr Rule known = decltype(r)::value;
    constexpr int n = traits_of(known).states;
    T* const w_at = w + at;
    T* array[std::max(1, n)];
#pragma GCC unroll 8
    for (int k = 0; k < n; ++k) array[k] = states.array[k] + at;
    for (std::ptrdiff_t i = 0; i < count; i += V) {
      Vec<T> w_i = load(w_at + i), s[std::max(1, n)];
      const Vec<T> g_i = step.shrink * penalised(load(g + i), w_i, step.scale, l1, l2);
#pragma GCC unroll 8
      for (int k = 0; k < n; ++k) s[k] = load(array[k] + i);
      if constexpr (traits_of(known).decays) w_i = w_i * keep;
      update_vector<T, known>(w_i, s, g_i, step);
      store(w_at + i, w_i);
#pragma GCC unroll 8
      for (int k = 0; k < n; ++k) store(array[k] + i, s[k]);
    }
  });
}

// Plain sgd on N rows of `count` weights each, the gradient of a row being factor * x: w -= (rate scale factor) x.
template <int N, class T>
LINNET_INLINE void update_by_row(T* const* w, const T* x, const T* factor, int count, const StepSize<T>& step) {
  constexpr int V = lanes<T>;
  T c[N];
  Vec<T> by[N];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) c[n] = -(step.rate * (step.scale * factor[n])), by[n] = broadcast(c[n]);
  int i = 0;
  for (; i + V <= count; i += V) {
    const Vec<T> row = in_register(load(x + i));
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) store(w[n] + i, fma(by[n], row, load(w[n] + i)));
  }
  for (; i < count; ++i)
    for (int n = 0; n < N; ++n) w[n][i] = fused(c[n], x[i], w[n][i]);
}

// sums[o] = Σ f(i) over the parameters of output o, in double: of `outputs` interleaved outputs, or of one alone in
// eight partial sums, as an addition waits for the one before it.
template <int V, class F>
LINNET_INLINE void sums_by_output(double* sums, std::ptrdiff_t count, int outputs, F&& f) {
  constexpr int parts = 8;
  if (outputs == 1) {
    double sum[parts] = {};
    std::ptrdiff_t i = 0;
    for (; i + parts <= count; i += parts)
#pragma GCC unroll 8
      for (int part = 0; part < parts; ++part) sum[part] += f(i + part);
    for (; i < count; ++i) sum[0] += f(i);
    sums[0] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    return;
  }
  double sum[V] = {};
  for (std::ptrdiff_t i = 0; i < count; i += V)
#pragma GCC unroll 16
    for (int lane = 0; lane < V; ++lane) sum[lane] += f(i + lane);
  for (int lane = 0; lane < V; ++lane) sums[lane] = sum[lane];
}

// The squares of the penalised gradient, for clipping, summed by output.
template <class T>
void squared_norms(double* sums, const T* w, const T* g, std::ptrdiff_t count, int outputs, double scale,
                   Penalty penalty) {
  constexpr int V = lanes<T>;
  const T by = static_cast<T>(scale), l1 = static_cast<T>(penalty.l1), l2 = static_cast<T>(penalty.l2);
  sums_by_output<V>(sums, count, outputs, [=](std::ptrdiff_t i) {
    T v = by * g[i];
    if (l2 != T(0)) v = v + l2 * w[i];
    if (l1 != T(0)) v = v + (w[i] > T(0) ? l1 : w[i] < T(0) ? -l1 : T(0));
    return static_cast<double>(v) * static_cast<double>(v);
  });
}

// l1 |w| + l2 w^2 / 2, summed by output.
template <class T>
void penalty_values(double* sums, const T* w, std::ptrdiff_t count, int outputs, Penalty penalty) {
  constexpr int V = lanes<T>;
  double absolute[V] = {}, square[V] = {};
  auto at = [=](std::ptrdiff_t i) { return static_cast<double>(w[i]); };
  if (penalty.l1 != 0) sums_by_output<V>(absolute, count, outputs, [=](std::ptrdiff_t i) { return std::abs(at(i)); });
  if (penalty.l2 != 0) sums_by_output<V>(square, count, outputs, [=](std::ptrdiff_t i) { return at(i) * at(i); });
  for (int o = 0; o < outputs; ++o) sums[o] = penalty.l1 * absolute[o] + penalty.l2 * square[o] / 2;
}

}  // namespace linnet::inline LINNET_ISA
