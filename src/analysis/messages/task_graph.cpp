#include "analysis/messages/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

using model::Collective;
using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using model::Message;
using model::MessageKind;

namespace {

/// Depth limit of the element tree: a file may describe a graph that is no tree.
constexpr int kMaxDepth = 64;
/// CPUs that one rank, or the two of a pair, are told apart by. More are more than any scheduler uses in turn.
constexpr size_t kMaxCpus = 256;

int64_t BlockedNs(const Message& row) { return row.wait_ns == kAbsent ? 0 : row.t_ns - row.wait_ns; }
int64_t BlockedNs(const Collective& row) { return row.wait_ns == kAbsent ? 0 : row.t_ns - row.wait_ns; }

template <class Key>
void CountCpu(std::map<Key, int64_t>& cpus, const Key& cpu) {
  if (const auto found = cpus.find(cpu); found != cpus.end()) {
    AddTo(found->second, 1);
  } else if (cpus.size() < kMaxCpus) {
    cpus[cpu] = 1;
  }
}

template <class Key>
const Key* Most(const std::map<Key, int64_t>& counts) {
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? nullptr : &most->first;
}

}  // namespace

// ---- figures

void TaskSide::Add(const TaskSide& other) {
  AddTo(count, other.count);
  AddTo(bytes, other.bytes);
  AddTo(time_ns, other.time_ns);
  AddTo(waited_ns, other.waited_ns);
}

double TaskSide::Bandwidth() const {
  const int64_t used_ns = time_ns - std::min(time_ns, waited_ns);
  return used_ns <= 0 ? 0.0 : static_cast<double>(bytes) / (static_cast<double>(used_ns) * 1e-9);
}

double TaskSide::CyclesPerWord(int64_t tsc_hz) const {
  if (tsc_hz == kAbsent || bytes < kTaskWordBytes) return -1;
  return static_cast<double>(Cycles(tsc_hz)) / (static_cast<double>(bytes) / static_cast<double>(kTaskWordBytes));
}

std::string_view ToString(TaskDistance distance) {
  switch (distance) {
    case TaskDistance::kSameCpu: return "same CPU";
    case TaskDistance::kSameCore: return "same core";
    case TaskDistance::kSameNode: return "same node";
    case TaskDistance::kSamePackage: return "same package";
    case TaskDistance::kSameMachine: return "same machine";
    case TaskDistance::kOtherHost: return "other host";
    case TaskDistance::kUnknown: break;
  }
  return "?";
}

CpuDistances::CpuDistances(const model::Metadata& meta) {
  std::map<ElementKind, int> counts;
  for (const model::Element& element : meta.elements) {
    ++counts[element.kind];
    if (element.kind != ElementKind::kCpu || element.os_id == kAbsent) continue;
    std::vector<Part>& parts = parts_[{element.host, element.os_id}];
    parts.clear();
    const model::Element* at = &element;
    for (int depth = 0; at != nullptr && depth < kMaxDepth; ++depth) {
      parts.push_back({at->id, at->kind});
      at = meta.FindElement(at->parent);
    }
  }
  for (const ElementKind kind : {ElementKind::kPackage, ElementKind::kNode, ElementKind::kMachine}) {
    if (counts[kind] > 1) group_ = kind;
  }
}

/// Falls back to a CPU without a host name: such a recording has one host.
const std::vector<CpuDistances::Part>* CpuDistances::Find(const HostCpu& cpu) const {
  auto found = parts_.find(cpu);
  if (found == parts_.end()) found = parts_.find({"", cpu.cpu});
  return found == parts_.end() ? nullptr : &found->second;
}

