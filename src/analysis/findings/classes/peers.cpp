/// Waiting for what another process or thread sends or takes too slowly: slow-peer (docs/findings.md).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "analysis/findings/finding_input.h"
#include "analysis/findings/late_causes.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kSlowPeer{"slow-peer", "The other end of a pipe, a socket or a queue does not keep up"};

/// Fewer waits for one process are the end of something (a result, a child's output), no stream that does not keep up.
constexpr int64_t kFewestWaits = 10;
/// Shorter sleeps are what a message costs.
constexpr int64_t kLeastSleepNs = 100'000;
/// Calls in which a thread slept for less than half of the time are no waits: it was queued for a CPU, or copied.
constexpr double kMostBesidesSleep = 2;
/// A peer that does nothing for most of the wait has nothing to send: that is idle, not slow.
constexpr double kLeastPeerActivity = 0.5;
/// A thread that does less than this besides waiting is a service (a logger, a pager) that has nothing to do.
constexpr double kLeastActivity = 0.02;
/// A process that starts another one and does less than this only waits for it.
constexpr double kOnlyWaits = 0.05;
/// If the program wanted more of its CPUs, those who were waited for had no more of them to use.
constexpr double kMostCpusWanted = 0.8;

constexpr std::string_view kProducerAdvice =
    "Make what is sent there faster (its place of computing is named above), let several processes or threads make it, "
    "or ask for the next piece before it is needed, so that it is made meanwhile.";
constexpr std::string_view kConsumerAdvice =
    "Take what is sent there faster, or by several processes or threads; more room (fcntl F_SETPIPE_SZ, SO_SNDBUF and "
    "SO_RCVBUF, mq_maxmsg) helps only if the receiver keeps up on average.";

/// Messages by sender and receiver.
class Traffic {
 public:
  explicit Traffic(const TaskGraph& graph) {
    for (const TaskPair& pair : graph.pairs) pairs_[{pair.source, pair.destination}] = &pair;
    for (const TaskLink& link : graph.links) {
      const TaskLink*& most = (link.is_sender ? most_sent_ : most_received_)[{link.source, link.destination}];
      if (most == nullptr || link.side.count > most->side.count) most = &link;
    }
  }

  /// Whether a process asks another one and waits for its answers: it sent first, and about as often as it receives.
  bool Asks(ElementId process, ElementId peer) const {
    const auto asked = pairs_.find({process, peer}), answered = pairs_.find({peer, process});
    return asked != pairs_.end() && answered != pairs_.end() && asked->second->first_ns < answered->second->first_ns &&
           asked->second->Count() * 2 >= answered->second->Count();
  }
  /// Whether a process sends to another one, and gets nothing from it: what it waits for there is room.
  bool OnlySends(ElementId process, ElementId peer) const {
    return pairs_.contains({process, peer}) && !pairs_.contains({peer, process});
  }
  /// The place at which a process sends most messages to another one; 0: no message was seen.
  ElementId SendingPlace(ElementId source, ElementId destination) const {
    return PlaceOf(most_sent_, {source, destination});
  }
  /// The place at which the destination receives most of them.
  ElementId ReceivingPlace(ElementId source, ElementId destination) const {
    return PlaceOf(most_received_, {source, destination});
  }

 private:
  using Ends = std::pair<ElementId, ElementId>;
  using Links = std::map<Ends, const TaskLink*>;

  static ElementId PlaceOf(const Links& most, const Ends& ends) {
    const auto link = most.find(ends);
    return link == most.end() ? 0 : link->second->place.id;
  }

  std::map<Ends, const TaskPair*> pairs_;
  Links most_sent_;
  Links most_received_;
};

/// Activity of threads besides waiting, and parents of processes.
class Activities {
 public:
  explicit Activities(const FindingInput& input) : input_(input), traffic_(input.messages.graph) {
    for (const model::Process& process : input.meta.processes) processes_[process.id] = &process;
    for (const ThreadLife& life : input.waits.lives) {
      life_ns_[life.process] = std::max(life_ns_[life.process], life.LengthNs());
      const auto times = input.times.by_thread.find(life.thread);
      if (times == input.times.by_thread.end()) continue;
      active_ns_[life.process] += ActiveNs(times->second);
      if (IsMain(life.thread)) main_ns_[life.process] += ActiveNs(times->second);
    }
  }

