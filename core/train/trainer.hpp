// Stochastic training: an epoch in slices. A slice runs as many steps as fit in the time it is given and returns, so
// that Python can show progress and react to Ctrl-C; where a slice ends never changes a result.
#pragma once

#include <memory>
#include <vector>

#include "network/pass.hpp"
#include "train/optimizer.hpp"

namespace linnet::inline LINNET_ISA {

struct Progress {
  std::int64_t step = 0, steps = 0;  // done in this epoch, and its total
  std::int64_t rows = 0;             // seen in this epoch
  double loss_sum = 0;               // of the rows seen in this epoch, at the parameters each was seen with
  double penalty_sum = 0;            // rows x penalty, likewise
  bool diverged = false;             // the loss of step `step` was not finite
};

template <class T>
class Trainer {
 public:
  Trainer(const Network& net, const OptimizerSpec& optimizer, std::int64_t batch_rows, std::uint64_t seed, int threads);

  const Network& network() const { return net_; }

  // Parameters and optimizer state (0: theta, from 1 on: the rule's arrays) in the user's order.
  void read(int array, T* out) const;
  void write(int array, const T* in);
  bool finite() const;  // whether all parameters are
  int arrays() const { return optimizer_.states(); }
  std::int64_t steps() const { return progress_.steps; }
  std::int64_t updates() const { return updates_; }  // optimizer steps so far
  void set_updates(std::int64_t n) { updates_ = n; }

  // What to train on from the next begin_epoch on; the pointers must stay valid. The gradient of a step is scale / rows
  // times the sum over its rows. If memory runs out, it throws and changes nothing.
  void set_data(const Columns& x, const Targets<T>& t, const T* weights, const T* offset, bool shuffle, double scale);
  void forget_data();  // and all memory but the parameters and the state
  // rows x outputs: takes each row's mean as it is trained on; null: none wanted.
  void set_fitted(T* fitted) { fitted_ = fitted; }

  void begin_epoch(std::int64_t epoch);
  // rates: the learning rate of each step of the epoch. threads: at most those that the trainer was made for are used;
  // any number gives the same result. A step that is interrupted leaves no trace, unless it would take long to finish:
  // then it may be partly done.
  Progress run(const double* rates, double seconds, int threads, Interrupt& interrupt);

 private:
  Penalty penalty_on(const Segment& s) const { return s.bias ? Penalty{} : net_.layers[s.layer].penalty; }
  States<T> states() const;
  void member(Team& team, int rank, const double* rates, double seconds, Interrupt& interrupt);
  void apply_sums(Team& team, int rank, StepSize<T> size, int blocks, bool one_chunk, double scale);

  const Network net_;
  const Layout<T> layout_;
  const OptimizerSpec optimizer_;
  const std::int64_t batch_rows_;
  const std::uint64_t seed_;
  const int max_threads_;
  Buffer<T> packed_[1 + max_states];  // theta and the rule's arrays
  Buffer<T> sums_;                    // gradient sums of a batch that cannot be applied tile by tile
  std::vector<Segment> segments_;
  std::vector<double> partial_;  // by output of each segment: penalties or squared norms, summed in order
  std::vector<double> block_losses_;
  std::unique_ptr<Pass<T>> pass_;
  Team team_;

  Columns x_;
  Targets<T> t_;
  const T* weights_ = nullptr;
  const T* offset_ = nullptr;
  T* fitted_ = nullptr;
  bool shuffle_ = true, penalised_ = false, dropping_ = false;
  double scale_ = 1;
  std::vector<std::uint32_t> order_;

  std::int64_t epoch_ = 0, updates_ = 0;
  std::int64_t chunk_ = 0;  // of the current step
  // what rank 0 writes in each step, on a cache line apart from what the others read
  alignas(cache_line) Progress progress_;
  alignas(cache_line) bool stop_ = false;
};

// How many of `limit` threads are worth using on batches of `rows`.
int useful_threads(const Network& net, std::int64_t rows, int limit);

}  // namespace linnet::inline LINNET_ISA
