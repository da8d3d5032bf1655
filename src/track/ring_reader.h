#pragma once
/// The session's end of a ring file (wire/ring.h): reads what an observed program wrote, and says what was lost.
///
/// The file is foreign: the program can write, truncate or grow it at any time, by mistake or on purpose. It is
/// therefore never mapped, only read with pread and written with pwrite; sizes are taken once, at Open, and only if
/// they are those of a valid layout; positions, lengths and names are checked each time. One call does at most one
/// ring's worth of work a slot. What makes no sense stops the slot (or the file) where it happens, and is said once in
/// TakeProblems().
///
/// Nothing allocates after Open, but for the first sight of a name.

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

/// One event as the program wrote it. Records of a slot come in the order in which they were emitted, with times that
/// do not decrease. (What a hostile program writes may be in any order. A kDropped record lies where events were
/// recorded again; its own time is that of the first lost one, and can be a little before that of the record ahead of
/// it where a signal handler's events were lost.)
struct RingRecord {
  wire::EventKind kind = wire::EventKind::kNone;
  uint32_t slot = 0;
  int32_t pid = 0;  ///< in our PID namespace
  int32_t tid = 0;
  uint32_t name = 0;    ///< index for RingReader::Name(); 0: none
  uint64_t ticks = 0;   ///< in the unit of RingIdentity::clock
  uint64_t a = 0;       ///< as in wire::EventKind; kDropped: how many
  uint64_t b = 0;       ///< as in wire::EventKind; kDropped: the ticks at which events were recorded again, 0: never
  uint64_t object = 0;  ///< kWait, kHandOver, kLockOrder: the address of what was waited for
  uint64_t site = 0;    ///< kWait, kHandOver, kLockOrder: the program counter behind the call
  /// kLockOrder: of the object, and of what is held; the latter's address is a, its site b.
  wire::SyncKind sync_kind = wire::SyncKind::kNone, held_kind = wire::SyncKind::kNone;
  /// kRank to kCollective: the words as they lie in the ring, of a length that fits, for the functions of
  /// wire/message.h. (`name` is that of a kCommunicator.)
  std::array<uint64_t, wire::kRingMaxRecordWords> words{};
};

/// A program or library in a program's memory, as the program saw it itself.
struct RingModule {
  int32_t pid = 0;
  uint64_t ticks = 0;    ///< when it was seen there; what was seen there before it is gone
  uint64_t start = 0;    ///< its first address
  uint64_t end = 0;      ///< behind the last
  uint64_t bias = 0;     ///< an address in memory less this is the one in its file
  std::string path;      ///< as the loader has it, at times not absolute
  std::string build_id;  ///< hexadecimal; "": none

  bool operator==(const RingModule&) const = default;
};

struct RingIdentity {
  int32_t pid = 0;           ///< of the process that made the file; its children by fork write there too
  uint64_t start_ticks = 0;  ///< its start, as in /proc/PID/stat; 0: not known
  bool clock_is_tsc = true;  ///< else ticks are CLOCK_MONOTONIC in nanoseconds
  uint64_t attach_ticks = 0;
  int64_t attach_monotonic_ns = 0;
};

/// Totals since the program attached. events emitted = delivered + dropped + refused_events, exactly, once the program
/// is gone and Finish() was called.
struct RingCounters {
  uint64_t delivered = 0;          ///< events handed to visitors; kThreadStart, kThreadEnd and kDropped are none
  uint64_t dropped = 0;            ///< of these kDropped records were delivered
  uint64_t refused_events = 0;     ///< of threads that found no slot
  uint64_t refused_threads = 0;    ///< how often a thread began to have none
  uint64_t lost_sync = 0;          ///< acquisitions that found no room in a thread's table
  uint64_t refused_names = 0;      ///< names that did not fit
  uint64_t mutex_futex_calls = 0;  ///< to wait for mutexes without attributes, or to wake up who does
  bool takes_mutexes = false;      ///< else these are not counted
  /// Programs that it started without the probe library, by wire::LeftAlone.
  std::array<uint32_t, wire::kRingLeftAloneReasons> left_alone{};
  uint64_t damaged_names = 0;  ///< names that could not be read; shown as "(damaged name)"
  uint32_t damaged_slots = 0;  ///< slots that are not read any more
};

