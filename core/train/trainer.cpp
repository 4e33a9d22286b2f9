#include "train/trainer.hpp"

#include <chrono>

namespace linnet::inline LINNET_ISA {

namespace {

// Applies the optimizer to each piece of the gradient as it comes.
template <class T>
struct Apply : PlainSink {
  const Network& net;
  const OptimizerSpec& optimizer;
  const StepSize<T>& size;
  T* w;
  const States<T>& states;
  bool plain, large;
  Interrupt* interrupt;
  int rank;

  bool takes_row() const { return plain; }
  bool skips_zeros() const { return plain; }
  void operator()(std::size_t layer, std::ptrdiff_t at, const T* g, int count, bool bias) const {
    update(optimizer.rule, w, states, at, g, count, size, bias ? Penalty{} : net.layers[layer].penalty, !bias);
  }
  // The piece at `at` comes next: the parameters of a large network are not in the cache.
  LINNET_INLINE void prefetch(std::ptrdiff_t at, int count) const {
    if (!large) return;
    for (int i = 0; i < count; i += cache_line / static_cast<int>(sizeof(T))) {
      __builtin_prefetch(w + at + i, 1, 2);
      for (int k = 0; k < states.count; ++k) __builtin_prefetch(states.array[k] + at + i, 1, 2);
    }
  }
  bool cut_short() const { return large && interrupt->cut_short(rank); }
  // factor(o) is that of output o, whose weights begin at block.at(o, first).
  void row(const NarrowBlock& block, int first, int count, int outputs, const T* x, auto&& factor) const {
    constexpr int group = 5;
    T* rows[group];
    T factors[group];
    int n = 0;
    auto flush = [&] {
      if (n > 0) with_constant<group>(n, [&](auto k) { update_by_row<k.value>(rows, x, factors, count, size); });
      n = 0;
    };
    for (int o = 0; o < outputs; ++o) {
      const T of_output = factor(o);
      if (of_output == T(0)) continue;  // an inactive unit leaves its weights unchanged
      rows[n] = w + block.at(o, first);
      factors[n++] = of_output;
      if (n == group) flush();
    }
    flush();
  }
};

// Stores each piece of the gradient among the sums, or adds it to them.
template <class T>
struct AddTo : PlainSink {
  static constexpr bool in_place = true;
  T* sums;
  bool onto;
  Interrupt* interrupt;
  int rank;

  void operator()(std::size_t, std::ptrdiff_t at, const T* g, int count, bool) const {
    for (int i = 0; i < count; i += lanes<T>)
      store(sums + at + i, onto ? load(sums + at + i) + load(g + i) : load(g + i));
  }
  bool cut_short() const { return interrupt->cut_short(rank); }
};

// Whether the member that has computed block b, the second of a pair, has computed the first as well: it then adds the
// two at once, and fewer numbers travel between cores.
bool joined(int blocks, int b, int members) {
  for (int rank = 0; rank < members; ++rank) {
    const Part part = part_of(blocks, 1, rank, members);
    if (part.first <= b && b < part.last) return b % 2 == 1 && part.first < b;
  }
  return false;
}

// Multiply-adds of a step, forward and backward.
double step_work(const Network& net, std::int64_t rows) {
  double work = 0;
  for (const auto& layer : net.layers) work += 3.0 * static_cast<double>(rows) * layer.inputs * layer.outputs;
  return work;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int useful_threads(const Network& net, std::int64_t rows, int limit) {
  return rows == 1 ? 1 : members_for(step_work(net, rows), net.max_threads(limit));
}

template <class T>
Trainer<T>::Trainer(const Network& net, const OptimizerSpec& optimizer, std::int64_t batch_rows, std::uint64_t seed,
                    int threads)
    : net_(net),
      layout_(net, batch_rows),
      optimizer_(optimizer),
      batch_rows_(batch_rows),
      seed_(seed),
      max_threads_(net.max_threads(threads)),
      segments_(layout_.segments()) {
  for (int array = 0; array <= optimizer.states(); ++array) packed_[array] = Buffer<T>(layout_.size);
  for (int k = 0; k < optimizer.states(); ++k)
    if (const double initial = optimizer.initial_state(k); initial != 0)
      std::fill_n(packed_[1 + k].get(), layout_.size, static_cast<T>(initial));
  for (const LayerSpec& layer : net.layers) {
    penalised_ = penalised_ || layer.penalty.l1 != 0 || layer.penalty.l2 != 0;
    dropping_ = dropping_ || layer.dropout > 0;
  }
  partial_.resize(segments_.size() * lanes<T>);
}

template <class T>
States<T> Trainer<T>::states() const {
  States<T> states{optimizer_.states()};
  for (int k = 0; k < states.count; ++k) states.array[k] = packed_[1 + k].get();
  return states;
}

template <class T>
void Trainer<T>::read(int array, T* out) const {
  layout_.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) { out[flat] = packed_[array][at]; });
}

template <class T>
void Trainer<T>::write(int array, const T* in) {
  // + 0: no negative zeros, which an entry of zero would change
  layout_.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) { packed_[array][at] = in[flat] + T(0); });
}

