// Ctrl-C during a long computation. The calling thread checks now and then whether it was pressed; the members of a
// team may skip work as soon as they see that it was, and agree at a barrier to leave.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

class Interrupt {
 public:
  using Ask = std::function<bool()>;  // true: leave

  explicit Interrupt(Ask ask) : ask_(std::move(ask)), asked_(Clock::now()) {}

  // Called by all members; place is the number of this barrier, the same for all of them. Rank 0 records the place at
  // which all leave: a member that is one barrier behind must not take it for its own.
  bool leave_at_barrier(Team& team, int rank, int place) {
    if (rank == 0 && due()) place_ = place;
    team.barrier();
    return place_ == place;
  }

  // Called by any member inside long work: true when finishing it is pointless, because all leave at the next barrier
  // that checks.
  bool in_vain(int rank) { return rank == 0 ? due() : happened(); }

  // Called by any member inside work that should be finished if possible: true when that would take too long and the
  // work is cut short.
  bool cut_short(int rank) {
    if (!in_vain(rank) || Clock::now() - asked_ < std::chrono::milliseconds(60)) return false;
    was_cut_.store(true, std::memory_order_relaxed);
    return true;
  }

  // Whether some member cut its work short before the last barrier.
  bool was_cut() const { return was_cut_.load(std::memory_order_relaxed); }

  // Called by the calling thread alone.
  bool due() {
    if (happened() || !ask_ || Clock::now() - asked_ < std::chrono::milliseconds(20)) return happened();
    const bool pressed = ask_();
    asked_ = Clock::now();
    happened_.store(pressed, std::memory_order_release);
    return pressed;
  }

  bool happened() const { return happened_.load(std::memory_order_acquire); }

 private:
  using Clock = std::chrono::steady_clock;
  const Ask ask_;
  Clock::time_point asked_;  // not changed once Ctrl-C was pressed
  std::atomic<bool> happened_{false}, was_cut_{false};
  std::atomic<int> place_{-1};
};

}  // namespace linnet::inline LINNET_ISA
