// The network on given parameters: sums of losses and gradients, and predictions. Nothing here divides by a number of
// rows or adds a penalty: sums add over chunks, files and machines.
#pragma once

#include <memory>

#include "network/pass.hpp"

namespace linnet::inline LINNET_ISA {

struct Sums {
  double loss = 0;    // sum over rows of weight x loss
  double weight = 0;  // sum of weights
};

template <class T>
class Objective {
 public:
  Objective(const Network& net, int threads)
      : net_(net),
        layout_(net),
        max_threads_(net.max_threads(threads)),
        threads_(max_threads_),
        packed_(layout_.size) {}

  const Network& network() const { return net_; }

  // Uses `threads` threads from now on, at most as many as it was made for; any number gives the same result.
  void use(int threads) { threads_ = std::min(threads, max_threads_); }
  void set_theta(const T* theta);

  // Sums over the batch; grad (as long as theta, in double) is overwritten with the gradient sum when not null.
  Sums sums(const Batch<T>& batch, std::int64_t rows, double* grad);

  // out (rows x outputs) = the mean of each row's distribution, or the last layer's output when `mean` is false.
  void predict(const Columns& x, std::int64_t first, std::int64_t rows, bool mean, T* out);

 private:
  Pass<T>& pass(const Columns& x, std::int64_t rows);

  const Network net_;
  const Layout<T> layout_;
  const int max_threads_;
  int threads_;
  Buffer<T> packed_;
  std::unique_ptr<Pass<T>> pass_;
  Team team_;
};

}  // namespace linnet::inline LINNET_ISA
