// Rows that are mostly zero, such as words of a text, levels of categories or the pixels of an image, as lists of
// entries: per row, and for many rows sorted by column.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "data/batch.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

template <class T>
struct Entry {
  int column;
  T value;
};

// The entries of one row, in ascending order of columns, in memory that is reused for the next row.
template <class T>
class RowEntries {
 public:
  const Entry<T>* begin() const { return space_.data(); }
  const Entry<T>* end() const { return space_.data() + count_; }

  // The number of entries in columns before this one.
  int before(int column) const {
    return static_cast<int>(
        std::lower_bound(begin(), end(), column, [](const Entry<T>& e, int c) { return e.column < c; }) - begin());
  }

  // Lists the entries of row r of the batch.
  void list(const Batch<T>& batch, int r) {
    const Columns& x = *batch.x;
    const std::int64_t row = batch.row(r);
    count_ = 0;
    int begin = 0;
    for (const Design& table : x.tables) {
      with_data(table, [&](const auto* data) { list_table(begin, table, data + row * table.row_stride); });
      begin += table.cols;
    }
    const std::int64_t in_matrix = x.sparse.cols ? x.sparse.start[row + 1] - x.sparse.start[row] : 0;
    Entry<T>* const from = room_for(x.codes.size() + in_matrix);
    Entry<T>* to = from;
    bool sorted = true;
    x.each_entry(row, [&](int column, double value) {
      *to = {x.dense_cols + column, static_cast<T>(value)};
      sorted = sorted && (to == from || to[-1].column < to->column);
      ++to;
    });
    count_ += to - from;
    if (!sorted) std::sort(from, to, [](auto& a, auto& b) { return a.column < b.column; });
  }

  // Dropout of the entries that `dropout` in base/random.hpp would drop from the dense row.
  void drop(double rate, std::uint64_t key, std::uint64_t row) {
    const DropRow dropped(rate, key, row);
    const T scale = static_cast<T>(1.0 / (1.0 - rate));
    Entry<T>* const last = std::remove_if(space_.data(), space_.data() + count_, [&](const Entry<T>& e) {
      return dropped(static_cast<std::uint32_t>(e.column));
    });
    count_ = last - space_.data();
    for (Entry<T>* e = space_.data(); e < last; ++e) e->value *= scale;
  }

 private:
  // Room for `more` further entries.
  Entry<T>* room_for(std::size_t more) {
    if (space_.size() < count_ + more) space_.resize(std::max(2 * space_.size(), count_ + more));
    return space_.data() + count_;
  }

  // Adds the nonzero values of a row of a table.
  template <class S>
  void list_table(int begin, const Design& table, const S* row) {
    constexpr int group = 64;  // one bit each in a word: one loop over those that are set
    for (int c = 0; c < table.cols; c += group) {
      const int last = std::min(table.cols, c + group);
      Entry<T>* const from = room_for(group);
      Entry<T>* to = from;
      int next = c;
      if constexpr (std::is_floating_point_v<S>) {
        std::uint64_t found = 0;
        for (; table.col_stride == 1 && next + lanes<S> <= last; next += lanes<S>)
          found |= std::uint64_t{nonzero_bits<S>(load(row + next))} << (next - c);
        for (; found; found &= found - 1) {
          const int at = c + __builtin_ctzll(found);
          *to++ = {begin + at, static_cast<T>(row[at])};
        }
      }
      for (; next < last; ++next) {
        const S value = row[next * table.col_stride];
        *to = {begin + next, static_cast<T>(value)};
        to += value != 0;
      }
      count_ += to - from;
    }
  }

  std::vector<Entry<T>> space_;
  std::size_t count_ = 0;
};

// The entries of a batch in a range of the inputs, sorted by column and, within a column, by row.
template <class T>
class ByColumn {
 public:
  struct Placed {
    int row;
    T value;
  };

  // begin[r * step]: where row r's entries of the range begin; null: at its first.
  void sort(const RowEntries<T>* rows, int count, Part inputs, const int* begin, int step) {
    first_ = inputs.first;
    start_.assign(inputs.last - inputs.first + 2, 0);
    auto each = [&](auto&& f) {  // f(row, column counted from the range's first, value)
      for (int r = 0; r < count; ++r)
        for (const Entry<T>*e = rows[r].begin() + (begin ? begin[r * step] : 0), *const end = rows[r].end();
             e != end && e->column < inputs.last; ++e)
          f(r, e->column - first_, e->value);
    };
    each([&](int, int column, T) { ++start_[column + 2]; });
    for (std::size_t c = 2; c < start_.size(); ++c) start_[c] += start_[c - 1];
    if (static_cast<int>(placed_.size()) < start_.back()) placed_.resize(start_.back());
    // a column begins at start_[column + 1] and, when all its entries have come, at start_[column]
    each([&](int r, int column, T value) { placed_[start_[column + 1]++] = {r, value}; });
  }

  std::span<const Placed> operator[](int column) const {
    const int* start = start_.data() + (column - first_);
    return {placed_.data() + start[0], static_cast<std::size_t>(start[1] - start[0])};
  }

  // Whether columns i to last - 1 have no entries.
  bool empty(int i, int last) const { return start_[i - first_] == start_[last - first_]; }

 private:
  int first_ = 0;
  std::vector<int> start_;
  std::vector<Placed> placed_;
};

}  // namespace linnet::inline LINNET_ISA
