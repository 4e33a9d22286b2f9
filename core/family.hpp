// Heads: the distribution of the target given the linear output z, as loss, gradient and mean. Every formula is in
// z-space and stable for any z; constants that do not depend on z are dropped. To add one: a name in `Family`, a case
// in `family_lanes` (loss and dz) and one in `mean_lanes`.
//
//   family        mean of z       loss of a row (sum over outputs)      dloss/dz
//   normal        z               (z - t)^2 / 2                         z - t
//   laplace       z               |z - t|                               sign(z - t)
//   bernoulli     1/(1 + e^-z)    log(1 + e^z) - t z                    mean - t
//   categorical   softmax(z)      logsumexp(z) - z_t                    mean - onehot(t)
//   poisson       e^z             e^z - t z                             mean - t
//   perceptron    z, its sign     max(0, -t z), t = +1 or -1            -t where t z <= 0
//
// A block of V rows is worked on at once, one row a lane: vectors k = 0..outputs-1 hold z_k of V rows.
#pragma once

#include "activation.hpp"

namespace linnet {

enum class Family { normal, laplace, bernoulli, categorical, poisson, perceptron };

// dz (outputs vectors; may be z) and the loss of V rows, both times the row weights. target(k) gives t_k of V rows:
// one-hot (or -1/+1 for the perceptron) when the targets are labels.
template <class T, class Target>
LINNET_INLINE Vec<T> family_lanes(Family family, T* dz, const T* z, int outputs, Target&& target, Vec<T> weight) {
  constexpr int V = lanes<T>;
  Vec<T> loss{};
  // elementwise(z, t) -> {loss, dz} for one output
  auto each = [&](auto&& elementwise) {
    for (int k = 0; k < outputs; ++k) {
      const auto [l, d] = elementwise(load(z + k * V), target(k));
      loss = loss + l;
      store(dz + k * V, weight * d);
    }
  };
  struct Pair {
    Vec<T> loss, dz;
  };
  switch (family) {
    case Family::normal:
      each([](Vec<T> z, Vec<T> t) { return Pair{T(0.5) * (z - t) * (z - t), z - t}; });
      break;
    case Family::laplace:
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> r = z - t;
        return Pair{abs(r), r > T(0) ? broadcast(T(1)) : (r < T(0) ? broadcast(T(-1)) : r)};
      });
      break;
    case Family::bernoulli:
      // log(1 + e^z) - t z = max(z, 0) - t z + log(1 + e^-|z|): keeps its digits when the answer is sure and right.
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> e = exp(-abs(z)), q = T(1) / (T(1) + e);
        const Vec<T> p = z >= T(0) ? q : e * q;
        return Pair{(max(z, Vec<T>{}) - t * z) + log1p(e), p - t};
      });
      break;
    case Family::categorical: {
      Vec<T> at_target{}, total{};
      for (int k = 0; k < outputs; ++k) total = total + target(k);
      // sum_k t_k (max - z_k), before dz may overwrite z
      Vec<T> largest = load(z);
      for (int k = 1; k < outputs; ++k) largest = max(load(z + k * V), largest);
      for (int k = 0; k < outputs; ++k) at_target = fma(target(k), largest - load(z + k * V), at_target);
      const LogSum<T> s = softmax_lanes(dz, z, outputs);
      loss = fma(total, s.log_sum, at_target);
      for (int k = 0; k < outputs; ++k) store(dz + k * V, weight * (total * load(dz + k * V) - target(k)));
      break;
    }
    case Family::poisson:
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> mean = exp(z);
        return Pair{mean - t * z, mean - t};
      });
      break;
    case Family::perceptron:
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> margin = t * z;
        return Pair{max(-margin, Vec<T>{}), margin <= T(0) ? -t : Vec<T>{}};
      });
      break;
  }
  return weight * loss;
}

// The mean of V rows in place of z; of the perceptron the score z, whose sign is the answer.
template <class T>
LINNET_INLINE void mean_lanes(Family family, T* mean, const T* z, int outputs) {
  constexpr int V = lanes<T>;
  auto each = [&](auto&& f) {
    for (int k = 0; k < outputs; ++k) store(mean + k * V, f(load(z + k * V)));
  };
  switch (family) {
    case Family::normal:
    case Family::laplace:
    case Family::perceptron:
      each([](Vec<T> z) { return z; });
      break;
    case Family::bernoulli:
      each([](Vec<T> z) { return sigmoid(z); });
      break;
    case Family::categorical:
      softmax_lanes(mean, z, outputs);
      break;
    case Family::poisson:
      each([](Vec<T> z) { return exp(z); });
      break;
  }
}

}  // namespace linnet
