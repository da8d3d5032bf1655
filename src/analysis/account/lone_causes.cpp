#include "analysis/account/lone_causes.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/waits/sync_sums.h"
#include "base/saturating.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

/// Part of a stretch that somebody else waited through.
constexpr double kMeanwhile = 0.5;
/// Part of a thread's CPU time that it spends beside others.
constexpr double kTakesPart = 0.1;
/// Part of the CPU time at a place that several threads used at once.
constexpr double kShared = 0.05;
/// Part of its life that a parked thread waits: nobody keeps it from its work.
constexpr double kParked = 0.98;
/// Part of the time in which anybody could run; a thread with more never waits for others.
constexpr double kBusy = 0.8;
/// Part of the time with two runnable threads or more in which this one was runnable.
constexpr double kBeside = 0.5;
/// CPU time of a process, about, after which it has started: an interpreter with its modules.
constexpr double kStartNs = 100e6;
/// Limit of threads that wait at one time; waits beyond it are ignored.
constexpr size_t kMaxWaiting = 256;

/// Waits that have a class of their own: locks, barriers, messages.
bool HasOwnClass(SyncKind kind) {
  return IsLock(kind) || IsBarrier(kind) || kind == SyncKind::kOrdered || kind == SyncKind::kOnce ||
         kind == SyncKind::kMpi;
}
bool IsWoken(SyncKind kind) {
  return kind == SyncKind::kCondition || kind == SyncKind::kSemaphore || kind == SyncKind::kFutex;
}

/// A thread that waits so for others goes on with what they make.
bool DependsOnOthers(SyncKind kind) {
  return IsWoken(kind) || IsLock(kind) || IsBarrier(kind) || kind == SyncKind::kJoin || kind == SyncKind::kFuture ||
         kind == SyncKind::kChild;
}

/// A function and its own caller: what is done there for one purpose.
using Step = std::pair<int, int>;

struct StretchFacts {
  int64_t shared = 0;    ///< samples in it of what several threads do at once
  int64_t starting = 0;  ///< samples in it while the process started
  double run_ns = 0;     ///< by its samples
  bool has_own_class = false;
  bool is_woken_for = false;
  bool is_waiting = false;  ///< the lone thread itself, at a hook
};

/// CPU time of a thread, alone and beside others.
struct Part {
  double lone_ns = 0;      ///< samples while it was alone
  double parallel_ns = 0;  ///< other samples
  double shared_ns = 0;    ///< part of parallel_ns: work that several threads do at once
  int64_t first_shared_ns = INT64_MAX;
  int64_t lone_samples = 0;
  int64_t lone_shared = 0;  ///< part of lone_samples: work that several threads do at once
};

class Causes {
 public:
  Causes(const LoneTimes& times, const std::vector<ThreadLife>& lives, const model::Metadata& meta,
         const SampleSums& samples, const SiteNames& names)
      : times_(times), meta_(meta), paths_(samples, names), facts_(times.stretches.size()) {
    for (const ThreadLife& life : lives) lives_[life.thread] = life;
    for (const model::Process& process : meta.processes) parent_of_[process.id] = process.parent;
    FindRanks();
  }

  LoneCauses Find() {
    LookAtWaits();
    LookAtSamples();
    CountShared();
    FindWorking();
    LoneCauses causes{.is_exact = times_.is_exact, .parallel_ns = times_.parallel_ns};
    if (times_.parallel_ns > 0) causes.parallel_threads = times_.active_ns / static_cast<double>(times_.parallel_ns);
    for (const auto& [thread, part] : parts_) {
      if (part.shared_ns > 0) causes.sharing.insert(thread);
    }
    for (const ElementId thread : causes.sharing) {
      if (const auto life = lives_.find(thread); life != lives_.end())
        births_.emplace_back(life->second.start_ns, thread);
    }
    for (size_t i = 0; i < times_.stretches.size(); ++i) Sort(i, causes);
    for (LoneSum* sum : {&causes.serial, &causes.late, &causes.tail}) FindLockStep(*sum);
    return causes;
  }

