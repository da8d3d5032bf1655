#include "counter/event_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/toml_table.h"
#include "base/units.h"
#include "counter/bad_files.h"

namespace attune::counter {
namespace {

constexpr std::string_view kSeconds = "seconds";
/// Number in the place of an event that the machine does not have.
constexpr size_t kNoEvent = SIZE_MAX;

bool IsAlias(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); }) && name != "min" &&
         name != "max" && name != kSeconds;
}

std::vector<GroupEvent> ReadEvents(TomlTable& table, TomlMistakes& mistakes) {
  std::vector<GroupEvent> events;
  const toml::table* node = table.Table("events");
  if (node == nullptr) return events;
  TomlTable names(*node, "events", mistakes);
  for (const auto& [key, value] : *node) {
    GroupEvent event{.alias = std::string(key.str()), .names = names.Texts(key.str())};
    if (!IsAlias(event.alias))
      names.Fail(key.str(), "is no name: letters, digits and _, not min, max or seconds, which formulas have");
    if (event.names.empty()) names.Fail(key.str(), "has no event");
    events.push_back(std::move(event));
  }
  names.Finish();
  return events;
}

/// Names that are taken in a file or a group.
class TakenNames {
 public:
  explicit TakenNames(std::string what) : what_(std::move(what)) {}
  void Take(const toml::table& node, const std::string& name, TomlMistakes& mistakes) {
    const toml::node* const place = node.get("name");
    if (place == nullptr || name.empty()) return;
    const auto [known, is_new] = lines_.try_emplace(name, place->source().begin.line);
    if (is_new) return;
    mistakes.Add(place->source(), fmt::format("{} '{}' is there twice: also in line {}", what_, name, known->second));
  }

 private:
  const std::string what_;
  std::map<std::string, toml::source_index> lines_;
};

std::string NameIn(const toml::table& node) {
  const toml::node* const name = node.get("name");
  return name == nullptr ? "" : name->value_exact<std::string>().value_or("");
}

GroupMetric ReadMetric(const toml::table& node, const std::string& group, std::span<const std::string> names,
                       TomlMistakes& mistakes) {
  TomlTable table(node, fmt::format("metric '{}' of group '{}'", NameIn(node), group), mistakes);
  if (const toml::node* const text = node.get("formula"); text != nullptr && text->value_exact<std::string>() == "")
    table.Fail("formula", fmt::format("is empty: arithmetic over {} is wanted", fmt::join(names, ", ")),
               "as in formula = \"1000 * misses / instructions\"");
  GroupMetric metric;
  metric.name = table.RequiredText("name");
  metric.unit = table.Text("unit", "");
  metric.about = table.Text("about", "");
  metric.text = table.RequiredText("formula");
  auto formula = MetricFormula::Parse(metric.text, names);
  if (formula.ok()) {
    metric.formula = *std::move(formula);
  } else if (!metric.text.empty()) {
    table.Fail("formula", formula.error().message, formula.error().hint);
  }
  table.Finish();
  return metric;
}

EventGroup ReadGroup(const toml::table& node, TomlMistakes& mistakes) {
  TomlTable table(node, "group", mistakes);
  EventGroup group;
  group.name = table.RequiredText("name");
  group.about = table.Text("about", "");
  group.events = ReadEvents(table, mistakes);
  std::vector<std::string> names;
  for (const GroupEvent& event : group.events) names.push_back(event.alias);
  names.emplace_back(kSeconds);
  TakenNames taken(fmt::format("group '{}': the metric", group.name));
  for (const toml::table* metric : table.Tables("metric")) {
    group.metrics.push_back(ReadMetric(*metric, group.name, names, mistakes));
    taken.Take(*metric, group.metrics.back().name, mistakes);
  }
  if (group.events.empty()) table.Fail("events", "a group has at least one event", R"(events = { cycles = "cycles" })");
  table.Finish();
  return group;
}

