#pragma once
/// The data model: a few tables, and batches of their rows.
///
/// Everything that attune observes is a row of one of these tables. Producers make immutable batches, the pipeline
/// hands each to every sink, a frame is an encoded batch, a recording is a log of frames, SQL reads the same tables by
/// the same names. Adding a column at the end of a table is compatible: a reader fills missing columns with kAbsent or
/// "".

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/sync.h"

namespace attune::model {

/// The value of a cell that has none (SQL shows NULL). Reserved: no signal may take it.
inline constexpr int64_t kAbsent = INT64_MIN;

using ElementId = uint32_t;  ///< dense from 1; 0: none
using SeriesId = uint32_t;   ///< dense from 1; 0: none
using StreamId = uint32_t;   ///< dense from 1; 0: tables without streams

enum class Table : uint16_t {
  kInfo = 1,      ///< | key, value            the first frame of a file is an info frame with key "format"
  kElements = 2,  ///< id, parent, kind, os_id, start_ns, end_ns | host, name        a later row of an id replaces it
  kSeries = 3,    ///< id, element, kind, scale, max_per_second, sum | sensor, signal, unit
  kStreams = 4,   ///< stream, column, series, interval_ns      one row a column of a latch group; interval 0: irregular
  kSamples = 5,   ///< t_ns, one column a series of the stream, in the order of kStreams
  kEvents = 6,    ///< t_ns, thread, kind, object, site, a, b
  kLabels = 7,    ///< t_ns | text
  kGaps = 8,      ///< stream, t0_ns, t1_ns, count, reason
  kProcesses = 9,  ///< id, parent, pid, start_ns, end_ns, exit_code, exit_signal, user_ns, system_ns, minor_faults,
                   ///< major_faults, voluntary_switches, involuntary_switches, max_rss_bytes | host, command
                   ///< id: the process's element; a later row of an id replaces it; kAbsent: not known (yet)
  kClock = 10,     ///< tsc, monotonic_ns, real_ns
  kLod = 11,     ///< t0_ns, t1_ns, count, then for each series of the stream: last, low, high, sum, weight; the stream
                 ///< number holds the level too (see store/lod.h)
  kIndex = 12,   ///< the frames of a file (see store/frame_index.h)
  kFooter = 13,  ///< the end of a file that was closed (see store/frame_index.h)
  kFindings = 14,   ///< seconds_ns, share_ppm, object, site | class, advice, evidence
  kDecisions = 15,  ///< t_ns, object, before, after, expected_gain_ppm | tunlet, knob, reason
  kView =
      16,  ///< t_ns, from_ns, exponent, count, mean, low, high      live clients only, never in a file: docs/live.md
  kAlarms = 17,  ///< t_ns, id, state, severity, element, series, value, threshold, scale | alarm, unit, text, advice
                 ///< one row when it is raised, one of the same id when it is cleared (see docs/alarms.md)
  kSync = 18,    ///< t_ns, thread, object, site, kind, count, contended, wait_ns, hold_ns, holds      what a thread did
                 ///< with a lock at a place in the code since the row before of the same four (see docs/waits.md)
  kSites = 19,   ///< id, frame, address, line, inlined | function, file, module, build_id      what the code of a site
                 ///< is called; a later row of an (id, frame) replaces it
  // From 64 on are tables of live clients alone (live/analyses.h).
  kStacks = 21,      ///< id, parent, site      calls within each other, as a tree: 0 is no parent; rows never change
  kCpuSamples = 22,  ///< t_ns, thread, cpu, site, stack, weight_ns      where threads used CPU time (docs/profile.md)
  kAccesses = 23,    ///< t_ns, thread, cpu, site, kind, address, bytes, page_node, cpu_node, weight_ns      memory that
                     ///< they used then, or touched first
  kMessages = 24,    ///< t_ns, thread, rank, kind, function, communicator, peer, tag, bytes, site, post_ns, wait_ns,
                     ///< wait_site, cpu      messages that were sent, and those that were received (docs/messages.md)
  kCollectives = 25,  ///< t_ns, thread, rank, function, communicator, sequence, root, bytes_sent, bytes_received, site,
                      ///< post_ns, wait_ns, cpu, communicator_rank, communicator_size      a rank's part in what all
                      ///< ranks of a communicator do together
};

/// Column names of a table: the integers, then the texts. kSamples and kLod list the fixed columns only.
struct TableSchema {
  Table table;
  std::string_view name;
  std::span<const std::string_view> ints;
  std::span<const std::string_view> texts;
  int time_column;  ///< index of the column that frames are ordered by, or -1
};
/// nullptr for a number that is no table.
const TableSchema* FindSchema(Table table);
std::span<const TableSchema> AllSchemas();

/// Immutable once published. Columns all have `rows` entries.
struct Batch {
  Table table = Table::kInfo;
  StreamId stream = 0;
  uint64_t sequence = 0;        ///< counts the batches of one (table, stream), from 0
  uint64_t dropped_before = 0;  ///< rows lost between the batch before and this one
  size_t rows = 0;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<std::string>> texts;
};
using BatchPtr = std::shared_ptr<const Batch>;

enum class ElementKind : uint8_t {
  kMachine = 1,
  kBoard,
  kPackage,
  kNode,
  kCore,
  kCpu,
  kDevice,
  kProcess,
  kThread,
  kRank,
  kLock,
  kChannel,
  kSite,
  kRegion,
  kInstant,
  kCounter,       ///< named by the program's markers
  kCommunicator,  ///< of MPI; os_id: the same number in all ranks of it
  kFunction,      ///< of a library that the program calls: "MPI_Send"
};
constexpr ElementKind kLastElementKind = ElementKind::kFunction;
std::string_view ToString(ElementKind kind);

struct Element {
  ElementId id = 0;
  ElementId parent = 0;
  ElementKind kind = ElementKind::kMachine;
  int64_t os_id = kAbsent;  ///< CPU number, node number, pid, tid; kAbsent where there is none
  int64_t start_ns = kAbsent;
  int64_t end_ns = kAbsent;  ///< kAbsent: still there
  std::string host;
  std::string name;

