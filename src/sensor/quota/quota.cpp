#include "sensor/quota/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sensor/text/number_file.h"
#include "sensor/text/scan.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

constexpr std::array<std::string_view, 6> kSignals{"throttled", "periods", "throttled_periods",
                                                   "quota",     "period",  "group"};
constexpr size_t kMostProcesses = 256;
constexpr size_t kMostDepth = 64;
constexpr size_t kStatBytes = 2048;

int64_t Times(int64_t number, int64_t factor) {
  int64_t product = 0;
  return number < 0 || __builtin_mul_overflow(number, factor, &product) ? kAbsent : product;
}

/// A folder and those above it, up to the root of the hierarchy.
void AddWithParents(const std::string& root, std::string_view path, std::vector<std::string>& folders) {
  for (size_t depth = 0; depth < kMostDepth; ++depth) {
    while (path.ends_with('/')) path.remove_suffix(1);
    folders.push_back(root + std::string(path));
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

/// nullopt: nothing limits it here.
std::optional<QuotaLimit> LimitOf(const HostRoot& host, const std::string& folder) {
  QuotaLimit limit;
  if (const auto max = host.ReadFile(folder + "/cpu.max", 256); max.ok()) {
    limit = ParseQuotaLimit(*max);
  } else {
    const auto quota = host.ReadFile(folder + "/cpu.cfs_quota_us", 64);
    const auto period = host.ReadFile(folder + "/cpu.cfs_period_us", 64);
    if (!quota.ok() || !period.ok() || quota->starts_with('-')) return std::nullopt;
    limit = {Times(NumberOf(*quota), 1000), Times(NumberOf(*period), 1000)};
  }
  if (limit.quota_ns == kAbsent || limit.period_ns == kAbsent || limit.period_ns == 0) return std::nullopt;
  return limit;
}

}  // namespace

QuotaCounts ParseQuotaCounts(std::string_view text) {
  QuotaCounts counts;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, blank);
    const int64_t value = NumberOf(line.substr(blank));
    if (key == "nr_periods") counts.periods = value;
    if (key == "nr_throttled") counts.throttled_periods = value;
    if (key == "throttled_time") counts.throttled_ns = value;
    if (key == "throttled_usec") counts.throttled_ns = Times(value, 1000);
  }
  return counts;
}

QuotaLimit ParseQuotaLimit(std::string_view text) {
  std::string_view line = NextLine(text);
  if (line.starts_with("max")) return {};
  const int64_t quota_us = NextNumber(line);
  return {Times(quota_us, 1000), Times(NextNumber(line), 1000)};
}

std::vector<std::string> QuotaFolders(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (!path.starts_with('/') || path.find("/../") != std::string_view::npos) continue;
    if (controllers.empty()) {
      AddWithParents("/sys/fs/cgroup", path, folders);
      AddWithParents("/sys/fs/cgroup/unified", path, folders);
    } else if (controllers == "cpu" || controllers.starts_with("cpu,") || controllers.ends_with(",cpu")) {
      AddWithParents(fmt::format("/sys/fs/cgroup/{}", controllers), path, folders);
    }
  }
  return folders;
}

std::vector<QuotaSensor::Process> QuotaSensor::Find(const HostRoot& host) const {
  std::vector<Process> found;
  for (const int64_t pid : observed_()) {
    const auto text = host.ReadFile(fmt::format("/proc/{}/cgroup", pid), 64u << 10);
    if (!text.ok() || found.size() >= kMostProcesses) continue;
    for (const std::string& folder : QuotaFolders(*text)) {
      const auto limit = LimitOf(host, folder);
      if (!limit) continue;
      found.push_back({pid, {folder, *limit}});
      break;
    }
  }
  return found;
}

Result<std::vector<model::SignalSpec>> QuotaSensor::Prepare(const HostRoot& host) {
  if (!observed_) return Error{Errc::kUnavailable, "quota: no program is observed", "attune run -- PROGRAM"};
  host_ = host;
  prepared_for_ = Find(host);
  sampled_.clear();
  std::vector<model::SignalSpec> specs;
  for (const Process& process : prepared_for_) {
    auto stat = host.Open(process.group.folder + "/cpu.stat");
    if (!stat.ok()) continue;
    const auto group = static_cast<int64_t>(std::hash<std::string>()(process.group.folder) >> 16);
    sampled_.push_back({*std::move(stat), group, process.group.limit});
    for (const std::string_view signal : kSignals) specs.push_back(Spec(signal, {.os_id = process.pid}));
  }
  return specs;
}

bool QuotaSensor::Sample(std::span<int64_t> out) {
  std::array<char, kStatBytes> text;
  bool any = false;
  size_t at = 0;
  for (const Sampled& sampled : sampled_) {
    const long size = PreadAll(sampled.stat.get(), text.data(), text.size());
    const QuotaCounts counts = ParseQuotaCounts({text.data(), static_cast<size_t>(std::max(size, 0L))});
    const bool is_there = counts.throttled_ns != kAbsent;
    any = any || is_there;
    out[at++] = counts.throttled_ns;
    out[at++] = counts.periods;
    out[at++] = counts.throttled_periods;
    out[at++] = is_there ? sampled.limit.quota_ns : kAbsent;
    out[at++] = is_there ? sampled.limit.period_ns : kAbsent;
    out[at++] = is_there ? sampled.group : kAbsent;
  }
  return any || sampled_.empty();
}

std::unique_ptr<model::Sensor> QuotaSensor::Fresh() const {
  if (!observed_ || (host_ && Find(*host_) == prepared_for_)) return nullptr;
  return std::make_unique<QuotaSensor>(observed_);
}

}  // namespace attune::sensor
