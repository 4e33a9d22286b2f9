// The heads' formulas: the distribution of the target t given the linear output z, as loss, slope (dloss/dz), mean and
// curvature (d2loss/dz2). Every formula is in z-space and stable for any z; constants that do not depend on z are
// dropped. To add a head: a struct here and a line in heads/families.def.
//
//   family        mean of z       loss per row (sum over outputs)       dloss/dz
//   normal        z               (z - t)^2 / 2                         z - t
//   laplace       z               |z - t|                               sign(z - t)
//   huber         z               r^2/2 if |r| <= q, else q |r| - q^2/2     r kept within -q..q, r = z - t
//   quantile      z               max((1-q) r, -q r)                    1-q above t, -q below
//   bernoulli     1/(1 + e^-z)    log(1 + e^z) - t z                    mean - t
//   categorical   softmax(z)      logsumexp(z) - z_t                    mean - onehot(t)
//   poisson       e^z             e^z - t z                             mean - t
//   negative_binomial  e^z        (t + 1/q) log(1 + q e^z) - t z        (mean - t) / (1 + q mean)
//   gamma         e^z             t e^-z + z                            1 - t e^-z
//   tweedie       e^z             e^((2-q) z)/(2-q) - t e^((1-q) z)/(1-q)   e^((2-q) z) - t e^((1-q) z)
//   tweedie_identity  z > 0       as tweedie, with log z for z          z^-q (z - t)
//   perceptron    z, its sign     max(0, -t z), t = +1 or -1            -t where t z <= 0
//   custom        z               computed outside the core: see CustomLoss
//
// q is the head's parameter: the power of Tweedie's distributions (the variance is mean^q, q not 1 (poisson) or 2
// (gamma) with the log link), the dispersion of the negative binomial (the variance is mean + q mean^2), where huber
// turns from squares to absolute values, or the quantile level.
//
// A struct is made from q. Most heads take outputs one by one (ByOutput): vectors of V values of z and t. The
// categorical head's outputs are joint: its functions take all of them for V rows, one row per lane.
#pragma once

#include <limits>

#include "heads/activation.hpp"

namespace linnet::inline LINNET_ISA {

template <class T>
struct LossAndSlope {
  Vec<T> loss, slope;
};

// What most heads have in common.
template <class T>
struct ByOutput {
  static constexpr bool joint = false;     // whether the loss of a row is not a sum over its outputs
  static constexpr bool external = false;  // whether it is computed by a CustomLoss
  static constexpr T label_of_others = 0;  // t of the outputs that a label does not name
  Vec<T> mean(Vec<T> z) const { return z; }
};

template <class T>
struct Normal : ByOutput<T> {
  explicit Normal(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const { return {T(0.5) * (z - t) * (z - t), z - t}; }
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return broadcast(T(1)); }
};

template <class T>
struct Laplace : ByOutput<T> {
  explicit Laplace(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> r = z - t;
    return {abs(r), r > T(0) ? broadcast(T(1)) : (r < T(0) ? broadcast(T(-1)) : r)};
  }
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return Vec<T>{}; }
};

template <class T>
struct Huber : ByOutput<T> {
  const T q;
  explicit Huber(double parameter) : q(static_cast<T>(parameter)) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> r = z - t, kept = max(min(r, broadcast(q)), broadcast(-q));
    return {kept * (r - T(0.5) * kept), kept};
  }
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return broadcast(T(1)); }  // where it is not 0
};

template <class T>
struct Quantile : ByOutput<T> {
  const T q;
  explicit Quantile(double parameter) : q(static_cast<T>(parameter)) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> r = z - t;
    const Vec<T> slope = r > T(0) ? broadcast(T(1) - q) : (r < T(0) ? broadcast(-q) : r);
    return {slope * r, slope};
  }
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return Vec<T>{}; }
};

// The bernoulli head's loss and its two derivatives from a single e^-|z|; those that are not used cost nothing.
// log(1 + e^z) - t z = max(z, 0) - t z + log(1 + e^-|z|) and p - t = (1 - t) - (1 - p) keep their digits when p is
// close to t.
template <class T>
struct BernoulliLanes {
  Vec<T> loss, slope, curvature;
  LINNET_INLINE BernoulliLanes(Vec<T> z, Vec<T> t) {
    const Vec<T> e = exp(-abs(z)), q = T(1) / (T(1) + e), less = e * q;  // less: the smaller of p and 1 - p
    loss = (max(z, Vec<T>{}) - t * z) + log1p(e);
    slope = z >= T(0) ? (T(1) - t) - less : less - t;
    curvature = less * q;
  }
};

