// A team of threads that work on the same step. A step of a small network takes about ten microseconds, so waiting
// means spinning first; then yielding to whoever wants the core (it may be the very thread being waited for); and
// sleeping only after a millisecond. Between two runs the members wait the same way, so an epoch of two milliseconds
// finds them awake, and nothing spins while Python is busy.
// When other threads want the cores as well, that is harmful: a thread that spins keeps the one it waits for from
// running, and one that yields goes to the end of the queue. Then all teams of the process go to sleep soon: a sleeping
// thread that is woken runs first.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "base/simd.hpp"

namespace linnet::inline LINNET_ISA {

inline void spin_pause() {
#if LINNET_X86
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether there are more threads than cores: members of the teams of this process, or threads of other programs, which
// are noticed when a member that yields is away for long.
class Crowd {
 public:
  bool here() const {
    return met_.load(std::memory_order_relaxed) || members_.load(std::memory_order_relaxed) > cores_;
  }

  // As above, but other programs' threads are forgotten after a while.
  bool still_here() {
    if (met_.load(std::memory_order_relaxed) && now() >= until_.load(std::memory_order_relaxed))
      met_.store(false, std::memory_order_relaxed);
    return here();
  }

  // Lets others run. True: another thread did, and for longer than any interruption by the system.
  static bool give_way() {
    const std::int64_t before = now();
    std::this_thread::yield();
    return now() - before >= 500;
  }

  // Notes that others want the cores: for longer if they were forgotten only just now, since each check costs a time
  // slice.
  void note() {
    const std::int64_t last = length_.load(std::memory_order_relaxed);
    const bool soon = now() - until_.load(std::memory_order_relaxed) < last;
    const std::int64_t length = soon ? std::min<std::int64_t>(2 * last, 80000) : 10000;
    length_.store(length, std::memory_order_relaxed);
    until_.store(now() + length, std::memory_order_relaxed);
    met_.store(true, std::memory_order_relaxed);
  }

  // Called with the size of a team when it starts work, and with minus its size when it ends.
  void add(int members) { members_.fetch_add(members, std::memory_order_relaxed); }

 private:
  static std::int64_t now() {  // in microseconds
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  const int cores_ = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::atomic<int> members_{0};
  std::atomic<bool> met_{false};
  std::atomic<std::int64_t> until_{0}, length_{10000};
};

inline Crowd crowd;

// A number that threads wait for. On a cache line of its own.
template <class Number>
class alignas(cache_line) Awaited {
 public:
  Number load() const { return value_.load(std::memory_order_acquire); }

  // Before any thread can wait for it.
  void reset(Number value) { value_.store(value, std::memory_order_relaxed); }

  // Sequentially consistent, as are the steps into sleep: either the sleeper sees the new value or this sees the
  // sleeper.
  Number add(Number more) { return value_.fetch_add(more); }
  void store(Number value) { value_.store(value); }

  // To be called after a change that a thread may be waiting for.
  void wake_all() {
    if (sleepers_.load() == 0) return;
#if defined(__linux__)
    syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
#else
    value_.notify_all();
#endif
  }

  template <class Enough>
  void wait_until(Enough&& enough) {
    static thread_local int crowded_spins = max_spins;  // fewer where spinning did not help
    const bool crowded = crowd.here();
    const int spins = crowded ? crowded_spins : max_spins;
    for (int spin = 0; spin < spins; ++spin) {
      if (enough(load())) {
        if (crowded && spin > 0) crowded_spins = std::min(2 * spins, max_spins);
        return;
      }
      spin_pause();
    }
    if (crowded) crowded_spins = std::max(spins / 2, 50);
    if (!crowd.still_here()) {
      for (int turn = 0; turn < 2000; ++turn) {
        if (enough(load())) return;
        if (!Crowd::give_way()) continue;
        crowd.note();
        break;
      }
    }
    if (enough(load())) return;
    sleepers_.fetch_add(1);
    for (Number now; !enough(now = value_.load());) {
#if defined(__linux__)  // the library's own wait yields several times first
      syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(now), nullptr, nullptr, 0);
#else
      value_.wait(now);
#endif
    }
    sleepers_.fetch_sub(1);
  }

 private:
#if defined(__linux__)
  // The low half, as the system call compares 32 bits.
  const void* word() const {
    constexpr bool high_first = std::endian::native == std::endian::big && sizeof(Number) == 8;
    return reinterpret_cast<const char*>(&value_) + (high_first ? 4 : 0);
  }
  static_assert(sizeof(std::atomic<Number>) == sizeof(Number) && (sizeof(Number) == 4 || sizeof(Number) == 8));
#endif

  static constexpr int max_spins = 500;
  std::atomic<Number> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

class Team {
 public:
  ~Team() { dismiss(); }

  int size() const { return size_; }

  // Runs work(rank) on `size` members, rank 0 on the calling thread. Work must not throw.
  template <class Work>
  void run(int size, Work&& work) {
    if (!begin(size, false, work)) return work(0);
    work(0);
    crew_->wait_for(static_cast<std::uint32_t>(size - 1));
    crowd.add(-size);
  }

  // Calls work(rank, item) once for each item from 0 to count - 1: a member takes the next one when it is done with its
  // last. So nobody waits for a member that comes late, from a core that others want, unless it is working on an item.
  // If work returns false, no more items are handed out. Work must not throw, nor wait for other members.
  template <class Work>
  void share(int size, std::int64_t count, Work&& work) {
    std::atomic<std::int64_t> next{0};
    auto take = [&](int rank) {
      for (std::int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        if (!work(rank, item)) next.store(count, std::memory_order_relaxed);
    };
    if (!begin(static_cast<int>(std::min<std::int64_t>(size, count)), true, take)) return take(0);
    take(0);
    crew_->wait_for(crew_->close());
    crowd.add(-size_);
  }

  // Waits until all members are here. What a member wrote before is visible to all afterwards.
  void barrier() {
    if (size_ == 1) return;
    const std::uint64_t members = static_cast<std::uint64_t>(size_);
    const std::uint64_t before = arrived_.add(1);
    const std::uint64_t all = (before / members + 1) * members;  // arrivals at this barrier and those before
    if (before + 1 == all) return arrived_.wake_all();
    arrived_.wait_until([=](std::uint64_t arrived) { return arrived >= all; });
  }

 private:
  // The threads besides the caller's. They own a share of this and not of the team, which a fork may leave behind.
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

    // Begins a round for the members of rank below `size`; 0 ends all threads. `open`: the round may end without some
    // of them.
    void call(int size, bool open = false) {
      const std::uint32_t number = round.load() / (2 * most) + 1;
      const std::uint32_t word = (number * 2 + open) * most + static_cast<std::uint32_t>(size);
      entered.store(std::uint64_t{word} << 32, std::memory_order_relaxed);
      round.store(word);
      round.wake_all();
    }

    // Ends an open round: nobody enters it any more. Returns how many have.
    std::uint32_t close() { return static_cast<std::uint32_t>(entered.exchange(0)); }

    void wait_for(std::uint32_t members) {
      finished.wait_until([=](std::uint32_t now) { return now == members; });
    }

    // Whether a member may take part in the open round it has read of.
    bool enter(std::uint32_t word) {
      std::uint64_t now = entered.load();
      while (now >> 32 == word)
        if (entered.compare_exchange_weak(now, now + 1)) return true;
      return false;
    }

    void serve(int rank) {
      for (std::uint32_t seen = 0;;) {
        round.wait_until([=](std::uint32_t now) { return now != seen; });
        seen = round.load();
        const int size = static_cast<int>(seen % most);
        if (size == 0) return;
        // A round does not wait for members it does not include, so all they may look at is the word they have read.
        if (rank >= size) continue;
        if (seen / most % 2 == 1 && !enter(seen)) continue;
        job(rank);
        finished.add(1);
        finished.wake_all();
      }
    }

    static constexpr std::uint32_t most = 1 << 12;  // of members

    const pid_t process;
    std::function<void(int)> job;
    Awaited<std::uint32_t> round;     // (its number * 2 + whether it is open) * most + its size
    Awaited<std::uint32_t> finished;  // members besides the caller
    // Of an open round: its word, and how many members are in it; 0: it is closed.
    alignas(cache_line) std::atomic<std::uint64_t> entered{0};
    std::vector<std::thread> threads;
  };

  // Calls the members; false: the caller is the only one.
  template <class Work>
  bool begin(int size, bool open, Work& work) {
    size_ = size;
    if (size <= 1) return false;
    if (!crew_ || crew_->process != getpid() || crew_->members() < size) recruit(size);
    crew_->job = [&work](int rank) { work(rank); };
    arrived_.reset(0);
    crew_->finished.reset(0);
    crowd.add(size);
    crew_->call(size, open);
    return true;
  }

  void recruit(int size) {
    dismiss();
    crew_ = std::make_unique<Crew>(size);
  }

  void dismiss() {
    if (!crew_) return;
    if (crew_->process != getpid()) {  // after a fork the threads do not exist: nothing to join or destroy
      static_cast<void>(crew_.release());
      return;
    }
    crew_->leave();
    crew_.reset();
  }

  int size_ = 1;
  std::unique_ptr<Crew> crew_;
  // How many times members arrived at a barrier in this run. One number, so that one cache line travels between cores.
  Awaited<std::uint64_t> arrived_;
};

// For tests: teams are as large as asked for, however little there is to do.
inline std::atomic<bool> teams_of_any_size{false};

// How many of `most` members pay off for `work` multiply-adds, or work that takes as long. Calling a member and
// waiting for it costs as much as some ten thousand.
inline int members_for(double work, int most) {
  if (teams_of_any_size.load(std::memory_order_relaxed)) return most;
  return static_cast<int>(std::clamp(work / 150000, 1.0, static_cast<double>(std::max(1, most))));
}

// The range [first, last) of `count` items that member `rank` of `size` takes, cut at multiples of `grain`.
struct Part {
  int first, last;
};

inline Part part_of(int count, int grain, int rank, int size) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const int first = static_cast<int>(grains * rank / size) * grain,
            last = static_cast<int>(grains * (rank + 1) / size) * grain;
  return {first < count ? first : count, last < count ? last : count};
}

}  // namespace linnet::inline LINNET_ISA
