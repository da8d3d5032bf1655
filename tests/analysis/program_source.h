#pragma once
/// A process with threads that live for a second, and what they wait for: what most tests of waits begin with.

#include <string>
#include <utility>
#include <vector>

#include "fake_source.h"

namespace attune::analysis {

inline constexpr int64_t kMs = 1'000'000;

struct ProgramSource : FakeSource {
  ProgramSource(const std::string& name, int threads) {
    extent = {0, 1000 * kMs};
    process = AddElement(model::ElementKind::kProcess, name, 0, 100);
    meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 1000 * kMs});
    for (int i = 0; i < threads; ++i) AddThread(100 + i);
  }
  /// From the start to the end.
  model::ElementId AddThread(int64_t tid, const std::string& name = "") {
    thread.push_back(AddElement(model::ElementKind::kThread, name, process, tid));
    meta.elements.back().start_ns = 0;
    meta.elements.back().end_ns = 1000 * kMs;
    return thread.back();
  }
  model::ElementId Object(const std::string& name) { return AddElement(model::ElementKind::kLock, name, process); }
  /// A place in the code. @param frames what its names are; their ids are set here
  model::ElementId Place(const std::string& name, std::vector<model::Site> frames = {}) {
    const model::ElementId id = AddElement(model::ElementKind::kSite, name, process);
    for (model::Site& frame : frames) {
      frame.id = id;
      meta.sites.push_back(frame);
    }
    return id;
  }
  /// A wait as an event and in the sums.
  void Wait(model::ElementId who, model::ElementId object, model::ElementId site, wire::SyncKind kind, int64_t from_ms,
            int64_t to_ms) {
    const int64_t ns = (to_ms - from_ms) * kMs;
    events.push_back({to_ms * kMs, who, wire::EventKind::kWait, object, ns, site, static_cast<int64_t>(kind)});
    sync.push_back({to_ms * kMs, who, object, site, kind, 1, 1, ns, 0, 0});
  }

  /// Time in a state, as the scheduler's switches say, as a reading at a moment.
  void State(model::ElementId element, model::TimeState state, int64_t ms, int64_t until_ms = 1000) {
    state_times.push_back({.t_ns = until_ms * kMs, .element = element, .state = state, .ns = ms * kMs, .count = 1});
  }

  model::ElementId process;
  std::vector<model::ElementId> thread;
};

}  // namespace attune::analysis
