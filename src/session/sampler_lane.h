#pragma once
/// A thread that drives some of the sampler's latch groups.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "session/sample_delivery.h"

namespace attune::session {

/// One thread. Commands reach it through a mailbox; it sleeps on a futex that the mailbox wakes, until the next grid
/// point.
class Sampler::Lane {
 public:
  Lane(const SamplerOptions& options, Delivery& delivery, bool realtime, bool paused);
  ~Lane();

  /// @param after_ns its first grid point is the first after this; 0: after now
  void Add(LatchGroup* group, int64_t after_ns = 0);
  /// Puts `next` in the place of `group`, which is closed: its first grid point is the first that `group` had not
  /// taken.
  void Replace(LatchGroup* group, LatchGroup* next);
  /// Returns when the lane has closed the group, handed over what it had and let go of it.
  void Remove(LatchGroup* group);
  void Pause();
  void Resume();
  bool empty() const { return group_count_ == 0; }
  /// Whether the thread reads its mail within that time; it does not while a sensor keeps it.
  bool Answers(int64_t within_ns);
  /// Ends the thread. @return false: it has not read that by then. It goes on by itself, and needs all that it has
  bool Stop(int64_t deadline_ns);
  /// "SCHED_FIFO, timer slack 1 ns": known once the constructor is done.
  const std::string& Conditions() const { return conditions_; }

 private:
  enum class Command { kAdd, kReplace, kRemove, kPause, kResume, kAnswer, kStop };
  struct Mail {
    Command command;
    LatchGroup* group = nullptr;
    LatchGroup* next = nullptr;  // kReplace
    int64_t after_ns = 0;        // kAdd
  };

  /// Waits until it was obeyed, or for so long. @return whether it was
  bool Post(const Mail& mail, int64_t deadline_ns = INT64_MAX);
  void Run();
  void SetUpThread(bool realtime);
  /// Does what was posted. @return false: stop
  bool Obey();
  void Begin(LatchGroup& group, int64_t after_ns, int64_t now_ns);
  void Close(LatchGroup& group, int64_t now_ns);
  void SampleBesideGrid(LatchGroup& group);
  void HandOverDue(int64_t now_ns);
  void AccountCpu();

  const SamplerOptions options_;
  Delivery& delivery_;
  std::string conditions_;
  bool has_priority_ = false;  // SCHED_FIFO
  size_t group_count_ = 0;     // the callers' view

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Mail> mailbox_;
  bool ready_ = false;
  std::atomic<uint32_t> mail_count_{0};  // the futex: changes with each mail

  std::vector<LatchGroup*> groups_;  // the thread's view
  bool paused_;
  int64_t cpu_ns_ = 0;  // of this thread, as accounted so far
  std::thread thread_;
};

}  // namespace attune::session
