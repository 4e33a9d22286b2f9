// One pass over a chunk of rows, forward and backward, for the flat parameter vector. Parameters live in two forms:
// `theta`, the user's (per layer the weights, inputs x outputs in row order, then the biases), and `packed`, the core's
// (network/layout.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.hpp"
#include "base/random.hpp"
#include "data/batch.hpp"
#include "heads/panels.hpp"
#include "network/gradient_sink.hpp"
#include "network/layout.hpp"
#include "network/sparse_input.hpp"
#include "threads/interrupt.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// What one pass over a chunk of rows needs besides the parameters.
struct PassMode {
  bool gradient = false;  // compute the deltas as well
  bool dropout = false;   // drop units, keyed by `key`, the layer and the row's position
  std::uint64_t key = 0;
  std::uint64_t position = 0;  // of the chunk's first row in the epoch
};

// Forward and backward over chunks of at most `capacity` rows of columns like x by a team of up to `threads`. Every
// member calls the same methods with its rank; after a method, all members may continue only where its comment says so.
template <class T>
class Pass {
 public:
  static constexpr int chunk_rows = 512;                   // a larger batch is summed chunk by chunk
  static constexpr int row_grain = std::max(lanes<T>, 4);  // members take multiples of it

  Pass(const Network& net, const Layout<T>& layout, const Columns& x, int capacity, int threads)
      : net_(net),
        layout_(layout),
        capacity_(capacity),
        by_entries_(lists_entries(x)),
        filled_(x.entries_per_row / std::max(1, x.cols())),
        sums_apart_(net.parameters() <= 16384 && !is_external(net.head)),
        copy_rows_(reads_split(x)
                       ? (std::min(capacity, Layout<T>::max_split_rows) + row_grain - 1) / row_grain * row_grain
                       : 0),
        rows_by_thread_(true) {
    constexpr int V = lanes<T>;
    threads = net.max_threads(threads);
    const int places = std::max(capacity, 2 * copy_rows_);  // for rows
    // an odd number of cache lines per panel, so that panels do not fall on the same cache sets
    ld_ = (places + V - 1) / V * V + cache_line / vector_bytes;
    loss_ = Buffer<T>(ld_);
    auto matrix = [&](int cols) { return Buffer<T>(panels_of<T>(cols) * ld_ * V); };
    if (by_entries_)
      entries_.resize(capacity), by_column_.resize(threads), begins_.resize(capacity * threads);
    else if (narrow())
      rows_.resize(places), converted_.resize(static_cast<std::size_t>(capacity) * net.inputs());
    else
      x_ = matrix(net.inputs());
    if (copy_rows_ > 0) {
      next_.resize(places);
      for (Buffer<T>& part : split_sums_) part = matrix(net.layers.front().outputs);
    }
    std::ptrdiff_t transposed = 0;
    int widest = 0;
    for (const auto& layer : net.layers) {
      widest = std::max(widest, layer.outputs);
      const bool keeps_z = with_activation<T>(layer.activation, layer.leak, [](auto f) { return f.keeps_z; });
      z_.push_back(matrix(layer.outputs));
      h_.push_back(keeps_z ? matrix(layer.outputs) : Buffer<T>());
      d_.push_back(matrix(layer.outputs));
      const bool dropped = layer.dropout > 0 && !(by_entries_ && &layer == &net.layers.front());
      dropped_.push_back(dropped ? matrix(layer.inputs) : Buffer<T>());
      transposed_offset_.push_back(transposed);
      if (&layer != &net.layers.front())
        transposed += std::ptrdiff_t{panels_of<T>(layer.inputs)} * V * panels_of<T>(layer.outputs) * V;
    }
    for (const auto& layer : layout_.layers) {
      all_inputs_.push_back({0, layer.inputs});
      if (layer.size * sizeof(T) > 131072 && !layer.narrow && !sums_apart_) rows_by_thread_ = false;
    }
    if (is_external(net.head)) rows_by_thread_ = false;  // one call per chunk
    if (!rows_by_thread_) transposed = slab_panels * Tile<T>::depth_block * V;
    for (int rank = 0; rank < threads; ++rank) {
      transposed_.emplace_back(transposed);
      lanes_.emplace_back(std::ptrdiff_t{2} * panels_of<T>(widest) * V * V);
      tile_.emplace_back(
          std::max<int>(entry_panels * gradient_rows * V, Narrow<T>::max_outputs * narrow_gradient_inputs));
    }
    use(threads);
  }

