// Activations as forward/backward pairs on vectors. To add one: a struct with `forward` (h from z) and `slope` (dh/dz
// from z and h) here and a line in heads/activations.def. A struct is made from the slope of leaky_relu below zero.
#pragma once

#include "base/vecmath.hpp"

namespace linnet::inline LINNET_ISA {

enum class Activation {
#define LINNET_ACTIVATION(name, formulas) name,
#include "heads/activations.def"
#undef LINNET_ACTIVATION
};

template <class T>
struct Identity {
  static constexpr bool keeps_z = false;    // the slope needs z itself, not only h
  static constexpr bool rectifies = false;  // max(0, z): products apply it and its slope, 1 where h > 0, themselves
  static constexpr bool joint = false;      // takes all outputs of a row at once
  Identity() = default;
  explicit Identity(double) {}
  Vec<T> forward(Vec<T> z) const { return z; }
  Vec<T> slope(Vec<T>, Vec<T>) const { return broadcast(T(1)); }
};

template <class T>
struct Sigmoid : Identity<T> {
  explicit Sigmoid(double) {}
  Vec<T> forward(Vec<T> z) const { return sigmoid(z); }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return h * (T(1) - h); }
};

template <class T>
struct Tanh : Identity<T> {
  explicit Tanh(double) {}
  Vec<T> forward(Vec<T> z) const { return tanh(z); }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return T(1) - h * h; }
};

template <class T>
struct Relu : Identity<T> {
  static constexpr bool rectifies = true;
  explicit Relu(double) {}
  Vec<T> forward(Vec<T> z) const { return max(Vec<T>{}, z); }  // this order keeps a NaN a NaN
  Vec<T> slope(Vec<T>, Vec<T> h) const { return h > T(0) ? broadcast(T(1)) : Vec<T>{}; }
};

template <class T>
struct LeakyRelu : Identity<T> {
  T leak;
  explicit LeakyRelu(double slope_below) : leak(static_cast<T>(slope_below)) {}
  Vec<T> forward(Vec<T> z) const { return z > T(0) ? z : leak * z; }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return h > T(0) ? broadcast(T(1)) : broadcast(leak); }
};

// scale * (z where z > 0, else alpha (e^z - 1)), elu with scale = alpha = 1.
template <class T>
struct Elu : Identity<T> {
  T scale = 1, alpha = 1;
  explicit Elu(double) {}
  Vec<T> forward(Vec<T> z) const { return scale * (z > T(0) ? z : alpha * expm1(min(z, Vec<T>{}))); }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return h > T(0) ? broadcast(scale) : h + scale * alpha; }
};

// Elu with the self-normalising constants.
template <class T>
struct Selu : Elu<T> {
  explicit Selu(double leak) : Elu<T>(leak) {
    this->scale = T(1.0507009873554804934193349852946), this->alpha = T(1.6732632423543772848170429916717);
  }
};

// z Phi(z), Phi the normal distribution function (the exact form, not the tanh approximation).
template <class T>
struct Gelu : Identity<T> {
  static constexpr bool keeps_z = true;
  explicit Gelu(double) {}
  Vec<T> forward(Vec<T> z) const { return z * gauss_cdf(z); }
  Vec<T> slope(Vec<T> z, Vec<T>) const {
    constexpr T density0 = static_cast<T>(0.39894228040143267794);  // 1 / sqrt(2 pi)
    return gauss_cdf(z) + z * (density0 * exp(T(-0.5) * z * z));
  }
};

template <class T>
struct Silu : Identity<T> {
  static constexpr bool keeps_z = true;
  explicit Silu(double) {}
  Vec<T> forward(Vec<T> z) const { return z * sigmoid(z); }
  Vec<T> slope(Vec<T> z, Vec<T>) const {
    const Vec<T> s = sigmoid(z);
    return s * (T(1) + z * (T(1) - s));
  }
};

template <class T>
struct Softplus : Identity<T> {
  explicit Softplus(double) {}
  Vec<T> forward(Vec<T> z) const { return softplus(z); }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return -expm1(-h); }
};

