// A team of threads that work on the same step. A step of a small network takes some ten microseconds, so a barrier
// spins for about as long before it sleeps; threads live for one call into the core, so that nothing survives a fork
// and nothing spins while Python thinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "simd.hpp"

namespace linnet {

inline void spin_pause() {
#if LINNET_X86
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Team {
 public:
  explicit Team(int size) : size_(size) {}

  int size() const { return size_; }

  // Runs work(rank) on every member, rank 0 on the calling thread; rethrows the first exception of any member.
  // A member must not throw between two barriers that others will wait at.
  template <class Work>
  void run(Work&& work) {
    std::exception_ptr failure;
    std::mutex failure_lock;
    auto guarded = [&](int rank) {
      try {
        work(rank);
      } catch (...) {
        const std::lock_guard<std::mutex> hold(failure_lock);
        if (!failure) failure = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> others;
      others.reserve(size_ - 1);
      for (int rank = 1; rank < size_; ++rank) others.emplace_back(guarded, rank);
      guarded(0);
    }
    if (failure) std::rethrow_exception(failure);
  }

  // Waits until every member is here. What a member wrote before is seen by all after.
  void barrier() {
    if (size_ == 1) return;
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
      waiting_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (int spin = 0; spin < spins; ++spin) {
      if (round_.load(std::memory_order_acquire) != round) return;
      spin_pause();
    }
    while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
  }

 private:
  static constexpr int spins = 4000;  // some 50 microseconds
  const int size_;
  alignas(cache_line) std::atomic<std::uint32_t> waiting_{0};
  alignas(cache_line) std::atomic<std::uint32_t> round_{0};
};

// The part [first, last) of `count` things that member `rank` of `size` takes, cut at multiples of `grain`.
struct Part {
  int first, last;
};

inline Part part_of(int count, int grain, int rank, int size) {
  const long grains = (count + grain - 1) / grain;
  const int first = static_cast<int>(grains * rank / size) * grain,
            last = static_cast<int>(grains * (rank + 1) / size) * grain;
  return {first < count ? first : count, last < count ? last : count};
}

}  // namespace linnet
