#include "sensor/pressure/pressure.h"

#include <fmt/format.h>

#include <algorithm>

#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

constexpr std::array<std::string_view, 4> kResources{"cpu", "memory", "io", "irq"};
constexpr size_t kStatBytes = 2048;
// cgroup v2 alone, and beside v1.
constexpr std::array<std::string_view, 2> kCgroupRoots{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/// Scans "name=12.34 " off the front of [at, end).
int64_t ScanField(const char*& at, const char* end, std::string_view name, int digits) {
  if (!std::string_view(at, static_cast<size_t>(end - at)).starts_with(name)) return model::kAbsent;
  at += name.size();
  const int64_t value = digits > 0 ? ScanDecimal(at, end, digits) : ScanNumber(at, end);
  while (at < end && *at == ' ') ++at;
  return value;
}

PressureLine ParseLine(std::string_view fields) {
  const char* at = fields.data();
  const char* const end = at + fields.size();
  PressureLine line;
  line.avg10 = ScanField(at, end, "avg10=", 2);
  line.avg60 = ScanField(at, end, "avg60=", 2);
  ScanField(at, end, "avg300=", 2);
  line.total_us = ScanField(at, end, "total=", 0);
  return line;
}

/// The path of this process's cgroup v2. Empty: not known, or the root, whose pressure is the machine's.
std::string OwnCgroup(const HostRoot& host) {
  const std::string text = host.ReadFile("/proc/self/cgroup").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = NextLine(rest);
    if (!line.starts_with("0::/")) continue;
    line.remove_prefix(3);
    return std::string(line == "/" ? "" : line);
  }
  return "";
}

int64_t* Put(int64_t* out, const PressureLine& line) {
  *out++ = line.avg10;
  *out++ = line.avg60;
  *out++ = line.total_us;
  return out;
}

}  // namespace

Pressure ParsePressure(std::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (line.starts_with("some ")) pressure.some = ParseLine(line.substr(5));
    if (line.starts_with("full ")) pressure.full = ParseLine(line.substr(5));
  }
  return pressure;
}

int64_t ParseThrottledUs(std::string_view text) {
  constexpr std::string_view kKey = "throttled_usec ";
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (!line.starts_with(kKey)) continue;
    const char* at = line.data() + kKey.size();
    return ScanNumber(at, line.data() + line.size());
  }
  return model::kAbsent;
}

void PressureSensor::Add(const HostRoot& host, const std::string& path, const std::string& name) {
  const auto text = host.ReadFile(path, 4096);  // fails with EOPNOTSUPP where the kernel was started with psi=0
  if (!text.ok()) return;
  const Pressure now = ParsePressure(*text);
  auto file = host.Open(path);
  if (!file.ok() || (!now.some.IsThere() && !now.full.IsThere())) return;
  const auto describe = [&](std::string_view line) {
    for (const char* what : {"avg10", "avg60", "total"})
      specs_.push_back(Spec(fmt::format("{}_{}_{}", name, line, what)));
  };
  if (now.some.IsThere()) describe("some");
  if (now.full.IsThere()) describe("full");
  files_.push_back({*std::move(file), now.some.IsThere(), now.full.IsThere()});
}

Result<std::vector<model::SignalSpec>> PressureSensor::Prepare(const HostRoot& host) {
  files_.clear();
  quota_.reset();
  specs_.clear();
  for (const std::string_view resource : kResources)
    Add(host, fmt::format("/proc/pressure/{}", resource), std::string(resource));
  if (files_.empty()) {
    return Error{Errc::kUnavailable, "/proc/pressure: this kernel does not count pressure",
                 "it needs CONFIG_PSI, and psi=1 on its command line where that is off by default"};
  }
  const std::string cgroup = OwnCgroup(host);
  if (cgroup.empty()) return specs_;
  for (const std::string_view root : kCgroupRoots) {
    const size_t before = files_.size();
    for (const std::string_view resource : kResources)
      Add(host, fmt::format("{}{}/{}.pressure", root, cgroup, resource), fmt::format("cgroup_{}", resource));
    AddQuota(host, fmt::format("{}{}/cpu.stat", root, cgroup));
    if (files_.size() > before) break;
  }
  return specs_;
}

void PressureSensor::AddQuota(const HostRoot& host, const std::string& path) {
  const auto text = host.ReadFile(path, kStatBytes);
  auto file = host.Open(path);
  if (!text.ok() || !file.ok() || ParseThrottledUs(*text) == model::kAbsent || quota_) return;
  quota_ = *std::move(file);
  specs_.push_back(Spec("cgroup_throttled"));
}

bool PressureSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), model::kAbsent);
  std::array<char, 256> text;
  bool any = false;
  int64_t* at = out.data();
  for (const File& file : files_) {
    const long size = PreadShortLines(file.file.get(), text.data(), text.size());
    const Pressure now = ParsePressure({text.data(), static_cast<size_t>(std::max(size, 0L))});
    any = any || size > 0;
    if (file.some) at = Put(at, now.some);
    if (file.full) at = Put(at, now.full);
  }
  if (quota_) {
    std::array<char, kStatBytes> stat;
    const long size = PreadAll(quota_.get(), stat.data(), stat.size());
    *at = ParseThrottledUs({stat.data(), static_cast<size_t>(std::max(size, 0L))});
  }
  return any;
}

}  // namespace attune::sensor