  /// It ran, wanted to run, or waited for a device.
  double ActiveNsOf(ElementId thread) const {
    const auto times = input_.times.by_thread.find(thread);
    if (times == input_.times.by_thread.end()) return 0;
    const auto files = input_.waits.sums.files.find(ProcessOf(thread));
    double device_ns = 0;
    if (files != input_.waits.sums.files.end()) {
      const auto by_thread = files->second.ByThread();
      const auto found = by_thread.find(thread);
      if (found != by_thread.end()) device_ns = static_cast<double>(found->second.wait_ns);
    }
    return ActiveNs(times->second) + device_ns;
  }

  /// The sleeping part of a thread's calls; in the rest it was queued for a CPU, or copied.
  int64_t SleptNs(ElementId thread, int64_t calls_ns) const {
    const auto times = input_.times.by_thread.find(thread);
    if (times == input_.times.by_thread.end()) return calls_ns;
    const double slept_ns = std::max(0.0, times->second.life_ns - times->second.run_ns - times->second.queue_ns);
    const bool is_slept = static_cast<double>(calls_ns) <= kMostBesidesSleep * slept_ns;
    return is_slept ? calls_ns : static_cast<int64_t>(slept_ns);
  }

  /// Whether the run is longer because the thread waits for data: it is what the user started, or all that stands above
  /// it waits for its process; and it does something with what it gets.
  bool IsWaitedFor(ElementId thread) const {
    const model::Process* process = Find(ProcessOf(thread));
    if (process == nullptr) return false;
    const bool is_main = IsMain(thread);
    const auto parent = processes_.find(process->parent);
    if (parent == processes_.end() && is_main) return true;
    const auto times = input_.times.by_thread.find(thread);
    const bool is_member =
        times != input_.times.by_thread.end() && times->second.run_ns >= kLeastActivity * times->second.life_ns;
    if (!is_member) return false;
    if (!is_main && PartOfLife(main_ns_, process->id) >= kOnlyWaits) return false;
    constexpr int kMaxDepth = 64;
    const model::Process* above = parent == processes_.end() ? nullptr : parent->second;
    for (int depth = 0; above != nullptr && depth < kMaxDepth; ++depth) {
      if (PartOfLife(active_ns_, above->id) >= kOnlyWaits) return false;
      above = Find(above->parent);
    }
    return true;
  }

  /// Ranks have classes of their own.
  bool IsRank(ElementId thread) const {
    const model::Element* process = input_.meta.FindElement(ProcessOf(thread));
    const model::Element* above = process == nullptr ? nullptr : input_.meta.FindElement(process->parent);
    return above != nullptr && above->kind == model::ElementKind::kRank;
  }

  ElementId ProcessOf(ElementId thread) const {
    const model::Element* element = input_.meta.FindElement(thread);
    return element == nullptr ? 0 : element->parent;
  }

  const Traffic& traffic() const { return traffic_; }

 private:
  static double ActiveNs(const ThreadTime& times) { return times.run_ns + times.queue_ns + times.io_ns; }
  const model::Process* Find(ElementId id) const {
    const auto found = processes_.find(id);
    return found == processes_.end() ? nullptr : found->second;
  }
  /// Whether it is the first thread of its process.
  bool IsMain(ElementId thread) const {
    const model::Element* element = input_.meta.FindElement(thread);
    const model::Process* process = element == nullptr ? nullptr : Find(element->parent);
    return process != nullptr && element->os_id == process->pid;
  }
  double PartOfLife(const std::unordered_map<ElementId, double>& active_ns, ElementId process) const {
    const auto life = life_ns_.find(process);
    const auto active = active_ns.find(process);
    if (life == life_ns_.end() || active == active_ns.end() || life->second <= 0) return 0;
    return active->second / static_cast<double>(life->second);
  }

