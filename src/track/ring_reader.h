#pragma once
/// The session's end of a ring file (wire/ring.h): reads the records of an observed program and counts the lost ones.
///
/// The file is foreign: the program can write, truncate or grow it at any time, by mistake or on purpose. It is
/// therefore never mapped, only read with pread and written with pwrite. Sizes are read once, at Open, and must form a
/// valid layout; positions, lengths and names are checked each time. One call does at most one ring's worth of work for
/// each slot. Invalid data stops the slot (or the file) and is reported once by TakeProblems().
///
/// After Open, only new names allocate memory.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "track/pid_namespace.h"
#include "track/sync_tables.h"
#include "track/trace_reader.h"
#include "wire/event.h"
#include "wire/ring.h"

namespace attune::track {

/// One event of the program. Records of a slot come in the order of emission, and their times do not decrease, with two
/// exceptions: a hostile program may write any order; and a kDropped record, which lies where recording resumed, has
/// the time of the first lost event, which can precede the record before it if events of a signal handler were lost.
struct RingRecord {
  wire::EventKind kind = wire::EventKind::kNone;
  uint32_t slot = 0;
  int32_t pid = 0;  ///< in our PID namespace
  int32_t tid = 0;
  uint32_t name = 0;      ///< index for RingReader::Name(); 0: none
  uint64_t ticks = 0;     ///< in the unit of RingIdentity::clock
  uint64_t a = 0;         ///< as in wire::EventKind; kDropped: number of lost events
  uint64_t b = 0;         ///< as in wire::EventKind; kDropped: ticks at which recording resumed, 0: never
  uint64_t object = 0;    ///< kWait, kHandOver, kLockOrder: address of the object
  uint64_t site = 0;      ///< kWait, kHandOver, kLockOrder: return address of the call
  int32_t owner_pid = 0;  ///< kLongWait: of the thread that it waits for; 0: not known
  int32_t owner_tid = 0;
  /// kLockOrder: kinds of the object and of the held lock, whose address is `a` and whose site is `b`.
  wire::SyncKind sync_kind = wire::SyncKind::kNone, held_kind = wire::SyncKind::kNone;
  /// kRank to kCollective: the raw words, with a checked length, for the functions of wire/message.h. (`name` is
  /// a kCommunicator's name.)
  std::array<uint64_t, wire::kRingMaxRecordWords> words{};
};

/// A program or library in the memory of a program, as reported by the probe.
struct RingModule {
  int32_t pid = 0;
  uint64_t ticks = 0;    ///< time of the report; modules reported there before are gone
  uint64_t start = 0;    ///< its first address
  uint64_t end = 0;      ///< behind the last
  uint64_t bias = 0;     ///< address in memory minus address in the file
  std::string path;      ///< as the loader has it, sometimes relative
  std::string build_id;  ///< hexadecimal; "": none

  bool operator==(const RingModule&) const = default;
};

/// A place in the source of what an interpreter executes, as reported by the probe.
struct RingSource {
  int32_t pid = 0;
  uint64_t site = 0;  ///< replaces what was reported for it before
  int32_t line = 0;   ///< 0: not known
  std::string function;
  std::string file;

  bool operator==(const RingSource&) const = default;
};

/// A variable that the program lets the session change (attune/knob.h).
struct RingKnob {
  int32_t pid = 0;
  uint64_t address = 0;
  int64_t low = 0;
  int64_t high = 0;
  bool only_at_safe_points = false;
  std::string name;
  std::string unit;

