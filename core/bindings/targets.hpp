// Targets and weights as they come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "network/network.hpp"

namespace linnet::inline LINNET_ISA {

// Either labels or values, and optional weights and offsets. None arrives as an invalid array.
template <class T>
struct PyTargets {
  Vector<std::int32_t> labels;
  Matrix<T> values;
  Vector<T> weights;
  Matrix<T> offset;

  Targets<T> targets(const Network& net, std::int64_t rows) const {
    require(labels.is_valid() != values.is_valid(), "give labels or values");
    if (weights.is_valid()) require(is_long(weights, rows), "weights: one per row");
    if (offset.is_valid()) require(is_shaped(offset, rows, net.outputs()), "offset: rows x outputs");
    require(!is_external(net.head) || values.is_valid(), "a custom loss takes values");
    if (labels.is_valid()) {
      require(is_long(labels, rows), "labels: one per row");
      return {labels.data(), nullptr};
    }
    require(is_shaped(values, rows, net.outputs()), "values: rows x outputs");
    return {nullptr, values.data()};
  }
  const T* weight_data() const { return weights.is_valid() ? weights.data() : nullptr; }
  const T* offset_data() const { return offset.is_valid() ? offset.data() : nullptr; }
};

}  // namespace linnet::inline LINNET_ISA
