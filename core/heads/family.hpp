// The heads by name, on blocks of V rows, one row per lane: vectors k = 0..outputs-1 hold z_k of V rows. What each head
// computes is in heads/formulas.hpp; the list of them in heads/families.def.
#pragma once

#include <functional>

#include "data/dense.hpp"
#include "heads/formulas.hpp"

namespace linnet::inline LINNET_ISA {

enum class Family {
#define LINNET_FAMILY(name, formulas) name,
#include "heads/families.def"
#undef LINNET_FAMILY
};

struct Head {
  Family family = Family::normal;
  double parameter = 0;  // q in heads/formulas.hpp
};

// Calls f with the formulas of a head for type T, and returns its result: inside f the head is known at compile time.
template <class T, class F>
LINNET_INLINE auto with_formulas(Head head, F&& f) {
  switch (head.family) {
#define LINNET_FAMILY(name, formulas) \
  case Family::name:                  \
    return f(formulas<T>(head.parameter));
#include "heads/families.def"
#undef LINNET_FAMILY
  }
  __builtin_unreachable();
}

// Whether the loss of a row is not a sum over its outputs.
inline bool is_joint(Head head) {
  return with_formulas<double>(head, [](const auto& formulas) { return formulas.joint; });
}

// Whether the loss is computed by a CustomLoss.
inline bool is_external(Head head) {
  return with_formulas<double>(head, [](const auto& formulas) { return formulas.external; });
}

// A loss computed outside the core: loss (rows) and dz (rows x outputs) from z and t (rows x outputs). Called by
// one thread.
using CustomLoss =
    std::function<void(const double* z, const double* t, int rows, int outputs, double* loss, double* dz)>;

// Calls f(target) with target(k) = t_k of the V rows given: for labels, 1 for the labelled output and for the others
// the head's `label_of_others` (0, or -1 for the perceptron). t is scratch for `outputs` vectors.
template <class Formulas, class T, class F>
LINNET_INLINE auto with_targets(const Formulas& formulas, const Targets<T>& targets, const std::int64_t* row,
                                int outputs, T* t, F&& f) {
  constexpr int V = lanes<T>;
  if (targets.labels) {
    IVec<T> label;
    for (int lane = 0; lane < V; ++lane) label[lane] = targets.labels[row[lane]];
    const Vec<T> others = broadcast(formulas.label_of_others);
    return f([&](int k) { return label == k ? broadcast(T(1)) : others; });
  }
  for (int k = 0; k < outputs; ++k)
    for (int lane = 0; lane < V; ++lane) t[k * V + lane] = targets.values[row[lane] * outputs + k];
  return f([&](int k) { return load(t + k * V); });
}

// dz (outputs vectors; may be z) and the loss of V rows, both times the row weights. target(k) gives t_k of V rows.
// `all_digits`: see Categorical.
template <bool all_digits, class T, class Formulas, class Target>
LINNET_INLINE Vec<T> loss_lanes(const Formulas& formulas, T* dz, const T* z, int outputs, Target&& target,
                                Vec<T> weight) {
  constexpr int V = lanes<T>;
  if constexpr (Formulas::joint) {
    return weight * formulas.template loss_and_slope<all_digits>(dz, z, outputs, target, weight);
  } else {
    Vec<T> loss{};
    for (int k = 0; k < outputs; ++k) {
      const LossAndSlope<T> at = formulas.loss_and_slope(load(z + k * V), target(k));
      loss = loss + at.loss;
      store(dz + k * V, weight * at.slope);
    }
    return weight * loss;
  }
}

// The mean of V rows in place of z; of the perceptron the score z, whose sign is the prediction.
template <class T, class Formulas>
LINNET_INLINE void mean_lanes(const Formulas& formulas, T* mean, const T* z, int outputs) {
  if constexpr (Formulas::joint) {
    formulas.mean(mean, z, outputs);
  } else {
    for (int k = 0; k < outputs; ++k) store(mean + k * lanes<T>, formulas.mean(load(z + k * lanes<T>)));
  }
}

// The second derivative of the loss of V rows, output by output; of the categorical head, whose outputs are
// joint, the mean p: its curvature is diag(p) - p p'. `expected`: its mean over the head's distribution of t, which
// is also taken where the second derivative itself is not above zero.
template <class T, class Formulas, class Target>
LINNET_INLINE void curvature_lanes(const Formulas& formulas, T* out, const T* z, int outputs, Target&& target,
                                   bool expected) {
  constexpr int V = lanes<T>;
  if constexpr (Formulas::joint) {
    formulas.curvature(out, z, outputs);
  } else {
    for (int k = 0; k < outputs; ++k) store(out + k * V, formulas.curvature(load(z + k * V), target(k), expected));
  }
}

// The second derivative in each output alone: of the categorical head the diagonal of its curvature.
template <class T, class Formulas, class Target>
LINNET_INLINE void diagonal_lanes(const Formulas& formulas, T* out, const T* z, int outputs, Target&& target,
                                  bool expected) {
  if constexpr (Formulas::joint) {
    formulas.diagonal(out, z, outputs, target);
  } else {
    curvature_lanes(formulas, out, z, outputs, target, expected);
  }
}

}  // namespace linnet::inline LINNET_ISA