  bool operator==(const Element&) const = default;
};

/// How a series is shown. Raw values are stored; rates and percentages are views.
enum class SeriesKind : uint8_t {
  kCounter = 1,  ///< only grows (until it wraps or resets); shown as a rate a second
  kUpDown = 2,   ///< grows and falls; shown as a level and a signed rate
  kGauge = 3,    ///< a level
  kState = 4,    ///< a small set of codes
};
std::string_view ToString(SeriesKind kind);

/// What the values of several elements become in one value of the machine (`-s NAME:sum`). Absent ones are left out.
enum class SumRule : uint8_t {
  kSum,   ///< what adds up: counts, times, bytes
  kMean,  ///< what is the same thing seen in several places: frequencies
  kMax,   ///< where the worst counts: temperatures
  kNone,  ///< makes no sense for all together (a state, a voltage): the signal is left out
};
std::string_view ToString(SumRule rule);

struct Series {
  SeriesId id = 0;
  ElementId element = 0;
  SeriesKind kind = SeriesKind::kGauge;
  int scale = 0;                     ///< value = raw * 10^scale, in `unit`
  int64_t max_per_second = kAbsent;  ///< in raw units, for percentages
  std::string sensor;                ///< "vmstat"
  std::string signal;                ///< "pgfault"
  std::string unit;                  ///< "pages", "ns", "bytes", "1"
  SumRule sum = SumRule::kSum;       ///< of this signal's values of several elements

  bool operator==(const Series&) const = default;
};

/// A latch group: series sampled at the same moments.
struct Stream {
  StreamId id = 0;
  int64_t interval_ns = 0;  ///< 0: irregular
  std::vector<SeriesId> series;

  bool operator==(const Stream&) const = default;
};

enum class GapReason : uint8_t {
  kMissed = 1,
  kPaused,
  kDropped,
  kVanished,
  kDiskFull,
  kDamaged,
  kRolled,  ///< given up for --max-size
};
std::string_view ToString(GapReason reason);

struct Gap {
  StreamId stream = 0;
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t count = 0;  ///< rows lost
  GapReason reason = GapReason::kMissed;

  bool operator==(const Gap&) const = default;
};

struct Process {
  ElementId id = 0;
  ElementId parent = 0;
  int64_t pid = 0;
  int64_t start_ns = kAbsent;
  int64_t end_ns = kAbsent;  ///< kAbsent: still running, or unknown
  int64_t exit_code = kAbsent;
  int64_t exit_signal = kAbsent;  ///< 0: it exited by itself
  int64_t user_ns = kAbsent;
  int64_t system_ns = kAbsent;
  int64_t minor_faults = kAbsent;
  int64_t major_faults = kAbsent;
  int64_t voluntary_switches = kAbsent;
  int64_t involuntary_switches = kAbsent;
  int64_t max_rss_bytes = kAbsent;
  std::string host;
  std::string command;  ///< arguments joined by spaces, control characters replaced

