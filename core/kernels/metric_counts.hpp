// Counting for metrics: every cut-off of a column of scores from one sort and one scan, and confusion matrices. Sorting
// is stable, so that any number of threads gives the same bytes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// A score as an unsigned number that grows as the score falls; -0 is 0.
template <class S>
struct Key {
  using Bits = std::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits sign = Bits{1} << (8 * sizeof(S) - 1);

  static Bits of(S score) {
    const auto bits = std::bit_cast<Bits>(score + S{0});
    return bits & sign ? bits : ~(bits | sign);
  }

  static S score(Bits key) { return std::bit_cast<S>(key & sign ? key : ~key & ~sign); }
};

// A sort key and its payload.
template <class Bits, class Load>
struct Keyed {
  Bits key;
  Load load;
};

template <class T>
Buffer<T> unwritten(std::int64_t n) {
  return Buffer<T>(n, false);
}

constexpr int digits = 256;                             // values of a digit, and buckets of a large column
constexpr std::int64_t comparison_sort_items = 1 << 8;  // below, a comparison sort is faster
constexpr std::int64_t bucket_sort_items =
    1 << 15;                                  // from here on they are first split into buckets that fit a core's cache
constexpr std::int64_t team_items = 1 << 17;  // and more than one thread pays
using Places = std::array<std::int64_t, digits>;

// Turns counts by digit into the position of each digit's first item.
inline void count_to_places(Places& counts) {
  std::int64_t next = 0;
  for (std::int64_t& count : counts) next += std::exchange(count, next);
}

