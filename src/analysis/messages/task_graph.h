#pragma once
/// The task graph: which rank of an MPI job, or which process, sends to which, how much, how far, and how long either
/// side takes for it (docs/task-graph.md). The figures are those of RTM's task graph (Park et al., "RTM: Run-Time
/// Monitor", Figure 12): source, destination, count, data, distance; the sender's cycles, time, cycles a word and
/// bandwidth, and the receiver's.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/documents/graph_document.h"
#include "analysis/messages/message_match.h"
#include "analysis/messages/message_waits.h"
#include "analysis/messages/rank_waits.h"
#include "analysis/operators/operator.h"
#include "analysis/places/code_place.h"
#include "analysis/waits/critical_path.h"
#include "analysis/waits/tsc_rate.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// RTM's word.
inline constexpr int64_t kTaskWordBytes = 4;

/// Cost of one side of messages. The time of a call that waits for several is shared out evenly.
struct TaskSide {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t time_ns = 0;    ///< in calls that may have blocked
  int64_t waited_ns = 0;  ///< part of time_ns, for the other side to come

  void Add(const TaskSide& other);
  /// Bytes a second of time_ns less waited_ns; 0: no time.
  double Bandwidth() const;
  /// time_ns in cycles of a clock of this rate. kAbsent: its rate is not known
  int64_t Cycles(int64_t tsc_hz) const { return CyclesOf(time_ns, tsc_hz); }
  /// Negative: not known.
  double CyclesPerWord(int64_t tsc_hz) const;
};

/// How far apart the CPUs of two ranks are.
enum class TaskDistance : uint8_t {
  kSameCpu = 0,
  kSameCore,
  kSameNode,  ///< NUMA node
  kSamePackage,
  kSameMachine,
  kOtherHost,
  kUnknown,
};
/// "same core", ...
std::string_view ToString(TaskDistance distance);

/// A CPU by its number on a host.
struct HostCpu {
  std::string host;
  int64_t cpu = 0;

  auto operator<=>(const HostCpu&) const = default;
};

/// Distances between the CPUs of the recording's machines.
class CpuDistances {
 public:
  explicit CpuDistances(const model::Metadata& meta);

  TaskDistance Between(const HostCpu& a, const HostCpu& b) const;
  /// The machine of a CPU, where there are several; else its NUMA node, likewise; else its package, likewise; 0: none.
  model::ElementId GroupOf(const HostCpu& cpu) const;

 private:
  struct Part {
    model::ElementId id = 0;
    model::ElementKind kind = model::ElementKind::kCpu;
  };
  const std::vector<Part>* Find(const HostCpu& cpu) const;

  std::map<HostCpu, std::vector<Part>> parts_;           ///< by CPU: the CPU, then its ancestors
  model::ElementKind group_ = model::ElementKind::kCpu;  ///< kCpu: there is one of each
};

/// Or a process that is no rank: of pipes, sockets and other channels.
struct TaskRank {
  model::ElementId id = 0;
  std::string name;  ///< "rank 3"; that of the process
  int64_t rank = model::kAbsent;
  std::string host;  ///< "": another one than this
  int64_t pid = model::kAbsent;
  int64_t cpu = model::kAbsent;  ///< on which it was most often
  int64_t life_ns = 0;           ///< life of its process; 0: not known
  int64_t calls = 0;             ///< MPI calls
  int64_t mpi_ns = 0;            ///< in these
  TaskSide sent;
  TaskSide received;
  int64_t collectives = 0;
  int64_t collective_ns = 0;         ///< in these
  int64_t collective_waited_ns = 0;  ///< part of collective_ns, for others to come

  int64_t WaitedNs() const;  ///< for others, in all
};

/// How well the ranks of a job use their time, as POP has it: what is outside of MPI is useful.
struct TaskEfficiency {
  int64_t ranks = 0;         ///< ranks with known life and time in MPI; 0: nothing is known
  double load_balance = 0;   ///< useful on average / the most useful of any rank
  double communication = 0;  ///< the most useful of any rank / the longest life

  double Parallel() const { return load_balance * communication; }
};

struct TaskPair {
  model::ElementId source = 0;
  model::ElementId destination = 0;
  TaskDistance distance = TaskDistance::kUnknown;  ///< distance of most messages
  TaskSide sender;                                 ///< as the source says
  TaskSide receiver;                               ///< as the destination says
  int64_t first_ns = INT64_MAX;                    ///< when the first message was sent; INT64_MAX: not known
  bool is_channel = false;                         ///< pipes, sockets and the like

  /// A message that one side alone told of counts once. A pipe has no messages, and what one call writes several may
  /// read, or one call what several wrote: what was written counts.
  int64_t Count() const {
    return is_channel && sender.count > 0 ? sender.count : std::max(sender.count, receiver.count);
  }
  int64_t Bytes() const { return std::max(sender.bytes, receiver.bytes); }
};

/// Messages that a rank sends or receives at one place in the code.
struct TaskLink {
  model::ElementId source = 0;
  model::ElementId destination = 0;
  bool is_sender = false;  ///< the place is the source's
  model::ElementId function = 0;
  std::string function_name;  ///< "MPI_Isend"
  CodePlace place;
  TaskSide side;
};

/// Collective operations of one communicator and function.
struct TaskCollective {
  model::ElementId communicator = 0;
  std::string communicator_name;
  std::string function;
  int64_t operations = 0;
  int64_t parts = 0;  ///< parts of ranks
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  int64_t time_ns = 0;    ///< time of all ranks
  int64_t waited_ns = 0;  ///< part of time_ns, for others to come
};

