// Small batches of a narrow first layer with many inputs (network/pass.hpp, Pass::splits_inputs), such as softmax
// regression on images. Two members divide a step by the layer's inputs rather than by rows: what travels between cores
// is the sums of each, not the weights.
#pragma once

#include "network/pass.hpp"

namespace linnet::inline LINNET_ISA {

template <class T>
void Pass<T>::run_split(Team& team, int rank, const T* packed, const Batch<T>& batch, PassMode mode, T* fitted) {
  const LayerSpec& layer = net_.layers[0];
  const LayerLayout<T>& place = layout_.layers[0];
  const Part rows = copy_of(rank, batch.rows), panels{0, panels_of<T>(layer.outputs)};
  const Batch<T> own = moved(batch, rows.first);
  mode.position -= static_cast<std::uint64_t>(rows.first);
  enter(own, mode, rows.first, rows.last);
  std::copy(rows_.begin() + rows.first, rows_.begin() + rows.last, next_.begin() + rows.first);
  for (int part = 0; part < 2; ++part)
    if (threads_ == 1 || part == rank)
      narrow_forward(split_sums_[part].get(), ld_, rows_.data() + rows.first, packed, place.block(part),
                     part == 1 ? packed + place.biases() : nullptr, layer.outputs, 0, batch.rows);
  team.barrier();
  for (int p = 0; p < panels.last; ++p) {
    const std::ptrdiff_t from = p * ld_ * lanes<T>, to = from + std::ptrdiff_t{rows.first} * lanes<T>;
    for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{batch.rows} * lanes<T>; i += lanes<T>)
      store(z_[0].get() + to + i, load(split_sums_[0].get() + from + i) + load(split_sums_[1].get() + from + i));
  }
  activate(0, mode, rows, panels, rank);
  begin_blocks(rank, packed, mode);
  run_above(rank, packed, own, mode, rank == 0 ? fitted : nullptr, rows);
}

}  // namespace linnet::inline LINNET_ISA