TaskDistance CpuDistances::Between(const HostCpu& a, const HostCpu& b) const {
  const std::vector<Part>*parts_a = Find(a), *parts_b = Find(b);
  if (a.host != b.host) return TaskDistance::kOtherHost;
  if (parts_a == nullptr || parts_b == nullptr) return TaskDistance::kUnknown;
  for (const Part& part : *parts_a) {
    if (std::ranges::none_of(*parts_b, [&](const Part& other) { return other.id == part.id; })) continue;
    switch (part.kind) {
      case ElementKind::kCpu: return TaskDistance::kSameCpu;
      case ElementKind::kCore: return TaskDistance::kSameCore;
      case ElementKind::kNode: return TaskDistance::kSameNode;
      case ElementKind::kPackage: return TaskDistance::kSamePackage;
      default: return TaskDistance::kSameMachine;
    }
  }
  return TaskDistance::kUnknown;
}

ElementId CpuDistances::GroupOf(const HostCpu& cpu) const {
  const std::vector<Part>* parts = Find(cpu);
  if (parts == nullptr || group_ == ElementKind::kCpu) return 0;
  const auto group = std::ranges::find(*parts, group_, &Part::kind);
  return group == parts->end() ? 0 : group->id;
}

const TaskRank* TaskGraph::Find(ElementId rank) const {
  const auto found = std::ranges::find(ranks, rank, &TaskRank::id);
  return found == ranks.end() ? nullptr : &*found;
}

int64_t TaskRank::WaitedNs() const {
  int64_t waited_ns = sent.waited_ns;
  AddTo(waited_ns, received.waited_ns);
  AddTo(waited_ns, collective_waited_ns);
  return waited_ns;
}

TaskEfficiency TaskGraph::Efficiency() const {
  double sum = 0, most = 0, longest = 0;
  TaskEfficiency efficiency;
  for (const TaskRank& rank : ranks) {
    if (rank.life_ns <= 0 || rank.calls == 0) continue;
    const auto useful = static_cast<double>(rank.life_ns - std::min(rank.life_ns, rank.mpi_ns));
    ++efficiency.ranks;
    sum += useful;
    most = std::max(most, useful);
    longest = std::max(longest, static_cast<double>(rank.life_ns));
  }
  if (efficiency.ranks == 0 || most <= 0) return {};
  efficiency.load_balance = sum / static_cast<double>(efficiency.ranks) / most;
  efficiency.communication = most / longest;
  return efficiency;
}

// ---- the builder

TaskGraphBuilder::TaskGraphBuilder(const Takers& takers)
    : takers_(takers),
      messages_([this](const CompletedMessage& sent, const CompletedMessage& received) { Matched(sent, received); }),
      collectives_([this](std::span<const Collective> parts) { Gathered(parts); }) {
  for (size_t i = 0; i < kSizes; ++i) {
    sizes_[i].low_bytes = i == 0 ? 0 : int64_t{1} << std::min<size_t>(i - 1, 62);
    sizes_[i].high_bytes = i == 0 ? 0 : i >= 63 ? INT64_MAX : (int64_t{1} << i) - 1;
  }
}

void TaskGraphBuilder::Learn(const std::shared_ptr<const model::Metadata>& meta) {
  for (const model::Element& element : meta->elements) {
    if (element.kind == ElementKind::kFunction && !patterns_.contains(element.id))
      patterns_[element.id] = PatternOf(element.name);
    if (element.kind == ElementKind::kChannel) channels_.insert(element.id);
    if (element.kind != ElementKind::kRank) continue;
    if (element.host.empty()) {
      elsewhere_.insert(element.id);
    } else {
      elsewhere_.erase(element.id);
    }
  }
}

void TaskGraphBuilder::AddRows(const model::Batch& batch) {
  const auto add = [this](const auto& rows) {
    for (const auto& row : rows) Add(row);
  };
  if (batch.table == model::ClockReading::kTable) tsc_.Add(batch);
  if (batch.table == model::Sync::kTable) add(model::RowsFrom<model::Sync>(batch));
  if (batch.table == Message::kTable) add(model::RowsFrom<Message>(batch));
  if (batch.table == Collective::kTable) add(model::RowsFrom<Collective>(batch));
}

