#include "sink/influxdb/line_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace attune::influxdb {
namespace {

std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : CleanText(text)) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  if (escaped.ends_with('\\')) escaped.back() = '/';
  return escaped;
}

std::string Joined(const std::map<std::string, std::string>& tags) {
  std::string text;
  for (const auto& [key, value] : tags) {
    // An empty value is not allowed: such a tag is not there.
    if (!value.empty()) text += fmt::format(",{}={}", key, value);
  }
  return text;
}

void AddTag(std::map<std::string, std::string>& tags, std::string_view key, std::string_view value) {
  tags[Key(key)] = TagValue(value);
}

/// "key=12i", where there is a number.
void AddInteger(std::string& line, std::string_view key, int64_t value) {
  if (value == ATTUNE_ABSENT) return;
  const bool is_first = line.ends_with(' ');
  fmt::format_to(std::back_inserter(line), "{}{}={}i", is_first ? "" : ",", key, value);
}

void AddNumber(std::string& line, std::string_view key, int64_t raw, int scale) {
  if (raw == ATTUNE_ABSENT) return;
  fmt::format_to(std::back_inserter(line), "{}{}=", line.ends_with(' ') ? "" : ",", key);
  // Always a decimal number: of one field all values must have one type, and the scales of alarms differ.
  const size_t at = line.size();
  AppendNumber(line, raw, scale);
  if (line.ends_with('i') && line.size() > at) line.pop_back();
}

void AddText(std::string& line, std::string_view key, std::string_view text) {
  fmt::format_to(std::back_inserter(line), "{}{}={}", line.ends_with(' ') ? "" : ",", key, FieldText(text));
}

}  // namespace

std::string Measurement(std::string_view text) {
  std::string escaped = Escaped(text, ", ");
  if (escaped.starts_with('#')) escaped.front() = '?';
  return escaped.empty() ? "?" : escaped;
}

std::string Key(std::string_view text) {
  if (text == "time") return "time_";
  std::string escaped = Escaped(text, ",= ");
  return escaped.empty() ? "?" : escaped;
}

std::string TagValue(std::string_view text) { return Escaped(text, ",= "); }