  // From now on teams have `threads` members, at most as many as the pass was made for.
  void use(int threads) {
    threads = net_.max_threads(threads);
    if (threads == threads_) return;
    threads_ = threads;
    plan_gradient();
  }

  // Whether it can process chunks of `rows` rows of x.
  bool takes(const Columns& x, int rows) const {
    return rows <= capacity_ && lists_entries(x) == by_entries_ && reads_split(x) == (copy_rows_ > 0);
  }
  const Network& network() const { return net_; }
  const T* losses() const { return loss_.get(); }

  // The sum of some rows' losses, in sixteen partial sums: an addition waits for the one before it.
  double loss_sum(Part rows) const {
    if (rows.last - rows.first == 1) return static_cast<double>(loss_[rows.first]);
    double part[16] = {};
    int r = rows.first;
    for (; r + 16 <= rows.last; r += 16)
      for (int i = 0; i < 16; ++i) part[i] += static_cast<double>(loss_[r + i]);
    for (int i = 0; r < rows.last; ++i, ++r) part[i] += static_cast<double>(loss_[r]);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
  }

  // How many blocks of rows a chunk of a small network is cut into, each with a gradient sum of its own: a member takes
  // whole blocks through all layers and back, and hardly anything has to travel between cores. The number depends on
  // the network and the rows alone. 1: there is one sum, and members divide its parameters among them.
  int blocks(int rows) const { return sums_apart_ && rows >= 2 * row_block ? (rows + row_block - 1) / row_block : 1; }
  static Part block(int rows, int b, int blocks) { return part_of(rows, 16, b, blocks); }

  // Whether two members split the inputs of a narrow first layer between them, for all rows of the chunk: neither ever
  // reads the other's weights, and each reads its half of a row only. This affects speed alone: in a larger team most
  // members would have nothing to do.
  bool splits_inputs(int rows) const {
    return copy_rows_ > 0 && threads_ <= 2 && rows >= Layout<T>::min_split_rows && rows <= Layout<T>::max_split_rows;
  }

  // Before the first block of a step: prepares what a member needs from the parameters.
  void begin_blocks(int rank, const T* packed, const PassMode& mode) {
    if (!mode.gradient) return;
    for (int l = 1; l < static_cast<int>(net_.layers.size()); ++l)
      if (!layout_.layers[l].narrow)
        transpose(transposed_of(rank, l), packed, l, {0, panels_of<T>(net_.layers[l].inputs)},
                  {0, panels_of<T>(net_.layers[l].outputs)});
  }

  // Forward (and backward) for some rows of a chunk of a small network, by one member.
  void run_block(int rank, const T* packed, const Batch<T>& batch, const PassMode& mode, T* fitted, Part rows) {
    enter(batch, mode, rows.first, rows.last);
    forward(packed, 0, mode, rows, {0, panels_of<T>(net_.layers[0].outputs)}, rank, nullptr);
    run_above(rank, packed, batch, mode, fitted, rows);
  }

  // Forward and backward for a chunk whose inputs are split: each member computes everything after the sums of the
  // first layer itself, on its own copy of the rows' values, which takes less time than waiting for the other.
  // Afterwards each may update its half of the first layer at once; other layers only behind a barrier.
  void run_split(Team& team, int rank, const T* packed, const Batch<T>& batch, PassMode mode, T* fitted);

  // Forward (and backward) for the whole chunk. After it returns, members must meet at a barrier before they read what
  // others computed. `fitted` (rows of the table x outputs) takes the mean of each row when not null. False:
  // interrupted, for all members; only a large network checks, since a small one finishes at once.
  bool run(Team& team, int rank, const T* packed, const Batch<T>& batch, const PassMode& mode, T* fitted,
           Interrupt* interrupt = nullptr) {
    const int last = static_cast<int>(net_.layers.size()) - 1;
    const Part mine = part_of(batch.rows, row_grain, rank, threads_);
    if (rows_by_thread_) {  // small network: a block of rows goes through all layers while it is in the cache
      begin_blocks(rank, packed, mode);
      for (int r = mine.first; r < mine.last; r += row_block)
        run_block(rank, packed, batch, mode, fitted, {r, std::min(mine.last, r + row_block)});
      return true;
    }
    int place = 0;
    auto leave = [&] {
      if (interrupt) return interrupt->leave_at_barrier(team, rank, ++place);
      team.barrier();
      return false;
    };
    enter(batch, mode, mine.first, mine.last);
    if (leave()) return false;
    // large network: each member takes columns of every layer, or rows if few columns
    for (int l = 0; l <= last; ++l) {
      const auto [rows, panels] = share(batch.rows, l, rank);
      forward(packed, l, mode, rows, panels, rank, interrupt);
      if (leave()) return false;
    }
    head(batch, mode, fitted, mine.first, mine.last, rank);
    if (leave()) return false;
    if (!mode.gradient) return true;
    for (int l = last; l >= 1; --l) {
      const auto [rows, panels] = share(batch.rows, l - 1, rank);
      backward_by_slabs(rank, packed, l, rows, panels, interrupt);
      drop_gradient(l, mode, rows, panels);
      if (!relu_mask(l - 1)) through_activation(l - 1, net_.layers[l - 1], rows, panels, rank);
      if (leave()) return false;
    }
    return true;
  }