// Sorts a few items by key, stably, digit by digit from the lowest; they end where they began.
template <class Item>
void sort_part(Item* items, Item* spare, std::int64_t n) {
  using Bits = decltype(items->key);
  if (n < comparison_sort_items) {
    std::stable_sort(items, items + n, [](const Item& a, const Item& b) { return a.key < b.key; });
    return;
  }
  Bits differ = 0;
  for (std::int64_t i = 1; i < n; ++i) differ |= items[i].key ^ items[0].key;
  Item *from = items, *to = spare;
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Bits)); shift += 8) {
    if (!(differ >> shift & (digits - 1))) continue;  // all have the same digit
    auto digit = [shift](const Item& item) { return item.key >> shift & (digits - 1); };
    Places places{};
    for (std::int64_t i = 0; i < n; ++i) ++places[digit(from[i])];
    count_to_places(places);
    for (std::int64_t i = 0; i < n; ++i) to[places[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// Sorts items by key, stably; returns the array that holds them. Many are first split at the keys of a sample into
// buckets of about the same size, which are independent.
template <class Item>
Item* sort_by_key(Item* items, Item* spare, std::int64_t n, Team& team, int threads) {
  using Bits = decltype(items->key);
  if (n < bucket_sort_items) {
    sort_part(items, spare, n);
    return items;
  }
  constexpr int per_part = 8;
  std::array<Bits, digits * per_part> sample;
  for (std::int64_t i = 0; i < digits * per_part; ++i) sample[i] = items[n * i / (digits * per_part)].key;
  std::sort(sample.begin(), sample.end());
  std::array<Bits, digits> cuts;  // bucket b has the keys from cuts[b - 1] up to below cuts[b]
  for (int b = 1; b < digits; ++b) cuts[b - 1] = sample[b * per_part];
  auto part_of_key = [&](Bits key) {
    int part = 0;
    for (int step = digits / 2; step > 0; step /= 2) part += key >= cuts[part + step - 1] ? step : 0;
    return part;
  };
  const int members = n < team_items ? 1 : threads;
  const Buffer<std::uint8_t> part = unwritten<std::uint8_t>(n);
  std::vector<Places> places(static_cast<std::size_t>(members));
  std::array<std::int64_t, digits + 1> begin{};
  std::atomic<int> next_part{0};
  team.run(members, [&](int rank) {
    const std::int64_t first = n * rank / members, last = n * (rank + 1) / members;
    Places& mine = places[rank];
    mine.fill(0);
    for (std::int64_t i = first; i < last; ++i) {
      const int b = part_of_key(items[i].key);
      part[i] = static_cast<std::uint8_t>(b);
      ++mine[b];
    }
    team.barrier();
    if (rank == 0) {
      std::int64_t next = 0;
      for (int b = 0; b < digits; ++b) {
        begin[b] = next;
        for (Places& of_member : places) next += std::exchange(of_member[b], next);
      }
      begin[digits] = n;
    }
    team.barrier();
    for (std::int64_t i = first; i < last; ++i) spare[mine[part[i]]++] = items[i];
    team.barrier();
    for (int b; (b = next_part.fetch_add(1, std::memory_order_relaxed)) < digits;)
      sort_part(spare + begin[b], items + begin[b], begin[b + 1] - begin[b]);
  });
  return spare;
}

// What is at or above each distinct score, from the highest down: weights of positives and of negatives.
struct Cutoffs {
  std::int64_t count = 0;
  Buffer<double> threshold, tp, fp;

  explicit Cutoffs(std::int64_t most)
      : threshold(unwritten<double>(most)), tp(unwritten<double>(most)), fp(unwritten<double>(most)) {}

  void set(std::int64_t at, double score, double positives, double negatives) {
    threshold[at] = score;
    tp[at] = positives;
    fp[at] = negatives;
  }
};

// Without weights the label need not travel with the score: those of positives and of negatives are sorted apart, from
// the lowest up, and merged here.
template <class S>
Cutoffs merge_cutoffs(const S* p, std::int64_t positives, const S* q, std::int64_t negatives) {
  Cutoffs cutoffs(positives + negatives);
  std::int64_t i = 0, j = 0, count = 0;  // taken so far, from the highest down
  S last{};
  auto take = [&](S score) {  // without branches: which of the two comes next cannot be predicted
    count += (count == 0) | (score != last);
    last = score;
    cutoffs.set(count - 1, static_cast<double>(score + S{0}), static_cast<double>(i), static_cast<double>(j));
  };
  while (i < positives && j < negatives) {
    const S a = p[positives - 1 - i], b = q[negatives - 1 - j], score = std::max(a, b);
    i += a == score;
    j += b == score;
    take(score);
  }
  while (i < positives) {
    ++i;
    take(p[positives - i]);
  }
  while (j < negatives) {
    ++j;
    take(q[negatives - j]);
  }
  cutoffs.count = count;
  return cutoffs;
}

template <class S>
Cutoffs weigh_cutoffs(const S* scores, const std::uint8_t* positive, const double* weights, std::int64_t n,
                      int threads) {
  using Item = Keyed<typename Key<S>::Bits, double>;  // with the weight, negative for negatives
  const Buffer<Item> items = unwritten<Item>(n), spare = unwritten<Item>(n);
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (weights[i] > 0) items[rows++] = {Key<S>::of(scores[i]), positive[i] ? weights[i] : -weights[i]};
  Team team;
  const Item* sorted = sort_by_key(items.get(), spare.get(), rows, team, threads);
  Cutoffs cutoffs(rows);
  double tp = 0, fp = 0;
  for (std::int64_t i = 0; i < rows;) {
    const auto key = sorted[i].key;
    for (; i < rows && sorted[i].key == key; ++i) (sorted[i].load > 0 ? tp : fp) += std::abs(sorted[i].load);
    cutoffs.set(cutoffs.count++, static_cast<double>(Key<S>::score(key)), tp, fp);
  }
  return cutoffs;
}

// wins[k] = Σ over pairs (row of `one`, row of k) of the product of weights where the first has the higher score, and
// of half of it where both have the same; weight[k] = Σ of class k.
template <class S>
void pairwise_wins(const S* scores, const std::int32_t* label, const double* weights, std::int64_t n, int one,
                   double* wins, double* weight, int classes, int threads) {
  using Item = Keyed<typename Key<S>::Bits, std::uint32_t>;  // with the row
  const Buffer<Item> items = unwritten<Item>(n), spare = unwritten<Item>(n);
  for (std::int64_t i = 0; i < n; ++i) items[i] = {Key<S>::of(scores[i]), static_cast<std::uint32_t>(i)};
  Team team;
  const Item* sorted = sort_by_key(items.get(), spare.get(), n, team, threads);
  std::vector<double> tied(static_cast<std::size_t>(classes));
  std::fill_n(wins, classes, 0.0);
  std::fill_n(weight, classes, 0.0);
  double above = 0;
  for (std::int64_t i = 0; i < n;) {
    const auto key = sorted[i].key;
    const std::int64_t first = i;
    for (; i < n && sorted[i].key == key; ++i) {
      const std::uint32_t row = sorted[i].load;
      tied[label[row]] += weights ? weights[row] : 1.0;
    }
    const double half = above + tied[one] / 2;
    above += tied[one];
    for (std::int64_t e = first; e < i; ++e) {
      const std::int32_t k = label[sorted[e].load];
      const double w = std::exchange(tied[k], 0.0);  // each class once
      wins[k] += w * half;
      weight[k] += w;
    }
  }
}

// Areas under the curves of cut-offs, and the first cut-off of the highest F = (1 + b²) TP / (TP + FP + b² P).
struct Areas {
  double roc = 0, average_precision = 0, precision_recall = 0, best_f = -1;
  std::int64_t best = -1;
};

inline Areas areas_of(const double* tp, const double* fp, std::int64_t n, double beta2) {
  Areas sums;
  const double positives = n ? tp[n - 1] : 0;
  double tp0 = 0, fp0 = 0, precision0 = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const double precision = tp[i] / (tp[i] + fp[i]), gained = tp[i] - tp0;
    sums.roc += (fp[i] - fp0) * (tp[i] + tp0) / 2;
    sums.average_precision += gained * precision;
    sums.precision_recall += gained * (precision + precision0) / 2;
    const double f = (1 + beta2) * tp[i] / (tp[i] + fp[i] + beta2 * positives);
    if (f > sums.best_f) sums.best_f = f, sums.best = i;
    tp0 = tp[i], fp0 = fp[i], precision0 = precision;
  }
  return sums;
}

// counts (classes x classes) += 1 or the weight for each row, at [actual][predicted].
template <class T>
void count_pairs(T* counts, const std::int32_t* actual, const std::int32_t* predicted, const double* weights,
                 std::int64_t n, std::int64_t classes) {
  if (weights) {
    for (std::int64_t i = 0; i < n; ++i) counts[actual[i] * classes + predicted[i]] += static_cast<T>(weights[i]);
    return;
  }
  constexpr int lanes = 4;  // two increments of one cell in a row would wait for each other
  if (classes * classes > 4096) {
    for (std::int64_t i = 0; i < n; ++i) counts[actual[i] * classes + predicted[i]] += 1;
    return;
  }
  std::vector<T> apart(static_cast<std::size_t>(lanes * classes * classes));
  for (std::int64_t i = 0; i < n; ++i) apart[(actual[i] * classes + predicted[i]) * lanes + i % lanes] += 1;
  for (std::int64_t c = 0; c < classes * classes; ++c)
    for (int lane = 0; lane < lanes; ++lane) counts[c] += apart[c * lanes + lane];
}

}  // namespace linnet::inline LINNET_ISA
