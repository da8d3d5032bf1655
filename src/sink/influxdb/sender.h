#pragma once
/// Hands batches of lines to a receiver on a thread of its own, again and again where it is away, with bounded memory.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "base/thread_safety.h"
#include "sink/influxdb/line_protocol.h"
#include "sink/influxdb/receiver.h"

namespace attune::influxdb {

struct SenderOptions {
  int64_t longest_wait_ns = 2'000'000'000;  ///< limit of the wait in Add()
  size_t max_queued_bytes = 16u << 20;      ///< beyond it the oldest batch that waits is dropped and counted
  int64_t first_pause_ns = 100'000'000;     ///< after a failure; doubled at each further one
  int64_t longest_pause_ns = 10'000'000'000;
  int64_t longest_last_pause_ns = 500'000'000;  ///< while somebody waits in Flush()
};

class Sender {
 public:
  explicit Sender(std::unique_ptr<Receiver> receiver, SenderOptions options = {});
  /// Loses all lines that are not delivered by now.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Waits a while for room where there is none, so that whoever reads a recording is not faster than the receiver.
  void Add(Lines batch);
  /// Waits until everything is delivered or dropped, at most for the time given.
  void Flush(int64_t limit_ns);

  struct State {
    uint64_t pending = 0;  ///< values
    uint64_t dropped = 0;
    std::string message;  ///< error of the last try, if it failed
  };
  State Now() const;

 private:
  void Run();
  void Forget(const Lines& batch) ATTUNE_REQUIRES(mutex_);
  void Pause(MutexLock& lock, int64_t& pause_ns) ATTUNE_REQUIRES(mutex_);

  const std::unique_ptr<Receiver> receiver_;
  const SenderOptions options_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar room_;
  CondVar idle_;
  std::deque<Lines> queue_ ATTUNE_GUARDED_BY(mutex_);
  size_t queued_bytes_ ATTUNE_GUARDED_BY(mutex_) = 0;  // with the batch that is on its way
  uint64_t pending_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::string message_ ATTUNE_GUARDED_BY(mutex_);
  bool busy_ ATTUNE_GUARDED_BY(mutex_) = false;  // a batch is on its way
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  int flushing_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace attune::influxdb
