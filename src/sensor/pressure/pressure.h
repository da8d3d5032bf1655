#pragma once
/// Sensor "pressure": the time that tasks lost waiting for CPUs, memory, devices and interrupts (PSI), of the machine
/// and of attune's own cgroup.

#include <array>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"

namespace attune::sensor {

/// One line of a pressure file. Averages in hundredths of a per cent, total in microseconds; kAbsent: not there.
struct PressureLine {
  int64_t avg10 = model::kAbsent;
  int64_t avg60 = model::kAbsent;
  int64_t total_us = model::kAbsent;

  bool IsThere() const { return total_us != model::kAbsent; }
};

/// "some avg10=0.12 avg60=… avg300=… total=123" and "full …"; the kernel leaves either out where it has no meaning.
struct Pressure {
  PressureLine some;
  PressureLine full;
};

Pressure ParsePressure(std::string_view text);
/// "throttled_usec" of a cgroup's cpu.stat; kAbsent: its CPU controller is not at work.
int64_t ParseThrottledUs(std::string_view text);

class PressureSensor final : public OfCatalog<"pressure"> {
 public:
  /// kUnavailable: the kernel does not count pressure.
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct File {
    UniqueFd file;
    bool some;  ///< the file has this line: three signals
    bool full;
  };
  /// Adds the file where it is there and has a line. @param name "cpu", "cgroup_cpu"
  void Add(const HostRoot& host, const std::string& path, const std::string& name);

  void AddQuota(const HostRoot& host, const std::string& path);

  std::vector<File> files_;
  UniqueFd quota_;  ///< cpu.stat of the cgroup, where it has a quota's times
  std::vector<model::SignalSpec> specs_;
};

}  // namespace attune::sensor