  bool operator==(const Process&) const = default;
};

struct Label {
  int64_t t_ns = 0;
  std::string text;

  bool operator==(const Label&) const = default;
};

enum class AlarmState : uint8_t {
  kRaised = 1,
  kCleared,
};
std::string_view ToString(AlarmState state);

enum class AlarmSeverity : uint8_t {
  kWarning = 1,
  kCritical,
};
std::string_view ToString(AlarmSeverity severity);

/// A moment at which an alarm was raised or cleared. Between the two rows of one id it is on; without a second row it
/// still is.
struct Alarm {
  int64_t t_ns = 0;
  int64_t id = 0;  ///< counts what was raised in a recording, from 1
  AlarmState state = AlarmState::kRaised;
  AlarmSeverity severity = AlarmSeverity::kWarning;
  ElementId element = 0;        ///< what it is about
  SeriesId series = 0;          ///< whose values it was found in: the first, where there are several
  int64_t value = kAbsent;      ///< in units of 10^scale `unit`; kAbsent: the values have ended
  int64_t threshold = kAbsent;  ///< when raised, where it is raised; when cleared, where it is cleared
  int scale = 0;                ///< of value and threshold
  std::string alarm;            ///< the rule's name: "memory.thrashing"
  std::string unit;             ///< "%", "1/s", "degC"
  std::string text;             ///< one sentence: what, where, how much
  std::string advice;           ///< what to do about it; empty when cleared

  bool operator==(const Alarm&) const = default;
};

/// "mutex", "read lock", "condition"; "?" for a kind that does not exist.
std::string_view ToString(wire::SyncKind kind);

/// What one thread did with one object at one site since its row before. All are sums of the time in between.
struct Sync {
  int64_t t_ns = 0;  ///< when it was read
  ElementId thread = 0;
  ElementId object = 0;
  ElementId site = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  int64_t count = 0;      ///< acquisitions, or waits that ended because what was waited for came
  int64_t contended = 0;  ///< calls that had to wait
  int64_t wait_ns = 0;    ///< by these
  int64_t hold_ns = 0;    ///< from acquisition to release, of `holds` acquisitions
  int64_t holds = 0;      ///< acquisitions of which the hold time was taken (one in wire::kHoldSampling)

  bool operator==(const Sync&) const = default;
};

/// A place in a program's code; several rows of one id where the code there was inlined.
struct Site {
  ElementId id = 0;
  int64_t frame = 0;          ///< 0: the innermost, which is inlined into 1, and so on
  int64_t address = kAbsent;  ///< in the module's file, behind the call; kAbsent: the module is not known
  int64_t line = kAbsent;     ///< kAbsent: not known, or not looked up (yet)
  bool inlined = false;       ///< into the frame that follows
  std::string function;       ///< "": not known, or not looked up (yet)
  std::string file;
  std::string module;    ///< path; "": not known
  std::string build_id;  ///< hexadecimal; "": the module has none

  bool operator==(const Site&) const = default;
};

/// A call path: the function at `site`, called from those of `parent`.
struct Stack {
  int64_t id = 0;      ///< dense from 1
  int64_t parent = 0;  ///< 0: `site` is where the thread began
  ElementId site = 0;

  bool operator==(const Stack&) const = default;
};

/// Where a thread was when it had used another stretch of CPU time.
struct CpuSample {
  int64_t t_ns = 0;
  ElementId thread = 0;
  int64_t cpu = 0;
  ElementId site = 0;     ///< where it was; in the kernel: an element of that name
  int64_t stack = 0;      ///< ends with `site`
  int64_t weight_ns = 0;  ///< the CPU time that it stands for

  bool operator==(const CpuSample&) const = default;
};

enum class AccessKind : uint8_t {
  kRead = 1,
  kWrite,
  kUpdate,      ///< reads and writes
  kFirstTouch,  ///< the page got its memory (a page fault)
};
std::string_view ToString(AccessKind kind);

/// Memory that a thread used where a CPU sample was taken, or touched first.
struct Access {
  int64_t t_ns = 0;
  ElementId thread = 0;
  int64_t cpu = 0;
  ElementId site = 0;  ///< behind the instruction
  AccessKind kind = AccessKind::kRead;
  int64_t address = 0;          ///< of the first byte
  int64_t bytes = 0;            ///< of a first touch: of the page
  int64_t page_node = kAbsent;  ///< NUMA node that the page lies on; kAbsent: the machine has one, or it is not known
  int64_t cpu_node = kAbsent;   ///< that of the CPU
  int64_t weight_ns = 0;        ///< of the CPU sample, for the access nearest to it, else 0; of a first touch: 0

