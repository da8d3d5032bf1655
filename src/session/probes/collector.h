#pragma once
/// Finds the rings of a session's programs, drains them, and publishes what is in them: events, what was counted of
/// locks and waits, the programs' own counters as samples, drops as gaps.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/level.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/lock_names.h"
#include "session/probes/ring_intake.h"
#include "session/probes/ring_messages.h"
#include "session/probes/trace_choice.h"
#include "track/ring_reader.h"

namespace attune::session {

using model::Level;

/// Memory that all rings of a session may take together.
inline constexpr uint64_t kRingBudgetBytes = 512u << 20;

class Collector {
 public:
  struct Counts {
    uint64_t events = 0;             ///< published
    uint64_t dropped = 0;            ///< lost in full rings; gaps say where
    uint64_t refused = 0;            ///< events of threads that found no ring
    uint64_t acquisitions = 0;       ///< locks taken and the like, as published
    uint64_t lost_acquisitions = 0;  ///< by threads whose table was full; only known when the program is gone
    uint64_t damaged = 0;            ///< files and slots that a program overwrote
    uint64_t traced = 0;             ///< events of traces, as published
    uint64_t trace_overwritten = 0;
    uint64_t trace_lost = 0;
    uint64_t messages = 0;            ///< rows of messages and collectives, as published
    uint64_t senseless_messages = 0;  ///< records of them that made no sense
    uint64_t crowded_messages = 0;    ///< rows lost because too many waited for their other side (ChannelMessages)
    uint64_t mutex_futex_calls = 0;   ///< to wait for mutexes without attributes, or to wake up who does
    bool takes_mutexes = false;       ///< else no program's such calls were counted
    uint64_t unknown_threads = 0;     ///< threads of other PID namespaces, ended before their numbers here were seen
    /// Programs that others started without the probe library, by wire::LeftAlone.
    std::array<uint64_t, wire::kRingLeftAloneReasons> left_alone{};
  };

  /// Calls of programs that are passed through unrecorded for a while.
  enum class Bypass : uint8_t {
    kNothing,
    kMutexes,  ///< taking free ones, which are counted; at levels where they may
    kAll,
  };
  /// Turns of time one after the other, for as long as there are rings. @thread the collector's
  class Turns {
   public:
    virtual ~Turns() = default;
    /// The turn is over. @return of the next one
    virtual Bypass End(Level level, int64_t now_ns) = 0;
    /// The next one has begun: the programs were told. @return when it is to end
    virtual int64_t Begin(int64_t now_ns) = 0;
  };

  /// @param folder the session's ring folder
  Collector(std::string folder, ProcessTable& processes, Registry& registry, Pipeline& pipeline);
  ~Collector();

  /// @param turns kept from now on, until Stop(). nullptr: none
  Status Start(Level level, const TraceChoice& trace, Turns* turns = nullptr);
  /// Drains everything that is there, then ends. Idempotent.
  void Stop();
  /// For programs that run and for those to come. @thread any
  void SetLevel(Level level);
  Level level() const { return level_.load(); }
  /// As Totals().mutex_futex_calls, up to now. @thread the collector's
  uint64_t CountMutexFutexCalls();
  /// Publishes what the flight recorders of all threads hold by now. @thread any
  void Dump();
  /// Publishes what all threads have counted by now. Returns when it is published, or nothing is collected any more.
  /// @thread any but the collector's and the pipeline's  @cost up to 10 ms, and 10 us a thread
  void ReadTablesNow();
  /// Is told of each knob that a program declares. @pre not started  @thread the collector's
  void OnKnob(std::function<void(const track::RingKnob&)> on_knob) { on_knob_ = std::move(on_knob); }
  /// Is told of each program with a probe: a descriptor of its ring file. @pre not started  @thread the collector's
  void OnRing(std::function<void(UniqueFd)> on_ring) { on_ring_ = std::move(on_ring); }
  Counts Totals() const;

 private:
  struct Ring;
  struct NewRing {
    SentRing sent;
    int64_t since_ns = 0;
  };

