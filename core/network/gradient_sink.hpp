// Where the sums of a gradient go as they are computed (Pass::gradient): into the update of the parameters, or into an
// array of sums. A sink takes pieces of neighbouring parameters; a few members declare what else it accepts.
#pragma once

#include <concepts>
#include <cstddef>

#include "kernels/narrow.hpp"

namespace linnet::inline LINNET_ISA {

// The defaults of a sink: it accepts pieces of sums and nothing else.
struct PlainSink {
  static constexpr bool in_place = false;
  bool takes_row() const { return false; }
  template <class T, class Factor>
  void row(const NarrowBlock&, int, int, int, const T*, Factor&&) const {}
  bool skips_zeros() const { return false; }
  bool cut_short() const { return false; }
  LINNET_INLINE void prefetch(std::ptrdiff_t, int) const {}
};

// sink(layer, at, sums, count, bias)   the gradient sums of `count` neighbouring parameters from place `at` of packed
// sink.takes_row()                     in a batch of one row a narrow layer's gradient is a multiple of that row: it
// then sink.row(block, first, count, outputs, inputs, factor)   gets the row and factor(output) instead of the products
// sink.skips_zeros()                   of rows that are mostly zero, pieces that are all zero may be skipped
// sink.cut_short()                     nothing more is wanted
// sink.prefetch(at, count)             the piece that comes next
// sink.in_place                        the sums of a dense layer are written to sink.sums, or added with sink.onto;
//                                      it has the layout of packed
template <class Sink, class T>
concept GradientSink =
    requires(const Sink& sink, const T* sums, const NarrowBlock& block, T (*factor)(int), std::ptrdiff_t at, int n) {
      sink(std::size_t{}, at, sums, n, true);
      { sink.takes_row() } -> std::same_as<bool>;
      sink.row(block, n, n, n, sums, factor);
      { sink.skips_zeros() } -> std::same_as<bool>;
      { sink.cut_short() } -> std::same_as<bool>;
      sink.prefetch(at, n);
      { Sink::in_place } -> std::same_as<const bool&>;
    } && (!Sink::in_place || requires(const Sink& sink) {
      { sink.sums } -> std::convertible_to<T*>;
      { sink.onto } -> std::convertible_to<bool>;
    });

}  // namespace linnet::inline LINNET_ISA