 private:
  void FindRanks();
  void LookAtWaits();
  void LookAt(const LongWait& wait, const LoneStretch& stretch, StretchFacts& facts) const;
  void LookAtSamples();
  void CountShared();
  void FindWorking();
  void Sort(size_t index, LoneCauses& causes);
  LoneSum* CauseOf(size_t index, LoneCauses& causes) const;
  void FindLockStep(LoneSum& sum) const;
  bool IsProducer(ElementId thread) const;
  /// That a thread is of; 0: not known.
  ElementId ProcessOf(ElementId thread) const {
    const model::Element* element = meta_.FindElement(thread);
    return element == nullptr ? 0 : element->parent;
  }
  Step StepOf(int64_t stack) {
    const auto& path = paths_.Of(stack);
    return path.empty() ? Step() : Step(path.back().function, path.back().caller);
  }
  bool IsShared(const Step& step) const {
    const auto found = steps_.find(step);
    return found != steps_.end() && found->second.shared_ns >= kShared * found->second.all_ns;
  }
  bool IsFirstThread(ElementId thread) const {
    const model::Element* element = meta_.FindElement(thread);
    const model::Element* process = element == nullptr ? nullptr : meta_.FindElement(element->parent);
    return process != nullptr && process->os_id == element->os_id;
  }
  /// The call that started a thread; nullptr: not known.
  const LongWait* StartOf(int64_t birth_ns) const;
  /// When the first thread was started later than that which did the same at once; INT64_MAX: there is none.
  int64_t CompanyNs(const LoneStretch& stretch) const;
  bool IsLate(const LoneStretch& stretch) const;
  void AddLate(const LoneStretch& stretch, LoneSum& late) const;
  template <class Visit>
  void VisitWaits(ElementId thread, const LoneStretch& stretch, const Visit& visit) const;

  struct StepSum {
    double all_ns = 0;
    double shared_ns = 0;
  };

  const LoneTimes& times_;
  const model::Metadata& meta_;
  OwnPaths paths_;
  std::unordered_map<ElementId, ThreadLife> lives_;
  std::set<ElementId> ranks_;                                      ///< processes; empty: no MPI job
  std::unordered_map<ElementId, ElementId> parent_of_;             ///< parent process, by process
  std::vector<LongWait> starts_;                                   ///< thread starts (kCreate), in order of time
  std::unordered_map<ElementId, std::vector<LongWait>> waits_of_;  ///< by thread, for threads that start others
  std::vector<std::pair<int64_t, ElementId>> births_;              ///< start time and thread, for LoneCauses::sharing
  std::set<ElementId> working_;  ///< processes with threads that run beside others, and those that started these
  std::vector<StretchFacts> facts_;
  std::vector<std::vector<int64_t>> stacks_;  ///< stacks of samples, by stretch; empty or as long as facts_
  std::map<Step, StepSum> steps_;
  std::unordered_map<ElementId, Part> parts_;
  std::vector<std::pair<size_t, const TimedSample*>> beside_;  ///< samples between stretches, by the number of these
};

/// Launchers and what starts and ends a job are no part of its work.
void Causes::FindRanks() {
  for (const model::Element& element : meta_.elements) {
    if (element.kind != model::ElementKind::kProcess) continue;
    const model::Element* parent = meta_.FindElement(element.parent);
    if (parent != nullptr && parent->kind == model::ElementKind::kRank) ranks_.insert(element.id);
  }
}