template <class T>
void Trainer<T>::set_data(const Columns& x, const Targets<T>& t, const T* weights, const T* offset, bool shuffle,
                          double scale) {
  const int rows = static_cast<int>(std::min<std::int64_t>(batch_rows_, Pass<T>::chunk_rows));
  std::unique_ptr<Pass<T>> pass;
  if (!pass_ || !pass_->takes(x, rows)) pass = std::make_unique<Pass<T>>(net_, layout_, x, rows, max_threads_);
  const int blocks = (pass ? *pass : *pass_).blocks(rows);
  std::vector<std::uint32_t> order(shuffle ? static_cast<std::size_t>(x.rows) : 0);
  std::vector<double> block_losses(static_cast<std::size_t>(blocks));
  Buffer<T> sums;
  if (batch_rows_ > Pass<T>::chunk_rows || optimizer_.clip_norm > 0 || blocks > 1)
    sums = Buffer<T>(packed_[0].size() * blocks);
  Columns columns = x;
  // from here on nothing throws
  if (pass) pass_ = std::move(pass);
  order_ = std::move(order);
  block_losses_ = std::move(block_losses);
  sums_ = std::move(sums);
  x_ = std::move(columns);
  t_ = t;
  weights_ = weights;
  offset_ = offset;
  fitted_ = nullptr;
  shuffle_ = shuffle;
  scale_ = scale;
  chunk_ = 0;
  progress_ = {};
}

template <class T>
void Trainer<T>::forget_data() {
  set_fitted(nullptr);
  x_ = {}, t_ = {}, weights_ = nullptr, offset_ = nullptr;
  chunk_ = 0, progress_ = {};
  pass_.reset();
  order_ = {};
  sums_ = {};
}

template <class T>
bool Trainer<T>::finite() const {
  return first_nonfinite(packed_[0].get(), 1, packed_[0].size(), 0, 1).row < 0;
}

template <class T>
void Trainer<T>::begin_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  chunk_ = 0;
  progress_ = {};
  progress_.steps = (x_.rows + batch_rows_ - 1) / batch_rows_;
  if (shuffle_)
    random_permutation(order_.data(), static_cast<std::uint32_t>(x_.rows), random_key(seed_, Purpose::shuffle, epoch));
}

template <class T>
Progress Trainer<T>::run(const double* rates, double seconds, int threads, Interrupt& interrupt) {
  stop_ = false;
  threads = std::min(threads, max_threads_);
  pass_->use(threads);
  team_.run(threads, [&](int rank) { member(team_, rank, rates, seconds, interrupt); });
  return progress_;
}

