#include "sensor/cpu/cpu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace attune::sensor {
namespace {

constexpr std::string_view kPath = "/proc/stat";
constexpr std::array<std::string_view, 10> kFields{"user", "nice",    "system", "idle",  "iowait",
                                                   "irq",  "softirq", "steal",  "guest", "guest_nice"};

struct Total {
  std::string_view key;
  std::string_view signal;
};
constexpr std::array kTotals{Total{"intr ", "interrupts"}, Total{"ctxt ", "context_switches"},
                             Total{"processes ", "forks"}, Total{"procs_running ", "running"},
                             Total{"procs_blocked ", "blocked"}};

/// Nanoseconds of a tick as a power of ten, 100 Hz: 7.
int TickScale(long ticks_per_second) {
  int scale = 9;
  while (ticks_per_second > 1 && ticks_per_second % 10 == 0) {
    ticks_per_second /= 10;
    --scale;
  }
  return ticks_per_second == 1 ? scale : -1;
}

/// Calls visit(line) for each line, without the newline.
template <class Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    visit(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
  }
}

/// Reads the next number of a line; false at its end or where there is none.
bool NextNumber(const char*& at, const char* end, int64_t& value) {
  while (at < end && *at == ' ') ++at;
  const auto [rest, error] = std::from_chars(at, end, value);
  at = rest;
  return error == std::errc();
}

/// The number of "cpu12 1 2 3", or -1 for every other line.
CpuId CpuOfLine(std::string_view line) {
  CpuId id = -1;
  if (line.starts_with("cpu")) {
    const auto [rest, error] = std::from_chars(line.data() + 3, line.data() + line.size(), id);
    if (error != std::errc() || rest == line.data() + line.size() || *rest != ' ') return -1;
  }
  return id;
}

}  // namespace

Result<std::vector<CpuSensor::Cpu>> CpuSensor::FindCpus(const HostRoot& host, std::string_view stat) const {
  std::vector<CpuId> ids;
  ForEachLine(stat, [&](std::string_view line) {
    if (const CpuId id = CpuOfLine(line); id >= 0) ids.push_back(id);
  });
  // Without sysfs (a container may hide it) the CPUs that are online now are all that can be known.
  if (const auto present = host.ReadFile("/sys/devices/system/cpu/present"); present.ok()) {
    ATTUNE_TRY(const CpuSet set, CpuSet::Parse(present->substr(0, present->find('\n'))));
    ids.insert(ids.end(), set.begin(), set.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<Cpu> cpus;
  for (const CpuId id : ids) cpus.push_back({id, fmt::format("cpu{} ", id)});
  return cpus;
}

Result<std::vector<model::SignalSpec>> CpuSensor::Prepare(const HostRoot& host) {
  ATTUNE_TRY(const std::string text, host.ReadFile(kPath));
  auto cpus = FindCpus(host, text);
  if (!cpus.ok()) return cpus.error().WithContext("/sys/devices/system/cpu/present");
  cpus_ = *std::move(cpus);
  fields_ = 0;
  ForEachLine(text, [&](std::string_view line) {
    if (CpuOfLine(line) < 0) return;
    const size_t spaces = static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
    fields_ = std::max(fields_, std::min(spaces, kFields.size()));
  });
  if (fields_ == 0) return Error{Errc::kCorrupt, fmt::format("{}: no line of a CPU's times", kPath), ""};
  ATTUNE_TRY(file_, host.Open(kPath));
  // Offline CPUs may come, and every number may grow to 20 digits.
  buffer_.resize(2 * text.size() + cpus_.size() * kFields.size() * 21 + (16u << 10));

  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  const int scale = TickScale(ticks_per_second);
  if (scale < 0)
    return Error{Errc::kUnavailable,
                 fmt::format("{}: {} ticks a second have no decimal scale", kPath, ticks_per_second), ""};
  std::vector<model::SignalSpec> specs;
  for (const Cpu& cpu : cpus_) {
    for (size_t field = 0; field < fields_; ++field) {
      const std::string name = fmt::format("cpu{}", cpu.id);
      specs.push_back(Spec(kFields[field], {model::ElementKind::kCpu, cpu.id, name}));
      specs.back().scale = scale;
      specs.back().max_per_second = ticks_per_second;
    }
  }
  for (const Total& total : kTotals) specs.push_back(Spec(total.signal));
  return specs;
}

bool CpuSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), model::kAbsent);
  const long size = PreadShortLines(file_.get(), buffer_.data(), buffer_.size());
  if (size <= 0) return false;
  Parse({buffer_.data(), static_cast<size_t>(size)}, out);
  return true;
}

void CpuSensor::Parse(std::string_view text, std::span<int64_t> out) const {
  size_t cpu = 0;  // lines come in ascending order: the search goes on where the line before was found
  ForEachLine(text, [&](std::string_view line) {
    const char* const end = line.data() + line.size();
    if (line.starts_with("cpu")) {
      while (cpu < cpus_.size() && !line.starts_with(cpus_[cpu].key)) ++cpu;
      if (cpu == cpus_.size()) {
        cpu = 0;  // the sum of all, or a CPU that was not present at the start
        return;
      }
      const char* at = line.data() + cpus_[cpu].key.size();
      for (size_t field = 0; field < fields_; ++field) {
        if (!NextNumber(at, end, out[cpu * fields_ + field])) break;
      }
      ++cpu;
      return;
    }
    for (size_t i = 0; i < kTotals.size(); ++i) {
      if (!line.starts_with(kTotals[i].key)) continue;
      const char* at = line.data() + kTotals[i].key.size();
      NextNumber(at, end, out[cpus_.size() * fields_ + i]);
      return;
    }
  });
}

}  // namespace attune::sensor