TaskGraphBuilder::Rank& TaskGraphBuilder::RankOf(ElementId id, ElementId thread, int64_t cpu) {
  Rank& rank = ranks_[id];
  if (rank.thread == 0) rank.thread = thread;
  if (cpu != kAbsent) CountCpu(rank.cpus, cpu);
  return rank;
}

TaskSide* TaskGraphBuilder::LinkOf(const Message& row) {
  const bool is_sender = row.kind == MessageKind::kSent;
  const LinkKey key = is_sender ? LinkKey(row.rank, row.peer, true, row.function, row.site)
                                : LinkKey(row.peer, row.rank, false, row.function, row.site);
  const auto found = links_.find(key);
  if (found != links_.end()) return &found->second;
  return links_.size() < kMaxLinks ? &links_[key] : nullptr;
}

/// Rows of one call come one after the other, and have waited since the same moment.
void TaskGraphBuilder::Add(const Message& row) {
  if (row.wait_ns == kAbsent) return Count(row, 1);
  std::vector<Message>& call = calls_[row.thread];
  if (!call.empty() && (call.back().wait_ns != row.wait_ns || call.size() >= kMaxInCall)) EndCall(call);
  call.push_back(row);
}

void TaskGraphBuilder::EndCall(std::vector<Message>& call) {
  for (const Message& row : call) Count(row, static_cast<int64_t>(call.size()));
  call.clear();
}

void TaskGraphBuilder::Count(const Message& row, int64_t in_call) {
  const bool is_sent = row.kind == MessageKind::kSent;
  const TaskSide side{.count = 1, .bytes = row.bytes, .time_ns = BlockedNs(row) / in_call};
  Rank& rank = RankOf(row.rank, row.thread, row.cpu);
  (is_sent ? rank.sent : rank.received).Add(side);
  const PairKey key = is_sent ? PairKey(row.rank, row.peer) : PairKey(row.peer, row.rank);
  if (pairs_.size() < kMaxPairs || pairs_.contains(key)) {
    Pair& pair = pairs_[key];
    (is_sent ? pair.sender : pair.receiver).Add(side);
    if (is_sent) pair.first_ns = std::min(pair.first_ns, row.post_ns);
    if (channels_.contains(row.communicator)) pair.is_channel = true;
  }
  if (TaskSide* link = LinkOf(row); link != nullptr) link->Add(side);
  const bool is_of_elsewhere = elsewhere_.contains(row.peer);
  if (is_sent || is_of_elsewhere) {
    TaskSize& size = sizes_[static_cast<size_t>(std::bit_width(static_cast<uint64_t>(row.bytes)))];
    AddTo(size.count, 1);
    AddTo(size.bytes, row.bytes);
  }
  if (is_of_elsewhere) {
    ++of_elsewhere_;
  } else {
    messages_.Add(row, in_call);
  }
}

/// Adds the part of a row's time that was spent waiting for the other side.
void TaskGraphBuilder::AddWaited(const CompletedMessage& row, int64_t ns) {
  ns /= row.in_call;
  if (ns <= 0) return;
  const bool is_sent = row.kind == MessageKind::kSent;
  Rank& rank = ranks_[row.rank];
  AddTo((is_sent ? rank.sent : rank.received).waited_ns, ns);
  const auto pair = pairs_.find(is_sent ? PairKey(row.rank, row.peer) : PairKey(row.peer, row.rank));
  if (pair != pairs_.end()) AddTo((is_sent ? pair->second.sender : pair->second.receiver).waited_ns, ns);
  if (TaskSide* link = LinkOf(row); link != nullptr) AddTo(link->waited_ns, ns);
}