/// @thread one at a time
class RingReader {
 public:
  using Visitor = std::function<void(std::span<const RingRecord>)>;

  /// Opens a file of the ring folder.
  /// @return kUnavailable: the program is still setting it up, try again; kCorrupt: no ring file, or not of this
  /// version
  static Result<RingReader> Open(int folder_fd, const std::string& name);
  /// One that has no name in a folder. @param fd taken, unless the answer is kUnavailable
  /// @param name for people
  /// @param sender the process that it comes from, in our PID namespace. Where the program itself has another number it
  /// is in another namespace, and all numbers that it writes are translated. 0: it has none with us; then its threads
  /// count as alive
  static Result<RingReader> Take(UniqueFd& fd, const std::string& name, pid_t sender = 0);

  RingReader(RingReader&&) noexcept;
  RingReader& operator=(RingReader&&) noexcept;
  ~RingReader();

  const RingIdentity& Identity() const { return identity_; }
  /// Threads of another PID namespace of which only the number there is known.
  uint64_t UnknownThreads() const { return namespace_ ? namespace_->unknown() : 0; }
  const std::string& FileName() const { return file_name_; }

  /// Looks at the tables of all threads that are alive. What they counted since is in TakeSync().
  /// @cost about 10 us a thread
  Status ReadSyncTables();
  /// What was counted since the last call, by threads that live as of ReadSyncTables() and by those that ended as of
  /// Drain(). After Finish() nothing is left out but RingCounters::lost_sync.
  std::vector<SyncDelta> TakeSync() { return sync_.Take(); }

  /// The modules that sites lie in, which were told since the last call: those of all sites that Drain() gave, and of
  /// those that ReadSyncTables() found before it. What found no room in the ring is missing, and told again later.
  std::vector<RingModule> TakeModules() { return std::exchange(modules_, {}); }

  /// Tells the program what to record. @param level kRingLevelOff ... kRingLevelStamped
  /// @param mutexes_pass for the time being free mutexes are only counted; at levels where they may
  Status SetLevel(uint32_t level, bool mutexes_pass = false);
  /// How much memory it may still take for threads that find no slot ready.
  Status SetBudget(uint64_t bytes);
  /// Reads RingCounters::mutex_futex_calls (and what else is of the file, not of a slot) again.
  Status ReadCounters();

  /// Hands over what is in the traces (wire/trace.h) and was not handed over yet. Read again and again it is a stream,
  /// read once it is a flight recorder: the newest of each thread. Each span is of one slot.
  /// @param is_last the file's writers are gone
  Status ReadTraces(bool is_last, const TraceReader::Visitor& visit);
  TraceCounters Traced() const { return traces_ ? traces_->Counters() : TraceCounters{}; }

  /// Hands over everything that was committed when the call came to each slot, in spans of some hundred records, and
  /// frees the space. What a thread waited for that was killed meanwhile ends then, at most 0.2 s late for 100 calls a
  /// second: as a wait that is in TakeSync() too, but not among RingCounters::delivered. @return records handed over
  /// kCorrupt: the file as a whole is unusable (truncated); nothing more comes from it, and each later call says so
  /// again
  /// @cost about 3 us where there is nothing, 15 ns a record
  Result<size_t> Drain(const Visitor& visit);

  /// After Finish(): hands over what threads wait for that live on, in the same way. That ends now.
  void EndOpenWaits(const Visitor& visit);

  /// The last call for a file whose writers are gone: drains it and delivers what was dropped without a record of it.
  Result<size_t> Finish(const Visitor& visit);

  /// Keeps some free slots backed by memory for threads to come, as of the last Drain: frees slots whose owner died
  /// without doing so, then backs further ones, and the traces where the level asks for them. Call it after each Drain.
  /// @param max_bytes memory that may be taken
  /// @return bytes taken
  Result<uint64_t> TopUpReadySlots(uint64_t max_bytes);

  /// Whether a thread that owns a slot is alive, as of the last Drain (before the first: of Open). (A child by fork can
  /// outlive its parent.)
  bool HasLivingOwner() const;

  /// How full the fullest ring was at the last Drain, 0 to 1. Above one half: drain more often.
  double Fullness() const { return fullness_; }

  /// Memory that the file takes, in bytes.
  Result<uint64_t> BackedBytes() const;

  RingCounters Counters() const { return counters_; }