double Apply(Arithmetic arithmetic, double a, double b) {
  switch (arithmetic) {
    case Arithmetic::kAdd: return a + b;
    case Arithmetic::kSubtract: return a - b;
    case Arithmetic::kMultiply: return a * b;
    case Arithmetic::kDivide: return a / b;
    case Arithmetic::kMin: return std::min(a, b);
    case Arithmetic::kMax: return std::max(a, b);
  }
  return 0;
}

/// Bound of a metric: the counts are off by their bounds, each by itself.
/// @param values of the formula  @param bounds of the events
double BoundOf(const MetricFormula& formula, double metric, std::vector<std::optional<double>> values,
               std::span<const double> bounds) {
  double bound = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] == 0 || !values[i]) continue;
    const double count = *values[i];
    values[i] = count + bounds[i];
    if (const auto moved = formula.Value(values)) bound = std::hypot(bound, *moved - metric);
    values[i] = count;
  }
  return bound;
}

}  // namespace

class MetricFormulaParser final : ExpressionParser {
 public:
  MetricFormulaParser(std::string_view text, std::span<const std::string> names)
      : ExpressionParser(text, "the name of an event"), names_(names) {}
  Result<MetricFormula> Parse() {
    ATTUNE_CHECK_OK(ParseAll());
    return std::move(formula_);
  }

 private:
  using Step = MetricFormula::Step;
  void Number(double number) override { formula_.steps_.push_back({.kind = Step::Kind::kNumber, .number = number}); }
  void Operate(Arithmetic arithmetic) override {
    formula_.steps_.push_back({.kind = Step::Kind::kOperator, .arithmetic = arithmetic});
  }
  Status Operand(std::string_view name, std::string_view at) override {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      GoBackTo(at);
      Error error = Unexpected("the name of an event");
      error.hint = DidYouMean(name, {names_.begin(), names_.end()});
      return error;
    }
    formula_.steps_.push_back({.kind = Step::Kind::kValue, .value = static_cast<size_t>(found - names_.begin())});
    return {};
  }

  std::span<const std::string> names_;
  MetricFormula formula_;
};

Result<MetricFormula> MetricFormula::Parse(std::string_view text, std::span<const std::string> names) {
  return MetricFormulaParser(text, names).Parse();
}

std::optional<double> MetricFormula::Value(std::span<const std::optional<double>> values) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kNumber) {
      stack.push_back(step.number);
    } else if (step.kind == Step::Kind::kValue) {
      if (!values[step.value]) return std::nullopt;
      stack.push_back(*values[step.value]);
    } else {
      const double b = stack.back();
      stack.pop_back();
      if (step.arithmetic == Arithmetic::kDivide && b == 0) return std::nullopt;
      stack.back() = Apply(step.arithmetic, stack.back(), b);
    }
  }
  // A number that overflows is none either.
  return stack.empty() || !std::isfinite(stack.back()) ? std::nullopt : std::optional(stack.back());
}

bool MetricFormula::Has(size_t value) const {
  return std::ranges::any_of(
      steps_, [value](const Step& step) { return step.kind == Step::Kind::kValue && step.value == value; });
}

Result<std::vector<EventGroup>> ParseGroups(std::string_view text, std::string_view file) {
  return ReadToml(text, file, "docs/counters.md", [](const toml::table& root, TomlMistakes& mistakes) {
    TomlTable table(root, "the file", mistakes);
    std::vector<EventGroup> groups;
    TakenNames taken("the group");
    for (const toml::table* node : table.Tables("group")) {
      groups.push_back(ReadGroup(*node, mistakes));
      taken.Take(*node, groups.back().name, mistakes);
    }
    table.Finish();
    return groups;
  });
}

Result<std::vector<EventGroup>> AllGroups() {
  return ReadCatalog<EventGroup>(ShippedGroupFiles(), "groups", ParseGroups, AddBadFile);
}

Result<const EventGroup*> FindGroup(std::span<const EventGroup> groups, std::string_view name) {
  std::vector<std::string> names;
  for (const EventGroup& group : groups) {
    if (group.name == name) return &group;
    names.push_back(group.name);
  }
  const std::string near = DidYouMean(name, names);
  return Error{Errc::kNotFound, fmt::format("there is no group of events '{}'", name),
               near.empty() ? "attune list groups lists them" : near};
}

