#include "sensor/text/cpu_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "model/schema.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr size_t kDigits = 10;              // the kernel writes "%10u": every 32-bit count fits
constexpr size_t kCellWidth = kDigits + 1;  // and a blank between two
constexpr uint32_t kHalf = 1u << 31;        // a count that fell by more than this wrapped

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// The count in kDigits characters, aligned to the right; -1: something else stands there.
int64_t ParseCell(const char* at) {
  const char* const end = at + kDigits;
  while (at < end && *at == ' ') ++at;
  if (at == end) return -1;
  int64_t value = 0;
  for (; at < end; ++at) {
    if (!IsDigit(*at)) return -1;
    value = value * 10 + (*at - '0');
  }
  return value <= UINT32_MAX ? value : -1;
}

struct KeyAndRest {
  std::string_view key;
  size_t rest_at = 0;  ///< behind the colon; 0: no key
};

KeyAndRest SplitKey(std::string_view line) {
  const size_t colon = line.find(':');
  const size_t begin = line.find_first_not_of(' ');
  if (colon == std::string_view::npos || begin >= colon) return {};
  return {line.substr(begin, colon - begin), colon + 1};
}

/// Ends of the counts behind `at`, at most `limit`: calls visit(end, value) for each.
template <class Visit>
size_t ForEachCount(std::string_view line, size_t at, size_t limit, Visit visit) {
  size_t found = 0;
  while (found < limit) {
    while (at < line.size() && line[at] == ' ') ++at;
    uint32_t value = 0;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + line.size(), value);
    const size_t end = static_cast<size_t>(rest - line.data());
    if (error != std::errc() || (end < line.size() && line[end] != ' ')) break;
    visit(end, value);
    ++found;
    at = end;
  }
  return found;
}

/// "  IO-APIC   4-edge      ttyS0" as "IO-APIC 4-edge ttyS0".
std::string Collapsed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

/// Calls visit(cpu) for each "CPUn" of the first line.
template <class Visit>
void ForEachColumn(std::string_view header, Visit visit) {
  for (size_t at = header.find("CPU"); at != std::string_view::npos; at = header.find("CPU", at)) {
    at += 3;
    CpuId cpu = -1;
    std::from_chars(header.data() + at, header.data() + header.size(), cpu);
    visit(cpu);
  }
}

}  // namespace