  // Prefetches what this member will read of the next chunk, unless that would evict what is being used: its own rows
  // and, for a narrow layer, also the other rows at the inputs whose weights it updates.
  LINNET_INLINE void prefetch(const Batch<T>& next, int rank, bool split) {
    if (split) {  // while the gradient is computed
      const Part rows = copy_of(rank, std::min(next.rows, copy_rows_));
      point_at_rows(next_.data(), converted_, moved(next, rows.first), rows.first, rows.last);
      return;
    }
    if (static_cast<std::ptrdiff_t>(next.rows) * net_.inputs() * sizeof(T) > 524288u * threads_) return;
    const Part mine = part_of(next.rows, row_grain, rank, threads_);
    prefetch_rows(next, mine.first, mine.last, 0, net_.inputs());
    if (!narrow()) return;
    const Part inputs = owned_[rank][0];
    prefetch_rows(next, 0, mine.first, inputs.first, inputs.last);
    prefetch_rows(next, mine.last, next.rows, inputs.first, inputs.last);
  }

  // The gradient sums of this member's share of the parameters, to a sink (network/gradient_sink.hpp).
  template <GradientSink<T> Sink>
  void gradient(int rank, int rows, const PassMode& mode, const Sink& sink) {
    gradient(rank, {0, rows}, owned_[rank], mode, sink);
  }

  // The gradient sums of this member's parameters after run_split, to a sink.
  template <GradientSink<T> Sink>
  void gradient_of_split(int rank, int rows, const PassMode& mode, const Sink& sink) {
    gradient(rank, copy_of(rank, rows), owned_split_[rank], mode, sink, next_.data() + rank * copy_rows_);
  }

  // The gradient sums of some rows, for all parameters, to a sink.
  template <GradientSink<T> Sink>
  void gradient_of_block(int rank, Part rows, const PassMode& mode, const Sink& sink) {
    gradient(rank, rows, all_inputs_, mode, sink);
  }

  // The last layer's output of the chunk, row by row: the mean, or z itself.
  void output(T* out, int r0, int r1, bool mean, int rank) {
    read_output(net_.head, net_.outputs(), output_matrix(), ld_, r0, r1, mean, lanes_[rank].get(), out);
  }

 private:
  static constexpr int row_block = 64;                     // rows that pass through a small network at a time
  static constexpr int slab_panels = 4 * Tile<T>::panels;  // of W', transposed at a time

  bool narrow() const { return layout_.layers.front().narrow; }

  // Whether the rows have so few entries that the first layer is faster when it takes them one by one. In measured
  // cycles: a panel of weights (or of its gradient) takes one per column, and 2.3 per entry, which also has to be
  // listed and sorted.
  bool mostly_zero(const Columns& x) const {
    if (narrow()) return x.entries_per_row * 40 < x.cols();
    const int panels = panels_of<T>(net_.layers.front().outputs);
    return x.entries_per_row * (4.6 * panels + 15) < x.cols() * (2.0 * panels - 0.5);
  }

  // Whether the first layer takes entries one by one; those of a chunk are counted in an int.
  bool lists_entries(const Columns& x) const { return mostly_zero(x) && x.max_entries() <= INT32_MAX / capacity_; }

  bool reads_split(const Columns& x) const {
    return layout_.layers[0].cut > 0 && !by_entries_ && in_place<T>(x) && !is_external(net_.head);
  }

  // The places of a member's own copy of the first `rows` rows, and a batch whose rows are counted from there.
  Part copy_of(int rank, int rows) const { return {rank * copy_rows_, rank * copy_rows_ + rows}; }
  static Batch<T> moved(Batch<T> batch, int places) {
    batch.first -= places;
    batch.rows += places;
    return batch;
  }