  bool operator==(const RingKnob&) const = default;
};

struct RingIdentity {
  int32_t pid = 0;           ///< process that created the file; its children by fork write there too
  uint64_t start_ticks = 0;  ///< its start, as in /proc/PID/stat; 0: not known
  bool clock_is_tsc = true;  ///< else ticks are CLOCK_MONOTONIC in nanoseconds
  uint64_t attach_ticks = 0;
  int64_t attach_monotonic_ns = 0;
};

/// Totals since the program attached. Events emitted = delivered + dropped + refused_events, exactly, after the program
/// has ended and Finish() was called.
struct RingCounters {
  uint64_t delivered = 0;          ///< events passed to visitors, without kThreadStart, kThreadEnd and kDropped
  uint64_t dropped = 0;            ///< lost events that kDropped records reported
  uint64_t refused_events = 0;     ///< events of threads without a slot
  uint64_t refused_threads = 0;    ///< number of times that a thread began to lack a slot
  uint64_t lost_sync = 0;          ///< acquisitions without room in the thread's table
  uint64_t refused_names = 0;      ///< names that did not fit
  uint64_t mutex_futex_calls = 0;  ///< futex calls of mutexes without attributes (waits and wake-ups)
  bool takes_mutexes = false;      ///< whether these are counted
  /// Child programs started without the probe library, by wire::LeftAlone.
  std::array<uint32_t, wire::kRingLeftAloneReasons> left_alone{};
  uint64_t damaged_names = 0;  ///< names that could not be read; shown as "(damaged name)"
  uint32_t damaged_slots = 0;  ///< slots that are no longer read
};

/// @thread one at a time
class RingReader {
 public:
  using Visitor = std::function<void(std::span<const RingRecord>)>;

  /// Opens a file of the ring folder.
  /// @return kUnavailable: the program is still setting it up, try again; kCorrupt: no ring file, or another version
  static Result<RingReader> Open(int folder_fd, const std::string& name);
  /// Opens a ring without a name in a folder (a memfd). @param fd consumed, unless the result is kUnavailable
  /// @param name for messages
  /// @param sender pid of the sending process in our PID namespace. If the program's own pid differs, it is in another
  /// namespace, and all its ids are translated. 0: the sender is not visible here; its threads then count as alive
  static Result<RingReader> Take(UniqueFd& fd, const std::string& name, pid_t sender = 0);

  RingReader(RingReader&&) noexcept;
  RingReader& operator=(RingReader&&) noexcept;
  ~RingReader();

  const RingIdentity& Identity() const { return identity_; }
  /// Number of threads of another PID namespace whose ids in ours are not known.
  uint64_t UnknownThreads() const { return namespace_ ? namespace_->unknown() : 0; }
  const std::string& FileName() const { return file_name_; }
  /// A further descriptor of the file, for RingControl.
  UniqueFd DuplicateFile() const;

  /// Reads the tables of all living threads; TakeSync() returns the differences.
  /// @cost about 10 us a thread
  Status ReadSyncTables();
  /// Counts since the last call: of living threads up to ReadSyncTables(), of ended threads up to Drain(). After
  /// Finish() they are complete except for RingCounters::lost_sync.
  std::vector<SyncDelta> TakeSync() { return sync_.Take(); }

  /// Modules reported since the last call: those of all sites that Drain() delivered, and that ReadSyncTables() found
  /// before it. A module without room in the ring is missing, and reported again later.
  std::vector<RingModule> TakeModules() { return std::exchange(modules_, {}); }

  /// Sources reported since the last call, as TakeModules().
  std::vector<RingSource> TakeSources() { return std::exchange(sources_, {}); }

  /// Knobs reported since the last call.
  std::vector<RingKnob> TakeKnobs() { return std::exchange(knobs_, {}); }

  /// Sets the program's level. @param level kRingLevelOff ... kRingLevelStamped
  /// @param mutexes_pass free mutexes bypass the probe and are only counted, at levels that permit it
  Status SetLevel(uint32_t level, bool mutexes_pass = false);
  /// Sets the memory that the program may still take for threads without a ready slot.
  Status SetBudget(uint64_t bytes);
  /// Reads the counters of the file (as opposed to those of slots) again, e.g. RingCounters::mutex_futex_calls.
  Status ReadCounters();

  /// Delivers the trace words (wire/trace.h) that were not delivered yet. Called repeatedly it reads a stream, called
  /// once a flight recorder: the newest words of each thread. Each span belongs to one slot.
  /// @param is_last the program has ended
  Status ReadTraces(bool is_last, const TraceReader::Visitor& visit);
  TraceCounters Traced() const { return traces_ ? traces_->Counters() : TraceCounters{}; }

