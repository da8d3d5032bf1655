#include "cli/counters/row_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"

namespace attune::cli {

using counter::NamedEvent;

Result<std::unique_ptr<RowModules>> RowModules::Start(const std::vector<PluginChoice>& choices, const HostRoot& host,
                                                      const std::vector<counter::Pmu>& pmus,
                                                      std::vector<NamedEvent>& events) {
  auto rows = std::make_unique<RowModules>();
  for (const PluginChoice& choice : choices) {
    modules::ModuleOptions options{.choice = choice, .open = {}};
    options.open.core_capacity = rows->core_types_.Capacities();
    auto process = modules::ModuleProcess::Start(options);
    if (!process.ok()) return process.error().WithContext("--module");
    Active& active = rows->modules_.emplace_back(*std::move(process), rows->core_types_);
    for (size_t i = 0; i < active.hello.virtuals.size(); ++i) {
      if (!active.hello.virtuals[i].is_of_machine) active.virtuals.push_back(i);
    }
    if (active.virtuals.empty())
      return Error{Errc::kInvalidArgument,
                   fmt::format("--module {}: it has no virtual counters of threads", choice.name),
                   fmt::format("attune run --module {} records those of the machine", choice.name)};
    for (const std::string& name : session::ModuleFeed::EventsOf(active.hello)) {
      auto found = std::ranges::find(events, name, &NamedEvent::name);
      if (found == events.end()) {
        ATTUNE_TRY(auto parsed, counter::ParseEvents(host, pmus, name));
        found = events.insert(events.end(), std::move(parsed.front()));
      }
      active.events.push_back(static_cast<size_t>(found - events.begin()));
    }
    active.ticked_ns = MonotonicNs();
  }
  return rows;
}

std::vector<NamedEvent> RowModules::Columns() const {
  std::vector<NamedEvent> columns;
  for (const Active& active : modules_) {
    for (const size_t i : active.virtuals) {
      const modules::VirtualCounter& counter = active.hello.virtuals[i];
      columns.push_back({.name = fmt::format("{}.{}", active.hello.name, counter.name),
                         .parts = {},
                         .unit = counter.unit == "1" ? "" : counter.unit});
    }
  }
  return columns;
}

unsigned RowModules::Tells() const {
  unsigned tells = 0;
  for (const Active& active : modules_) tells |= session::ModuleFeed::TellsOf(active.hello);
  return tells;
}

int64_t RowModules::IntervalNs() const {
  int64_t shortest_ns = std::numeric_limits<int64_t>::max();
  for (const Active& active : modules_) shortest_ns = std::min(shortest_ns, active.hello.interval_ns);
  return shortest_ns;
}

void RowModules::Take(const counter::ThreadCounts& thread) {
  for (Active& active : modules_) {
    if (!active.problem.empty()) continue;
    counter::ThreadCounts own = thread;
    own.counts.clear();
    for (const size_t event : active.events) own.counts.push_back(thread.counts[event]);
    active.feed.Take(own, active.process);
  }
}

void RowModules::Drain(Active& active) {
  if (!active.problem.empty()) return;
  const int64_t now_ns = MonotonicNs();
  if (now_ns - active.ticked_ns >= active.hello.interval_ns) {
    active.process.Tick(now_ns);
    active.ticked_ns = now_ns;
  }
  const Status drained = active.process.Drain([&](const modules::ValueRow& row) {
    if (row.tid == 0 || active.feed.Find(row.tid) == nullptr) return;
    std::vector<double>& values = active.values[{row.tid, row.t_ns}];
    values.resize(active.hello.virtuals.size(), std::numeric_limits<double>::quiet_NaN());
    values[row.virtual_counter] = row.value;
  });
  if (!drained.ok()) active.problem = drained.error().message;
}

void RowModules::Complete(std::span<ThreadRow> rows) {
  for (Active& active : modules_) {
    Drain(active);
    for (ThreadRow& row : rows) {
      // Values of moments without a row count, too.
      const pid_t tid = row.thread.tid;
      std::vector<double>& last = active.last[tid];
      auto at = active.values.lower_bound({tid, row.thread.start_ns});
      for (; at != active.values.end() && at->first.first == tid && at->first.second <= row.thread.end_ns; ++at)
        last = at->second;
      for (const size_t i : active.virtuals) {
        const bool is_known = i < last.size() && !std::isnan(last[i]);
        row.thread.counts.push_back({.value = is_known ? last[i] : 0, .is_known = is_known});
      }
      if (row.thread.HasEnded()) active.last.erase(tid);
    }
    for (const auto& [moment, values] : std::exchange(active.values, {})) {
      const session::ModuleFeed::Thread* const thread = active.feed.Find(moment.first);
      if (thread != nullptr && thread->ended_ns == 0) active.last[moment.first] = values;
    }
    active.feed.Forget(MonotonicNs());
  }
}

std::vector<counter::EventNote> RowModules::Notes() const {
  std::vector<counter::EventNote> notes;
  for (const Active& active : modules_) {
    if (!active.problem.empty())
      notes.push_back({"module " + active.hello.name, active.problem + "; it has no values from then on"});
    if (active.process.lost() > 0)
      notes.push_back(
          {"module " + active.hello.name, fmt::format("{} notices were lost: it is too slow", active.process.lost())});
  }
  return notes;
}

}  // namespace attune::cli
