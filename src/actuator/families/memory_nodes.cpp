// NUMA nodes in whose memory the pages of a process lie (migrate_pages). What it writes to for the first time later
// comes to the node of the thread, as before.

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>

#include "actuator/actuators.h"
#include "actuator/threads.h"
#include "base/cpu_set.h"

namespace attune::actuator {
namespace {

constexpr size_t kMostNodes = 1024, kBits = 64;
using Mask = std::array<uint64_t, kMostNodes / kBits>;

/// A node with fewer pages than that part of all is left out: some pages of libraries cannot be moved.
constexpr double kLeast = 0.05;

Mask MaskOf(const CpuSet& nodes) {
  Mask mask{};
  for (const CpuId node : nodes) {
    const auto bit = static_cast<size_t>(node);
    if (bit < kMostNodes) mask[bit / kBits] |= uint64_t{1} << (bit % kBits);
  }
  return mask;
}

/// Pages of each node: "... anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4".
std::map<CpuId, int64_t> PagesOf(std::string_view numa_maps) {
  std::map<CpuId, int64_t> pages;
  const char* const end = numa_maps.data() + numa_maps.size();
  for (size_t at = numa_maps.find(" N"); at != std::string_view::npos; at = numa_maps.find(" N", at + 1)) {
    CpuId node = 0;
    int64_t count = 0;
    const auto [equals, first] = std::from_chars(numa_maps.data() + at + 2, end, node);
    if (first != std::errc() || equals == end || *equals != '=') continue;
    if (std::from_chars(equals + 1, end, count).ec == std::errc()) pages[node] += count;
  }
  return pages;
}

class MemoryNodes : public model::Actuator {
 public:
  explicit MemoryNodes(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    ATTUNE_TRY(const std::string text, host_.ReadFile(fmt::format("/proc/{}/numa_maps", target.pid), 64u << 20));
    const std::map<CpuId, int64_t> pages = PagesOf(text);
    int64_t all = 0;
    for (const auto& [node, count] : pages) all += count;
    std::vector<CpuId> nodes;
    for (const auto& [node, count] : pages) {
      if (static_cast<double>(count) > kLeast * static_cast<double>(all)) nodes.push_back(node);
    }
    if (nodes.empty())
      return Error{Errc::kNotFound, fmt::format("{}: no page of process {} is known", knob.name, target.pid), ""};
    return std::vector<model::KnobSetting>{{"", CpuSet(std::move(nodes)).ToString()}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const CpuSet wanted, CpuSet::Parse(setting.value));
    ATTUNE_TRY(const std::string online, host_.ReadFile("/sys/devices/system/node/online"));
    ATTUNE_TRY(const CpuSet all, CpuSet::Parse(online.substr(0, online.find('\n'))));
    const Mask from = MaskOf(all), to = MaskOf(wanted);
    if (syscall(SYS_migrate_pages, target.pid, kMostNodes, from.data(), to.data()) < 0) {
      Error error =
          ErrnoError(fmt::format("{}: moving pages of process {} to node {}", knob.name, target.pid, setting.value));
      if (error.code == Errc::kPermission) error.hint = "it takes CAP_SYS_NICE: run as root";
      return error;
    }
    ATTUNE_TRY(const auto now, Read(knob, target));
    // Back to several nodes: which page was on which is not known.
    if (now.front().value != setting.value && wanted.size() == 1)
      return NotTaken(knob, "", setting.value, now.front().value);
    return setting.value;
  }

 private:
  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeMemoryNodesActuator(const ActuatorHost& host) {
  return std::make_unique<MemoryNodes>(host.host);
}

}  // namespace attune::actuator
