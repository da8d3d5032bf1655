#pragma once
/// Sensor "smart": what disks say of their own health, from smartctl.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "sensor/catalog.h"
#include "sensor/smart/command_runner.h"
#include "sensor/smart/smart_report.h"

namespace attune::sensor {

struct SmartOptions {
  /// The command, looked up in PATH. Another one than this answers for captured hosts too.
  std::string program = "smartctl";
  std::chrono::milliseconds limit = std::chrono::seconds(10);  ///< how long it may take for a disk
  std::chrono::milliseconds pause = std::chrono::seconds(5);   ///< between two rounds, however often it is sampled
};

/// One element a disk. smartctl runs on a thread of the sensor's own: a reading takes the newest answers and asks for
/// others, so that it never waits. A disk that does not answer, or sleeps, has no values meanwhile.
class SmartSensor final : public OfCatalog<"smart"> {
 public:
  explicit SmartSensor(SmartOptions options = {}) : options_(std::move(options)) {}
  ~SmartSensor() override;
  /// Asks every disk once. kUnavailable: there is no smartctl, or no disk that says anything; kPermission.
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Disk {
    std::string name;
    std::vector<size_t> places;  ///< indices in kSmartSignals of its signals
  };

  std::vector<Result<SmartReport>> AskAll(const std::vector<std::string>& names);
  void Run();

  const SmartOptions options_;
  std::vector<Disk> disks_;
  CommandRunner runner_;  // used by Prepare, then by the thread
  UniqueFd wanted_;       ///< an eventfd: answers are wanted
  UniqueFd stop_;
  Mutex mutex_;
  std::vector<SmartValues> newest_ ATTUNE_GUARDED_BY(mutex_);  ///< newest values by disk
  std::thread asking_;
};

}  // namespace attune::sensor