void Causes::LookAt(const LongWait& wait, const LoneStretch& stretch, StretchFacts& facts) const {
  const int64_t overlap_ns = std::min(wait.end_ns, stretch.end_ns) - std::max(wait.start_ns, stretch.start_ns);
  if (static_cast<double>(overlap_ns) < kMeanwhile * static_cast<double>(stretch.LengthNs())) return;
  if (wait.thread == stretch.thread) {
    facts.is_waiting = true;
    return;
  }
  const auto life = lives_.find(wait.thread);
  if (life != lives_.end() &&
      static_cast<double>(wait.LengthNs()) >= kParked * static_cast<double>(life->second.LengthNs()))
    return;
  facts.has_own_class = facts.has_own_class || HasOwnClass(wait.kind);
  facts.is_woken_for = facts.is_woken_for || IsWoken(wait.kind);
}

void Causes::LookAtWaits() {
  for (const LongWait& wait : times_.waits) {
    if (wait.kind != SyncKind::kCreate) continue;
    starts_.push_back(wait);
    waits_of_[wait.thread];
  }
  for (const LongWait& wait : times_.waits) {
    if (const auto found = waits_of_.find(wait.thread); found != waits_of_.end()) found->second.push_back(wait);
  }
  std::vector<const LongWait*> waiting;
  size_t next = 0;
  for (size_t i = 0; i < times_.stretches.size(); ++i) {
    const LoneStretch& stretch = times_.stretches[i];
    for (; next < times_.waits.size() && times_.waits[next].start_ns < stretch.end_ns; ++next) {
      if (waiting.size() < kMaxWaiting) waiting.push_back(&times_.waits[next]);
    }
    std::erase_if(waiting, [&](const LongWait* wait) { return wait->end_ns <= stretch.start_ns; });
    for (const LongWait* wait : waiting) LookAt(*wait, stretch, facts_[i]);
  }
}

void Causes::LookAtSamples() {
  stacks_.resize(facts_.size());
  std::unordered_map<ElementId, double> used;  // by process
  size_t begun = 0;                            // stretches that began before the sample
  for (const TimedSample& sample : times_.samples) {
    while (begun < times_.stretches.size() && times_.stretches[begun].start_ns < sample.t_ns) ++begun;
    const LoneStretch* last = begun == 0 ? nullptr : &times_.stretches[begun - 1];
    const auto ns = static_cast<double>(sample.weight_ns);
    double& process_ns = used[ProcessOf(sample.thread)];
    process_ns += ns;
    if (last != nullptr && last->thread == sample.thread && sample.t_ns <= last->end_ns) {
      stacks_[begun - 1].push_back(sample.stack);
      facts_[begun - 1].run_ns += ns;
      facts_[begun - 1].starting += process_ns <= kStartNs ? 1 : 0;
      parts_[sample.thread].lone_ns += ns;
      steps_[StepOf(sample.stack)].all_ns += ns;
    } else {
      beside_.emplace_back(begun, &sample);
      parts_[sample.thread].parallel_ns += ns;
    }
  }
}

/// A program that is started for one step of many, as a linker by make, shares no work with the others.
void Causes::FindWorking() {
  for (const auto& [thread, part] : parts_) {
    if (part.parallel_ns < kTakesPart * (part.parallel_ns + part.lone_ns)) continue;
    ElementId process = ProcessOf(thread);
    while (process != 0 && working_.insert(process).second) {
      const auto parent = parent_of_.find(process);
      process = parent == parent_of_.end() ? 0 : parent->second;
    }
  }
}

