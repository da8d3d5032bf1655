#pragma once
/// A sensor that is a plug-in in a process of its own. What goes wrong with that process costs the plug-in's series
/// only.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/sensor.h"
#include "sensor/plugin/plugin_channel.h"

namespace attune::sensor {

/// Told what a user should know: "plug-in demo crashed (SIGSEGV); it is started again". @thread any
using PluginReport = std::function<void(const std::string&)>;

struct PluginOptions {
  std::string file;                        ///< the shared object; its name without ".so" is the sensor's
  std::string argument;                    ///< handed to the plug-in
  std::string program = "/proc/self/exe";  ///< that has the command plugin-host
  PluginReport report;                     ///< may be empty
  int64_t restart_delay_ns = 1'000'000'000;
};

/// While it lives, plug-ins that this thread prepares are bound to the token: once a stop is requested, they call their
/// PluginReport no more, their processes are ended, and Prepare() returns. Nothing is called then that may be gone.
class PluginsEndWith {
 public:
  explicit PluginsEndWith(std::stop_token token);
  ~PluginsEndWith();
  PluginsEndWith(const PluginsEndWith&) = delete;
  PluginsEndWith& operator=(const PluginsEndWith&) = delete;
};

/// A process that crashes, ends or does not answer within a second is ended and started again, at most kMaxRestarts
/// times; in between the sensor has vanished. A plug-in that then describes other signals is not used any more.
class PluginSensor final : public model::Sensor {
 public:
  static constexpr int kMaxRestarts = 3;

  explicit PluginSensor(PluginOptions options);
  ~PluginSensor() override;
  const model::SensorInfo& Info() const override { return info_; }
  /// Starts the process. @cost some ms
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Process {
    ChildProcess child;
    UniqueFd hello;
    UniqueFd page_fd;
    PluginPage* page = nullptr;  ///< that of page_fd, mapped until Unshare()
  };

  void Supervise();
  Result<Process> Start();
  Result<PluginHello> Greet(Process& process);
  bool WaitForHello(int fd, int64_t deadline_ns) const;
  Status Share(Process& process, size_t signals);
  std::string WaitForEnd(Process& process);
  void End(Process& process);
  void Unshare();
  bool Stopping(int64_t delay_ns) const;
  void Report(const std::string& text);
  void Abandon();

  const PluginOptions options_;
  const std::string stem_;
  model::SensorInfo info_{};
  UniqueFd stop_;  // an eventfd: readable when the supervisor shall end
  std::thread supervisor_;
  std::optional<std::stop_callback<std::function<void()>>> on_abandoned_;

  Mutex report_mutex_;  // held while something is reported
  bool silent_ ATTUNE_GUARDED_BY(report_mutex_) = false;

  Mutex mutex_;
  CondVar prepared_;
  std::optional<Result<PluginHello>> hello_ ATTUNE_GUARDED_BY(mutex_);  // answer of the first process
  PluginPage* page_ ATTUNE_GUARDED_BY(mutex_) = nullptr;                // nullptr: there is no process at the moment
  size_t page_bytes_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint32_t request_ ATTUNE_GUARDED_BY(mutex_) = 0;
  int pidfd_ ATTUNE_GUARDED_BY(mutex_) = -1;
  bool overdue_ ATTUNE_GUARDED_BY(mutex_) = false;  // the process did not answer and was killed for it
};

}  // namespace attune::sensor