Status CpuTable::Learn(std::string_view text, const CpuSet& cpus) {
  std::string_view rest = text;
  const std::string_view header = NextLine(rest);
  std::vector<CpuId> ids(cpus.begin(), cpus.end());
  size_t columns = 0;
  ForEachColumn(header, [&](CpuId cpu) {
    ++columns;
    if (cpu >= 0) ids.push_back(cpu);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  cpus_ = std::move(ids);
  rows_.clear();
  size_t line_count = 1;
  while (!rest.empty()) {
    const std::string_view line = NextLine(rest);
    ++line_count;
    const KeyAndRest split = SplitKey(line);
    size_t end = 0;
    if (split.rest_at == 0 || ForEachCount(line, split.rest_at, columns, [&](size_t at, uint32_t) { end = at; }) == 0)
      continue;
    const auto same = [&](const Row& row) { return row.key == split.key; };
    if (std::none_of(rows_.begin(), rows_.end(), same))
      rows_.push_back({std::string(split.key), Collapsed(line.substr(end))});
  }
  if (columns == 0 || rows_.empty()) return Error{Errc::kCorrupt, "no table of counts with a column for each CPU", ""};
  sorted_keys_.clear();
  for (size_t i = 0; i < rows_.size(); ++i) sorted_keys_.emplace_back(rows_[i].key, static_cast<int32_t>(i));
  std::sort(sorted_keys_.begin(), sorted_keys_.end());
  counts_.assign(rows_.size() * cpus_.size(), -1);
  row_sums_.assign(rows_.size(), 0);
  cpu_sums_.assign(cpus_.size(), 0);
  row_there_.assign(rows_.size(), 0);
  cpu_there_.assign(cpus_.size(), 0);
  lines_.reserve(2 * line_count + 64);
  columns_.reserve(cpus_.size());
  // Room for CPUs and some interrupts that come.
  before_.resize(text.size() + (line_count + 16) * (cpus_.size() - std::min(columns, cpus_.size())) * kCellWidth +
                 text.size() / 4 + (16u << 10));
  counting_ = false;
  Relearn(text);
  counting_ = true;
  return {};
}

void CpuTable::Parse(std::string_view text) {
  text = text.substr(0, before_.size());
  if (text.size() != before_size_ || text.empty() || !ParseChanges(text)) Relearn(text);
}

int64_t CpuTable::RowSum(size_t row) const { return row_there_[row] != 0 ? row_sums_[row] : model::kAbsent; }
int64_t CpuTable::CpuSum(size_t cpu) const { return cpu_there_[cpu] != 0 ? cpu_sums_[cpu] : model::kAbsent; }

bool CpuTable::ParseChanges(std::string_view text) {
  const char* now = text.data();
  char* before = before_.data();
  for (const Line& line : lines_) {
    if (std::memcmp(now, before, line.length) != 0) {
      if (!ParseLine(line, now, before)) return false;
      std::memcpy(before, now, line.length);
    }
    now += line.length;
    before += line.length;
  }
  return now == text.data() + text.size();
}

bool CpuTable::ParseLine(const Line& line, const char* now, const char* before) {
  if (line.first_end == 0) return false;
  const size_t head = line.first_end - kDigits;
  const size_t tail = line.first_end + (line.cells - 1) * kCellWidth;
  if (std::memcmp(now, before, head) != 0 || std::memcmp(now + tail, before + tail, line.length - tail) != 0)
    return false;
  // All or nothing: a line that turns out to be another layout is counted when it is learned again.
  const auto changed = [&](size_t at) { return std::memcmp(now + at, before + at, kDigits) != 0; };
  for (size_t cell = 0, at = head; cell < line.cells; ++cell, at += kCellWidth) {
    if (changed(at) && ParseCell(now + at) < 0) return false;
    if (cell + 1 < line.cells && now[at + kDigits] != ' ') return false;
  }
  for (size_t cell = 0, at = head; cell < line.cells; ++cell, at += kCellWidth) {
    if (changed(at)) Count(line, cell, static_cast<uint32_t>(ParseCell(now + at)));
  }
  return true;
}

void CpuTable::Relearn(std::string_view text) {
  lines_.clear();
  std::fill(row_there_.begin(), row_there_.end(), char{0});
  size_t begin = 0;
  while (begin < text.size() && lines_.size() < lines_.capacity()) {
    const size_t newline = text.find('\n', begin);
    if (newline == std::string_view::npos) break;  // cut by the reader: its last count may lack digits
    const std::string_view line = text.substr(begin, newline - begin);
    if (begin == 0) {
      LearnColumns(line);
      lines_.push_back({static_cast<uint32_t>(line.size() + 1), 0, 0, -1, false});
    } else {
      lines_.push_back(LearnLine(line));
    }
    begin = newline + 1;
  }
  if (begin == 0) LearnColumns({});
  std::copy_n(text.data(), begin, before_.begin());
  before_size_ = begin;
}

void CpuTable::LearnColumns(std::string_view header) {
  columns_.clear();
  std::fill(cpu_there_.begin(), cpu_there_.end(), char{0});
  ForEachColumn(header, [&](CpuId cpu) {
    if (columns_.size() == columns_.capacity()) return;
    const auto found = std::lower_bound(cpus_.begin(), cpus_.end(), cpu);
    const bool known = found != cpus_.end() && *found == cpu;
    columns_.push_back(known ? static_cast<int32_t>(found - cpus_.begin()) : -1);
    if (known) cpu_there_[static_cast<size_t>(columns_.back())] = 1;
  });
}

CpuTable::Line CpuTable::LearnLine(std::string_view text) {
  Line line{static_cast<uint32_t>(text.size() + 1), 0, 0, -1, false};
  const KeyAndRest split = SplitKey(text);
  if (split.rest_at == 0) return line;
  line.row = FindRow(split.key);
  if (line.row >= 0 && row_there_[static_cast<size_t>(line.row)] != 0) line.row = -1;  // the first of two keys counts
  size_t ends = 0, first_end = 0;
  bool even = true;
  line.cells = static_cast<uint32_t>(ForEachCount(text, split.rest_at, columns_.size(), [&](size_t end, uint32_t) {
    if (ends++ == 0) first_end = end;
    even = even && end == first_end + (ends - 1) * kCellWidth;
  }));
  line.per_cpu = line.cells == columns_.size();
  if (line.cells == 0) return line;
  size_t column = 0;
  ForEachCount(text, split.rest_at, line.cells, [&](size_t, uint32_t value) { Count(line, column++, value); });
  if (line.row >= 0) row_there_[static_cast<size_t>(line.row)] = 1;
  // With counts at unexpected positions first_end stays 0: any change of the line is another layout.
  if (even && first_end >= split.rest_at + kDigits) line.first_end = static_cast<uint32_t>(first_end);
  return line;
}

void CpuTable::Count(const Line& line, size_t column, uint32_t value) {
  if (line.row < 0) return;
  // A count that belongs to no CPU (ERR, MIS) is kept where that of the first CPU would be.
  const int32_t cpu = line.per_cpu ? columns_[column] : 0;
  if (cpu < 0) return;
  const auto row = static_cast<size_t>(line.row);
  int64_t& last = counts_[row * cpus_.size() + static_cast<size_t>(cpu)];
  int64_t grown = counting_ ? 0 : value;
  if (last >= 0) {
    const uint32_t difference = value - static_cast<uint32_t>(last);
    grown = difference < kHalf ? difference : value;
  }
  last = value;
  row_sums_[row] += grown;
  if (line.per_cpu) cpu_sums_[static_cast<size_t>(cpu)] += grown;
}

int32_t CpuTable::FindRow(std::string_view key) const {
  const auto found = std::lower_bound(sorted_keys_.begin(), sorted_keys_.end(), key,
                                      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return found != sorted_keys_.end() && found->first == key ? found->second : -1;
}

}  // namespace attune::sensor
