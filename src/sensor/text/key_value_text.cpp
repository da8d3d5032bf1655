#include "sensor/text/key_value_text.h"

#include <algorithm>
#include <cstring>

#include "model/schema.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr size_t kBlock = 256;

/// How many bytes are the same at the front.
size_t EqualPrefix(const char* a, const char* b, size_t size) {
  size_t at = 0;
  while (at + kBlock <= size && std::memcmp(a + at, b + at, kBlock) == 0) at += kBlock;
  while (at + 8 <= size) {
    uint64_t x, y;
    std::memcpy(&x, a + at, 8);
    std::memcpy(&y, b + at, 8);
    if (x != y) break;
    at += 8;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

/// Values may be aligned to the right: they begin at a place that moves.
int64_t ParseValue(const char*& at, const char* end) {
  while (at < end && (*at == ' ' || *at == ':' || *at == '\t')) ++at;
  return ScanNumber(at, end);
}

struct KeyAndValue {
  std::string_view key;
  size_t value_at = 0;  ///< just after the first separator; 0: the line has no value
};

KeyAndValue SplitLine(std::string_view line) {
  const size_t key_end = line.find_first_of(" :\t");
  if (key_end == std::string_view::npos || key_end == 0) return {};
  const char* at = line.data() + key_end;
  if (ParseValue(at, line.data() + line.size()) == model::kAbsent) return {};
  return {line.substr(0, key_end), key_end + 1};
}

}  // namespace

Status KeyValueText::Learn(std::string_view text) {
  keys_.clear();
  sorted_keys_.clear();
  size_t line_count = 0;
  for (size_t at = 0; at < text.size(); ++line_count) {
    const size_t newline = text.find('\n', at);
    const std::string_view line = text.substr(at, newline == std::string_view::npos ? newline : newline - at);
    const KeyAndValue found = SplitLine(line);
    if (found.value_at != 0) keys_.emplace_back(found.key);
    at = newline == std::string_view::npos ? text.size() : newline + 1;
  }
  // A key that comes again would have two columns and one name: the first one counts.
  std::vector<std::string> unique;
  for (std::string& key : keys_) {
    if (std::find(unique.begin(), unique.end(), key) == unique.end()) unique.push_back(std::move(key));
  }
  keys_ = std::move(unique);
  if (keys_.empty()) return Error{Errc::kCorrupt, "no line has a key and a number", ""};
  for (size_t i = 0; i < keys_.size(); ++i) sorted_keys_.emplace_back(keys_[i], static_cast<int32_t>(i));
  std::sort(sorted_keys_.begin(), sorted_keys_.end());
  values_.assign(keys_.size(), model::kAbsent);
  lines_.reserve(2 * line_count + 64);            // room for keys that come later
  before_.resize(2 * text.size() + (16u << 10));  // room for every value to grow
  Relearn(text);
  return {};
}

void KeyValueText::Parse(std::string_view text, std::span<int64_t> out) {
  text = text.substr(0, before_.size());
  if (text.empty() || !ParseChanges(text)) Relearn(text);
  std::copy_n(values_.begin(), std::min(out.size(), values_.size()), out.begin());
}

bool KeyValueText::ParseChanges(std::string_view text) {
  const char* now = text.data();
  const char* const now_end = now + text.size();
  const char* before = before_.data();
  const char* const before_end = before + before_size_;
  const auto equal_ahead = [&] {
    return EqualPrefix(now, before, static_cast<size_t>(std::min(now_end - now, before_end - before)));
  };
  size_t equal = equal_ahead();
  const char* changed_from = nullptr;  // text to be kept for the next comparison
  for (Line& line : lines_) {
    if (equal >= line.length) {
      now += line.length;
      before += line.length;
      equal -= line.length;
      continue;
    }
    if (equal < line.value_at) return false;
    if (changed_from == nullptr) changed_from = now;
    const char* at = now + line.value_at;
    const int64_t value = ParseValue(at, now_end);
    if (value == model::kAbsent) return false;
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(now_end - at)));
    if (newline == nullptr) return false;
    if (line.column >= 0) values_[static_cast<size_t>(line.column)] = value;
    before += line.length;
    line.length = static_cast<uint32_t>(newline + 1 - now);
    now = newline + 1;
    equal = equal_ahead();
  }
  if (now != now_end) return false;
  if (changed_from != nullptr) {
    const size_t at = static_cast<size_t>(changed_from - text.data());
    std::memcpy(before_.data() + at, changed_from, text.size() - at);
  }
  before_size_ = text.size();
  return true;
}

void KeyValueText::Relearn(std::string_view text) {
  std::fill(values_.begin(), values_.end(), model::kAbsent);
  lines_.clear();
  size_t begin = 0;
  while (begin < text.size() && lines_.size() < lines_.capacity()) {
    const size_t newline = text.find('\n', begin);
    // An unfinished last line was cut by the reader: its value may lack digits.
    if (newline == std::string_view::npos) break;
    const std::string_view line = text.substr(begin, newline - begin);
    const KeyAndValue found = SplitLine(line);
    const auto length = static_cast<uint32_t>(line.size() + 1);
    Line learned{length, length, -1};  // without a value: whatever changes in it is another layout
    if (found.value_at != 0) {
      learned.value_at = static_cast<uint32_t>(found.value_at);
      learned.column = FindColumn(found.key);
      if (learned.column >= 0 && values_[static_cast<size_t>(learned.column)] != model::kAbsent) learned.column = -1;
      const char* at = line.data() + found.value_at;
      if (learned.column >= 0) values_[static_cast<size_t>(learned.column)] = ParseValue(at, line.data() + line.size());
    }
    lines_.push_back(learned);
    begin = newline + 1;
  }
  std::copy_n(text.data(), begin, before_.begin());
  before_size_ = begin;
}

int32_t KeyValueText::FindColumn(std::string_view key) const {
  const auto found = std::lower_bound(sorted_keys_.begin(), sorted_keys_.end(), key,
                                      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return found != sorted_keys_.end() && found->first == key ? found->second : -1;
}

}  // namespace attune::sensor
