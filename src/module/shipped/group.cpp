/// The monitoring module `group`: metrics of groups of events (attune list groups, a user's own too) as virtual
/// counters, so that they are charted, watched by alarms and objectives of tuning. Its argument names the groups.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <list>
#include <map>
#include <vector>

#include "base/text.h"
#include "counter/event_group.h"
#include "module/shipped/c_table.h"
#include "module/shipped/thread_map.h"

namespace attune::shipped {
namespace {

using counter::EventGroup;
using counter::GroupMetric;

/// Virtual counters have no other characters in their names.
std::string NameOf(const GroupMetric& metric) {
  std::string name = metric.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') c = '-';
  }
  return name;
}

class Groups {
 public:
  static constexpr const char* kName = "group";
  static constexpr const char* kDescription = "metrics of groups of events: group=ipc,scheduler (attune list groups)";
  static constexpr bool kHasArgument = true;

  Status Open(const Setup& setup) {
    if (setup.Argument().empty())
      return Error{Errc::kInvalidArgument, "it needs the names of groups", "group=ipc; attune list groups names them"};
    ATTUNE_TRY(groups_, counter::AllGroups());
    for (const std::string_view name : Split(setup.Argument(), ",")) {
      ATTUNE_TRY(const EventGroup* const group, counter::FindGroup(groups_, name));
      ATTUNE_CHECK_OK(Add(setup, *group));
    }
    if (!metrics_.empty()) return {};
    return Error{Errc::kUnavailable, fmt::format("this machine does not count {}", fmt::join(missing_, ", ")),
                 "virtual machines often have no counters of the processor"};
  }

  void OnSample(const attune_module_thread& of, const Sample& sample, Values values) {
    Thread* const thread = threads_.FindOrAdd(of.tid);
    if (thread == nullptr) return;
    thread->Add(sample, counters_.size());
    // The kernel accounts CPU time at its ticks: in a shorter time a thread seems to have had several CPUs, or none.
    const bool is_whole_life = sample->kind == ATTUNE_SAMPLE_EXIT && !thread->has_values;
    if (thread->ns < kLeastNs && !is_whole_life) return;
    std::vector<std::optional<double>> counts;
    for (const Metric& metric : metrics_) {
      counts.clear();
      for (const int counter : metric.counters)
        counts.push_back(counter >= 0 ? thread->counts[static_cast<size_t>(counter)] : std::nullopt);
      counts.emplace_back(static_cast<double>(thread->ns) * 1e-9);
      values.Set(metric.place, metric.of->formula.Value(counts));
    }
    *thread = {.has_values = true, .counts = {}};
  }
  void OnFree(const attune_module_thread& of) { threads_.Erase(of.tid); }

 private:
  static constexpr int64_t kLeastNs = 20'000'000;

  /// Samples that have no values yet.
  struct Thread {
    bool has_values = false;  ///< of samples before
    int64_t ns = 0;
    std::vector<std::optional<double>> counts;  ///< nullopt: not known of all of them

    void Add(const Sample& sample, size_t counters) {
      if (counts.empty()) counts.assign(counters, 0.0);
      for (size_t i = 0; i < counters; ++i) {
        const std::optional<double> count = sample.Count(static_cast<int>(i));
        counts[i] = counts[i] && count ? std::optional(*counts[i] + *count) : std::nullopt;
      }
      ns += sample->interval_ns;
    }
  };

  struct Metric {
    const GroupMetric* of = nullptr;
    std::vector<int> counters;  ///< of the group's events; -1: it is not counted
    int place = -1;             ///< among the values
  };

  Status Add(const Setup& setup, const EventGroup& group) {
    std::vector<int> counters;
    for (const counter::GroupEvent& event : group.events) counters.push_back(Counter(setup, event));
    for (const GroupMetric& metric : group.metrics) {
      bool is_there = true;
      for (size_t i = 0; i < counters.size(); ++i) is_there &= counters[i] >= 0 || !metric.formula.Has(i);
      if (!is_there) continue;
      const std::string& name = names_.emplace_back(NameOf(metric));
      ATTUNE_TRY(const int place,
                 setup.AddVirtual(ATTUNE_OF_THREAD, name.c_str(), metric.unit.empty() ? "1" : metric.unit.c_str(),
                                  metric.about.c_str()));
      metrics_.push_back({.of = &metric, .counters = counters, .place = place});
    }
    return {};
  }

  /// Groups that need the same events count them once.
  int Counter(const Setup& setup, const counter::GroupEvent& event) {
    const std::string names = fmt::format("{}", fmt::join(event.names, "|"));
    const auto [found, is_new] = counters_.try_emplace(names, -1);
    if (is_new) found->second = setup.AddCounter(names.c_str());
    if (is_new && found->second < 0) missing_.push_back(event.names.front());
    return found->second;
  }

  std::vector<EventGroup> groups_;
  std::vector<Metric> metrics_;
  std::map<std::string, int> counters_;  ///< places by names
  ThreadMap<Thread> threads_;
  std::vector<std::string> missing_;
  std::list<std::string> names_;  ///< of the virtual counters
};

}  // namespace
}  // namespace attune::shipped

const attune_module* attune_module_entry(void) { return attune::shipped::Table<attune::shipped::Groups>(); }
