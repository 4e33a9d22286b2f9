// What a network is: its layers and its head. A generalized linear model is a network of one layer.
#pragma once

#include <vector>

#include "heads/family.hpp"

namespace linnet::inline LINNET_ISA {

struct Penalty {
  double l1 = 0, l2 = 0;
};

struct LayerSpec {
  int inputs = 0, outputs = 0;
  Activation activation = Activation::identity;
  double leak = 0;     // slope of leaky_relu below zero
  double dropout = 0;  // rate at which this layer's INPUTS are dropped in training
  Penalty penalty;     // on the weights
  bool bias = true;    // false: the biases stay as they are, at zero
};

struct Network {
  std::vector<LayerSpec> layers;
  Head head;
  CustomLoss custom;  // of a custom head

  // How many of `wanted` threads may work on it: one for a custom head, whose function may not be thread-safe and may
  // throw.
  int max_threads(int wanted) const { return is_external(head) ? 1 : wanted; }

  int inputs() const { return layers.front().inputs; }
  int outputs() const { return layers.back().outputs; }

  std::ptrdiff_t parameters() const {
    std::ptrdiff_t n = 0;
    for (const auto& layer : layers) n += (layer.inputs + std::ptrdiff_t{1}) * layer.outputs;
    return n;
  }
};

}  // namespace linnet::inline LINNET_ISA
