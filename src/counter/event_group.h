#pragma once
/// Groups of events with metrics computed of their counts: files that attune ships (catalog/counters/groups/*.toml) and
/// a user's own (docs/counters.md).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/catalog_files.h"
#include "base/expression.h"
#include "counter/counter_set.h"
#include "counter/event.h"

namespace attune::counter {

/// Arithmetic over counts, as in "1000 * misses / instructions".
class MetricFormula {
 public:
  /// @param names of the values. Error: kInvalidArgument, with the column and what is expected there
  static Result<MetricFormula> Parse(std::string_view text, std::span<const std::string> names);
  /// @param values in the order of the names. @return nullopt: one that it needs is not known, or it divides by 0
  std::optional<double> Value(std::span<const std::optional<double>> values) const;
  /// Whether it needs a value.
  bool Has(size_t value) const;

 private:
  friend class MetricFormulaParser;
  struct Step {
    enum class Kind : uint8_t { kNumber, kValue, kOperator };
    Kind kind;
    double number = 0;
    size_t value = 0;
    Arithmetic arithmetic = Arithmetic::kAdd;
  };
  std::vector<Step> steps_;
};

struct GroupMetric {
  std::string name;   ///< "IPC"
  std::string unit;   ///< "GHz", "%"; empty: a bare number
  std::string about;  ///< sentence
  std::string text;   ///< its formula
  MetricFormula formula;
};
struct GroupEvent {
  std::string alias;               ///< in formulas
  std::vector<std::string> names;  ///< of which the first that this machine has is counted
};
struct EventGroup {
  std::string name;
  std::string about;
  std::vector<GroupEvent> events;
  std::vector<GroupMetric> metrics;  ///< their values: the events', and seconds
};

/// @param text foreign bytes  @param file how messages call it
Result<std::vector<EventGroup>> ParseGroups(std::string_view text, std::string_view file);

/// The files of catalog/counters/groups.
std::span<const ShippedFile> ShippedGroupFiles();
/// Those that attune ships, and those of ~/.config/attune/groups.toml and of the folder ~/.config/attune/groups. Files
/// that are wrong are left out (bad_files.h).
Result<std::vector<EventGroup>> AllGroups();
/// Error: kNotFound, with the names that are near
Result<const EventGroup*> FindGroup(std::span<const EventGroup> groups, std::string_view name);

/// Metrics of groups, as far as the machine has their events.
class GroupMetrics {
 public:
  /// Adds the group's events to those that are counted; one that is counted already is not counted twice.
  void Add(const HostRoot& host, const std::vector<Pmu>& pmus, const EventGroup& group,
           std::vector<NamedEvent>& events);
  /// The same of events that were counted already, in a recording for example.
  void AddRecorded(const EventGroup& group, const std::vector<NamedEvent>& events);
  /// As columns behind the events: without parts.
  std::vector<NamedEvent> Columns() const;
  /// Adds the metrics to the counts of the events. @param seconds in which these were counted
  void Complete(std::vector<EventCount>& counts, double seconds) const;
  /// Metrics that this machine cannot have, and why.
  const std::vector<EventNote>& notes() const { return notes_; }

 private:
  /// @param counted one of each of the group's events, or kNoEvent  @param why there is none
  void AddMetrics(const EventGroup& group, const std::vector<size_t>& counted, const std::vector<std::string>& why);

  struct Column {
    GroupMetric metric;
    std::vector<size_t> events;  ///< counted one of each of the group's events
  };
  std::vector<Column> columns_;
  std::vector<EventNote> notes_;
};

}  // namespace attune::counter
