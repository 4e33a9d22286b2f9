// Ctrl-C inside a long computation. The calling thread asks now and then whether it was pressed; the members of a team
// agree at a barrier whether to go on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "team.hpp"

namespace linnet {

class Interrupt {
 public:
  using Ask = std::function<bool()>;  // true: leave

  explicit Interrupt(Ask ask) : ask_(std::move(ask)), asked_(Clock::now()) {}

  // Called by all members; place is the number of this barrier, the same for all of them. Rank 0 writes down the place
  // where all shall leave: a member that is one barrier behind must not take it for its own.
  bool leave_at_barrier(Team& team, int rank, int place) {
    if (rank == 0 && due()) place_ = place;
    team.barrier();
    return place_ == place;
  }

  // Called by the calling thread alone.
  bool due() {
    if (happened_ || !ask_ || Clock::now() - asked_ < std::chrono::milliseconds(50)) return happened_;
    happened_ = ask_();
    asked_ = Clock::now();
    return happened_;
  }

  bool happened() const { return happened_; }

 private:
  using Clock = std::chrono::steady_clock;
  const Ask ask_;
  Clock::time_point asked_;
  bool happened_ = false;
  std::atomic<int> place_{-1};
};

}  // namespace linnet
