#pragma once
/// Ranks that ask for a request again and again (MPI_Test and its like) and do nothing else meanwhile: they wait for
/// it, from the first time that it was not complete.

#include "probe/mpi/record.h"

namespace attune::probe::mpi {

/// A thread's tests at one place, without success so far.
struct Polls {
  const void* site;  ///< nullptr: there are none
  uint64_t since;    ///< begin of the first one
  uint64_t resumed;  ///< begin of the first one after the last pause
  uint64_t end;      ///< end of the last one
};

/// Longest pause between two tests that is no work, about 20 us.
constexpr uint64_t kPauseTicks = 1 << 16;

inline __thread Polls g_polls __attribute__((tls_model("initial-exec"))) = {};

inline bool IsPause(const Call& call) { return call.Begin() - g_polls.end > kPauseTicks; }

/// The thread lost its CPU in a pause if it had asked without one for as long before.
inline bool GoesOn(const Call& call) {
  const Polls& polls = g_polls;
  if (polls.site != call.Site()) return false;
  return !IsPause(call) || call.Begin() - polls.end <= polls.end - polls.resumed;
}

/// A test has found nothing.
inline void NotePoll(const Call& call) {
  Polls& polls = g_polls;
  if (!GoesOn(call)) {
    polls = {.site = call.Site(), .since = call.Begin(), .resumed = call.Begin(), .end = call.End()};
    return;
  }
  if (IsPause(call)) polls.resumed = call.Begin();
  polls.end = call.End();
}

/// A test has found what was asked for. @return since when the thread has waited for that; 0: it has not
inline uint64_t EndPolls(const Call& call) {
  const uint64_t since = GoesOn(call) ? g_polls.since : 0;
  g_polls.site = nullptr;
  return since;
}

}  // namespace attune::probe::mpi
