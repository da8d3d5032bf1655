#include "cli/host/host_status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/alarms/alarm_json.h"
#include "analysis/status/status_figures.h"
#include "base/clock.h"
#include "base/thread_safety.h"
#include "base/timer.h"
#include "base/units.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "session/core/alarm_config.h"
#include "session/host/launch.h"
#include "session/sampling/local_sampling.h"

namespace attune::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Clocks of CPUs count in ticks, and of two samples in one tick nothing follows.
constexpr int64_t kShortestLookNs = 500'000'000;
constexpr int64_t kLookNs = 1'000'000'000;
constexpr int64_t kLongestEveryNs = 24 * 3'600'000'000'000;

/// Keeps the newest values, and judges.
class Collected : public model::Sink {
 public:
  Collected(const analysis::AlarmSettings& settings, int64_t limit_for_ns)
      : evaluator_(settings), feed_({&evaluator_, &figures_}) {
    if (limit_for_ns > 0) evaluator_.LimitFor(limit_for_ns);
  }

  void Consume(const model::BatchPtr& batch) override {
    const MutexLock lock(mutex_);
    feed_.Add(*batch);
    evaluator_.Take();  // their state is what counts here
  }

  Json Take(int64_t origin_ns) {
    const MutexLock lock(mutex_);
    Json taken = figures_.Take();
    taken["alarms"] = analysis::ToJson(evaluator_.Status(), origin_ns);
    return taken;
  }

 private:
  Mutex mutex_;
  analysis::AlarmEvaluator evaluator_ ATTUNE_GUARDED_BY(mutex_);
  analysis::StatusFigures figures_ ATTUNE_GUARDED_BY(mutex_);
  analysis::LiveFeed feed_ ATTUNE_GUARDED_BY(mutex_);
};

std::string Percent(const Json& value) {
  return value.is_number() ? fmt::format("{:.0f} %", value.get<double>()) : "-";
}
std::string Bytes(const Json& value) {
  return value.is_number() ? FormatBytes(static_cast<uint64_t>(std::max(0.0, value.get<double>()))) : "-";
}
std::string Number(const Json& value) { return value.is_number() ? FormatCount(value.get<double>()) : "-"; }

}  // namespace

class HostStatus::Impl {
 public:
  Impl(const analysis::AlarmSettings& settings, int64_t limit_for_ns) : collected(settings, limit_for_ns) {}

  Collected collected;
  std::unique_ptr<session::LocalSampling> sampling;
  const int64_t start_ns = MonotonicNs();
};

HostStatus::HostStatus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostStatus::~HostStatus() { impl_->sampling.reset(); }

Result<std::unique_ptr<HostStatus>> HostStatus::Start(const HostRoot& host, const analysis::AlarmSettings& settings,
                                                      int64_t limit_for_ns) {
  auto impl = std::make_unique<Impl>(settings, limit_for_ns);
  ATTUNE_TRY(impl->sampling, session::LocalSampling::Start(host, session::StatusSensors(), impl->collected));
  return std::unique_ptr<HostStatus>(new HostStatus(std::move(impl)));
}

Json HostStatus::Take() { return impl_->collected.Take(impl_->start_ns); }

Result<Json> LookAtStatus(int64_t for_ns) {
  ATTUNE_TRY(const analysis::AlarmSettings settings, session::ChooseAlarms("", {}));
  const int64_t look_ns = std::max(for_ns, kShortestLookNs);
  ATTUNE_TRY(const auto status, HostStatus::Start(HostRoot(), settings, look_ns / 2));
  const timespec pause{look_ns / 1'000'000'000, look_ns % 1'000'000'000};
  nanosleep(&pause, nullptr);
  return status->Take();
}

void PrintField(const char* name, const std::string& value) {
  if (value.empty()) return;
  std::printf("  %s %s\n", Styled(stdout, Style::kDim, fmt::format("{:<12}", name)).c_str(), Printable(value).c_str());
}