/// Work of two threads between the same two stretches is done at once.
void Causes::CountShared() {
  std::map<Step, std::map<ElementId, double>> between;
  for (size_t i = 0; i < beside_.size(); ++i) {
    const TimedSample& sample = *beside_[i].second;
    between[StepOf(sample.stack)][sample.thread] += static_cast<double>(sample.weight_ns);
    if (i + 1 < beside_.size() && beside_[i + 1].first == beside_[i].first) continue;
    for (const auto& [step, threads] : between) {
      double all_ns = 0;
      double most_ns = 0;
      for (const auto& [thread, ns] : threads) {
        all_ns += ns;
        most_ns = std::max(most_ns, ns);
      }
      steps_[step].all_ns += all_ns;
      if (step.first != 0) steps_[step].shared_ns += all_ns - most_ns;
    }
    between.clear();
  }
  for (const auto& [number, sample] : beside_) {
    if (!IsShared(StepOf(sample->stack))) continue;
    Part& part = parts_[sample->thread];
    part.shared_ns += static_cast<double>(sample->weight_ns);
    part.first_shared_ns = std::min(part.first_shared_ns, sample->t_ns);
  }
  for (size_t i = 0; i < stacks_.size(); ++i) {
    if (stacks_[i].empty()) continue;
    Part& part = parts_[times_.stretches[i].thread];
    for (const int64_t stack : stacks_[i]) {
      ++part.lone_samples;
      if (!IsShared(StepOf(stack))) continue;
      ++part.lone_shared;
      ++facts_[i].shared;
    }
  }
}

/// Births read from /proc are exact to a hundredth of a second.
const LongWait* Causes::StartOf(int64_t birth_ns) const {
  constexpr int64_t kNearNs = 20'000'000;
  const LongWait* nearest = nullptr;
  for (auto at = std::ranges::lower_bound(starts_, birth_ns - kNearNs, {}, &LongWait::start_ns);
       at != starts_.end() && at->start_ns <= birth_ns + kNearNs; ++at) {
    if (nearest == nullptr || std::abs(at->start_ns - birth_ns) < std::abs(nearest->start_ns - birth_ns))
      nearest = &*at;
  }
  return nearest;
}

int64_t Causes::CompanyNs(const LoneStretch& stretch) const {
  int64_t first_ns = INT64_MAX;
  for (const auto& [birth_ns, thread] : births_) {
    if (thread != stretch.thread && birth_ns > stretch.start_ns) first_ns = std::min(first_ns, birth_ns);
  }
  return first_ns;
}

template <class Visit>
void Causes::VisitWaits(ElementId thread, const LoneStretch& stretch, const Visit& visit) const {
  const auto found = waits_of_.find(thread);
  if (found == waits_of_.end()) return;
  const auto& waits = found->second;  // one thread's waits are in order of their ends, too
  for (auto at = std::ranges::upper_bound(waits, stretch.start_ns, {}, &LongWait::end_ns);
       at != waits.end() && at->start_ns < stretch.end_ns; ++at)
    visit(*at, std::min(at->end_ns, stretch.end_ns) - std::max(at->start_ns, stretch.start_ns));
}

/// Whoever waited for others before it started the thread may have had to.
bool Causes::IsLate(const LoneStretch& stretch) const {
  const int64_t company_ns = CompanyNs(stretch);
  if (company_ns == INT64_MAX) return false;
  const LongWait* start = StartOf(company_ns);
  if (start == nullptr) return true;
  int64_t dependent_ns = 0;
  VisitWaits(start->thread, stretch, [&](const LongWait& wait, int64_t ns) {
    if (DependsOnOthers(wait.kind)) dependent_ns += ns;
  });
  return static_cast<double>(dependent_ns) < kMeanwhile * static_cast<double>(stretch.LengthNs());
}

void Causes::AddLate(const LoneStretch& stretch, LoneSum& late) const {
  const LongWait* start = StartOf(CompanyNs(stretch));
  if (start == nullptr) return;
  late.started_at[start->site] += static_cast<double>(stretch.LengthNs());
  VisitWaits(start->thread, stretch, [&](const LongWait& wait, int64_t ns) {
    if (wait.kind != SyncKind::kCreate) late.waited_at[wait.site] += static_cast<double>(ns);
  });
}