// What each member of the team does until the epoch or the time is over, or the loss diverges. Between two barriers
// members write to different places only; rank 0 alone updates the counters.
template <class T>
void Trainer<T>::member(Team& team, int rank, const double* rates, double seconds, Interrupt& interrupt) {
  const double deadline = seconds_now() + seconds;
  const std::uint64_t dropout_key = random_key(seed_, Purpose::dropout, epoch_);
  Pass<T>& pass = *pass_;
  T* const w = packed_[0].get();
  const States<T> states = this->states();
  std::int64_t step = progress_.step;
  std::int64_t updates = updates_;
  std::int64_t chunk = chunk_;
  const std::int64_t steps = progress_.steps;
  const int patience = step_work(net_, batch_rows_) < 50000 ? 16 : 1;  // reading the clock costs as much as a tiny step
  for (int turn = 0; step < steps && !stop_; ++turn) {
    const std::int64_t first = step * batch_rows_;
    const std::int64_t rows = std::min(batch_rows_, x_.rows - first);
    const std::int64_t chunks = (rows + Pass<T>::chunk_rows - 1) / Pass<T>::chunk_rows;
    const bool last = chunk + 1 == chunks;
    const std::int64_t skipped = chunk * Pass<T>::chunk_rows;
    const Batch<T> batch{&x_,
                         t_,
                         weights_,
                         offset_,
                         shuffle_ ? order_.data() : nullptr,
                         first + skipped,
                         static_cast<int>(std::min<std::int64_t>(Pass<T>::chunk_rows, rows - skipped))};
    const PassMode mode{true, dropping_, dropout_key, static_cast<std::uint64_t>(first + skipped)};
    // Sums of this chunk, of a block of its rows each, beside those of the batch's chunks before.
    const int blocks = pass.blocks(batch.rows);
    const bool split = pass.splits_inputs(batch.rows);
    auto add_to = [&](int block, bool onto) {
      return AddTo<T>{{}, sums_.get() + block * layout_.size, onto, &interrupt, rank};
    };
    if (blocks > 1) {
      const Part mine = part_of(blocks, 1, rank, team.size());
      pass.begin_blocks(rank, w, mode);
      for (int b = mine.first; b < mine.last; ++b) {
        const Part part = pass.block(batch.rows, b, blocks);
        pass.run_block(rank, w, batch, mode, fitted_, part);
        const bool joins = chunks == 1 && joined(blocks, b, team.size());
        block_losses_[b] = pass.loss_sum(part);
        pass.gradient_of_block(rank, part, mode, add_to(joins ? b - 1 : b, joins || chunk > 0));
      }
    } else if (split) {
      pass.run_split(team, rank, w, batch, mode, fitted_);
    } else if (!pass.run(team, rank, w, batch, mode, fitted_, &interrupt)) {
      break;
    }
    if (penalised_ && chunk == 0)
      for (std::size_t s = rank; s < segments_.size(); s += team.size())
        penalty_values(partial_.data() + s * lanes<T>, w + segments_[s].start, segments_[s].count, segments_[s].outputs,
                       penalty_on(segments_[s]));
    if (!split || penalised_ || net_.layers.size() > 1) team.barrier();

    if (rank == 0) {
      double loss = 0;
      for (int b = 0; b < blocks; ++b) loss += blocks > 1 ? block_losses_[b] : pass.loss_sum({0, batch.rows});
      progress_.rows += batch.rows;
      progress_.loss_sum += loss;
      if (penalised_ && chunk == 0)
        for (const double p : partial_) progress_.penalty_sum += p * static_cast<double>(rows);
      progress_.diverged = !std::isfinite(loss);
    }
    if (last && step + 1 < steps) {
      Batch<T> next = batch;
      next.first = first + batch_rows_;
      next.rows = static_cast<int>(std::min<std::int64_t>({batch_rows_, x_.rows - next.first, Pass<T>::chunk_rows}));
      pass.prefetch(next, rank, split);
    }
    auto gradient = [&](const auto& sink) {
      if (split)
        pass.gradient_of_split(rank, batch.rows, mode, sink);
      else
        pass.gradient(rank, batch.rows, mode, sink);
    };
    const double scale = scale_ / static_cast<double>(rows);
    StepSize<T> size(optimizer_, rates[step], updates + 1, scale);
    if (chunks == 1 && blocks == 1 && optimizer_.clip_norm <= 0) {
      const bool large = layout_.size * sizeof(T) > 131072;
      const bool plain = optimizer_.rule == Rule::sgd && !penalised_;
      gradient(Apply<T>{{}, net_, optimizer_, size, w, states, plain, large, &interrupt, rank});
    } else {
      if (blocks == 1) {
        gradient(add_to(0, chunk > 0));
        if (last) team.barrier();
      }
      if (last && !interrupt.was_cut())
        apply_sums(team, rank, size, pass.blocks(static_cast<int>(std::min<std::int64_t>(rows, Pass<T>::chunk_rows))),
                   chunks == 1, scale);
    }
    if (rank == 0) stop_ = progress_.diverged || (turn % patience == 0 && seconds_now() > deadline);
    team.barrier();
    if (interrupt.was_cut()) break;
    chunk = last ? 0 : chunk + 1;
    step += last;
    updates += last;
  }
  if (rank == 0) {
    updates_ = updates;
    chunk_ = chunk;
    // the step in which the loss diverged counts as done, so that its number can be reported
    progress_.step = step + (progress_.diverged && chunk > 0);
  }
}