  const FindingInput& input_;
  std::unordered_map<ElementId, const model::Process*> processes_;
  std::unordered_map<ElementId, int64_t> life_ns_;
  std::unordered_map<ElementId, double> active_ns_;
  std::unordered_map<ElementId, double> main_ns_;  ///< activity of the first thread, by process
  Traffic traffic_;
};

/// CPUs that the program used or queued for, by those that it may use; 0: not known.
double CpusWanted(const FindingInput& input) {
  double wanted_ns = 0;
  model::TimeRange life{INT64_MAX, INT64_MIN};
  for (const ThreadLife& thread : input.waits.lives) {
    life = {std::min(life.t0_ns, thread.start_ns), std::max(life.t1_ns, thread.end_ns)};
    const auto times = input.times.by_thread.find(thread.thread);
    if (times != input.times.by_thread.end()) wanted_ns += times->second.run_ns + times->second.queue_ns;
  }
  if (life.t1_ns <= life.t0_ns || input.Cpus() == 0) return 0;
  return wanted_ns / (static_cast<double>(input.Cpus()) * static_cast<double>(life.t1_ns - life.t0_ns));
}

/// Whether what a thread waited for data loses time: it is waited for itself, and the peer is busy or was asked. Who
/// waits to be asked has nothing to do.
bool LosesTime(const Activities& activities, ElementId thread, int64_t ns, const MessageWaitSums& sums) {
  if (!activities.IsWaitedFor(thread)) return false;
  const Traffic& traffic = activities.traffic();
  const ElementId own = activities.ProcessOf(thread);
  double peer_ns = 0;
  bool is_asked = false;
  for (const auto& [peer, late] : sums.caused_by) {
    const ElementId process = activities.ProcessOf(peer);
    if (process != own && traffic.Asks(process, own)) return false;
    is_asked = is_asked || (process != own && traffic.Asks(own, process));
    peer_ns += activities.ActiveNsOf(peer);
  }
  return is_asked || peer_ns >= kLeastPeerActivity * static_cast<double>(ns);
}

int64_t LostNs(const FindingInput& input, const Activities& activities, MessageWaitKind kind,
               const MessageWaitSums& sums, std::vector<FindingThread>& waiting) {
  int64_t lost_ns = 0;
  for (const auto& [thread, calls_ns] : sums.by_thread) {
    const int64_t ns = activities.SleptNs(thread, calls_ns);
    if (kind == MessageWaitKind::kLateSender && !LosesTime(activities, thread, ns, sums)) continue;
    AddTo(lost_ns, ns);
    waiting.push_back(input.Thread(thread, ns));
  }
  return lost_ns;
}

/// "producer (4711)", "producer (4711) and 2 more", by the processes of threads.
std::string ProcessesText(const FindingInput& input, const Activities& activities,
                          const std::vector<FindingThread>& threads) {
  std::set<ElementId> seen;
  std::string first;
  for (const FindingThread& thread : threads) {
    const ElementId id = activities.ProcessOf(thread.id);
    const model::Element* process = input.meta.FindElement(id);
    if (process == nullptr || !seen.insert(id).second || seen.size() > 1) continue;
    first = ProcessName(*process);
  }
  return seen.size() > 1 ? fmt::format("{} and {} more", first, seen.size() - 1) : first;
}

/// ", in read at next_record (consumer.c:20)", as far as it is known.
std::string WhereText(const FindingInput& input, const MessageWaitSums& sums, const Finding& finding) {
  if (finding.waiters.empty()) return {};
  const std::string function = input.meta.NameOf(MostOf(sums.by_function));
  return fmt::format(",{} at {}", function.empty() ? std::string() : " in " + function,
                     PlaceText(finding.waiters.front()));
}