  /// Delivers the committed records of each slot, in spans of some hundred records, and frees their space. Also ends
  /// the wait of a thread that was killed in it, at most 0.2 s late at 100 calls a second; such a wait is in TakeSync()
  /// too, but not in RingCounters::delivered.
  /// @return records delivered; kCorrupt: the whole file is unusable (truncated), also for all later calls
  /// @cost about 3 us without records, 15 ns a record
  Result<size_t> Drain(const Visitor& visit);

  /// After Finish(): ends and delivers the current waits of living threads, in the same way.
  void EndOpenWaits(const Visitor& visit);

  /// The last call, after the program has ended: drains the file and delivers losses that have no record yet.
  Result<size_t> Finish(const Visitor& visit);

  /// Keeps some free slots backed by memory for new threads, as of the last Drain: frees slots of dead owners, then
  /// backs further slots, and their traces if the level needs them. Call it after each Drain.
  /// @param max_bytes memory that may be taken
  /// @return bytes taken
  Result<uint64_t> TopUpReadySlots(uint64_t max_bytes);

  /// Whether any thread that owns a slot is alive, as of the last Drain (before the first one: of Open). A child by
  /// fork can outlive its parent.
  bool HasLivingOwner() const;

  /// Fill level of the fullest ring at the last Drain, 0 to 1. Above one half: drain more often.
  double Fullness() const { return fullness_; }

  /// Memory that the file takes, in bytes.
  Result<uint64_t> BackedBytes() const;

  RingCounters Counters() const { return counters_; }

  /// The text of RingRecord::name: UTF-8 without control characters. Equal texts have equal indices, which are dense
  /// from 1. Valid as long as the reader.
  std::string_view Name(uint32_t index) const { return index < names_.size() ? *names_[index] : std::string_view(); }
  uint32_t NameCount() const { return static_cast<uint32_t>(names_.size()); }

  /// Descriptions of damage since the last call. Bounded: each slot once, the file once.
  std::vector<std::string> TakeProblems() { return std::exchange(problems_, {}); }

 private:
  /// The reader's view of a slot.
  struct Slot {
    uint64_t tail = 0;
    int32_t pid = 0;  ///< process of the records that come next
    int32_t tid = 0;
    uint64_t dropped = 0;  ///< the sum of its kDropped records
    int32_t owner_pid = 0;
    int32_t owner_tid = 0;
    bool claimed = false;
    bool waits = false;
    bool ended = false;  ///< its owner ended; if it is claimed all the same, the next owner has not written its ids
    bool damaged = false;
    // The current wait of its owner:
    uint64_t wait_since = 0;       ///< as in RingSlot; 0: none
    uint64_t wait_noticed_ns = 0;  ///< when it was first seen
    bool wait_told = false;        ///< a kLongWait was delivered
    uint32_t wait_told_owner = 0;
  };
  struct Buffers;

  static constexpr uint32_t kDeadChecksPerCall = 16;

  RingReader();
  Status Begin();
  Status ReadHeader();
  Status ReadAt(uint64_t offset, void* buffer, size_t bytes);
  Status WriteAt(uint64_t offset, const void* buffer, size_t bytes);
  Status Back(uint64_t offset, uint64_t bytes);
  Error Damaged(const std::string& what);
  void DamageSlot(uint32_t index, const std::string& what);
  uint64_t SlotOffset(uint32_t index) const { return layout_.slots_offset + uint64_t{index} * wire::kRingSlotBytes; }