  void Run();
  void Rest();
  void Wake();
  void Pass();
  void SetLevels();
  void NextTurn();
  void SetLevelOf(Ring& ring) const;
  void FindRings();
  void TakeUnnamedRings();
  void AddRing(const std::string& name, track::RingReader reader);
  bool IsReplaced(const Ring& ring) const;
  void DrainRing(Ring& ring, bool last);
  void Convert(Ring& ring);
  model::ElementId Named(Ring& ring, const track::RingRecord& record, model::ElementKind kind);
  void AddCounter(Ring& ring, const track::RingRecord& record, int64_t t_ns);
  void AddEvent(Ring& ring, const track::RingRecord& record, int64_t t_ns);
  void AddWait(Ring& ring, const track::RingRecord& record, int64_t t_ns);
  void AddLongWait(Ring& ring, const track::RingRecord& record, int64_t t_ns);
  void AddOrder(Ring& ring, const track::RingRecord& record, int64_t t_ns);
  void AddTraced(Ring& ring, std::span<const track::TraceRecord> records);
  void ReadTraces(Ring& ring, bool last);
  void AddSync(Ring& ring, const std::vector<track::SyncDelta>& counted, const ClockSync& now);
  void AddRow(Ring& ring, const std::array<int64_t, 7>& row);
  static void AddRow(model::Batch& events, model::StreamId stream, const std::array<int64_t, 7>& row);
  model::ElementId Thread(Ring& ring, int32_t pid, int32_t tid);
  model::ElementId Object(Ring& ring, int32_t pid, wire::SyncKind kind, uint64_t object);
  void TakeMessages(Ring& ring);
  void TakeChannelMessages(bool is_last);
  int64_t Duration(const Ring& ring, uint64_t end_ticks, uint64_t ticks) const;
  void Publish(Ring& ring);
  void AddTotals(Ring& ring);
  uint64_t BudgetLeft() const;
  Status WriteConfig(uint64_t budget_bytes);
  void ShareBudget(uint64_t left_bytes);

  const std::string folder_;
  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  const HostRoot host_;
  std::unique_ptr<LockNames> lock_names_;
  UniqueFd folder_fd_;
  UniqueFd wake_fd_;       ///< an eventfd: somebody stops us, or changed the level
  UniqueFd new_files_fd_;  ///< an inotify of the folder; not there: it is listed at every pass
  ClockConverter clock_;
  std::atomic<Level> level_{Level::kProfile};
  int64_t next_tables_ns_ = 0;  ///< when the threads' tables are to be read again
  bool read_tables_ = false;    ///< in this pass
  bool clock_is_tsc_ = true;
  uint64_t told_budget_bytes_ = 0;  ///< to programs that start
  bool level_changed_ ATTUNE_GUARDED_BY(mutex_) = false;
  TraceChoice trace_;
  Turns* turns_ = nullptr;
  Bypass bypass_ = Bypass::kNothing;  ///< bypass of this turn
  int64_t turn_begin_ns_ = 0;
  int64_t turn_end_ns_ = 0;
  bool dump_asked_ ATTUNE_GUARDED_BY(mutex_) = false;
  uint64_t tables_asked_ ATTUNE_GUARDED_BY(mutex_) = 0;  ///< number of calls of ReadTablesNow()
  uint64_t tables_read_ ATTUNE_GUARDED_BY(mutex_) = 0;   ///< those that were served
  CondVar tables_were_read_;
  std::function<void(UniqueFd)> on_ring_ = [](UniqueFd) {};
  std::function<void(const track::RingKnob&)> on_knob_ = [](const track::RingKnob&) {};
  bool read_traces_ = false;  ///< in this pass
  MessageElements message_elements_{processes_, registry_, pipeline_};
  ChannelMessages channel_messages_{registry_};
  std::map<std::string, std::unique_ptr<Ring>> rings_;  ///< by file name
  std::optional<RingIntake> intake_;                    ///< nothing: only files of the folder are found
  std::vector<NewRing> new_rings_;                      ///< without names, which are being set up
  uint64_t unnamed_count_ = 0;
  std::set<std::string> unreadable_;  ///< files that are no rings; not tried again
  bool one_is_set_up_ = false;        ///< a file that will be a ring soon
  double fullness_ = 0;               ///< fill level of the fullest ring at the last pass, 0 to 1

  mutable Mutex mutex_;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  Counts totals_ ATTUNE_GUARDED_BY(mutex_);
  std::thread thread_;
};

/// Messages that programs reported and that `messages` and `collectives` lack, a sentence each.
std::vector<std::string> LostMessages(const Collector::Counts& totals);
/// Threads of other PID namespaces whose numbers are those that they have there, in a sentence.
std::vector<std::string> LostThreads(const Collector::Counts& totals);
/// Programs that were started without the probe library, and why, a sentence each.
std::vector<std::string> LeftAlone(const Collector::Counts& totals);

}  // namespace attune::session