std::string FieldText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : CleanText(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

void AppendNumber(std::string& out, int64_t raw, int scale) {
  constexpr int kMostDigits = 18;
  if (scale == 0) {
    fmt::format_to(std::back_inserter(out), "{}i", raw);
  } else if (scale > 0) {
    fmt::format_to(std::back_inserter(out), "{}", raw);
    if (raw != 0) out.append(static_cast<size_t>(std::min(scale, kMostDigits)), '0');
  } else {
    const int digits = std::min(-scale, kMostDigits);
    uint64_t unit = 1;
    for (int i = 0; i < digits; ++i) unit *= 10;
    const uint64_t size = raw < 0 ? 0 - static_cast<uint64_t>(raw) : static_cast<uint64_t>(raw);
    fmt::format_to(std::back_inserter(out), "{}{}.{:0{}}", raw < 0 ? "-" : "", size / unit, size % unit, digits);
  }
}

LineMaker::LineMaker(int64_t nanoseconds_a_unit, std::string_view host)
    : nanoseconds_a_unit_(nanoseconds_a_unit), host_(TagValue(host)) {}

void LineMaker::Take(const attune_sink_element& element) {
  // Programs start processes without end; of those that are gone and had no values nothing will come.
  if (element.end_ns != ATTUNE_ABSENT && with_series_.count(element.id) == 0) {
    tags_.erase(element.id);
    return;
  }
  auto& tags = tags_[element.id];
  tags.clear();
  for (uint32_t i = 0; i < element.tag_count; ++i) AddTag(tags, element.tags[i].key, element.tags[i].value);
  groups_.clear();
}

void LineMaker::Take(const attune_sink_series& series) {
  with_series_.insert(series.element);
  series_[series.id] = {series.element, series.scale, Measurement(series.sensor), Key(series.signal) + "="};
  groups_.clear();
}

std::vector<LineMaker::Group> LineMaker::GroupsOf(const attune_sink_samples& samples) const {
  std::vector<Group> groups;
  std::map<std::pair<uint32_t, std::string>, size_t> places;  // index in `groups` by element and measurement
  for (uint32_t column = 0; column < samples.column_count; ++column) {
    const auto series = series_.find(samples.series[column]);
    if (series == series_.end()) continue;
    const auto [place, is_new] =
        places.try_emplace({series->second.element, series->second.measurement}, groups.size());
    if (is_new) groups.push_back({series->second.measurement + TagsWith(series->second.element, {}) + ' ', {}});
    groups[place->second].columns.push_back(column);
  }
  return groups;
}

uint64_t LineMaker::Add(const attune_sink_samples& samples, Lines& out) {
  const auto [known, is_new] = groups_.try_emplace(samples.stream);
  if (is_new) known->second = GroupsOf(samples);
  uint64_t without_line = 0;
  for (uint32_t row = 0; row < samples.row_count; ++row) {
    const int64_t* values = samples.values + static_cast<size_t>(row) * samples.column_count;
    for (const Group& group : known->second) {
      const size_t begin = out.text.size();
      uint64_t fields = 0;
      for (const uint32_t column : group.columns) {
        if (values[column] == ATTUNE_ABSENT) continue;
        const Series& series = series_.at(samples.series[column]);
        out.text += fields++ == 0 ? group.begin : ",";
        out.text += series.field;
        AppendNumber(out.text, values[column], series.scale);
      }
      if (fields > 0 && samples.real_ns[row] == ATTUNE_ABSENT) {
        out.text.resize(begin);
        without_line += fields;
      } else if (fields > 0) {
        End(out.text, samples.real_ns[row]);
        out.values += fields;
      }
    }
  }
  return without_line;
}

void LineMaker::Add(const attune_sink_label& label, Lines& out) const {
  if (label.real_ns == ATTUNE_ABSENT) return;
  out.text += "attune_labels" + TagsWith(0, {}) + ' ';
  AddText(out.text, "text", label.text);
  End(out.text, label.real_ns);
}

void LineMaker::Add(const attune_sink_gap& gap, Lines& out) const {
  if (gap.real_ns == ATTUNE_ABSENT) return;
  out.text += "attune_gaps" + TagsWith(0, {{"reason", TagValue(gap.reason)}, {"sensor", TagValue(gap.sensor)}}) + ' ';
  AddInteger(out.text, "count", gap.count);
  int64_t length_ns = 0;
  if (!__builtin_sub_overflow(gap.t1_ns, gap.t0_ns, &length_ns)) AddInteger(out.text, "duration_ns", length_ns);
  if (out.text.ends_with(' ')) AddInteger(out.text, "count", 0);  // a line needs a field
  End(out.text, gap.real_ns);
}

void LineMaker::Add(const attune_sink_process& process, Lines& out) const {
  if (process.real_ns == ATTUNE_ABSENT) return;
  std::map<std::string, std::string> tags{{"event", process.event == ATTUNE_PROCESS_EXIT ? "exit" : "start"}};
  if (process.host[0] != '\0') tags["host"] = TagValue(process.host);
  out.text += "attune_processes" + TagsWith(0, std::move(tags)) + ' ';
  AddText(out.text, "command", process.command);
  AddInteger(out.text, "pid", process.pid);
  AddInteger(out.text, "exit_code", process.exit_code);
  AddInteger(out.text, "exit_signal", process.exit_signal);
  AddInteger(out.text, "user_ns", process.user_ns);
  AddInteger(out.text, "system_ns", process.system_ns);
  AddInteger(out.text, "max_rss_bytes", process.max_rss_bytes);
  End(out.text, process.real_ns);
}

void LineMaker::Add(const attune_sink_alarm& alarm, Lines& out) const {
  if (alarm.real_ns == ATTUNE_ABSENT) return;
  out.text += "attune_alarms" + TagsWith(alarm.element, {{"alarm", TagValue(alarm.alarm)}}) + ' ';
  AddInteger(out.text, "raised", alarm.raised);
  AddInteger(out.text, "severity", alarm.severity);
  AddText(out.text, "text", alarm.text);
  AddNumber(out.text, "value", alarm.value, alarm.scale);
  AddNumber(out.text, "threshold", alarm.threshold, alarm.scale);
  End(out.text, alarm.real_ns);
}

/// The time and the end of a line that has its fields.
void LineMaker::End(std::string& line, int64_t real_ns) const {
  fmt::format_to(std::back_inserter(line), " {}\n", real_ns / nanoseconds_a_unit_);
}

/// ",key=value..." of an element (0: none) and of `more`, by key.
std::string LineMaker::TagsWith(uint32_t element, std::map<std::string, std::string> more) const {
  if (const auto tags = tags_.find(element); tags != tags_.end()) more.insert(tags->second.begin(), tags->second.end());
  if (!host_.empty()) more.try_emplace("host", host_);
  return Joined(more);
}

}  // namespace attune::influxdb
