#pragma once
/// A thread that drives some of the sampler's latch groups.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "session/sampling/sample_delivery.h"

namespace attune::session {

/// A sensor that keeps a thread busy for longer does not come back.
inline constexpr int64_t kStuckNs = 2'000'000'000;

/// One thread. Commands reach it through a mailbox; it sleeps on a futex that the mailbox wakes, until the next grid
/// point.
class SamplerLane {
 public:
  SamplerLane(const SamplerOptions& options, SampleDelivery& delivery, bool realtime, bool paused);
  ~SamplerLane();

  // These three return false if the thread has not read its mail within kStuckNs, since a sensor keeps it. It will
  // not read it then: everything is as before.

  /// @param after_ns its first grid point is the first after this; 0: after now
  bool Add(LatchGroup* group, int64_t after_ns = 0);
  /// Puts `next` in the place of `group`, which is closed: its first grid point is the first that `group` had not
  /// taken.
  bool Replace(LatchGroup* group, LatchGroup* next);
  /// Returns when the lane has closed the group, handed over what it had and let go of it.
  bool Remove(LatchGroup* group);

  // These are told only; a lane that is kept obeys when it can.
  void Pause() { Send({.command = Command::kPause}); }
  void Resume() { Send({.command = Command::kResume}); }
  void Stop() { Send({.command = Command::kStop}); }
  /// Waits until it has obeyed all that it was told. @return false: not by then
  bool Await(int64_t deadline_ns);

  bool empty() const { return group_count_ == 0; }
  /// Whether the thread reads its mail within kStuckNs. One that did not is not waited for again before it does.
  bool Answers();
  /// After Stop(): ends the thread. @return false: it has not obeyed by then. It goes on by itself, and needs all that
  /// it has
  bool Join(int64_t deadline_ns);
  /// "SCHED_FIFO, timer slack 1 ns": known once the constructor is done.
  const std::string& Conditions() const { return conditions_; }

 private:
  enum class Command { kAdd, kReplace, kRemove, kPause, kResume, kAnswer, kStop };
  struct Mail {
    Command command;
    uint64_t id = 0;  // they count up
    LatchGroup* group = nullptr;
    LatchGroup* next = nullptr;  // kReplace
    int64_t after_ns = 0;        // kAdd
  };

  uint64_t Send(Mail mail);
  uint64_t SendLocked(Mail mail) ATTUNE_REQUIRES(mutex_);
  /// Waits until it was obeyed; takes it back where the thread does not read it. @return whether it was
  bool Post(const Mail& mail);
  template <typename Condition>
  bool WaitLocked(MutexLock& lock, int64_t deadline_ns, const Condition& condition) ATTUNE_REQUIRES(mutex_);
  void Run();
  void SetUpThread(bool realtime);
  /// Does what was posted. @return false: stop
  bool ReadMail();
  bool Obey(const Mail& mail);
  void Begin(LatchGroup& group, int64_t after_ns, int64_t now_ns);
  void Close(LatchGroup& group, int64_t now_ns);
  void SampleBesideGrid(LatchGroup& group);
  void HandOverDue(int64_t now_ns);
  void AccountCpu();

  const SamplerOptions options_;
  SampleDelivery& delivery_;
  std::string conditions_;
  bool has_priority_ = false;  // SCHED_FIFO
  size_t group_count_ = 0;     // the callers' view

  Mutex mutex_;
  CondVar done_;
  std::vector<Mail> mailbox_ ATTUNE_GUARDED_BY(mutex_);
  uint64_t sent_ ATTUNE_GUARDED_BY(mutex_) = 0;      // the newest mail
  uint64_t obeyed_ ATTUNE_GUARDED_BY(mutex_) = 0;    // the newest mail that was obeyed
  uint64_t question_ ATTUNE_GUARDED_BY(mutex_) = 0;  // the newest kAnswer
  bool obeying_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool ready_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> mail_count_{0};  // the futex: changes with each mail

  std::vector<LatchGroup*> groups_;  // the thread's view
  bool paused_;
  int64_t cpu_ns_ = 0;  // CPU time of this thread, as accounted so far
  std::thread thread_;
};

}  // namespace attune::session
