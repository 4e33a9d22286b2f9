// The history of L-BFGS: the last changes in theta (s) and in the gradient (y), and the two-loop recursion that turns a
// gradient into a step. Its inner products take few passes over the history: those of the first loop follow from S'g
// and the stored s'y, those of the second from Y'r.
//
// The inner product of two vectors is the usual one, or that of vectors in row space (see fit/solvers/dual_sparse.py):
// the first `dual_size` entries are coordinates, the next `dual_size` their images under a matrix K, and a'K b is the
// product of a's coordinates with b's images. Entries after these count as usual.
//
// T: the type in which the history is stored. Steps are as good in float, since the gradient itself is never rounded,
// unless the entries of a vector exceed float's range.
#pragma once

#include <algorithm>
#include <vector>

#include "base/buffer.hpp"
#include "kernels/product.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// dot in kernels/product.hpp, for numbers kept in float
inline double dot(const float* a, const double* b, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t piece = 512;
  double wide[piece], sum = 0;
  for (std::ptrdiff_t first = 0; first < n; first += piece) {
    const std::ptrdiff_t count = std::min(piece, n - first);
    std::copy_n(a + first, count, wide);
    sum += dot(wide, b + first, count);
  }
  return sum;
}

// Part of the inner product of two vectors: terms first to last - 1.
template <class T>
double inner_product(const T* a, const double* b, std::ptrdiff_t dual_size, std::ptrdiff_t first, std::ptrdiff_t last) {
  const std::ptrdiff_t middle = std::clamp(dual_size, first, last);  // up to here coordinates with images
  return dot(a + first, b + dual_size + first, middle - first) +
         dot(a + dual_size + middle, b + dual_size + middle, last - middle);
}

template <class T>
class LbfgsHistory {
 public:
  LbfgsHistory(std::ptrdiff_t size, std::ptrdiff_t dual_size, int memory, int threads)
      : size_(size),
        dual_size_(dual_size),
        memory_(memory),
        threads_(threads),
        s_(size * memory, false),
        y_(size * memory, false),
        sy_(static_cast<std::size_t>(memory) * memory),
        partial_(static_cast<std::size_t>((size - dual_size + chunk - 1) / chunk) * memory),
        factor_(static_cast<std::size_t>(memory)) {}

  std::ptrdiff_t size() const { return size_; }
  int count() const { return count_; }
  void clear() { newest_ = -1, count_ = 0; }

  // Stores a change; the oldest is dropped if there is no room.
  void push(const double* s, const double* y) {
    newest_ = (newest_ + 1) % memory_;
    count_ = std::min(count_ + 1, memory_);
    std::copy_n(s, size_, at(s_, newest_));
    std::copy_n(y, size_, at(y_, newest_));
    dots(s_, y, &sy_[static_cast<std::size_t>(newest_) * memory_]);  // [j]: s_j'y of the newest
  }

  // The first loop of the recursion, in place; on entry q holds the gradient.
  void forward(double* q) {
    dots(s_, q, factor_.data());
    for (int i = 0; i < count_; ++i) {  // from the newest to the oldest
      const int slot = slot_of(i);
      for (int j = 0; j < i; ++j) factor_[slot] -= factor_[slot_of(j)] * product(slot, slot_of(j));
      factor_[slot] /= product(slot, slot);
    }
    for (double& f : factor_) f = -f;
    add(y_, factor_.data(), q);
  }

  // The second loop of the recursion, in place; on entry r holds the initial inverse Hessian times q.
  void backward(double* r) {
    std::vector<double> back(memory_);
    dots(y_, r, back.data());
    for (int i = count_ - 1; i >= 0; --i) {  // from the oldest to the newest
      const int slot = slot_of(i);
      for (int j = count_ - 1; j > i; --j) back[slot] += back[slot_of(j)] * product(slot_of(j), slot);
      back[slot] = -factor_[slot] - back[slot] / product(slot, slot);
    }
    add(s_, back.data(), r);
  }

 private:
  static constexpr std::ptrdiff_t chunk = 2048;

  T* at(const Buffer<T>& vectors, int slot) const { return vectors.get() + slot * size_; }
  int slot_of(int age) const { return (newest_ - age + memory_) % memory_; }
  double product(int s, int y) const { return sy_[static_cast<std::size_t>(y) * memory_ + s]; }

  // Calls work(first, last) for chunks of the entries.
  template <class Work>
  void by_chunks(std::ptrdiff_t size, Work&& work) {
    const std::ptrdiff_t chunks = (size + chunk - 1) / chunk, together = 8;
    const int members = members_for(static_cast<double>(size) * count_, threads_);
    team_.share(members, (chunks + together - 1) / together, [&](int, std::int64_t some) {
      for (std::ptrdiff_t c = some * together; c < std::min(chunks, (some + 1) * together); ++c)
        work(c * chunk, std::min(size, (c + 1) * chunk));
      return true;
    });
  }

  // out[slot] = vectors[slot]'x, chunk by chunk and the chunks in order: the same bytes for any number of threads.
  void dots(const Buffer<T>& vectors, const double* x, double* out) {
    by_chunks(size_ - dual_size_, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (int slot = 0; slot < count_; ++slot)
        partial_[static_cast<std::size_t>(first / chunk * memory_ + slot)] =
            inner_product(at(vectors, slot), x, dual_size_, first, last);
    });
    for (int slot = 0; slot < count_; ++slot) {
      out[slot] = 0;
      for (std::size_t c = 0; c < partial_.size(); c += memory_) out[slot] += partial_[c + slot];
    }
  }

  // x += Σ factor[slot] vectors[slot]
  void add(const Buffer<T>& vectors, const double* factor, double* x) {
    by_chunks(size_, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (int slot = 0; slot < count_; ++slot) {
        const T* a = at(vectors, slot);
        for (std::ptrdiff_t i = first; i < last; ++i) x[i] += factor[slot] * static_cast<double>(a[i]);
      }
    });
  }

  const std::ptrdiff_t size_, dual_size_;
  const int memory_, threads_;
  Buffer<T> s_, y_;              // memory x size
  std::vector<double> sy_;       // [y * memory + s]
  std::vector<double> partial_;  // chunks x memory
  std::vector<double> factor_;   // of each change in the first loop, negative
  int newest_ = -1, count_ = 0;
  Team team_;
};

}  // namespace linnet::inline LINNET_ISA
