// Counter-based random numbers: a number is a pure function of a key and a counter, so there is no generator state to
// save, and any thread may compute any number in any order. Shuffles, dropout masks and initial weights all come from
// here. The generator is SplitMix64 (Steele, Lea, Flood 2014) read at position `counter`.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {

LINNET_INLINE std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

LINNET_INLINE std::uint64_t random64(std::uint64_t key, std::uint64_t counter) {
  return mix(key + (counter + 1) * 0x9e3779b97f4a7c15ull);
}

// The purpose of a stream of numbers: streams with different purposes or indices never share a key.
enum class Purpose : std::uint64_t { shuffle = 1, dropout = 2, initial = 3, sample = 4 };

inline std::uint64_t random_key(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0) {
  return mix(mix(mix(mix(seed + 0x632be59bd9b4e019ull) + static_cast<std::uint64_t>(purpose)) + a) + b);
}

// Uniform in [0, 1), 53 bits.
inline double random_uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<double>(random64(key, counter) >> 11) * 0x1p-53;
}

// A random number below n (n < 2^32) for a counter.
LINNET_INLINE std::uint32_t random_below(std::uint64_t key, std::uint64_t counter, std::uint32_t n) {
  return static_cast<std::uint32_t>((static_cast<unsigned __int128>(random64(key, counter)) * n) >> 64);
}

// order = a uniformly random permutation of 0..n-1. Short ones are shuffled in place (Fisher-Yates); long ones are
// first dealt at random into piles that fit in the cache, and each pile is shuffled (Rao 1961, Sandelius 1962): just
// as uniform, without waiting for memory.
inline void random_permutation(std::uint32_t* order, std::uint32_t n, std::uint64_t key) {
  auto shuffle = [&](std::uint32_t* pile, std::uint32_t count, std::uint64_t counter) {
    for (std::uint32_t i = count; i > 1; --i) std::swap(pile[i - 1], pile[random_below(key, counter + i, i)]);
  };
  constexpr std::uint32_t few = 1 << 17, pile_size = 1 << 15;
  const std::uint32_t piles = n <= few ? 1 : (n - 1) / pile_size + 1;
  if (piles <= 1) {
    for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
    return shuffle(order, n, 0);
  }
  const std::uint64_t deal = std::uint64_t{1} << 33;  // counters for dealing, disjoint from those of the shuffles
  std::vector<std::uint32_t> end(piles + 1);
  for (std::uint32_t i = 0; i < n; ++i) ++end[random_below(key, deal + i, piles) + 1];
  for (std::uint32_t p = 0; p < piles; ++p) end[p + 1] += end[p];
  std::vector<std::uint32_t> at(end.begin(), end.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i) order[at[random_below(key, deal + i, piles)]++] = i;
  for (std::uint32_t p = 0; p < piles; ++p) shuffle(order + end[p], end[p + 1] - end[p], end[p]);
}

// A 32-bit hash, of a number or in each lane.
template <class U>
LINNET_INLINE U scramble(U x) {
  auto low = [](U v) { return v & 0xffffffffu; };  // no-op for 32 bits, keeps 64-bit lanes there for double
  x ^= x >> 16;
  x = low(x * 0x21f0aaadu);
  x ^= x >> 15;
  x = low(x * 0xd35a2d97u);
  x ^= x >> 15;
  return x;
}

// Which units of a row are dropped: a function of the key, the row's position and the unit, whatever the vector width.
struct DropRow {
  std::uint32_t row_key, threshold;  // a unit is dropped when its random number is below

  DropRow(double rate, std::uint64_t key, std::uint64_t row)
      : row_key(static_cast<std::uint32_t>(random64(key, row) >> 32)),
        threshold(static_cast<std::uint32_t>(rate * 0x1p32)) {}

  std::uint32_t start(std::uint32_t unit) const { return row_key + unit * 0x9e3779b9u; }
  bool operator()(std::uint32_t unit) const { return scramble(start(unit)) < threshold; }
};

// out = in * mask / (1 - rate) on rows [r0..r1) and panels [p0..p1); the mask of an element is drawn for the key, the
// row `first` + r and the column. The same call on a gradient is the backward pass. out may be in.
template <class T>
void dropout(T* out, const T* in, std::ptrdiff_t ld, double rate, std::uint64_t key, std::uint64_t first, int r0,
             int r1, int p0, int p1) {
  constexpr int V = lanes<T>;
  const Vec<T> scale = broadcast(static_cast<T>(1.0 / (1.0 - rate)));
  for (int r = r0; r < r1; ++r) {
    const DropRow drop(rate, key, first + r);
    for (int p = p0; p < p1; ++p) {
      const std::ptrdiff_t at = (p * ld + r) * V;
      UVec<T> unit;
      for (int lane = 0; lane < V; ++lane) unit[lane] = drop.start(p * V + lane);
      store(out + at, scramble(unit) >= (UVec<T>{} + drop.threshold) ? load(in + at) * scale : Vec<T>{});
    }
  }
}

}  // namespace linnet::inline LINNET_ISA
