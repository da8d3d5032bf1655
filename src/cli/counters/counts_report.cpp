#include "cli/counters/counts_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

using counter::EventCount;
using counter::NamedEvent;

constexpr double kNsPerMs = 1e6;

/// Mean, and half of its 95 % interval.
std::pair<double, double> MeanWithBound(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (values.size() < 2) return {mean, 0};
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  return {mean, t * std::sqrt(squares / (n - 1) / n)};
}

/// A column behind the events is a metric of a group.
bool IsMetric(const NamedEvent& event) { return event.parts.empty(); }

/// Four digits; more only in front of the point.
std::string MetricText(double value) {
  const double size = std::abs(value);
  return WithThousands(value, size >= 1000 || size == 0 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 4 : 6);
}

/// Width of a column of counts.
size_t WidthOf(const NamedEvent& event) { return std::max<size_t>(event.name.size(), 14); }

/// An event's count by the part of its name in front of modifiers.
class ByName {
 public:
  ByName(const std::vector<NamedEvent>& events, const std::vector<CountSummary>& counts) {
    for (size_t i = 0; i < events.size(); ++i) {
      if (counts[i].is_known) values_.try_emplace(Base(events[i].name), counts[i].mean);
    }
  }
  std::optional<double> Of(std::string_view name) const {
    const auto found = values_.find(std::string(name));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  static std::string Base(std::string_view name) { return std::string(name.substr(0, name.find(':'))); }

 private:
  std::map<std::string, double> values_;
};

/// The count beside another one, or beside the time.
std::string Relation(const std::string& name, double value, double seconds, const ByName& others) {
  struct Ratio {
    std::string_view of, to, format;
    double factor;
  };
  static constexpr Ratio kRatios[] = {
      {"instructions", "cycles", "{:.2f} a cycle", 1},
      {"branch-misses", "branches", "{:.2f} % of branches", 100},
      {"cache-misses", "cache-references", "{:.2f} % of cache-references", 100},
      {"cycles", "task-clock", "{:.3f} GHz", 1},
      {"stalled-cycles-frontend", "cycles", "{:.2f} % of cycles", 100},
      {"stalled-cycles-backend", "cycles", "{:.2f} % of cycles", 100},
      {"L1-dcache-load-misses", "L1-dcache-loads", "{:.2f} % of L1-dcache-loads", 100},
      {"LLC-load-misses", "LLC-loads", "{:.2f} % of LLC-loads", 100},
      {"dTLB-load-misses", "dTLB-loads", "{:.2f} % of dTLB-loads", 100},
  };
  if (seconds <= 0) return "";
  if (name == "task-clock" || name == "cpu-clock") return fmt::format("{:.3f} CPUs", value / seconds * 1e-9);
  for (const Ratio& ratio : kRatios) {
    if (ratio.of != name) continue;
    if (const auto to = others.Of(ratio.to); to && *to > 0)
      return fmt::format(fmt::runtime(ratio.format), ratio.factor * value / *to);
  }
  return FormatCount(value / seconds) + "/s";
}

std::string BoundText(const CountSummary& count) {
  if (count.bound <= 0 || count.mean <= 0) return "";
  return fmt::format("{} {:.2f} %", UseUnicode() ? "±" : "+-", 100 * count.bound / count.mean);
}

/// Mean of the runs; nullopt: no program was run.
std::optional<CpuSeconds> CpuSecondsOf(const std::vector<RunCounts>& runs) {
  CpuSeconds mean;
  for (const RunCounts& run : runs) {
    if (!run.cpu) return std::nullopt;
    mean.user += run.cpu->user / static_cast<double>(runs.size());
    mean.system += run.cpu->system / static_cast<double>(runs.size());
  }
  return mean;
}

}  // namespace

std::string ValueText(const NamedEvent& event, double value) {
  if (event.unit == "ns") return WithThousands(value / kNsPerMs, 2) + " ms";
  if (IsMetric(event)) return MetricText(value) + (event.unit.empty() ? "" : " " + event.unit);
  return WithThousands(value, event.scale == 1 ? 0 : 2) + (event.unit.empty() ? "" : " " + event.unit);
}

std::string NotesText(const std::vector<counter::EventNote>& notes) {
  std::string text;
  for (const counter::EventNote& note : notes)
    text += fmt::format("  {}{}{}\n", note.event, note.event.empty() ? "" : ": ", note.why);
  return text.empty() ? text : "\n" + text;
}