  /// The text of RingRecord::name: UTF-8 without control characters. Equal texts have equal indices, which are dense
  /// from 1. Valid as long as the reader.
  std::string_view Name(uint32_t index) const { return index < names_.size() ? *names_[index] : std::string_view(); }
  uint32_t NameCount() const { return static_cast<uint32_t>(names_.size()); }

  /// What was found damaged since the last call, in words. Bounded: each slot once, the file once.
  std::vector<std::string> TakeProblems() { return std::exchange(problems_, {}); }

 private:
  /// The reader's view of a slot.
  struct Slot {
    uint64_t tail = 0;
    int32_t pid = 0;  ///< of the records that come next
    int32_t tid = 0;
    uint64_t dropped = 0;  ///< the sum of its kDropped records
    int32_t owner_pid = 0;
    int32_t owner_tid = 0;
    bool claimed = false;
    bool waits = false;
    bool ended = false;  ///< its owner said so; where it is claimed all the same, the next one has not written its name
    bool damaged = false;
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
  Status ReadSyncTable(uint32_t index, const wire::RingSlot& seen);
  Status EmptySyncTable(uint32_t index, const wire::RingSlot& seen);
  Result<uint64_t> BackTraces(uint64_t max_bytes);
  Status CountReady();
  Status EndDeadWaits(const Visitor& visit);
  uint64_t Now() const;
  void TellOpenWait(uint32_t index, const wire::RingSlot& seen, const Visitor& visit);

  UniqueFd fd_;
  std::string file_name_;
  RingIdentity identity_;
  std::unique_ptr<PidNamespace> namespace_;  ///< nullptr: ours
  bool is_unseen_ = false;                   ///< its PID namespace is none that we see
  bool has_children_elsewhere_ = false;      ///< they write numbers of a namespace that nobody has told of
  wire::RingLayout layout_{};
  uint32_t slot_count_ = 0;
  uint32_t ring_words_ = 0;
  uint32_t names_bytes_ = 0;
  uint32_t slots_used_ = 0;
  uint32_t ready_slots_ = 0;  ///< the first so many are backed
  uint32_t ready_traces_ = 0;
  uint32_t level_ = wire::kRingLevelOff;  ///< as the program was told
  uint64_t budget_bytes_ = 0;             ///< the same
  uint32_t next_dead_check_ = 0;
  uint32_t next_wait_check_ = 0;
  uint32_t wait_checks_ = 0;
  uint64_t refused_before_ = 0;
  double fullness_ = 0;
  size_t delivered_now_ = 0;
  std::string damage_;  ///< of the file as a whole; empty: none
  std::vector<Slot> slots_;
  std::unique_ptr<Buffers> buffers_;
  std::vector<uint32_t> name_of_id_;  ///< by id / kRingNameAlign; 0: not seen
  std::unordered_map<std::string, uint32_t> name_indices_;
  std::vector<const std::string*> names_;  ///< keys of name_indices_
  SyncTables sync_;
  std::unique_ptr<TraceReader> traces_;  ///< nullptr: the file has none
  std::vector<wire::SyncEntry> table_;   ///< a buffer
  std::vector<RingModule> modules_;
  RingCounters counters_;
  std::vector<std::string> problems_;
};

/// The ring files of a folder ("PID.STARTTICKS.N"), sorted by name. Other files are not listed.
Result<std::vector<std::string>> ListRings(int folder_fd);

/// What the session wants of rings that are made from now on. Written to the folder's config file.
struct RingOptions {
  uint32_t slot_count = wire::kRingDefaultSlots;
  uint32_t ring_words = wire::kRingDefaultWords;
  uint32_t names_bytes = wire::kRingDefaultNamesBytes;
  uint32_t sync_entries = 0;  ///< of a thread; 0: locks and waits are not recorded
  uint32_t trace_words = 0;   ///< of a thread; 0: they are not traced
  uint32_t ready_slots = 0;   ///< backed when a program attaches; 0: one for each of its CPUs and one more, 4 to 8
  bool clock_is_tsc = true;   ///< TscIsUsable() of base/clock.h
  uint64_t budget_bytes = UINT64_MAX;  ///< memory for rings that are made from now on
};
/// May be called again while programs run (the budget shrinks). @return kInvalidArgument: sizes out of their limits
Status WriteRingConfig(int folder_fd, const RingOptions& options);

}  // namespace attune::track