template <class T>
struct Bernoulli : ByOutput<T> {
  explicit Bernoulli(double) {}
  Vec<T> mean(Vec<T> z) const { return sigmoid(z); }
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const BernoulliLanes<T> at(z, t);
    return {at.loss, at.slope};
  }
  Vec<T> curvature(Vec<T> z, Vec<T> t, bool) const { return BernoulliLanes<T>(z, t).curvature; }
};

template <class T>
struct Perceptron : ByOutput<T> {
  static constexpr T label_of_others = -1;
  explicit Perceptron(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> margin = t * z;
    return {max(-margin, Vec<T>{}), margin <= T(0) ? -t : Vec<T>{}};
  }
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return Vec<T>{}; }
};

// Heads with the log link.
template <class T>
struct LogLink : ByOutput<T> {
  Vec<T> mean(Vec<T> z) const { return exp(z); }
};

template <class T>
struct Poisson : LogLink<T> {
  explicit Poisson(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> mean = exp(z);
    return {mean - t * z, mean - t};
  }
  Vec<T> curvature(Vec<T> z, Vec<T>, bool) const { return exp(z); }
};

// With u = z + log q and p = 1/(1 + e^-u) the variance is mean (1 + q mean) = mean / (1 - p), the slope (mean - t)(1 -
// p) and the curvature (t + 1/q) p (1 - p), in the mean p/q. Where u <= 0 everything is written in e^z, like the
// Poisson head, which is the limit as q goes to 0; above, in e^-z. So no exponential overflows, and no two large
// numbers are subtracted.
template <class T>
struct NegativeBinomial : LogLink<T> {
  const T q, inverse, log_q;
  explicit NegativeBinomial(double parameter)
      : q(static_cast<T>(parameter)),
        inverse(static_cast<T>(1 / parameter)),
        log_q(static_cast<T>(log(broadcast(parameter))[0])) {}

  struct At {
    Vec<T> u, e, ratio, larger;  // e^z or e^-z; e^-|u|; the larger of p and 1 - p
    IVec<T> low;                 // u <= 0
  };
  At at(Vec<T> z) const {
    const Vec<T> u = z + log_q;
    const IVec<T> low = u <= T(0);
    const Vec<T> e = exp(low ? z : -z), ratio = e * (low ? broadcast(q) : broadcast(inverse));
    return {u, e, ratio, T(1) / (T(1) + ratio), low};
  }
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const At a = at(z);
    const Vec<T> more = log1p(a.ratio);  // log(1 + e^u) - max(u, 0)
    return {a.low ? (t + inverse) * more - t * z : inverse * (a.u + more) + t * (log_q + more),
            a.low ? (a.e - t) * a.larger : inverse * a.larger * (T(1) - t * a.e)};
  }
  Vec<T> curvature(Vec<T> z, Vec<T> t, bool expected) const {
    const At a = at(z);
    if (expected) return (a.low ? a.e : broadcast(inverse)) * a.larger;
    return (t + inverse) * a.ratio * a.larger * a.larger;
  }
};

// The second derivative, or its mean over t where that is requested or the derivative itself is not above zero.
template <class T>
LINNET_INLINE Vec<T> positive_curvature(Vec<T> observed, Vec<T> mean, bool expected) {
  return expected ? mean : (observed > T(0) ? observed : mean);
}

// t e^-z, even where e^-z alone would overflow.
template <class T>
LINNET_INLINE Vec<T> over_mean(Vec<T> t, Vec<T> z) {
  const Vec<T> root = exp(T(-0.5) * z);
  return (t * root) * root;
}

template <class T>
struct Gamma : LogLink<T> {
  explicit Gamma(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> relative = over_mean<T>(t, z);
    return {relative + z, T(1) - relative};
  }
  Vec<T> curvature(Vec<T> z, Vec<T> t, bool expected) const {
    return positive_curvature<T>(over_mean<T>(t, z), broadcast(T(1)), expected);
  }
};

// e^(a z) x + e^((a-1) z) t y, as the larger power times the rest of the sum, so that a large z never gives inf - inf.
template <class T>
struct TwoPowers {
  Vec<T> t, root, ratio;  // root: of the larger power, which by itself may overflow
  IVec<T> first;          // whether the first power is the larger one, or the only one
  TwoPowers(T a, Vec<T> z, Vec<T> target) : t(target), ratio(exp(-abs(z))), first((z >= T(0)) | (target == T(0))) {
    root = exp(T(0.5) * (first ? a * z : (a - T(1)) * z));
  }
  Vec<T> operator()(T x, T y) const { return (root * (first ? x + y * t * ratio : x * ratio + y * t)) * root; }
};

template <class T>
struct Tweedie : LogLink<T> {
  const T a, b;
  explicit Tweedie(double q) : a(static_cast<T>(2 - q)), b(static_cast<T>(1 - q)) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const TwoPowers<T> powers(a, z, t);
    return {powers(1 / a, -1 / b), powers(1, -1)};
  }
  Vec<T> curvature(Vec<T> z, Vec<T> t, bool expected) const {
    return positive_curvature<T>(TwoPowers<T>(a, z, t)(a, -b), exp(a * z), expected);
  }
};