nlohmann::ordered_json NotesJson(const std::vector<counter::EventNote>& notes) {
  auto list = nlohmann::ordered_json::array();
  for (const counter::EventNote& note : notes) list.push_back({{"event", note.event}, {"why", note.why}});
  return list;
}

std::vector<CountSummary> Summarize(const std::vector<RunCounts>& runs) {
  std::vector<CountSummary> summaries(runs.front().counts.size());
  for (size_t i = 0; i < summaries.size(); ++i) {
    CountSummary& summary = summaries[i];
    std::vector<double> values;
    for (const RunCounts& run : runs) {
      const EventCount& count = run.counts[i];
      if (!count.is_known) continue;
      values.push_back(count.value);
      summary.share = std::min(summary.share, count.share);
      summary.parts.resize(count.parts.size());
      for (size_t part = 0; part < count.parts.size(); ++part)
        summary.parts[part] += count.parts[part] / static_cast<double>(runs.size());
    }
    summary.is_known = !values.empty();
    if (!summary.is_known) continue;
    std::tie(summary.mean, summary.bound) = MeanWithBound(values);
    if (values.size() == 1) summary.bound = runs.front().counts[i].bound;
    if (!std::isfinite(summary.bound)) summary.bound = 0;
    summary.is_known = std::isfinite(summary.mean);
  }
  return summaries;
}

CountSummary SecondsOf(const std::vector<RunCounts>& runs) {
  std::vector<double> seconds;
  for (const RunCounts& run : runs) seconds.push_back(run.seconds);
  CountSummary summary{.is_known = true, .parts = {}};
  std::tie(summary.mean, summary.bound) = MeanWithBound(seconds);
  return summary;
}

std::string CountsText(const std::string& title, const std::vector<NamedEvent>& events,
                       const std::vector<RunCounts>& runs, size_t width) {
  using Align = TextTable::Align;
  const std::vector<CountSummary> counts = Summarize(runs);
  const CountSummary seconds = SecondsOf(runs);
  const ByName by_name(events, counts);
  const std::string bound = BoundText(seconds);
  std::string text = fmt::format("{}: {:.6f} s{}{}{}\n", Printable(title), seconds.mean, bound.empty() ? "" : " ",
                                 bound, runs.size() > 1 ? fmt::format(" ({} runs)", runs.size()) : "");
  if (const auto cpu = CpuSecondsOf(runs))
    text += fmt::format("CPU time: {:.6f} s in the program, {:.6f} s in the kernel\n", cpu->user, cpu->system);
  text += "\n";
  const bool take_turns = std::ranges::any_of(counts, [](const CountSummary& count) { return count.share < 1; });
  TextTable table({{"event", Align::kLeft, TextTable::Narrow::kWhole},
                   {"count", Align::kRight, TextTable::Narrow::kWhole},
                   {"", Align::kLeft, TextTable::Narrow::kWhole},
                   {take_turns ? "counted" : "", Align::kRight, TextTable::Narrow::kSpared},
                   {"", Align::kLeft}});
  for (size_t i = 0; i < events.size(); ++i) {
    const CountSummary& count = counts[i];
    if (!count.is_known) {
      table.AddRow({Printable(events[i].name), "not counted", "", "", ""});
      continue;
    }
    table.AddRow(
        {Printable(events[i].name), ValueText(events[i], count.mean), BoundText(count),
         count.share < 1 ? fmt::format("{:.0f} %", 100 * count.share) : "",
         IsMetric(events[i]) ? "" : Relation(ByName::Base(events[i].name), count.mean, seconds.mean, by_name)});
    for (size_t part = 0; part < count.parts.size() && count.parts.size() > 1; ++part)
      table.AddRow({"  " + events[i].parts[part].device, ValueText(events[i], count.parts[part]), "", "", ""});
  }
  return text + table.ToString(2, width) + NotesText(runs.front().notes);
}