  const T* output_matrix() const { return h_.back().get() ? h_.back().get() : z_.back().get(); }

  // What layer l reads: its inputs after dropout.
  const T* input_of(int l, const PassMode& mode) const {
    if (mode.dropout && net_.layers[l].dropout > 0) return dropped_[l].get();
    return l == 0 ? x_.get() : h_[l - 1].get() ? h_[l - 1].get() : z_[l - 1].get();
  }

  T* transposed_of(int rank, int l) const { return transposed_[rank].get() + transposed_offset_[l]; }

  // The rows and panels of layer l's outputs that a member of a large network takes: all rows of some columns, or all
  // columns of some rows where columns are few or joint.
  std::pair<Part, Part> share(int rows, int l, int rank) const {
    const int panels = panels_of<T>(net_.layers[l].outputs);
    const bool by_rows = is_joint(net_.layers[l].activation) || layout_.layers[l].narrow;
    if (panels >= 2 * Tile<T>::panels * threads_ && !by_rows) return {{0, rows}, part_of(panels, 1, rank, threads_)};
    return {part_of(rows, row_grain, rank, threads_), {0, panels}};
  }

  // network/forward.hpp
  void enter(const Batch<T>& batch, const PassMode& mode, int r0, int r1);
  void drop_inputs(std::size_t l, const T* from, const PassMode& mode, Part rows, Part panels);
  void forward(const T* packed, int l, const PassMode& mode, Part rows, Part panels, int rank, Interrupt* interrupt);
  void activate(int l, const PassMode& mode, Part rows, Part panels, int rank);
  void run_above(int rank, const T* packed, const Batch<T>& batch, const PassMode& mode, T* fitted, Part rows);
  void head(const Batch<T>& batch, const PassMode& mode, T* fitted, int r0, int r1, int rank);

  // network/backward.hpp
  double work_of(const LayerLayout<T>& layer) const;
  void plan_gradient();
  template <GradientSink<T> Sink>
  void gradient(int rank, Part rows, const std::vector<Part>& owned, const PassMode& mode, const Sink& sink,
                const T* const* next = nullptr);
  void transpose(T* wt, const T* packed, int l, Part inputs, Part outputs);
  void backward_by_slabs(int rank, const T* packed, int l, Part rows, Part panels, Interrupt* interrupt);
  void drop_gradient(int l, const PassMode& mode, Part rows, Part panels);
  void through_activation(int l, const LayerSpec& layer, Part rows, Part panels, int rank);

  // Where the derivative of layer l's activation is a mask that a product can apply: its outputs, or null.
  const T* relu_mask(int l) const { return rectifies(net_.layers[l].activation) ? z_[l].get() : nullptr; }

  const Network net_;
  const Layout<T> layout_;
  const int capacity_;
  const bool by_entries_;
  const double filled_;    // fraction of values that are not zero
  const bool sums_apart_;  // see blocks
  const int copy_rows_;    // of a member's own copy, 0: there are none
  int threads_ = 0;
  bool rows_by_thread_;
  std::ptrdiff_t ld_ = 0;
  std::vector<std::ptrdiff_t> transposed_offset_;
  Buffer<T> x_, loss_;
  std::vector<const T*> rows_;                        // of a narrow first layer: where each row of the chunk lies
  std::vector<T> converted_;                          // ... when the user's table has another type
  std::vector<const T*> next_;                        // ... of the next chunk: see run_split
  Buffer<T> split_sums_[2];                           // sums over the halves of the input split
  std::vector<RowEntries<T>> entries_;                // of rows that are mostly zero: one per row
  std::vector<ByColumn<T>> by_column_;                // one per thread
  std::vector<int> begins_;                           // [row][thread] how many entries lie before owned_
  std::vector<Buffer<T>> z_, h_, d_, dropped_;        // one per layer
  std::vector<Buffer<T>> transposed_, lanes_, tile_;  // one per thread
  std::vector<std::vector<Part>> owned_;              // [thread][layer] inputs whose weights the thread updates
  std::vector<std::vector<Part>> owned_split_;        // as owned_, for the input split
  std::vector<Part> all_inputs_;                      // one per layer
};

}  // namespace linnet::inline LINNET_ISA

#include "network/backward.hpp"
#include "network/forward.hpp"
#include "network/input_split.hpp"