  bool operator==(const Access&) const = default;
};

enum class MessageKind : uint8_t {
  kSent = 1,
  kReceived,
};
std::string_view ToString(MessageKind kind);

/// A message, as one of its two sides saw it. The other side has a row of its own, if it was on this host.
struct Message {
  int64_t t_ns = 0;  ///< when it was complete: of a send, its buffer is free again
  ElementId thread = 0;
  ElementId rank = 0;  ///< of `thread`
  MessageKind kind = MessageKind::kSent;
  ElementId function = 0;  ///< that began it: "MPI_Isend"
  ElementId communicator = 0;
  ElementId peer = 0;  ///< the rank that it went to, or came from
  int64_t tag = 0;
  int64_t bytes = 0;
  ElementId site = 0;
  int64_t post_ns = 0;        ///< when it was begun
  int64_t wait_ns = kAbsent;  ///< when the call began that ended it and may have blocked; kAbsent: none did
  ElementId wait_site = 0;    ///< of that call; `site` where one call did both
  int64_t cpu = kAbsent;      ///< that the thread was on at t_ns

  bool operator==(const Message&) const = default;
};

/// A rank's part in what all ranks of a communicator do together.
struct Collective {
  int64_t t_ns = 0;  ///< when the rank was done with it
  ElementId thread = 0;
  ElementId rank = 0;
  ElementId function = 0;  ///< "MPI_Allreduce"
  ElementId communicator = 0;
  int64_t sequence = 0;    ///< counts the collectives of the communicator: the same in all of its ranks
  int64_t root = kAbsent;  ///< rank in the communicator; kAbsent: it has no root
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  ElementId site = 0;
  int64_t post_ns = 0;        ///< when the rank came
  int64_t wait_ns = kAbsent;  ///< as of Message
  int64_t cpu = kAbsent;
  int64_t communicator_rank = kAbsent;  ///< of this rank: where it is `root`, it is the root; kAbsent: not known
  int64_t communicator_size = kAbsent;  ///< ranks of it, also those that are not on this host

  bool operator==(const Collective&) const = default;
};

// Batches of typed rows, and back. Rows with impossible codes (a kind that does not exist) are skipped on the way back.
Batch ToBatch(std::span<const Element> rows);
Batch ToBatch(std::span<const Series> rows);
Batch ToBatch(std::span<const Stream> rows);
Batch ToBatch(std::span<const Gap> rows);
Batch ToBatch(std::span<const Process> rows);
Batch ToBatch(std::span<const Label> rows);
Batch ToBatch(std::span<const Alarm> rows);
Batch ToBatch(std::span<const Sync> rows);
Batch ToBatch(std::span<const Site> rows);
Batch ToBatch(std::span<const Stack> rows);
Batch ToBatch(std::span<const CpuSample> rows);
Batch ToBatch(std::span<const Access> rows);
Batch ToBatch(std::span<const Message> rows);
Batch ToBatch(std::span<const Collective> rows);
Batch InfoBatch(std::span<const std::pair<std::string, std::string>> rows);
std::vector<Element> ElementsFrom(const Batch& batch);
std::vector<Series> SeriesFrom(const Batch& batch);
std::vector<Stream> StreamsFrom(const Batch& batch);
std::vector<Gap> GapsFrom(const Batch& batch);
std::vector<Process> ProcessesFrom(const Batch& batch);
std::vector<Label> LabelsFrom(const Batch& batch);
std::vector<Alarm> AlarmsFrom(const Batch& batch);
std::vector<Sync> SyncFrom(const Batch& batch);
std::vector<Site> SitesFrom(const Batch& batch);
std::vector<Stack> StacksFrom(const Batch& batch);
std::vector<CpuSample> CpuSamplesFrom(const Batch& batch);
std::vector<Access> AccessesFrom(const Batch& batch);
std::vector<Message> MessagesFrom(const Batch& batch);
std::vector<Collective> CollectivesFrom(const Batch& batch);

/// Smallest and largest value of the batch's time column; {0, 0} where it has none or no rows.
std::pair<int64_t, int64_t> TimeExtent(const Batch& batch);

}  // namespace attune::model
