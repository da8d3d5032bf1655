#include "base/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace attune {
namespace {

constexpr CpuId kMaxCpuId = 1 << 20;

Result<CpuId> ParseId(std::string_view text, std::string_view whole) {
  CpuId id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0 || id > kMaxCpuId) {
    return Error{Errc::kInvalidArgument, "not a CPU list: '" + std::string(whole) + "'", "write it as 0-3,8"};
  }
  return id;
}

}  // namespace

CpuSet::CpuSet(std::vector<CpuId> ids) : ids_(std::move(ids)) {
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
}

Result<CpuSet> CpuSet::Parse(std::string_view text) {
  const std::string_view whole = text;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<CpuId> ids;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    ATTUNE_TRY(const CpuId first, ParseId(part.substr(0, dash), whole));
    CpuId last = first;
    if (dash != std::string_view::npos) {
      ATTUNE_TRY(last, ParseId(part.substr(dash + 1), whole));
    }
    if (last < first)
      return Error{Errc::kInvalidArgument, "CPU range runs backwards: '" + std::string(whole) + "'", ""};
    for (CpuId id = first; id <= last; ++id) ids.push_back(id);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return CpuSet(std::move(ids));
}

CpuSet CpuSet::In(const HostRoot& host, std::string_view path) {
  const auto text = host.ReadFile(path);
  return text.ok() ? Parse(*text).value_or(CpuSet()) : CpuSet();
}

CpuSet CpuSet::Allowed() {
  std::vector<CpuId> ids;
  for (int cpus = 1024; cpus <= kMaxCpuId; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; ok && cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) ids.push_back(cpu);
    }
    CPU_FREE(set);
    if (ok) break;
  }
  return CpuSet(std::move(ids));
}

bool CpuSet::Contains(CpuId cpu) const { return std::binary_search(ids_.begin(), ids_.end(), cpu); }

CpuSet CpuSet::Common(const CpuSet& other) const {
  std::vector<CpuId> common;
  std::set_intersection(ids_.begin(), ids_.end(), other.ids_.begin(), other.ids_.end(), std::back_inserter(common));
  return CpuSet(std::move(common));
}

std::string CpuSet::ToString() const {
  std::string text;
  for (size_t i = 0; i < ids_.size();) {
    size_t last = i;
    while (last + 1 < ids_.size() && ids_[last + 1] == ids_[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ids_[i]);
    if (last > i) text += '-' + std::to_string(ids_[last]);
    i = last + 1;
  }
  return text;
}

Status CpuSet::PinThisThread() const {
  if (ids_.empty()) return Error{Errc::kInvalidArgument, "cannot pin to an empty CPU set", ""};
  const auto cpus = static_cast<size_t>(ids_.back()) + 1;
  cpu_set_t* set = CPU_ALLOC(cpus);
  const size_t bytes = CPU_ALLOC_SIZE(cpus);
  CPU_ZERO_S(bytes, set);
  for (CpuId cpu : ids_) CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  const int rc = sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
  if (rc != 0) return ErrnoError("pinning to CPUs " + ToString());
  return {};
}

}  // namespace attune
