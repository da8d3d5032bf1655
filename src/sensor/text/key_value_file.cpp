#include "sensor/text/key_value_file.h"

#include <algorithm>
#include <cstring>

#include "sensor/catalog.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr int64_t kBytesPerKb = 1024;  // the kernel writes kB and means KiB

/// @param head of the key's line
bool IsInKb(std::string_view text, const std::string& head) {
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (line.starts_with(head)) return line.ends_with(" kB");
  }
  return false;
}

}  // namespace

size_t StripLinePrefix(std::span<char> text, std::string_view prefix) {
  char* to = text.data();
  std::string_view rest(text.data(), text.size());
  while (!rest.empty()) {
    const size_t newline = std::min(rest.find('\n'), rest.size() - 1);
    std::string_view line = rest.substr(0, newline + 1);
    rest.remove_prefix(newline + 1);
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    std::memmove(to, line.data(), line.size());
    to += line.size();
  }
  return static_cast<size_t>(to - text.data());
}

Result<std::vector<model::SignalSpec>> KeyValueFile::Open(const HostRoot& host, const std::string& path,
                                                          std::string_view sensor, const model::ElementKey& element,
                                                          const std::function<bool(std::string_view)>& is_wanted) {
  ATTUNE_TRY(std::string text, host.ReadFile(path));
  buffer_.resize(2 * text.size() + (16u << 10));  // with the prefixes; room for every value to grow
  auto specs = Learn(std::move(text), sensor, element, is_wanted);
  if (!specs.ok()) return specs.error().WithContext(path);
  ATTUNE_TRY(file_, host.Open(path));
  return specs;
}

Result<std::vector<model::SignalSpec>> KeyValueFile::Learn(std::string text, std::string_view sensor,
                                                           const model::ElementKey& element,
                                                           const std::function<bool(std::string_view)>& is_wanted) {
  text.resize(StripLinePrefix(text, prefix_));
  ATTUNE_CHECK_OK(text_.Learn(text));
  const std::vector<std::string>& keys = text_.Keys();
  std::vector<model::SignalSpec> specs;
  columns_.clear();
  const bool has_kb = text.find(" kB\n") != std::string::npos;
  is_plain_ = !has_kb;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (is_wanted && !is_wanted(keys[i])) {
      is_plain_ = false;
      continue;
    }
    const bool in_kb = has_kb && IsInKb(text, keys[i] + ":");
    columns_.push_back({i, in_kb ? kBytesPerKb : 1});
    specs.push_back(*MakeSpec(*FindSensor(sensor), keys[i]));  // "*" fits all
    specs.back().element = element;
    if (!in_kb && specs.back().unit == "bytes") specs.back().unit = "1";  // a key of a later kernel
  }
  return specs;
}

bool KeyValueFile::Sample(std::span<int64_t> out) {
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size > 0) {
    Parse({buffer_.data(), static_cast<size_t>(size)}, out);
  } else {
    std::fill(out.begin(), out.end(), model::kAbsent);
  }
  return size > 0;
}

void KeyValueFile::Parse(std::span<char> text, std::span<int64_t> out) {
  const size_t size = prefix_.empty() ? text.size() : StripLinePrefix(text, prefix_);
  text_.Parse({text.data(), size}, is_plain_ ? out : std::span<int64_t>());
  if (is_plain_) return;
  for (size_t i = 0; i < std::min(out.size(), columns_.size()); ++i) {
    const int64_t value = text_.Values()[columns_[i].key];
    if (value == model::kAbsent || __builtin_mul_overflow(value, columns_[i].factor, &out[i])) out[i] = model::kAbsent;
  }
}

KeyValueSensor::KeyValueSensor(std::string_view name) : info_(FindSensor(name)->info) {}

}  // namespace attune::sensor