void GroupMetrics::Add(const HostRoot& host, const std::vector<Pmu>& pmus, const EventGroup& group,
                       std::vector<NamedEvent>& events) {
  std::vector<size_t> counted;
  std::vector<std::string> why(group.events.size());
  for (size_t i = 0; i < group.events.size(); ++i) {
    counted.push_back(kNoEvent);
    const std::vector<std::string_view> names(group.events[i].names.begin(), group.events[i].names.end());
    auto found = FirstEventOf(host, pmus, names);
    if (!found.ok()) {
      why[i] = found.error().message;
      continue;
    }
    const auto known = std::ranges::find(events, found->name, &NamedEvent::name);
    counted.back() = static_cast<size_t>(known - events.begin());
    if (known == events.end()) events.push_back(*std::move(found));
  }
  AddMetrics(group, counted, why);
}

void GroupMetrics::AddRecorded(const EventGroup& group, const std::vector<NamedEvent>& events) {
  std::vector<size_t> counted;
  std::vector<std::string> why;
  for (const GroupEvent& wanted : group.events) {
    // With whatever modifier: cycles:u is cycles.
    const auto is_wanted = [&](const NamedEvent& event) {
      return std::ranges::any_of(wanted.names, [&](const std::string& name) {
        return event.name == name || event.name.starts_with(name + ":");
      });
    };
    const auto found = std::ranges::find_if(events, is_wanted);
    counted.push_back(found == events.end() ? kNoEvent : static_cast<size_t>(found - events.begin()));
    why.push_back(fmt::format("{} was not recorded", wanted.names.front()));
  }
  AddMetrics(group, counted, why);
}

void GroupMetrics::AddMetrics(const EventGroup& group, const std::vector<size_t>& counted,
                              const std::vector<std::string>& why) {
  for (size_t i = 0; i < counted.size(); ++i) {
    const auto needs = [i](const GroupMetric& metric) { return metric.formula.Has(i); };
    if (counted[i] == kNoEvent && std::ranges::none_of(group.metrics, needs))
      notes_.push_back({group.events[i].names.front(), why[i]});
  }
  for (const GroupMetric& metric : group.metrics) {
    size_t lacking = 0;
    while (lacking < counted.size() && (counted[lacking] != kNoEvent || !metric.formula.Has(lacking))) ++lacking;
    if (lacking < counted.size()) {
      notes_.push_back({metric.name, why[lacking]});
    } else {
      columns_.push_back({metric, counted});
    }
  }
}

std::vector<NamedEvent> GroupMetrics::Columns() const {
  std::vector<NamedEvent> columns;
  for (const Column& column : columns_) columns.push_back({.name = column.metric.name, .unit = column.metric.unit});
  return columns;
}

void GroupMetrics::Complete(std::vector<EventCount>& counts, double seconds) const {
  std::vector<EventCount> metrics;
  for (const Column& column : columns_) {
    std::vector<std::optional<double>> values;
    std::vector<double> bounds;
    EventCount& metric = metrics.emplace_back();
    for (size_t i = 0; i < column.events.size(); ++i) {
      const size_t event = column.events[i];
      const bool is_known = event < counts.size() && counts[event].is_known;
      values.push_back(is_known ? std::optional(counts[event].value) : std::nullopt);
      bounds.push_back(is_known ? counts[event].bound : 0);
      if (is_known && column.metric.formula.Has(i)) metric.share = std::min(metric.share, counts[event].share);
    }
    values.emplace_back(seconds);
    if (const auto value = column.metric.formula.Value(values)) {
      metric.value = *value;
      metric.is_known = true;
      metric.bound = BoundOf(column.metric.formula, *value, values, bounds);
    }
  }
  counts.insert(counts.end(), metrics.begin(), metrics.end());
}

}  // namespace attune::counter