template <class T>
struct TweedieIdentity : ByOutput<T> {
  const T q, a, b;
  explicit TweedieIdentity(double parameter)
      : q(static_cast<T>(parameter)), a(static_cast<T>(2 - parameter)), b(static_cast<T>(1 - parameter)) {}
  LossAndSlope<T> loss_and_slope(Vec<T> z, Vec<T> t) const {
    const Vec<T> log_z = log(z), root = exp(T(0.5) * b * log_z);  // of z^b, which by itself may overflow
    const Vec<T> loss = a == 0 ? log_z + t / z : b == 0 ? z - t * log_z : (root * (z / a - t / b)) * root;
    const Vec<T> none = broadcast(std::numeric_limits<T>::infinity());
    return {z > T(0) ? loss : none, z > T(0) ? (root * (z - t)) * exp((T(0.5) * b - T(1)) * log_z) : Vec<T>{}};
  }
  Vec<T> curvature(Vec<T> z, Vec<T> t, bool expected) const {
    const Vec<T> power = exp(-q * log(z)), observed = power * (b + q * t / z);
    return z > T(0) ? positive_curvature<T>(observed, power, expected) : Vec<T>{};
  }
};

template <class T>
struct Custom : ByOutput<T> {
  static constexpr bool external = true;
  explicit Custom(double) {}
  LossAndSlope<T> loss_and_slope(Vec<T>, Vec<T>) const { return {Vec<T>{}, Vec<T>{}}; }  // computed elsewhere
  Vec<T> curvature(Vec<T>, Vec<T>, bool) const { return Vec<T>{}; }
};

// `outputs` vectors of z, and target(k) for t_k of V rows.
template <class T>
struct Categorical : ByOutput<T> {
  static constexpr bool joint = true;
  explicit Categorical(double) {}

  LINNET_INLINE void mean(T* p, const T* z, int outputs) const { softmax_lanes(p, z, outputs); }

  // `all_digits`: full precision in p - t where the true class has p near 1, for solvers that go to the last digit.
  template <bool all_digits>
  LINNET_INLINE Vec<T> loss_and_slope(T* dz, const T* z, int outputs, auto&& target, Vec<T> weight) const {
    constexpr int V = lanes<T>;
    Vec<T> at_target{}, total{};
    for (int k = 0; k < outputs; ++k) total = total + target(k);
    // sum_k t_k (max - z_k), before dz may overwrite z
    Vec<T> largest = load(z);
    for (int k = 1; k < outputs; ++k) largest = max(load(z + k * V), largest);
    for (int k = 0; k < outputs; ++k) at_target = fma(target(k), largest - load(z + k * V), at_target);
    const LogSum<T> s = softmax_lanes(dz, z, outputs);
    if constexpr (all_digits) {
      const Vec<T> others = less_than_half(dz, outputs);
      for (int k = 0; k < outputs; ++k) {
        const Vec<T> p = load(dz + k * V), t = target(k);
        store(dz + k * V, weight * (p > T(0.5) ? (total - t) - total * others : total * p - t));
      }
    } else {
      for (int k = 0; k < outputs; ++k) store(dz + k * V, weight * (total * load(dz + k * V) - target(k)));
    }
    return fma(total, s.log_sum, at_target);
  }

  // The mean p, which the curvature diag(p) - p p' follows from.
  LINNET_INLINE void curvature(T* p, const T* z, int outputs) const { softmax_lanes(p, z, outputs); }

  // The diagonal of the curvature: p (1 - p) times the sum of t.
  LINNET_INLINE void diagonal(T* out, const T* z, int outputs, auto&& target) const {
    constexpr int V = lanes<T>;
    softmax_lanes(out, z, outputs);
    Vec<T> total{};
    for (int k = 0; k < outputs; ++k) total = total + target(k);
    const Vec<T> others = less_than_half(out, outputs);
    for (int k = 0; k < outputs; ++k) {
      const Vec<T> p = load(out + k * V);
      store(out + k * V, total * p * (p > T(0.5) ? others : T(1) - p));
    }
  }

 private:
  // The sum of all p of a row except one above 1/2: the 1 - p of that one, in full precision.
  static LINNET_INLINE Vec<T> less_than_half(const T* p, int outputs) {
    Vec<T> others{};
    for (int k = 0; k < outputs; ++k) {
      const Vec<T> p_k = load(p + k * lanes<T>);
      others = others + (p_k > T(0.5) ? Vec<T>{} : p_k);
    }
    return others;
  }
};

}  // namespace linnet::inline LINNET_ISA
