#include "analysis/waits/critical_path.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/places/code_place.h"
#include "analysis/waits/sync_sums.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr size_t kMaxWhatIfs = 16;

/// Walks back from the end, on the thread that the time belongs to.
class PathWalk {
 public:
  explicit PathWalk(const WaitGraph& graph)
      : graph_(graph), waits_(graph.threads.size()), on_path_(graph.threads.size()) {
    for (const GraphWait& wait : graph.waits) waits_[wait.thread].push_back(&wait);
  }

  CriticalPath Walk() {
    path_.process = graph_.process;
    path_.length_ns = graph_.LengthNs();
    thread_ = LastToEnd();
    t_ns_ = graph_.end_ns;
    while (t_ns_ > graph_.start_ns && Step()) {
    }
    for (uint32_t i = 0; i < on_path_.size(); ++i) {
      if (on_path_[i] > 0) path_.threads.push_back({.thread = graph_.threads[i].thread, .ns = on_path_[i]});
    }
    for (const auto& [id, object] : objects_) path_.objects.push_back(object);
    std::ranges::stable_sort(path_.threads, std::greater{}, &PathThread::ns);
    std::ranges::stable_sort(path_.objects, [](const PathObject& a, const PathObject& b) {
      return std::pair(a.ns, a.times) > std::pair(b.ns, b.times);
    });
    return std::move(path_);
  }

 private:
  /// Thread that ends last. All end together while the program runs: then the one whose last wait ended last.
  uint32_t LastToEnd() const {
    const auto ended = [this](uint32_t i) {
      return std::pair(graph_.threads[i].end_ns,
                       waits_[i].empty() ? graph_.threads[i].start_ns : waits_[i].back()->end_ns);
    };
    uint32_t last = 0;
    for (uint32_t i = 1; i < graph_.threads.size(); ++i) {
      if (ended(i) > ended(last)) last = i;
    }
    return last;
  }

  void Work(int64_t from_ns) {
    on_path_[thread_] += std::max<int64_t>(0, t_ns_ - from_ns);
    t_ns_ = std::min(t_ns_, from_ns);
  }

  /// The thread's last wait that ended by now, and began before: those behind it are done with. nullptr: none is left.
  const GraphWait* LastWait() {
    std::vector<const GraphWait*>& waits = waits_[thread_];
    while (!waits.empty() && (waits.back()->end_ns > t_ns_ || waits.back()->start_ns >= t_ns_)) waits.pop_back();
    return waits.empty() ? nullptr : waits.back();
  }

  /// @return false: the start is reached
  bool Step() {
    const ThreadLife& life = graph_.threads[thread_];
    const GraphWait* wait = LastWait();
    if (wait == nullptr || wait->end_ns <= life.start_ns) {
      Work(life.start_ns);
      if (thread_ == 0) return false;
      thread_ = 0;  // its creator is not recorded; mostly the first thread
      return true;
    }
    Work(wait->end_ns);
    const int64_t went_on_ns = t_ns_;
    if (!wait->IsKnown()) {
      path_.unknown_ns += t_ns_ - std::min(t_ns_, wait->start_ns);
      t_ns_ = std::min(t_ns_, wait->start_ns);
      return true;
    }
    thread_ = static_cast<uint32_t>(wait->releaser);
    t_ns_ = std::clamp(wait->released_ns, wait->start_ns, went_on_ns);
    PathObject& object = objects_[wait->object];
    object.object = wait->object;
    ++object.times;
    object.ns += went_on_ns - t_ns_;
    path_.handing_over_ns += went_on_ns - t_ns_;
    // Two threads may have released each other at one moment: without this the walk would go back and forth forever.
    waits_[wait->thread].pop_back();
    return true;
  }

  const WaitGraph& graph_;
  std::vector<std::vector<const GraphWait*>> waits_;  ///< by thread: waits that the walk has not passed
  std::vector<int64_t> on_path_;                      ///< nanoseconds, by thread
  std::unordered_map<ElementId, PathObject> objects_;
  CriticalPath path_;
  uint32_t thread_ = 0;
  int64_t t_ns_ = 0;
};

/// By how much earlier each thread is at the moments of the recording, without waiting for one object.
class Replay {
 public:
  Replay(const WaitGraph& graph, ElementId without)
      : graph_(graph),
        without_(without),
        earlier_(graph.threads.size()),
        last_to_come_(graph.rounds.size(), model::kAbsent) {}

