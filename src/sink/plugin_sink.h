#pragma once
/// A sink that is a plug-in in a process of its own. It is fed by a thread of its own from a bounded queue, so that
/// neither a slow nor a dead sink holds up anybody else.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/sink.h"
#include "model/source.h"
#include "sink/found_sinks.h"
#include "sink/host_process.h"
#include "sink/sink_channel.h"

namespace attune::sink {

/// Told what a user should know: "sink influxdb crashed (SIGSEGV); it is started again". @thread any
using SinkReport = std::function<void(const std::string&)>;

struct SinkOptions {
  SinkChoice choice;
  std::string folder;                      ///< working directory of its process; empty: ours
  std::string program = "/proc/self/exe";  ///< that has the command plugin-host
  /// The metadata published so far, which a late or restarted sink receives first. It must include every batch passed
  /// to Consume(). May be empty. @thread any
  std::function<std::shared_ptr<const model::Metadata>()> metadata;
  SinkReport report;  ///< may be empty
  int max_restarts = 3;
  int64_t restart_delay_ns = 1'000'000'000;  ///< times how often it was started
  int64_t answer_ns = 15'000'000'000;        ///< one that says nothing for so long is ended
  int64_t drain_ns = 5'000'000'000;          ///< at the end: how long what waits has, before the last flush
  size_t max_queued_cells = 4u << 20;        ///< 8 bytes each; beyond it samples are dropped and counted
};

/// Delivery of the values of samples.
struct SinkTotals {
  uint64_t written = 0;  ///< delivered, as far as the sink knows
  uint64_t pending = 0;  ///< not delivered yet
  uint64_t dropped = 0;  ///< lost: the queue was full, the sink dropped them, or its process ended
  int restarts = 0;
  std::string problem;  ///< present problem of the sink; empty: none
};

class PluginSink final : public model::Sink {
 public:
  /// Starts the process and lets the sink open its argument. Errors: that of the sink. @cost some ms; at most 10 s
  static Result<std::unique_ptr<PluginSink>> Start(SinkOptions options);
  ~PluginSink() override;

  const std::string& name() const { return options_.choice.name; }
  /// Never waits. Batches of tables that sinks do not receive are ignored.
  void Consume(const model::BatchPtr& batch) override;
  /// The same, but waits for room in the queue. @return false: the sink is gone
  bool ConsumePatiently(const model::BatchPtr& batch);
  /// @thread any
  SinkTotals Totals() const;
  /// Drains the queue, then flushes and closes the sink, within drain_ns and some seconds more. No later calls.
  SinkTotals Finish();

 private:
  /// Data that Feed() has under way.
  struct Outgoing {
    std::deque<model::BatchPtr> metadata;
    std::string bytes;
    size_t sent = 0;
    bool shut = false;        ///< nothing more will be sent
    int64_t word_due_ns = 0;  ///< until when the host must say something
    bool said_last = false;
  };

  explicit PluginSink(SinkOptions options);
  void Run();
  Result<HostProcess> Connect();
  std::string Feed(HostProcess& host);
  void Load(Outgoing& out);
  void CloseWhenDone(HostProcess& host, Outgoing& out);
  std::string Overdue(const Outgoing& out) const;
  bool Wait(const HostProcess& host, const Outgoing& out);
  bool SendSome(HostProcess& host, Outgoing& out);
  bool Receive(HostProcess& host, Outgoing& out);
  void OnProgress(const SinkProgress& progress);
  void Settle();
  void GiveUp(const std::string& why);
  bool HasRoomLocked(const model::Batch& batch) const ATTUNE_REQUIRES(mutex_);
  void DropLocked(const model::Batch& batch) ATTUNE_REQUIRES(mutex_);
  void MakeRoomLocked() ATTUNE_REQUIRES(mutex_);
  void PushLocked(model::BatchPtr batch) ATTUNE_REQUIRES(mutex_);
  model::BatchPtr PopLocked() ATTUNE_REQUIRES(mutex_);
  void DropQueueLocked() ATTUNE_REQUIRES(mutex_);
  bool IsFinishing() const;
  void Report(const std::string& text) const;

  const SinkOptions options_;
  UniqueFd wake_;  // an eventfd: something was queued, or it shall end
  std::thread thread_;

  mutable Mutex mutex_;
  CondVar news_;
  std::optional<Status> opened_ ATTUNE_GUARDED_BY(mutex_);  // result of the first process
  std::deque<model::BatchPtr> queue_ ATTUNE_GUARDED_BY(mutex_);
  size_t queued_cells_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t queued_values_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::map<model::StreamId, uint64_t> missing_rows_ ATTUNE_GUARDED_BY(mutex_);  // dropped since the batch before
  bool send_metadata_ ATTUNE_GUARDED_BY(mutex_) = false;                        // again: some of it had no room
  bool finishing_ ATTUNE_GUARDED_BY(mutex_) = false;
  int64_t drain_deadline_ns_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool gone_ ATTUNE_GUARDED_BY(mutex_) = false;  // there is nobody to send anything to any more
  bool told_slow_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool told_problem_ ATTUNE_GUARDED_BY(mutex_) = false;
  uint64_t sent_ ATTUNE_GUARDED_BY(mutex_) = 0;  // values, to the present process
  SinkProgress progress_ ATTUNE_GUARDED_BY(mutex_);
  SinkTotals before_ ATTUNE_GUARDED_BY(mutex_);  // totals of the processes before, and of the queue
};

}  // namespace attune::sink
