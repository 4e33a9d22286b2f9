// A team of threads that work on the same step. A step of a small network takes some ten microseconds, so waiting means
// spinning first; then giving way to whoever wants the core (it may be the very thread that is waited for); and only
// after a millisecond sleeping. Between two runs the members wait the same way, so an epoch of two milliseconds finds
// them awake, and nothing spins while Python thinks.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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

// Waits until enough(value).
template <class Number, class Enough>
void wait_until(const std::atomic<Number>& value, Enough&& enough) {
  for (int spin = 0; spin < 500; ++spin) {
    if (enough(value.load(std::memory_order_acquire))) return;
    spin_pause();
  }
  for (int turn = 0; turn < 2000; ++turn) {
    if (enough(value.load(std::memory_order_acquire))) return;
    std::this_thread::yield();
  }
  for (Number now; !enough(now = value.load(std::memory_order_acquire));) value.wait(now, std::memory_order_acquire);
}

class Team {
 public:
  ~Team() { dismiss(); }

  int size() const { return size_; }

  // Runs work(rank) on `size` members, rank 0 on the calling thread. Work must not throw.
  template <class Work>
  void run(int size, Work&& work) {
    size_ = size;
    if (size == 1) return work(0);
    if (!crew_ || crew_->process != getpid() || crew_->members() < size) recruit(size);
    Crew& crew = *crew_;
    crew.job = [&work](int rank) { work(rank); };
    arrived_.store(0, std::memory_order_relaxed);
    crew.unfinished.store(size - 1, std::memory_order_relaxed);
    crew.call(size);
    work(0);
    wait_until(crew.unfinished, [](std::uint32_t left) { return left == 0; });
  }

  // Waits until every member is here. What a member wrote before is seen by all after.
  void barrier() {
    if (size_ == 1) return;
    const std::uint64_t members = static_cast<std::uint64_t>(size_);
    const std::uint64_t before = arrived_.fetch_add(1, std::memory_order_acq_rel);
    const std::uint64_t all = (before / members + 1) * members;  // at this barrier and those before
    if (before + 1 == all) return arrived_.notify_all();
    wait_until(arrived_, [=](std::uint64_t arrived) { return arrived >= all; });
  }

 private:
  // The threads besides the caller's. They hold on to this and not to the team, which a fork may leave behind.
  struct Crew {
    explicit Crew(int size) : process(getpid()) {
      try {
        for (int rank = 1; rank < size; ++rank) threads.emplace_back([this, rank] { serve(rank); });
      } catch (...) {  // the system gives no more threads
        leave();
        throw;
      }
    }

    void leave() {
      call(0);
      for (std::thread& thread : threads) thread.join();
    }

    int members() const { return static_cast<int>(threads.size()) + 1; }

    // Begins a round for the members of rank below `size`; 0 sends all home.
    void call(int size) {
      const std::uint32_t number = round.load(std::memory_order_relaxed) / most + 1;
      round.store(number * most + static_cast<std::uint32_t>(size), std::memory_order_release);
      round.notify_all();
    }

    void serve(int rank) {
      for (std::uint32_t seen = 0;;) {
        wait_until(round, [=](std::uint32_t now) { return now != seen; });
        seen = round.load(std::memory_order_acquire);
        const int size = static_cast<int>(seen % most);
        if (size == 0) return;
        // A round does not wait for those it does not want, so all they may look at is the word they have read.
        if (rank >= size) continue;
        job(rank);
        if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_all();
      }
    }

    static constexpr std::uint32_t most = 1 << 12;  // of members

    const pid_t process;
    std::function<void(int)> job;
    alignas(cache_line) std::atomic<std::uint32_t> round{0};  // its number * most + its size
    alignas(cache_line) std::atomic<std::uint32_t> unfinished{0};
    std::vector<std::thread> threads;
  };

  void recruit(int size) {
    dismiss();
    crew_ = std::make_unique<Crew>(size);
  }

  void dismiss() {
    if (!crew_) return;
    if (crew_->process != getpid()) {  // after a fork the threads are not here: nothing to join, nothing to destroy
      static_cast<void>(crew_.release());
      return;
    }
    crew_->leave();
    crew_.reset();
  }

  int size_ = 1;
  std::unique_ptr<Crew> crew_;
  // How often a member came to a barrier in this run. One number, so that one line travels between cores.
  alignas(cache_line) std::atomic<std::uint64_t> arrived_{0};
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