  int64_t SavedNs() {
    // In order of time: what ended a wait happened before the wait's end, and what that thread had saved by then is
    // asked for in that order too.
    const std::vector<uint32_t>& releases = graph_.releases;
    std::vector<int64_t> earlier_at_release(graph_.waits.size());
    size_t next = 0;
    StartThreads(graph_.start_ns);
    for (size_t i = 0; i < graph_.waits.size(); ++i) {
      const GraphWait& wait = graph_.waits[i];
      for (; next < releases.size() && graph_.waits[releases[next]].released_ns <= wait.end_ns; ++next) {
        const GraphWait& released = graph_.waits[releases[next]];
        StartThreads(released.released_ns);
        earlier_at_release[releases[next]] = earlier_[static_cast<uint32_t>(released.releaser)];
      }
      StartThreads(wait.end_ns);
      End(wait, earlier_at_release[i]);
    }
    StartThreads(INT64_MAX);
    int64_t end_ns = graph_.start_ns;
    for (size_t i = 0; i < earlier_.size(); ++i) end_ns = std::max(end_ns, graph_.threads[i].end_ns - earlier_[i]);
    return std::clamp<int64_t>(graph_.end_ns - end_ns, 0, graph_.LengthNs());
  }

 private:
  /// Threads that began by then came as much earlier as the first thread was.
  void StartThreads(int64_t t_ns) {
    for (; started_ < graph_.threads.size() && graph_.threads[started_].start_ns <= t_ns; ++started_) {
      if (started_ > 0) earlier_[started_] = earlier_[0];
    }
  }

  /// When all who meet there have come, as the first of them goes on: until then each still is as much earlier as it
  /// was when it came.
  int64_t LastToCome(int32_t round) {
    int64_t& last = last_to_come_[static_cast<size_t>(round)];
    if (last != model::kAbsent) return last;
    last = 0;
    for (const uint32_t i : graph_.rounds[static_cast<size_t>(round)])
      last = std::max(last, graph_.waits[i].start_ns - earlier_[graph_.waits[i].thread]);
    return last;
  }

  void End(const GraphWait& wait, int64_t releaser_earlier) {
    int64_t& earlier = earlier_[wait.thread];
    const int64_t came = wait.start_ns - earlier;
    if (wait.round >= 0) {
      const int64_t last = LastToCome(wait.round);
      if (wait.object == without_) {
        earlier = wait.end_ns - came;
      } else if (wait.IsKnown()) {
        earlier = wait.end_ns - std::max(came, last + wait.end_ns - wait.released_ns);
      }
    } else if (wait.object == without_) {
      earlier = wait.end_ns - came;
    } else if (wait.IsKnown()) {
      // It ends as long after its release as it did, but not before it began.
      earlier = wait.end_ns - std::max(came, wait.end_ns - releaser_earlier);
    }
    earlier = std::clamp(earlier, -kMostGraphNs, kMostGraphNs);
  }

  const WaitGraph& graph_;
  const ElementId without_;
  std::vector<int64_t> earlier_;       ///< nanoseconds, of each thread
  std::vector<int64_t> last_to_come_;  ///< last arrival, by round; kAbsent: nobody has gone on yet
  size_t started_ = 0;
};

void Name(const model::Metadata& meta, CriticalPath& path) {
  const auto name_of = [&meta](ElementId id) {
    const model::Element* element = meta.FindElement(id);
    if (element == nullptr) return std::string();
    return element->kind == model::ElementKind::kProcess ? ProcessName(*element) : element->name;
  };
  for (PathThread& thread : path.threads) {
    const model::Element* element = meta.FindElement(thread.thread);
    if (element != nullptr) thread.tid = element->os_id;
    thread.name = name_of(thread.thread);
  }
  for (PathObject& object : path.objects) object.name = name_of(object.object);
  for (WhatIf& what_if : path.what_ifs) what_if.name = name_of(what_if.object);
}

}  // namespace

CriticalPath FindCriticalPath(const WaitGraph& graph) {
  return graph.threads.empty() ? CriticalPath{} : PathWalk(graph).Walk();
}

int64_t SavedWithout(const WaitGraph& graph, ElementId object) { return Replay(graph, object).SavedNs(); }

CriticalPath JudgeCriticalPath(const model::Metadata& meta, const WaitGraph& graph, int64_t least_waited_ns) {
  CriticalPath path = FindCriticalPath(graph);
  std::unordered_map<ElementId, int64_t> waited;
  for (const GraphWait& wait : graph.waits) {
    if (!IsIdling(wait.kind)) AddTo(waited[wait.object], wait.end_ns - wait.start_ns);
  }
  std::vector<std::pair<int64_t, ElementId>> most;
  for (const auto& [object, ns] : waited) {
    if (ns >= least_waited_ns) most.emplace_back(ns, object);
  }
  std::ranges::sort(most, std::greater{});
  if (most.size() > kMaxWhatIfs) most.resize(kMaxWhatIfs);
  for (const auto& [ns, object] : most)
    path.what_ifs.push_back({.object = object, .saved_ns = SavedWithout(graph, object)});
  std::ranges::stable_sort(path.what_ifs, std::greater{}, &WhatIf::saved_ns);
  Name(meta, path);
  return path;
}

}  // namespace attune::analysis