void TaskGraphBuilder::Matched(const CompletedMessage& sent, const CompletedMessage& received) {
  const bool is_channel = channels_.contains(sent.communicator);
  const Carrier carrier = is_channel ? Carrier::kChannel : Carrier::kMpi;
  AddWaited(received, LateSenderNs(sent, received, carrier));
  AddWaited(sent, LateReceiverNs(sent, received, carrier));
  const auto pair = pairs_.find({sent.rank, received.rank});
  if (pair != pairs_.end() && sent.cpu != kAbsent && received.cpu != kAbsent)
    CountCpu(pair->second.cpus, {sent.cpu, received.cpu});
  MessageWaits* waits = is_channel ? takers_.peers : takers_.ranks;
  if (waits != nullptr) waits->Add(sent, received, carrier);
  if (takers_.path != nullptr) takers_.path->Add(sent, received, carrier);
}

void TaskGraphBuilder::Add(const Collective& row) {
  Rank& rank = RankOf(row.rank, row.thread, row.cpu);
  AddTo(rank.collectives, 1);
  AddTo(rank.collective_ns, BlockedNs(row));
  TaskCollective& group = groups_[{row.communicator, row.function}];
  AddTo(group.parts, 1);
  AddTo(group.bytes_sent, row.bytes_sent);
  AddTo(group.bytes_received, row.bytes_received);
  AddTo(group.time_ns, BlockedNs(row));
  collectives_.Add(row);
}

void TaskGraphBuilder::Gathered(std::span<const Collective> parts) {
  const auto pattern = patterns_.find(parts.front().function);
  const std::vector<RankWait> waits =
      WaitsAtCollective(parts, pattern == patterns_.end() ? CollectivePattern::kNeighbours : pattern->second);
  TaskCollective& group = groups_[{parts.front().communicator, parts.front().function}];
  AddTo(group.operations, 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    AddTo(group.waited_ns, waits[i].LengthNs());
    AddTo(ranks_[parts[i].rank].collective_waited_ns, waits[i].LengthNs());
  }
  if (takers_.ranks != nullptr) takers_.ranks->Add(parts, waits);
  if (takers_.path != nullptr) takers_.path->Add(parts, waits);
}

void TaskGraphBuilder::Add(const model::Sync& row) {
  if (row.kind != wire::SyncKind::kMpi) return;
  ThreadTime& time = mpi_[row.thread];
  AddTo(time.calls, row.count);
  AddTo(time.ns, row.wait_ns);
}

void TaskGraphBuilder::Finish() {
  for (auto& [thread, call] : calls_) EndCall(call);
  messages_.Finish();
  collectives_.Finish();
}

namespace {

TaskRank MakeRank(const model::Metadata& meta, ElementId id, ElementId thread, int64_t now_ns) {
  TaskRank made{.id = id, .sent = {}, .received = {}};
  const model::Element* element = meta.FindElement(id);
  if (element != nullptr) {
    made.name = element->kind == ElementKind::kProcess ? ProcessName(*element) : element->name;
    if (element->kind == ElementKind::kRank) made.rank = element->os_id;
    made.host = element->host;
  }
  const model::Element* of_thread = meta.FindElement(thread);
  const model::Element* process = of_thread == nullptr ? nullptr : meta.FindElement(of_thread->parent);
  if (element != nullptr && element->kind == ElementKind::kProcess) process = element;  // a process outside of any job
  if (process == nullptr) return made;
  made.pid = process->os_id;
  const auto row = std::ranges::find(meta.processes, process->id, &model::Process::id);
  const int64_t start_ns = row == meta.processes.end() ? process->start_ns : row->start_ns;
  int64_t end_ns = row == meta.processes.end() ? process->end_ns : row->end_ns;
  if (end_ns == kAbsent) end_ns = now_ns;
  if (start_ns >= 0 && end_ns > start_ns) made.life_ns = end_ns - start_ns;
  return made;
}

std::string HostOf(const model::Metadata& meta, ElementId rank) {
  const model::Element* element = meta.FindElement(rank);
  return element == nullptr ? std::string() : element->host;
}

}  // namespace

