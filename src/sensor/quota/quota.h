#pragma once
/// Sensor "quota": the CPU quota of each observed process's control group, and how long it keeps threads from the CPUs.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"

namespace attune::sensor {

/// Counts of a group's cpu.stat; kAbsent: not there.
struct QuotaCounts {
  int64_t throttled_ns = model::kAbsent;
  int64_t periods = model::kAbsent;
  int64_t throttled_periods = model::kAbsent;
};
/// @param text cpu.stat of cgroup v2 (throttled_usec) or v1 (throttled_time)
QuotaCounts ParseQuotaCounts(std::string_view text);

struct QuotaLimit {
  int64_t quota_ns = model::kAbsent;  ///< kAbsent: there is no limit
  int64_t period_ns = model::kAbsent;
};
/// @param text cpu.max of cgroup v2: "50000 100000", "max 100000"
QuotaLimit ParseQuotaLimit(std::string_view text);

/// The folders below /sys/fs/cgroup that may have a process's CPU quota, innermost first; of v1 and v2 where both are.
/// @param text /proc/PID/cgroup
std::vector<std::string> QuotaFolders(std::string_view text);

/// Bounded: at most 256 processes. Those without a quota have no series. @cost 5 us a process
class QuotaSensor final : public OfCatalog<"quota"> {
 public:
  using ObservedPids = std::function<std::vector<int64_t>()>;

  /// @param observed nullptr: unavailable; callable from any thread
  explicit QuotaSensor(ObservedPids observed) : observed_(std::move(observed)) {}

  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  /// nullptr as long as the processes are in the groups that were prepared.
  std::unique_ptr<model::Sensor> Fresh() const override;

 private:
  struct Group {
    std::string folder;
    QuotaLimit limit;
    bool operator==(const Group& other) const { return folder == other.folder; }
  };
  struct Process {
    int64_t pid = 0;
    Group group;
    bool operator==(const Process& other) const { return pid == other.pid && group == other.group; }
  };
  struct Sampled {
    UniqueFd stat;
    int64_t group = 0;
    QuotaLimit limit;
  };

  /// Those with a quota.
  std::vector<Process> Find(const HostRoot& host) const;

  const ObservedPids observed_;
  std::optional<HostRoot> host_;  // once prepared
  std::vector<Process> prepared_for_;
  std::vector<Sampled> sampled_;
};

}  // namespace attune::sensor