// The step of a batch whose gradient is in sums_, one sum per block: blocks are added in pairs, and the pairs in order.
template <class T>
void Trainer<T>::apply_sums(Team& team, int rank, StepSize<T> size, int blocks, bool one_chunk, double scale) {
  T* const w = packed_[0].get();
  T* const sums = sums_.get();
  constexpr std::ptrdiff_t V = lanes<T>;
  const std::ptrdiff_t vectors = layout_.size / V, members = team.size();
  const std::ptrdiff_t first = vectors * rank / members * V, end = vectors * (rank + 1) / members * V;  // this member's
  for (int b = 0; b < blocks; b += 2) {
    const T* const block = sums + b * layout_.size;
    const bool alone = b + 1 == blocks || (one_chunk && joined(blocks, b + 1, team.size()));
    if (b == 0 && alone) continue;
    for (std::ptrdiff_t i = first; i < end; i += V) {
      const Vec<T> pair = alone ? load(block + i) : load(block + i) + load(block + layout_.size + i);
      store(sums + i, b == 0 ? pair : load(sums + i) + pair);
    }
  }
  if (optimizer_.clip_norm > 0) {
    team.barrier();
    for (std::size_t s = rank; s < segments_.size(); s += team.size()) {
      const Segment& part = segments_[s];
      squared_norms(partial_.data() + s * V, w + part.start, sums + part.start, part.count, part.outputs, scale,
                    penalty_on(part));
    }
    team.barrier();
    double norm = 0;
    for (const bool biases : {false, true})  // by output: those of a panel lie between its weights and the next one's
      for (std::size_t s = 0; s < segments_.size(); ++s)
        for (int o = 0; segments_[s].bias == biases && o < V; ++o) norm += partial_[s * V + o];
    norm = std::sqrt(norm);
    if (norm > optimizer_.clip_norm) size.shrink = static_cast<T>(optimizer_.clip_norm / norm);
  }
  for (const Segment& part : segments_) {
    if (part.bias && !net_.layers[part.layer].bias) continue;
    const std::ptrdiff_t at = std::max(first, part.start), count = std::min(end, part.start + part.count) - at;
    if (count > 0) update(optimizer_.rule, w, states(), at, sums + at, count, size, penalty_on(part), !part.bias);
  }
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace linnet::inline LINNET_ISA