TaskGraph TaskGraphBuilder::Build(const model::Metadata& meta, model::TimeRange range, const SiteNames& names) const {
  TaskGraph graph{
      .range = range, .tsc_hz = tsc_.Hz(), .ranks = {}, .pairs = {}, .links = {}, .collectives = {}, .sizes = {}};
  const CpuDistances distances(meta);
  std::unordered_map<ElementId, ThreadTime> mpi_by_process;
  for (const auto& [thread, time] : mpi_) {
    const model::Element* element = meta.FindElement(thread);
    ThreadTime& sum = mpi_by_process[element == nullptr ? 0 : element->parent];
    AddTo(sum.calls, time.calls);
    AddTo(sum.ns, time.ns);
  }
  std::set<ElementId> known;
  for (const auto& [id, rank] : ranks_) {
    TaskRank& made = graph.ranks.emplace_back(MakeRank(meta, id, rank.thread, range.t1_ns));
    made.sent = rank.sent;
    made.received = rank.received;
    made.collectives = rank.collectives;
    made.collective_ns = rank.collective_ns;
    made.collective_waited_ns = rank.collective_waited_ns;
    if (const int64_t* cpu = Most(rank.cpus); cpu != nullptr) made.cpu = *cpu;
    const model::Element* thread = meta.FindElement(rank.thread);
    if (const auto time = mpi_by_process.find(thread == nullptr ? 0 : thread->parent); time != mpi_by_process.end()) {
      made.calls = time->second.calls;
      made.mpi_ns = time->second.ns;
    }
    known.insert(id);
  }
  for (const auto& [key, pair] : pairs_) {
    TaskPair& made = graph.pairs.emplace_back();
    std::tie(made.source, made.destination) = key;
    made.sender = pair.sender;
    made.receiver = pair.receiver;
    made.first_ns = pair.first_ns;
    made.is_channel = pair.is_channel;
    if (elsewhere_.contains(made.source) || elsewhere_.contains(made.destination)) {
      made.distance = TaskDistance::kOtherHost;
    } else if (const auto* cpus = Most(pair.cpus); cpus != nullptr) {
      made.distance =
          distances.Between({HostOf(meta, made.source), cpus->first}, {HostOf(meta, made.destination), cpus->second});
    }
    for (const ElementId id : {made.source, made.destination}) {
      if (known.insert(id).second) graph.ranks.push_back(MakeRank(meta, id, 0, range.t1_ns));
    }
  }
  for (const auto& [key, side] : links_) {
    TaskLink& made = graph.links.emplace_back();
    ElementId site = 0;
    std::tie(made.source, made.destination, made.is_sender, made.function, site) = key;
    made.function_name = meta.NameOf(made.function);
    made.place = names.PlaceOf(site);
    made.side = side;
  }
  for (const auto& [key, group] : groups_) {
    TaskCollective& made = graph.collectives.emplace_back(group);
    made.communicator = key.first;
    made.communicator_name = meta.NameOf(key.first);
    made.function = meta.NameOf(key.second);
  }
  std::ranges::copy_if(sizes_, std::back_inserter(graph.sizes), [](const TaskSize& size) { return size.count > 0; });
  std::ranges::stable_sort(graph.ranks, {}, [](const TaskRank& rank) { return std::pair(rank.rank, rank.id); });
  std::ranges::stable_sort(graph.pairs, std::greater{}, &TaskPair::Bytes);
  std::ranges::stable_sort(graph.links, std::greater{}, [](const TaskLink& link) { return link.side.time_ns; });
  std::ranges::stable_sort(graph.collectives, std::greater{}, &TaskCollective::time_ns);
  graph.unmatched_sent = messages_.UnmatchedSent();
  graph.unmatched_received = messages_.UnmatchedReceived();
  graph.elsewhere = of_elsewhere_;
  graph.incomplete = collectives_.Incomplete();
  return graph;
}

}  // namespace attune::analysis
