#pragma once
/// Parts of the sampler: a latch group (one sensor at one interval) and a lane (a thread that drives some of them).

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "session/sampler.h"

namespace attune::session {

/// One sensor on the grid of one stream, with the rows that were not delivered yet.
/// @thread its lane's, or anyone's while it has none
struct Sampler::LatchGroup {
  /// Makes room for the rows of a delivery.
  LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
             const std::atomic<int64_t>& delivery_ns);

  /// Takes the sample of the grid point next_ns, or of a later one if that has passed. Does not allocate.
  /// @return grid points that were missed
  int64_t Tick();
  bool WantsDelivery(int64_t now_ns) const;
  /// Rows and gaps so far; empties them.
  SampleChunk Take(int64_t now_ns);
  /// Accounts for every grid point until closed_ns: those that were missed, a sensor that is away, a pause.
  /// @return grid points that were missed
  int64_t Close(int64_t now_ns);
  void Pause(int64_t now_ns);
  void Resume(int64_t now_ns);
  /// The first grid point after that moment is next.
  void Align(int64_t t_ns) { next_ns = (t_ns / interval_ns + 1) * interval_ns; }

  model::Sensor& sensor;
  const int64_t cost_ns;
  const size_t columns;
  const model::StreamId stream;
  const int64_t interval_ns;
  int64_t next_ns = 0;
  int64_t closed_ns = 0;  // every grid point until then is accounted for; 0: not closed
  Lane* lane = nullptr;
  std::atomic<bool> away{false};  // the sensor's source vanished

 private:
  void AddGap(model::GapReason reason, int64_t t0_ns, int64_t t1_ns, int64_t count);
  void ReportAway(int64_t now_ns);
  int64_t SkipMissed(int64_t now_ns);

  const std::atomic<int64_t>& delivery_ns_;
  const size_t capacity_;
  std::vector<int64_t> t_ns_;  // one a row
  std::vector<int64_t> rows_;  // row by row, turned into columns on delivery
  std::vector<model::Gap> gaps_;
  int64_t away_since_ns_ = 0;  // 0: the sensor is there
  int64_t away_count_ = 0;
  int64_t paused_since_ns_ = 0;  // 0: not paused
};

/// One thread. Commands reach it through a mailbox; it sleeps on a futex that the mailbox wakes, until the next grid
/// point.
class Sampler::Lane {
 public:
  Lane(const SamplerOptions& options, const ChunkCallback& callback, bool realtime, bool paused);
  ~Lane();

  /// @param after_ns its first grid point is the first after this; 0: after now
  void Add(LatchGroup* group, int64_t after_ns = 0);
  /// Puts `next` in the place of `group`, which is closed: its first grid point is the first that `group` had not
  /// taken.
  void Replace(LatchGroup* group, LatchGroup* next);
  /// Returns when the lane has closed the group, delivered what it had and let go of it.
  void Remove(LatchGroup* group);
  void Pause();
  void Resume();
  bool empty() const { return group_count_ == 0; }
  /// "SCHED_FIFO, timer slack 1 ns": known once the constructor is done.
  const std::string& Conditions() const { return conditions_; }

 private:
  enum class Command { kAdd, kReplace, kRemove, kPause, kResume, kStop };
  struct Mail {
    Command command;
    LatchGroup* group = nullptr;
    LatchGroup* next = nullptr;  // kReplace
    int64_t after_ns = 0;        // kAdd
  };

  void Post(const Mail& mail);
  void Run();
  void SetUpThread(bool realtime);
  /// Does what was posted. @return false: stop
  bool Obey();
  void Begin(LatchGroup& group, int64_t after_ns, int64_t now_ns);
  void Close(LatchGroup& group, int64_t now_ns);
  void Deliver(LatchGroup& group, int64_t now_ns, bool more = false);
  void DeliverDue(int64_t now_ns);
  void AccountCpu();

  const SamplerOptions& options_;
  const ChunkCallback& callback_;
  std::string conditions_;
  size_t group_count_ = 0;  // the callers' view

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