template <class T>
struct Exponential : Identity<T> {
  explicit Exponential(double) {}
  Vec<T> forward(Vec<T> z) const { return exp(z); }
  Vec<T> slope(Vec<T>, Vec<T> h) const { return h; }
};

// Computed by softmax_lanes and softmax_backward_lanes.
template <class T>
struct Softmax : Identity<T> {
  static constexpr bool joint = true;
  explicit Softmax(double) {}
};

// Calls f with the formulas of an activation for type T, and returns its result.
template <class T, class F>
auto with_activation(Activation activation, double leak, F&& f) {
  switch (activation) {
#define LINNET_ACTIVATION(name, formulas) \
  case Activation::name:                  \
    return f(formulas<T>(leak));
#include "heads/activations.def"
#undef LINNET_ACTIVATION
  }
  __builtin_unreachable();
}

inline bool is_joint(Activation activation) {
  return with_activation<float>(activation, 0, [](auto formulas) { return formulas.joint; });
}

inline bool rectifies(Activation activation) {
  return with_activation<float>(activation, 0, [](auto formulas) { return formulas.rectifies; });
}

// h = f(z) over `count` values, count a multiple of the vector length; h may be z.
template <class T>
void activation_forward(T* h, const T* z, std::ptrdiff_t count, Activation activation, double leak) {
  if (activation == Activation::identity && h == z) return;
  with_activation<T>(activation, leak, [=](auto f) {  // by value: a reference would be read again after every store
    for (std::ptrdiff_t i = 0; i < count; i += lanes<T>) store(h + i, f.forward(load(z + i)));
  });
}

// dz = dh f'(z) in place.
template <class T>
void activation_backward(T* d, const T* z, const T* h, std::ptrdiff_t count, Activation activation, double leak) {
  if (activation == Activation::identity) return;
  with_activation<T>(activation, leak, [=](auto f) {
    for (std::ptrdiff_t i = 0; i < count; i += lanes<T>) store(d + i, load(d + i) * f.slope(load(z + i), load(h + i)));
  });
}

// Softmax of `count` vectors, one row of the batch per lane: p_k = e^(z_k - max) / sum. Returns max and log(sum):
// log-sum-exp is max + log(sum), without ever overflowing. The largest term is exactly 1 and is left out of the sum
// until the end, so that log(sum) = log(1 + others) keeps its digits when the others are tiny. p may be z.
template <class T>
struct LogSum {
  Vec<T> largest, log_sum;
};

template <class T>
LINNET_INLINE LogSum<T> softmax_lanes(T* p, const T* z, int count) {
  constexpr int V = lanes<T>;
  Vec<T> largest = load(z);
  IVec<T> where{};
  for (int k = 1; k < count; ++k) {
    const Vec<T> z_k = load(z + k * V);
    where = z_k > largest ? IVec<T>{} + k : where;
    largest = max(z_k, largest);
  }
  Vec<T> others{};
  for (int k = 0; k < count; ++k) {
    const Vec<T> e = exp(load(z + k * V) - largest);
    store(p + k * V, e);
    others = others + (where == k ? Vec<T>{} : e);
  }
  const Vec<T> inverse = T(1) / (T(1) + others);
  for (int k = 0; k < count; ++k) store(p + k * V, load(p + k * V) * inverse);
  return {largest, log1p(others)};
}

// dz = J' dh with the full Jacobian J = diag(p) - p p': dz_k = p_k (dh_k - sum_j p_j dh_j). In place, one row per lane.
template <class T>
LINNET_INLINE void softmax_backward_lanes(T* d, const T* p, int count) {
  constexpr int V = lanes<T>;
  Vec<T> inner{};
  for (int k = 0; k < count; ++k) inner = fma(load(p + k * V), load(d + k * V), inner);
  for (int k = 0; k < count; ++k) store(d + k * V, load(p + k * V) * (load(d + k * V) - inner));
}

}  // namespace linnet::inline LINNET_ISA