LoneSum* Causes::CauseOf(size_t index, LoneCauses& causes) const {
  const LoneStretch& stretch = times_.stretches[index];
  const StretchFacts& facts = facts_[index];
  if (facts.has_own_class || facts.is_waiting) return nullptr;
  const ElementId process = ProcessOf(stretch.thread);
  if (!ranks_.empty() && !ranks_.contains(process)) return nullptr;
  const auto found = parts_.find(stretch.thread);
  const bool has_samples = found != parts_.end();
  if (has_samples && !working_.contains(process)) return nullptr;
  const Part part = has_samples ? found->second : Part();
  // A master does not take part in what is done at once.
  const bool is_alone =
      has_samples ? part.parallel_ns < kTakesPart * (part.parallel_ns + part.lone_ns) : IsFirstThread(stretch.thread);
  // A stretch too short for a sample is judged by the thread's other samples.
  const auto samples = static_cast<int64_t>(stacks_[index].size());
  const bool is_unshared =
      has_samples && (samples > 0 ? 2 * facts.shared < samples : 2 * part.lone_shared < part.lone_samples);
  if (is_alone || is_unshared) return &causes.serial;
  if (has_samples && part.first_shared_ns > stretch.end_ns) return IsLate(stretch) ? &causes.late : nullptr;
  return &causes.tail;
}

void Causes::Sort(size_t index, LoneCauses& causes) {
  const LoneStretch& stretch = times_.stretches[index];
  LoneSum* sum = CauseOf(index, causes);
  if (sum == nullptr) return;
  const auto ns = static_cast<double>(stretch.LengthNs());
  if (sum == &causes.late) AddLate(stretch, *sum);
  sum->alone_ns += ns;
  sum->by_thread[stretch.thread] += ns;
  ++sum->stretches;
  const StretchFacts& facts = facts_[index];
  sum->running[stretch.thread] += std::min(facts.run_ns, ns);
  if (facts.is_woken_for) sum->woken_ns += ns;
  if (stacks_[index].empty()) return;
  const auto samples = static_cast<double>(stacks_[index].size());
  sum->starting_ns += ns * static_cast<double>(facts.starting) / samples;
  for (const int64_t stack : stacks_[index]) sum->code.Add(paths_.Of(stack), ns / samples);
}

/// Whether a thread goes on beside the others with what it alone does, and does not wait for them: a producer, or a
/// stage of a pipeline. A master waits while the others work; one that takes part does what they do.
bool Causes::IsProducer(ElementId thread) const {
  const auto found = parts_.find(thread);
  if (found == parts_.end()) return false;
  const Part& part = found->second;
  if (part.shared_ns >= kTakesPart * part.parallel_ns && part.shared_ns > 0) return false;
  if (const auto activity = times_.activity.find(thread); activity != times_.activity.end()) {
    const int64_t beside_ns = SaturatingSub(activity->second.active_ns, activity->second.alone_ns);
    return static_cast<double>(beside_ns) >= kBeside * static_cast<double>(times_.parallel_ns);
  }
  const auto life = lives_.find(thread);
  return life != lives_.end() &&
         part.lone_ns + part.parallel_ns >= kBusy * static_cast<double>(life->second.LengthNs());
}

void Causes::FindLockStep(LoneSum& sum) const {
  double ns = 0;
  double woke_ns = 0;
  for (const auto& [thread, alone_ns] : sum.by_thread) {
    if (const auto activity = times_.activity.find(thread); activity != times_.activity.end())
      woke_ns += std::min(alone_ns, static_cast<double>(activity->second.woke_ns));
    if (IsProducer(thread)) ns += alone_ns;
  }
  sum.woken_ns = std::max(sum.woken_ns, woke_ns);
  sum.in_lock_step = sum.alone_ns > 0 ? ns / sum.alone_ns : 0;
}

}  // namespace

LoneCauses FindLoneCauses(const LoneTimes& times, const std::vector<ThreadLife>& lives, const model::Metadata& meta,
                          const SampleSums& samples, const SiteNames& names) {
  if (times.stretches.empty()) return {};
  return Causes(times, lives, meta, samples, names).Find();
}

}  // namespace attune::analysis
