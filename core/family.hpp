// Heads: the distribution of the target given the linear output z, as loss, gradient and mean. Every formula is in
// z-space and stable for any z; constants that do not depend on z are dropped. To add one: a name in `Family`, a line
// in `with_family`, a case in `family_lanes` (loss and dz), one in `mean_lanes` and one in `curvature_lanes`.
//
//   family        mean of z       loss of a row (sum over outputs)      dloss/dz
//   normal        z               (z - t)^2 / 2                         z - t
//   laplace       z               |z - t|                               sign(z - t)
//   huber         z               r^2/2 if |r| <= q, else q |r| - q^2/2     r kept within -q..q, r = z - t
//   quantile      z               max((1-q) r, -q r)                    1-q above t, -q below
//   bernoulli     1/(1 + e^-z)    log(1 + e^z) - t z                    mean - t
//   categorical   softmax(z)      logsumexp(z) - z_t                    mean - onehot(t)
//   poisson       e^z             e^z - t z                             mean - t
//   gamma         e^z             t e^-z + z                            1 - t e^-z
//   tweedie       e^z             e^((2-q) z)/(2-q) - t e^((1-q) z)/(1-q)   e^((2-q) z) - t e^((1-q) z)
//   tweedie_identity  z > 0       the same with log z for z             z^-q (z - t)
//   perceptron    z, its sign     max(0, -t z), t = +1 or -1            -t where t z <= 0
//
//   custom        z               what a function says, see CustomLoss
//
// q is the head's parameter: the power of Tweedie's distributions (the variance is mean^q, q not 1 (poisson) or 2
// (gamma) with the log link), where huber turns from squares to absolute values, or the quantile that is sought.
// A block of V rows is worked on at once, one row a lane: vectors k = 0..outputs-1 hold z_k of V rows.
#pragma once

#include <functional>
#include <limits>

#include "activation.hpp"
#include "design.hpp"

