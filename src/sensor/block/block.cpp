#include "sensor/block/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "sensor/text/number_file.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr std::string_view kPath = "/proc/diskstats";
constexpr int64_t kSectorBytes = 512;
/// A device's own file costs about as much as so many lines of all devices (loop devices and partitions are many).
constexpr size_t kLinesOfOneFile = 3;

/// The numbers behind the name that are sampled, in the order of the line.
struct Field {
  size_t place;
  std::string_view signal;
  bool is_sectors = false;
};
constexpr std::array<Field, kBlockValues> kFields{{{0, "reads"},
                                                   {2, "read_bytes", true},
                                                   {3, "read_time"},
                                                   {4, "writes"},
                                                   {6, "write_bytes", true},
                                                   {7, "write_time"},
                                                   {8, "in_flight"},
                                                   {9, "busy_time"},
                                                   {10, "queue_time"},
                                                   {11, "discards"},  // since Linux 4.18
                                                   {13, "discard_bytes", true},
                                                   {15, "flushes"}}};  // since Linux 5.5

/// The text up to the next blank; `text` goes on behind it.
std::string_view NextWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

std::string_view ParseBlockLine(std::string_view text, std::span<int64_t, kBlockValues> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  if (NextNumber(text) == kAbsent || NextNumber(text) == kAbsent) return {};  // major and minor
  const std::string_view name = NextWord(text);
  return ParseBlockNumbers(text, out) ? name : std::string_view();
}

bool ParseBlockNumbers(std::string_view text, std::span<int64_t, kBlockValues> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  size_t next = 0;
  for (size_t place = 0; next < kFields.size(); ++place) {
    const int64_t value = NextNumber(text);
    if (value == kAbsent) break;
    if (place != kFields[next].place) continue;
    int64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(value, kSectorBytes, &bytes);
    out[next] = !kFields[next].is_sectors ? value : fits ? bytes : kAbsent;
    ++next;
  }
  return next > 0;
}

Result<std::vector<model::SignalSpec>> BlockSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string text, host.ReadFile(kPath));
  ATTUNE_TRY(const std::vector<std::string> disks, host.List("/sys/block"));
  ATTUNE_TRY(file_, host.Open(kPath));
  std::array<int64_t, kBlockValues> values;
  size_t lines = 0;
  for (std::string_view rest = text; !rest.empty(); ++lines) {
    const std::string name(ParseBlockLine(NextLine(rest), values));
    if (!std::binary_search(disks.begin(), disks.end(), name)) continue;
    if (ReadNumber(host, fmt::format("/sys/block/{}/size", name)) <= 0) continue;  // an empty drive, a free loop
    devices_.Add(name);
    const auto last = std::find_if(values.rbegin(), values.rend(), [](int64_t value) { return value != kAbsent; });
    values_ = std::max(values_, static_cast<size_t>(values.rend() - last));
  }
  OpenOwnFiles(host, lines);
  std::vector<model::SignalSpec> specs;
  for (const std::string& name : devices_.all()) {
    for (const Field& field : std::span(kFields).first(values_)) {
      specs.push_back(Spec(field.signal, {.name = name}));
    }
  }
  buffer_.resize(2 * text.size() + 4096);  // every number may grow, and devices come
  return specs;
}

/// Opens a file for each device, if few of many lines are wanted.
void BlockSensor::OpenOwnFiles(const HostRoot& host, size_t lines) {
  own_files_.clear();
  if (devices_.size() * kLinesOfOneFile > lines) return;
  for (const std::string& name : devices_.all()) {
    auto file = host.Open(fmt::format("/sys/block/{}/stat", name));
    if (!file.ok()) return own_files_.clear();
    own_files_.push_back(*std::move(file));
  }
}

/// @return false: none of them is there any more
bool BlockSensor::SampleOwnFiles(std::span<int64_t> out) {
  std::array<int64_t, kBlockValues> values;
  bool any = false;
  for (const UniqueFd& file : own_files_) {
    const long size = PreadShortLines(file.get(), buffer_.data(), buffer_.size());
    const bool is_there =
        size > 0 && ParseBlockNumbers(std::string_view(buffer_.data(), static_cast<size_t>(size)), values);
    if (is_there) std::copy_n(values.begin(), values_, out.begin());
    out = out.subspan(values_);
    any = any || is_there;
  }
  return any;
}

bool BlockSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), kAbsent);
  if (!own_files_.empty()) return SampleOwnFiles(out);
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size <= 0) return false;
  std::string_view rest(buffer_.data(), static_cast<size_t>(size));
  std::array<int64_t, kBlockValues> values;
  devices_.Restart();
  while (!rest.empty()) {
    const std::string_view name = ParseBlockLine(NextLine(rest), values);
    if (name.empty()) continue;
    const size_t index = devices_.Find(name);
    if (index == devices_.size()) continue;  // a partition, or came after Prepare
    std::copy_n(values.begin(), values_, out.begin() + static_cast<std::ptrdiff_t>(index * values_));
  }
  return true;
}

}  // namespace attune::sensor