std::string CountsCsv(const std::vector<NamedEvent>& events, const std::vector<RunCounts>& runs) {
  const std::vector<CountSummary> counts = Summarize(runs);
  std::string text = "event,count,unit,bound,counted,runs\n";
  const auto add = [&](const std::string& name, const std::string& unit, const CountSummary& count) {
    text += count.is_known ? fmt::format("{},{:.10g},{},{:.6g},{:.4f},{}\n", CsvField(name), count.mean, CsvField(unit),
                                         count.bound, count.share, runs.size())
                           : fmt::format("{},,{},,,{}\n", CsvField(name), CsvField(unit), runs.size());
  };
  const auto add_time = [&](const std::string& name, double time_s) {
    add(name, "s", {.mean = time_s, .is_known = true, .parts = {}});
  };
  add("wall-time", "s", SecondsOf(runs));
  if (const auto cpu = CpuSecondsOf(runs)) {
    add_time("user-time", cpu->user);
    add_time("system-time", cpu->system);
  }
  for (size_t i = 0; i < events.size(); ++i) add(events[i].name, events[i].unit, counts[i]);
  // Events that were left out have an empty count, as those that could not be counted.
  for (const counter::EventNote& note : runs.front().notes) {
    if (!note.event.empty() && std::ranges::find(events, note.event, &NamedEvent::name) == events.end())
      add(note.event, "", {.parts = {}});
  }
  return text;
}

nlohmann::ordered_json CountsJson(const std::string& title, const std::vector<NamedEvent>& events,
                                  const std::vector<RunCounts>& runs) {
  using Json = nlohmann::ordered_json;
  const std::vector<CountSummary> counts = Summarize(runs);
  const CountSummary seconds = SecondsOf(runs);
  Json list = Json::array();
  for (size_t i = 0; i < events.size(); ++i) {
    Json row{{IsMetric(events[i]) ? "metric" : "event", events[i].name}, {"unit", events[i].unit}};
    row["count"] = counts[i].is_known ? Json(counts[i].mean) : Json(nullptr);
    row["bound"] = counts[i].bound;
    row["counted"] = counts[i].share;
    if (counts[i].parts.size() > 1) {
      for (size_t part = 0; part < counts[i].parts.size(); ++part)
        row["parts"][events[i].parts[part].device] = counts[i].parts[part];
    }
    list.push_back(std::move(row));
  }
  const std::optional<CpuSeconds> cpu = CpuSecondsOf(runs);
  return {{"of", title},
          {"runs", runs.size()},
          {"seconds", seconds.mean},
          {"bound_s", seconds.bound},
          {"user_s", cpu ? Json(cpu->user) : Json(nullptr)},
          {"system_s", cpu ? Json(cpu->system) : Json(nullptr)},
          {"events", list},
          {"notes", NotesJson(runs.front().notes)}};
}

std::string HeadingText(const NamedEvent& event, RowFormat format) {
  return format == RowFormat::kCsv ? "," + CsvField(event.name)
                                   : fmt::format("  {:>{}}", Printable(event.name), WidthOf(event));
}

std::string CountText(const NamedEvent& event, const EventCount& count, RowFormat format) {
  if (format == RowFormat::kCsv) return count.is_known ? fmt::format(",{:.10g}", count.value) : ",";
  return fmt::format("  {:>{}}", count.is_known ? ValueText(event, count.value) : "-", WidthOf(event));
}

nlohmann::ordered_json CountsByName(const std::vector<NamedEvent>& events, const std::vector<EventCount>& counts) {
  using Json = nlohmann::ordered_json;
  Json by_name = Json::object();
  for (size_t i = 0; i < events.size(); ++i)
    by_name[events[i].name] = counts[i].is_known ? Json(counts[i].value) : Json(nullptr);
  return by_name;
}

std::string JsonLine(const nlohmann::ordered_json& row) {
  return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string RowsHeading(const std::vector<NamedEvent>& events, RowFormat format) {
  if (format == RowFormat::kJson) return "";
  std::string text = format == RowFormat::kCsv ? "seconds" : fmt::format("{:>9}", "s");
  for (const NamedEvent& event : events) text += HeadingText(event, format);
  return text + "\n";
}

std::string RowText(double seconds, const std::vector<NamedEvent>& events, const std::vector<EventCount>& counts,
                    RowFormat format) {
  if (format == RowFormat::kJson) return JsonLine({{"seconds", seconds}, {"counts", CountsByName(events, counts)}});
  std::string text = fmt::format("{:{}.3f}", seconds, format == RowFormat::kCsv ? 0 : 9);
  for (size_t i = 0; i < events.size(); ++i) text += CountText(events[i], counts[i], format);
  return text + "\n";
}

}  // namespace attune::cli