void Describe(const FindingInput& input, const Activities& activities, MessageWaitKind kind,
              const MessageWaitSums& sums, Finding& finding) {
  const bool is_for_data = kind == MessageWaitKind::kLateSender;
  for (const auto& [thread, late] : sums.caused_by) finding.caused_by.push_back(input.Thread(thread, late.caused_ns));
  std::ranges::stable_sort(finding.caused_by, std::greater{}, &FindingThread::lost_ns);
  const std::string peer = ProcessesText(input, activities, finding.caused_by);
  if (finding.caused_by.size() > Finding::kMaxThreads) finding.caused_by.resize(Finding::kMaxThreads);
  finding.object = activities.ProcessOf(finding.caused_by.front().id);
  finding.object_name = fmt::format("process {}", peer);
  finding.advice = is_for_data ? kProducerAdvice : kConsumerAdvice;
  finding.figures["waits"] = static_cast<double>(sums.waits);
  if (sums.longest_ns > 0) finding.figures["longest_seconds"] = static_cast<double>(sums.longest_ns) * 1e-9;
  finding.figures["indirect_seconds"] = static_cast<double>(sums.indirect_ns) * 1e-9;
  finding.evidence.push_back(
      fmt::format("{} waited {} times, {} on average, {} {}{}", ProcessesText(input, activities, finding.threads),
                  sums.waits, FormatDuration(sums.wait_ns / std::max<int64_t>(1, sums.waits)),
                  is_for_data ? "for what comes from" : "for room at", peer, WhereText(input, sums, finding)));
  SayWhatWasDone(input, sums, finding);
}

/// Time for which pieces of these processes were held back until earlier ones were acknowledged: neither of both sides
/// is slow then (delayed-ack).
int64_t HeldBackNs(const FindingInput& input, const Activities& activities, const MessageWaitSums& sums) {
  int64_t held_ns = 0;
  const std::map<ElementId, SocketTime> sockets = input.Of<SocketTimesOperator>().Snapshot();
  const auto look = [&](ElementId thread) {
    const auto found = sockets.find(activities.ProcessOf(thread));
    if (found != sockets.end()) held_ns = std::max(held_ns, found->second.ack_wait_ns);
  };
  for (const auto& [thread, ns] : sums.by_thread) look(thread);
  for (const auto& [thread, late] : sums.caused_by) look(thread);
  return held_ns;
}

/// Adds the finding about one cause, if it is one. @param site where the late ones send or receive
void AddFinding(const FindingInput& input, const Activities& activities, const MessageWaits::Cause& cause,
                const MessageWaitSums& sums, std::vector<Finding>& findings) {
  const auto [kind, site] = cause;
  std::set<ElementId> peers;
  for (const auto& [thread, late] : sums.caused_by) peers.insert(activities.ProcessOf(thread));
  if (sums.waits < kFewestWaits * static_cast<int64_t>(peers.size())) return;
  std::vector<FindingThread> waiting;
  const int64_t lost_ns = LostNs(input, activities, kind, sums, waiting);
  if (!input.IsEnough(lost_ns) || !input.IsEnough(lost_ns - ExplainedByQueues(input, sums))) return;
  if (HeldBackNs(input, activities, sums) > lost_ns / 2) return;
  Finding finding{.kind = kSlowPeer, .lost_ns = lost_ns};
  if (site != 0) finding.site = input.names.PlaceOf(site);
  finding.share = PartOf(lost_ns, input.waits.thread_ns);
  FindingInput::SetThreads(std::move(waiting), finding);
  finding.waiters = WaitersOfMessages(input, sums.waiters, wire::SyncKind::kNone);
  Describe(input, activities, kind, sums, finding);
  const bool is_sure = !input.times.by_thread.empty() && site != 0;
  finding.confidence = is_sure ? Confidence::kHigh : Confidence::kMedium;
  findings.push_back(std::move(finding));
}

/// A thread's calls of poll and its like, as hooks timed them: longer than its sleep by what it takes to run again.
struct PollCalls {
  int64_t ns = 0;
  ElementId place = 0;  ///< with most of it
  int64_t place_ns = 0;

  /// Part of the sleep that these calls have.
  int64_t Of(int64_t sleep_ns, int64_t slept_ns) const {
    constexpr double kMost = 2;
    if (sleep_ns <= 0 || slept_ns <= 0) return 0;
    const double factor = std::clamp(static_cast<double>(ns) / static_cast<double>(slept_ns), 1.0, kMost);
    return static_cast<int64_t>(static_cast<double>(sleep_ns) * factor);
  }
};