/// Messages of `low_bytes` to `high_bytes`.
struct TaskSize {
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
  int64_t count = 0;
  int64_t bytes = 0;
};

struct TaskGraph {
  model::TimeRange range;
  int64_t tsc_hz = model::kAbsent;          ///< kAbsent: not known
  std::vector<TaskRank> ranks;              ///< by job and number
  std::vector<TaskPair> pairs;              ///< most bytes first
  std::vector<TaskLink> links;              ///< most time first
  std::vector<TaskCollective> collectives;  ///< most time first
  std::vector<TaskSize> sizes;              ///< messages sent, and those from other hosts
  int64_t unmatched_sent = 0;               ///< sends without a seen receive, though it was on this host
  int64_t unmatched_received = 0;
  int64_t elsewhere = 0;       ///< to or from ranks on other hosts
  int64_t incomplete = 0;      ///< collective operations of which not all parts were seen
  CriticalPath critical_path;  ///< over the ranks; of process 0: it was not looked for, or there is none

  const TaskRank* Find(model::ElementId rank) const;
  TaskEfficiency Efficiency() const;
};

/// Takes what is recorded, in any portions, and gives the graph of what came by now. Bounded: at most kMaxLinks links;
/// further ones count in the pairs alone. @thread one at a time
class TaskGraphBuilder final : public Operator {
 public:
  static constexpr size_t kMaxLinks = 1u << 18;
  static constexpr size_t kMaxPairs = 1u << 20;

  /// Get what belongs together as well; nullptr: nobody wants it.
  struct Takers {
    MessageWaits* ranks = nullptr;  ///< messages of MPI, and collective operations
    MessageWaits* peers = nullptr;  ///< through channels
    RankWaits* path = nullptr;      ///< all
  };

  TaskGraphBuilder() : TaskGraphBuilder(Takers{}) {}
  explicit TaskGraphBuilder(const Takers& takers);
  TaskGraphBuilder(const TaskGraphBuilder&) = delete;  // its matchers call it
  TaskGraphBuilder& operator=(const TaskGraphBuilder&) = delete;

  /// Learns the functions, and the ranks on this host.
  void Learn(const std::shared_ptr<const model::Metadata>& meta) override;
  std::vector<model::Table> Tables() const override {
    return {model::ClockReading::kTable, model::Sync::kTable, model::Message::kTable, model::Collective::kTable};
  }
  void AddRows(const model::Batch& batch) override;
  /// Nothing more comes.
  void Finish();

  bool IsEmpty() const { return ranks_.empty(); }
  TaskGraph Build(const model::Metadata& meta, model::TimeRange range, const SiteNames& names) const;

 private:
  static constexpr size_t kSizes = 65;  ///< 0, 1, 2..3, 4..7, ...
  using PairKey = std::pair<model::ElementId, model::ElementId>;
  using LinkKey = std::tuple<model::ElementId, model::ElementId, bool, model::ElementId, model::ElementId>;
  struct Rank {
    model::ElementId thread = 0;
    std::map<int64_t, int64_t> cpus;  ///< messages, by CPU
    TaskSide sent, received;
    int64_t collectives = 0, collective_ns = 0, collective_waited_ns = 0;
  };
  struct Pair {
    TaskSide sender, receiver;
    int64_t first_ns = INT64_MAX;
    bool is_channel = false;
    std::map<std::pair<int64_t, int64_t>, int64_t> cpus;  ///< messages, by the CPUs of both sides
  };
  struct ThreadTime {
    int64_t calls = 0;
    int64_t ns = 0;
  };

  void Add(const model::Message& row);
  void Add(const model::Collective& row);
  void Add(const model::Sync& row);
  void Matched(const CompletedMessage& sent, const CompletedMessage& received);
  void Gathered(std::span<const model::Collective> parts);
  void EndCall(std::vector<model::Message>& call);
  void Count(const model::Message& row, int64_t in_call);
  void AddWaited(const CompletedMessage& row, int64_t ns);
  TaskSide* LinkOf(const model::Message& row);
  Rank& RankOf(model::ElementId id, model::ElementId thread, int64_t cpu);

  static constexpr size_t kMaxInCall = 1u << 14;

  const Takers takers_;
  MessageMatcher messages_;
  CollectiveMatcher collectives_;
  std::unordered_map<model::ElementId, CollectivePattern> patterns_;         ///< by function
  std::unordered_set<model::ElementId> elsewhere_;                           ///< ranks without a host
  std::unordered_set<model::ElementId> channels_;                            ///< pipes, sockets, queues
  std::unordered_map<model::ElementId, std::vector<model::Message>> calls_;  ///< by thread: of the call at hand
  std::map<model::ElementId, Rank> ranks_;
  std::map<PairKey, Pair> pairs_;
  std::map<LinkKey, TaskSide> links_;
  std::map<std::pair<model::ElementId, model::ElementId>, TaskCollective> groups_;  ///< by communicator and function
  std::unordered_map<model::ElementId, ThreadTime> mpi_;                            ///< by thread
  std::array<TaskSize, kSizes> sizes_;
  int64_t of_elsewhere_ = 0;
  TscRate tsc_;
};

/// Builds the graph of a whole recording, or of the data that a session has by now.
Result<TaskGraph> BuildTaskGraph(model::Source& source, std::span<const model::Site> names = {});

/// docs/schema/task-graph.xsd
GraphDocument DocumentOf(const TaskGraph& graph);

}  // namespace attune::analysis