void PrintStatus(const Json& all) {
  const Json& status = all["status"];
  const Json& health = all["health"];
  std::printf("%s\n", Styled(stdout, Style::kBold, "status").c_str());
  PrintField("CPUs", fmt::format("{} busy of {}; {} tasks run, {} wait for devices",
                                 Percent(status["cpu"]["busy_percent"]), status["cpu"]["cpus"].get<int>(),
                                 Number(status["cpu"]["running"]), Number(status["cpu"]["blocked"])));
  PrintField("load", fmt::format("{}, {}, {} (1, 5, 15 min)", Number(status["load"]["1min"]),
                                 Number(status["load"]["5min"]), Number(status["load"]["15min"])));
  PrintField("memory", fmt::format("{} used, {} of {} available", Percent(status["memory"]["used_percent"]),
                                   Bytes(status["memory"]["available_bytes"]), Bytes(status["memory"]["total_bytes"])));
  const Json& pressure = status["pressure_percent"];
  PrintField("pressure", fmt::format("CPU {}, memory {}, devices {} of the time", Percent(pressure["cpu_some"]),
                                     Percent(pressure["memory_some"]), Percent(pressure["io_some"])));
  for (const Json& row : status["network"]) {
    PrintField("network", fmt::format("{}: {}/s in, {}/s out", row["name"].get<std::string>(),
                                      Bytes(row["received_bytes_per_s"]), Bytes(row["sent_bytes_per_s"])));
  }
  for (const Json& row : status["disks"]) {
    PrintField("disk", fmt::format("{}: {}/s read, {}/s written, {} busy", row["name"].get<std::string>(),
                                   Bytes(row["read_bytes_per_s"]), Bytes(row["written_bytes_per_s"]),
                                   Percent(row["busy_percent"])));
  }
  std::printf("%s\n", Styled(stdout, Style::kBold, "health").c_str());
  for (const Json& row : health["disks"]) {
    PrintField("disk", fmt::format("{}: {}, {} degC", row["name"].get<std::string>(),
                                   row["healthy"] == 1 ? "well" : "FAILING", Number(row["temperature_degC"])));
  }
  for (const Json& row : health["temperatures"]) {
    PrintField("temperature", fmt::format("{}: {} degC, limit {}", row["name"].get<std::string>(), Number(row["degC"]),
                                          Number(row["limit_degC"])));
  }
  for (const Json& row : health["file_systems"]) {
    PrintField("files", fmt::format("{}: {} of {} free", row["name"].get<std::string>(), Bytes(row["free_bytes"]),
                                    Bytes(row["total_bytes"])));
  }
  std::printf("%s\n", Styled(stdout, Style::kBold, "alarms").c_str());
  bool any = false;
  for (const Json& rule : all["alarms"]) {
    for (const Json& reading : rule["readings"]) {
      if (!reading["raised"].get<bool>()) continue;
      any = true;
      PrintField(rule["alarm"].get<std::string>().c_str(), reading["text"].get<std::string>());
    }
  }
  if (!any) PrintField("none", "`attune alarms` says what each was judged by");
}

Result<int> ShowStatus(const std::string& every, bool json) {
  if (!every.empty()) {
    ATTUNE_TRY(const int64_t every_ns, ParseIntervalNs(every, "--every", kShortestLookNs, kLongestEveryNs));
    return StreamStatus(every_ns);
  }
  ATTUNE_TRY(const Json status, LookAtStatus(kLookNs));
  if (json) return PrintJson(status);
  PrintStatus(status);
  return FinishOutput();
}

Result<int> StreamStatus(int64_t every_ns) {
  ATTUNE_TRY(const analysis::AlarmSettings settings, session::ChooseAlarms("", {}));
  session::BlockLauncherSignals();
  ATTUNE_TRY(const auto status, HostStatus::Start(HostRoot(), settings));
  ATTUNE_TRY(const UniqueFd timer, MakeTimer(every_ns, every_ns));
  Status written;
  const session::Watch watch{timer.get(), [&] {
                               uint64_t ticks = 0;
                               if (read(timer.get(), &ticks, sizeof ticks) != sizeof ticks) return true;
                               Json line{{"t_real_ns", RealNs()}};
                               line.update(status->Take());
                               std::fputs((line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n").c_str(),
                                          stdout);
                               written = FinishStream(stdout);
                               return written.ok();
                             }};
  const std::vector<session::Watch> watches{watch};
  ATTUNE_TRY([[maybe_unused]] const int signal, session::WaitForEnd(watches));
  ATTUNE_CHECK_OK(written);
  return 0;
}

}  // namespace attune::cli