  ThreadIds Ours(int32_t pid, int32_t tid);
  bool IsAlive(const Slot& slot) const;
  bool IsElsewhere(const Slot& slot);
  bool IsZombie(const Slot& slot) const;
  void TellLongWait(uint32_t index, const wire::RingSlot& seen, const Visitor& visit);
  Status DrainSlot(uint32_t index, const wire::RingSlot& seen, const Visitor& visit);
  Status ReadWords(uint32_t index, uint64_t position, size_t words);
  size_t DecodeWords(uint32_t index, size_t words, const Visitor& visit);
  RingRecord Decode(uint32_t index, const uint64_t* record, size_t words);
  Status PublishTail(uint32_t index);
  void Deliver(const RingRecord& record, const Visitor& visit);
  void Flush(const Visitor& visit);
  uint32_t NameIndex(uint32_t id);
  uint32_t ReadName(uint32_t id);
  uint32_t Intern(std::string text);
  Status FreeDeadSlots(uint32_t checks);
  void TakeTotal(uint32_t index, const uint64_t* record);
  void TakeModule(uint32_t index, const uint64_t* record);
  void TakeSource(uint32_t index, const uint64_t* record);
  void TakeKnob(uint32_t index, const uint64_t* record);
  Status ReadSyncTable(uint32_t index, const wire::RingSlot& seen);
  Status EmptySyncTable(uint32_t index, const wire::RingSlot& seen);
  Result<uint64_t> BackTraces(uint32_t slots, uint64_t max_bytes);
  Status CountReady();
  Status EndDeadWaits(const Visitor& visit);
  uint64_t Now() const;
  void TellOpenWait(uint32_t index, const wire::RingSlot& seen, const Visitor& visit);

  UniqueFd fd_;
  std::string file_name_;
  RingIdentity identity_;
  std::unique_ptr<PidNamespace> namespace_;  ///< nullptr: ours
  bool is_unseen_ = false;                   ///< its PID namespace is not visible here
  bool has_children_elsewhere_ = false;      ///< its children write ids of an unknown namespace
  wire::RingLayout layout_{};
  uint32_t slot_count_ = 0;
  uint32_t ring_words_ = 0;
  uint32_t names_bytes_ = 0;
  uint32_t slots_used_ = 0;
  uint32_t ready_slots_ = 0;  ///< number of backed slots, from the first on
  uint32_t ready_traces_ = 0;
  uint32_t level_ = wire::kRingLevelOff;  ///< as set in the file
  uint64_t budget_bytes_ = 0;             ///< as set in the file
  uint32_t next_dead_check_ = 0;
  uint32_t next_wait_check_ = 0;
  uint32_t wait_checks_ = 0;
  uint64_t refused_before_ = 0;
  double fullness_ = 0;
  uint64_t drain_ns_ = 0;     ///< when the last Drain began
  uint64_t drain_ticks_ = 0;  ///< the same in ticks
  size_t delivered_now_ = 0;
  std::string damage_;  ///< damage of the file as a whole; empty: none
  std::vector<Slot> slots_;
  std::unique_ptr<Buffers> buffers_;
  std::vector<uint32_t> name_of_id_;  ///< by id / kRingNameAlign; 0: not seen
  std::unordered_map<std::string, uint32_t> name_indices_;
  std::vector<const std::string*> names_;  ///< keys of name_indices_
  SyncTables sync_;
  std::unique_ptr<TraceReader> traces_;  ///< nullptr: the file has none
  std::vector<wire::SyncEntry> table_;   ///< a buffer
  std::vector<RingModule> modules_;
  std::vector<RingSource> sources_;
  std::vector<RingKnob> knobs_;
  RingCounters counters_;
  std::vector<std::string> problems_;
};

/// The ring files of a folder ("PID.STARTTICKS.N"), sorted by name. Other files are not listed.
Result<std::vector<std::string>> ListRings(int folder_fd);

/// Settings for rings created from now on. Written to the folder's config file.
struct RingOptions {
  uint32_t slot_count = wire::kRingDefaultSlots;
  uint32_t ring_words = wire::kRingDefaultWords;
  uint32_t names_bytes = wire::kRingDefaultNamesBytes;
  uint32_t sync_entries = 0;  ///< table size of a thread; 0: locks and waits are not recorded
  uint32_t trace_words = 0;   ///< trace size of a thread; 0: they are not traced
  uint32_t ready_slots = 0;   ///< backed when a program attaches; 0: one for each of its CPUs and one more, 4 to 8
  bool clock_is_tsc = true;   ///< TscIsUsable() of base/clock.h
  uint64_t budget_bytes = UINT64_MAX;  ///< memory for rings created from now on
};
/// May be called again while programs run (the budget shrinks). @return kInvalidArgument: a size beyond its limits
Status WriteRingConfig(int folder_fd, const RingOptions& options);

}  // namespace attune::track