std::map<ElementId, PollCalls> PollCallsByThread(const FindingInput& input) {
  std::map<ElementId, PollCalls> by_thread;
  for (const auto& [object, sums] : input.Of<CallSums>().calls()) {
    for (const auto& [place, threads] : sums.places) {
      if (place.second != wire::SyncKind::kPoll) continue;
      for (const auto& [thread, counts] : threads) {
        PollCalls& calls = by_thread[thread];
        AddTo(calls.ns, counts.wait_ns);
        if (counts.wait_ns > calls.place_ns) {
          calls.place = place.first;
          calls.place_ns = counts.wait_ns;
        }
      }
    }
  }
  return by_thread;
}

void AddWaiter(const PollCalls& calls, ElementId thread, int64_t waits, int64_t ns, MessageWaitSums& sums) {
  if (calls.place == 0 || ns <= 0) return;
  MessageWaiter& waiter = sums.waiters[calls.place];
  AddTo(waiter.waits, waits);
  AddTo(waiter.wait_ns, ns);
  AddTo(waiter.by_thread[thread], ns);
}

/// Adds waits that messages do not explain, since they went through no hook or began in poll: the sleeps in such calls
/// that the kernel accounted for.
void AddSleeps(const FindingInput& input, const Activities& activities,
               std::map<MessageWaits::Cause, MessageWaitSums>& causes) {
  constexpr double kExplained = 0.5, kExplainedOfRoom = 0.9;
  std::map<ElementId, int64_t> explained, slept;
  for (const auto& [cause, sums] : causes) {
    for (const auto& [thread, ns] : sums.by_thread) AddTo(explained[thread], ns);
  }
  const WokenSleeps& woken = input.Of<WokenSleeps>();
  const auto& sleeps = woken.Sums();
  std::map<ElementId, PollCalls> polls = PollCallsByThread(input);
  for (const auto& [pair, sleep] : sleeps) AddTo(slept[pair.first], sleep.ns);
  for (const auto& [pair, sleep] : sleeps) {
    const auto [thread, waker] = pair;
    if (sleep.ns / std::max<int64_t>(1, sleep.count) < kLeastSleepNs) continue;
    if (activities.IsRank(thread) || activities.IsRank(waker)) continue;
    const Traffic& traffic = activities.traffic();
    const ElementId own = activities.ProcessOf(thread), peer = activities.ProcessOf(waker);
    const bool is_for_room = traffic.OnlySends(own, peer);
    const auto known = explained.find(thread);
    const double known_part = known == explained.end() ? 0 : PartOf(known->second, slept[thread]);
    if (known_part >= (is_for_room ? kExplainedOfRoom : kExplained)) continue;
    const MessageWaits::Cause cause =
        is_for_room ? MessageWaits::Cause{MessageWaitKind::kLateReceiver, traffic.ReceivingPlace(own, peer)}
                    : MessageWaits::Cause{MessageWaitKind::kLateSender, traffic.SendingPlace(peer, own)};
    MessageWaitSums& sums = causes[cause];
    const int64_t polled_ns = polls[thread].Of(sleep.poll_ns, woken.PolledNs(thread));
    const double unknown_part = is_for_room ? 1 - known_part : 1;
    const auto ns = static_cast<int64_t>(static_cast<double>(sleep.ns - sleep.poll_ns + polled_ns) * unknown_part);
    AddTo(sums.waits, static_cast<int64_t>(static_cast<double>(sleep.count) * unknown_part));
    AddTo(sums.wait_ns, ns);
    AddTo(sums.by_thread[thread], ns);
    AddTo(sums.caused_by[waker].times, sleep.count);
    AddTo(sums.caused_by[waker].caused_ns, ns);
    AddWaiter(polls[thread], thread, sleep.count, polled_ns, sums);
  }
}

}  // namespace

void FindPeers(const FindingInput& input, std::vector<Finding>& findings) {
  if (CpusWanted(input) > kMostCpusWanted) return;
  const Activities activities(input);
  auto causes = input.messages.peer_waits.ByCause();
  AddSleeps(input, activities, causes);
  for (const auto& [cause, sums] : causes) AddFinding(input, activities, cause, sums, findings);
}

}  // namespace attune::analysis