namespace linnet {

enum class Family {
  normal,
  laplace,
  huber,
  quantile,
  bernoulli,
  categorical,
  poisson,
  perceptron,
  gamma,
  tweedie,
  tweedie_identity,
  custom
};

struct Head {
  Family family = Family::normal;
  double power = 0;  // the parameter q
};

// Calls f(integral_constant<family>): code in which the family is known when it is compiled.
template <class F>
LINNET_INLINE void with_family(Head head, F&& f) {
  switch (head.family) {
#define LINNET_FAMILY(name) \
  case Family::name:        \
    return f(std::integral_constant<Family, Family::name>{});
    LINNET_FAMILY(normal)
    LINNET_FAMILY(laplace)
    LINNET_FAMILY(huber)
    LINNET_FAMILY(quantile)
    LINNET_FAMILY(bernoulli)
    LINNET_FAMILY(categorical)
    LINNET_FAMILY(poisson)
    LINNET_FAMILY(perceptron)
    LINNET_FAMILY(gamma)
    LINNET_FAMILY(tweedie)
    LINNET_FAMILY(tweedie_identity)
    LINNET_FAMILY(custom)
#undef LINNET_FAMILY
  }
}

// A loss from outside: loss (rows) and dz (rows x outputs) from z and t (rows x outputs). Called by one thread.
using CustomLoss =
    std::function<void(const double* z, const double* t, int rows, int outputs, double* loss, double* dz)>;

template <class V, class T>
LINNET_INLINE V power_of(V x, T exponent) {
  return exp(exponent * log(x));
}

// e^(a z) x + e^((a-1) z) t y: the larger power times what is left of the sum, so that a large z never makes inf - inf.
template <class T>
struct TwoPowers {
  Vec<T> t, larger, ratio;
  IVec<T> first;  // whether the first power is the larger one, or the only one
  TwoPowers(T a, Vec<T> z, Vec<T> t) : t(t), ratio(exp(-abs(z))), first((z >= T(0)) | (t == T(0))) {
    larger = exp(first ? a * z : (a - T(1)) * z);
  }
  Vec<T> operator()(T x, T y) const { return larger * (first ? x + y * t * ratio : x * ratio + y * t); }
};

// The bernoulli head's loss and its two derivatives, of which those not asked for cost nothing, by one e^-|z|.
// log(1 + e^z) - t z = max(z, 0) - t z + log(1 + e^-|z|): keeps its digits when the answer is sure and right.
template <class T>
struct BernoulliLanes {
  Vec<T> loss, dz, curvature;
  LINNET_INLINE BernoulliLanes(Vec<T> z, Vec<T> t) {
    const Vec<T> e = exp(-abs(z)), q = T(1) / (T(1) + e);
    loss = (max(z, Vec<T>{}) - t * z) + log1p(e);
    dz = (z >= T(0) ? q : e * q) - t;
    curvature = e * q * q;
  }
};

// Calls f(target) with target(k) = t_k of the V rows given: one-hot (or -1/+1 for the perceptron) when the targets are
// labels. t is room for outputs vectors.
template <class T, class F>
LINNET_INLINE auto with_targets(Head head, const Targets<T>& targets, const std::int64_t* row, int outputs, T* t,
                                F&& f) {
  constexpr int V = lanes<T>;
  if (targets.labels) {
    IVec<T> label;
    for (int lane = 0; lane < V; ++lane) label[lane] = targets.labels[row[lane]];
    const Vec<T> no = broadcast(T(head.family == Family::perceptron ? -1 : 0));
    return f([&](int k) { return label == k ? broadcast(T(1)) : no; });
  }
  for (int k = 0; k < outputs; ++k)
    for (int lane = 0; lane < V; ++lane) t[k * V + lane] = targets.values[row[lane] * outputs + k];
  return f([&](int k) { return load(t + k * V); });
}

// dz (outputs vectors; may be z) and the loss of V rows, both times the row weights. target(k) gives t_k of V rows.
template <class T, class Target>
LINNET_INLINE Vec<T> family_lanes(Head head, T* dz, const T* z, int outputs, Target&& target, Vec<T> weight) {
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
  const T a = T(2 - head.power), b = T(1 - head.power);
  switch (head.family) {
    case Family::normal:
      each([](Vec<T> z, Vec<T> t) { return Pair{T(0.5) * (z - t) * (z - t), z - t}; });
      break;
    case Family::laplace:
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> r = z - t;
        return Pair{abs(r), r > T(0) ? broadcast(T(1)) : (r < T(0) ? broadcast(T(-1)) : r)};
      });
      break;
    case Family::huber: {
      const T q = T(head.power);
      each([=](Vec<T> z, Vec<T> t) {
        const Vec<T> r = z - t, kept = max(min(r, broadcast(q)), broadcast(-q));
        return Pair{kept * (r - T(0.5) * kept), kept};
      });
      break;
    }
    case Family::quantile: {
      const T q = T(head.power);
      each([=](Vec<T> z, Vec<T> t) {
        const Vec<T> r = z - t;
        const Vec<T> slope = r > T(0) ? broadcast(T(1) - q) : (r < T(0) ? broadcast(-q) : r);
        return Pair{slope * r, slope};
      });
      break;
    }
    case Family::custom:
      each([](Vec<T>, Vec<T>) { return Pair{}; });  // computed elsewhere
      break;
    case Family::bernoulli:
      each([](Vec<T> z, Vec<T> t) {
        const BernoulliLanes<T> at(z, t);
        return Pair{at.loss, at.dz};
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
    case Family::gamma:
      each([](Vec<T> z, Vec<T> t) {
        const Vec<T> relative = t * exp(-z);
        return Pair{relative + z, T(1) - relative};
      });
      break;
    case Family::tweedie:
      each([=](Vec<T> z, Vec<T> t) {
        const TwoPowers<T> powers(a, z, t);
        return Pair{powers(1 / a, -1 / b), powers(1, -1)};
      });
      break;
    case Family::tweedie_identity:
      each([=](Vec<T> z, Vec<T> t) {
        const Vec<T> u = power_of(z, a), v = t * power_of(z, b);
        const Vec<T> l = a == 0 ? log(z) - v / b : b == 0 ? u / a - t * log(z) : u / a - v / b;
        const Vec<T> none = broadcast(std::numeric_limits<T>::infinity());
        return Pair{z > T(0) ? l : none, z > T(0) ? (u - v) / z : Vec<T>{}};
      });
      break;
  }
  return weight * loss;
}

// The mean of V rows in place of z; of the perceptron the score z, whose sign is the answer.
template <class T>
LINNET_INLINE void mean_lanes(Head head, T* mean, const T* z, int outputs) {
  constexpr int V = lanes<T>;
  auto each = [&](auto&& f) {
    for (int k = 0; k < outputs; ++k) store(mean + k * V, f(load(z + k * V)));
  };
  switch (head.family) {
    case Family::normal:
    case Family::laplace:
    case Family::huber:
    case Family::quantile:
    case Family::perceptron:
    case Family::tweedie_identity:
    case Family::custom:
      each([](Vec<T> z) { return z; });
      break;
    case Family::bernoulli:
      each([](Vec<T> z) { return sigmoid(z); });
      break;
    case Family::categorical:
      softmax_lanes(mean, z, outputs);
      break;
    case Family::poisson:
    case Family::gamma:
    case Family::tweedie:
      each([](Vec<T> z) { return exp(z); });
      break;
  }
}

// The second derivative of the loss of V rows, output by output; of the categorical head, whose outputs belong
// together, the mean p: its curvature is diag(p) - p p'. `expected`: its mean over the head's distribution of t, which
// is also taken where the second derivative itself is not above zero.
template <class T, class Target>
LINNET_INLINE void curvature_lanes(Head head, T* out, const T* z, int outputs, Target&& target, bool expected) {
  constexpr int V = lanes<T>;
  auto each = [&](auto&& f) {
    for (int k = 0; k < outputs; ++k) store(out + k * V, f(load(z + k * V), target(k)));
  };
  const T q = T(head.power), a = T(2) - q, b = T(1) - q;
  auto positive = [expected](Vec<T> observed, Vec<T> mean) {
    return expected ? mean : (observed > T(0) ? observed : mean);
  };
  switch (head.family) {
    case Family::normal:
    case Family::huber:  // where it is not 0
      each([](Vec<T>, Vec<T>) { return broadcast(T(1)); });
      break;
    case Family::laplace:
    case Family::quantile:
    case Family::perceptron:
    case Family::custom:
      each([](Vec<T>, Vec<T>) { return Vec<T>{}; });
      break;
    case Family::bernoulli:
      each([](Vec<T> z, Vec<T> t) { return BernoulliLanes<T>(z, t).curvature; });
      break;
    case Family::categorical:
      softmax_lanes(out, z, outputs);
      break;
    case Family::poisson:
      each([](Vec<T> z, Vec<T>) { return exp(z); });
      break;
    case Family::gamma:
      each([=](Vec<T> z, Vec<T> t) { return positive(t * exp(-z), broadcast(T(1))); });
      break;
    case Family::tweedie:
      each([=](Vec<T> z, Vec<T> t) { return positive(TwoPowers<T>(a, z, t)(a, -b), exp(a * z)); });
      break;
    case Family::tweedie_identity:
      each([=](Vec<T> z, Vec<T> t) {
        const Vec<T> u = power_of(z, -q), observed = u * (b + q * t / z);
        return z > T(0) ? positive(observed, u) : Vec<T>{};
      });
      break;
  }
}

// The same, and of the categorical head the diagonal of its curvature, p (1 - p) times the sum of t.
template <class T, class Target>
LINNET_INLINE void diagonal_lanes(Head head, T* out, const T* z, int outputs, Target&& target, bool expected) {
  constexpr int V = lanes<T>;
  curvature_lanes(head, out, z, outputs, target, expected);
  if (head.family != Family::categorical) return;
  Vec<T> total{}, others{};  // others: the sum of all p but one above 1/2, whose 1 - p it is with all its digits
  for (int k = 0; k < outputs; ++k) {
    const Vec<T> p = load(out + k * V);
    total = total + target(k);
    others = others + (p > T(0.5) ? Vec<T>{} : p);
  }
  for (int k = 0; k < outputs; ++k) {
    const Vec<T> p = load(out + k * V);
    store(out + k * V, total * p * (p > T(0.5) ? others : T(1) - p));
  }
}

}  // namespace linnet
