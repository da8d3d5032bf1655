#include "cli/host/host_status.h"

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <optional>

#include "analysis/alarms/alarm_json.h"
#include "base/clock.h"
#include "base/thread_safety.h"
#include "base/units.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "session/core/alarm_config.h"
#include "session/host/launch.h"
#include "session/sampling/local_sampling.h"

namespace attune::cli {
namespace {

using Json = nlohmann::ordered_json;
using model::kAbsent;

/// Clocks of CPUs count in ticks, and of two samples in one tick nothing follows.
constexpr int64_t kShortestLookNs = 500'000'000;
constexpr int64_t kLookNs = 1'000'000'000;
constexpr int64_t kLongestEveryNs = 24 * 3'600'000'000'000;

/// Whole numbers as such.
Json OrNull(const std::optional<double>& value) {
  constexpr double kLargestExact = 9007199254740992.0;
  if (value && *value == std::floor(*value) && std::abs(*value) < kLargestExact) return static_cast<int64_t>(*value);

  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

/// A series with its newest value, and the one that the rate counts from.
struct Row {
  model::Series series;
  int64_t base_ns = kAbsent;
  int64_t base = kAbsent;
  int64_t t_ns = kAbsent;
  int64_t value = kAbsent;

  void Add(int64_t at_ns, int64_t now) {
    t_ns = at_ns;
    value = now;
    // A counter that went back begins anew.
    if (base_ns == kAbsent || base == kAbsent || now < base) {
      base_ns = at_ns;
      base = now;
    }
  }
  std::optional<double> Level() const {
    if (value == kAbsent) return std::nullopt;
    return static_cast<double>(value) * std::pow(10.0, series.scale);
  }
  std::optional<double> RawRate() const {
    if (value == kAbsent || base == kAbsent || t_ns <= base_ns) return std::nullopt;
    return (static_cast<double>(value) - static_cast<double>(base)) / (static_cast<double>(t_ns - base_ns) / 1e9);
  }
  std::optional<double> Rate() const {
    const auto rate = RawRate();
    return rate ? std::optional(*rate * std::pow(10.0, series.scale)) : std::nullopt;
  }
  /// Percent of the largest rate.
  std::optional<double> Share() const {
    const auto rate = RawRate();
    if (!rate || series.max_per_second <= 0) return std::nullopt;
    return 100 * *rate / static_cast<double>(series.max_per_second);
  }
};

/// Keeps the newest values, and judges.
class Collected : public model::Sink {
 public:
  Collected(const analysis::AlarmSettings& settings, int64_t limit_for_ns) : evaluator_(settings) {
    if (limit_for_ns > 0) evaluator_.LimitFor(limit_for_ns);
  }

  void Consume(const model::BatchPtr& batch) override {
    const MutexLock lock(mutex_);
    evaluator_.Consume(*batch);
    evaluator_.Take();  // their state is what counts here
    switch (batch->table) {
      case model::Element::kTable:
        for (const model::Element& element : model::RowsFrom<model::Element>(*batch)) names_[element.id] = element.name;
        break;
      case model::Series::kTable:
        for (const model::Series& series : model::RowsFrom<model::Series>(*batch)) {
          rows_[series.id].series = series;
          by_name_[{series.sensor, series.signal}][series.element] = series.id;
        }
        break;
      case model::StreamColumn::kTable:
        for (const model::Stream& stream : model::StreamsFrom(*batch)) streams_[stream.id] = stream.series;
        break;
      case model::Sample::kTable: AddSamples(*batch); break;
      default: break;
    }
  }

  Json Take(int64_t origin_ns) {
    const MutexLock lock(mutex_);
    Json taken{
        {"status", Status()}, {"health", Health()}, {"alarms", analysis::ToJson(evaluator_.Status(), origin_ns)}};
    for (auto& [id, row] : rows_) {
      row.base_ns = row.t_ns;
      row.base = row.value;
    }
    return taken;
  }

 private:
  void AddSamples(const model::Batch& batch) ATTUNE_REQUIRES(mutex_) {
    const auto found = streams_.find(batch.stream);
    if (found == streams_.end()) return;
    for (size_t column = 0; column < found->second.size() && column + 1 < batch.ints.size(); ++column) {
      Row& row = rows_[found->second[column]];
      for (size_t at = 0; at < batch.rows; ++at) row.Add(batch.ints[0][at], batch.ints[column + 1][at]);
    }
  }

  const Row* Find(const std::string& sensor, const std::string& signal, model::ElementId element) const
      ATTUNE_REQUIRES(mutex_) {
    const auto signals = by_name_.find({sensor, signal});
    if (signals == by_name_.end()) return nullptr;
    const auto found = signals->second.find(element);
    return found == signals->second.end() ? nullptr : &rows_.at(found->second);
  }
  /// What `get` makes of the machine's only row of a signal.
  template <class Get>
  std::optional<double> Of(const std::string& sensor, const std::string& signal, Get get) const
      ATTUNE_REQUIRES(mutex_) {
    const auto signals = by_name_.find({sensor, signal});
    if (signals == by_name_.end() || signals->second.empty()) return std::nullopt;
    return (rows_.at(signals->second.begin()->second).*get)();
  }
  Json Level(const std::string& sensor, const std::string& signal) const ATTUNE_REQUIRES(mutex_) {
    return OrNull(Of(sensor, signal, &Row::Level));
  }
  Json Rate(const std::string& sensor, const std::string& signal) const ATTUNE_REQUIRES(mutex_) {
    return OrNull(Of(sensor, signal, &Row::Rate));
  }
  Json Share(const std::string& sensor, const std::string& signal) const ATTUNE_REQUIRES(mutex_) {
    return OrNull(Of(sensor, signal, &Row::Share));
  }

  /// An object for each element that has `signal`: name, and what the makers say of it. Elements without a value at the
  /// moment are left out.
  struct Field {
    const char* key;
    const char* signal;
    std::optional<double> (Row::*get)() const;
  };
  Json PerElement(const std::string& sensor, const std::string& signal, std::initializer_list<Field> fields) const
      ATTUNE_REQUIRES(mutex_) {
    Json rows = Json::array();
    const auto signals = by_name_.find({sensor, signal});
    if (signals == by_name_.end()) return rows;
    for (const auto& [element, series] : signals->second) {
      if (!rows_.at(series).Level()) continue;
      Json row{{"name", names_.at(element)}};
      for (const Field& field : fields) {
        const Row* found = Find(sensor, field.signal, element);
        row[field.key] = found == nullptr ? Json(nullptr) : OrNull((found->*field.get)());
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// Busy is what is neither idle nor waiting for a device, of all CPUs.
  Json Cpu() const ATTUNE_REQUIRES(mutex_) {
    double idle = 0;
    int cpus = 0;
    const auto signals = by_name_.find({"cpu", "idle"});
    if (signals != by_name_.end()) {
      for (const auto& [element, series] : signals->second) {
        const auto share = rows_.at(series).Share();
        const Row* waiting = Find("cpu", "iowait", element);
        if (!share) continue;
        ++cpus;
        idle += *share + (waiting == nullptr ? 0 : waiting->Share().value_or(0));
      }
    }
    const Json busy = cpus == 0 ? Json(nullptr) : Json(std::clamp(100 - idle / cpus, 0.0, 100.0));
    return {{"cpus", cpus},
            {"busy_percent", busy},
            {"running", Level("cpu", "running")},
            {"blocked", Level("cpu", "blocked")},
            {"context_switches_per_s", Rate("cpu", "context_switches")}};
  }

  Json Memory(const char* total_key, const char* free_key) const ATTUNE_REQUIRES(mutex_) {
    const auto total = Of("memory", total_key, &Row::Level);
    const auto free = Of("memory", free_key, &Row::Level);
    const bool known = total && free && *total > 0;
    return {{"total_bytes", OrNull(total)},
            {"available_bytes", OrNull(free)},
            {"used_percent", known ? Json(100 * (*total - *free) / *total) : Json(nullptr)}};
  }

  Json Status() const ATTUNE_REQUIRES(mutex_) {
    Json swap = Memory("SwapTotal", "SwapFree");
    swap["in_pages_per_s"] = Rate("vmstat", "pswpin");
    swap["out_pages_per_s"] = Rate("vmstat", "pswpout");
    return {{"cpu", Cpu()},
            {"load",
             {{"1min", Level("loadavg", "load1")},
              {"5min", Level("loadavg", "load5")},
              {"15min", Level("loadavg", "load15")}}},
            {"memory", Memory("MemTotal", "MemAvailable")},
            {"swap", swap},
            {"pressure_percent",
             {{"cpu_some", Share("pressure", "cpu_some_total")},
              {"memory_some", Share("pressure", "memory_some_total")},
              {"memory_full", Share("pressure", "memory_full_total")},
              {"io_some", Share("pressure", "io_some_total")},
              {"io_full", Share("pressure", "io_full_total")}}},
            {"network", PerElement("network", "rx_bytes",
                                   {{"received_bytes_per_s", "rx_bytes", &Row::Rate},
                                    {"sent_bytes_per_s", "tx_bytes", &Row::Rate},
                                    {"received_percent", "rx_bytes", &Row::Share},
                                    {"sent_percent", "tx_bytes", &Row::Share}})},
            {"disks", PerElement("block", "busy_time",
                                 {{"read_bytes_per_s", "read_bytes", &Row::Rate},
                                  {"written_bytes_per_s", "write_bytes", &Row::Rate},
                                  {"busy_percent", "busy_time", &Row::Share},
                                  {"in_flight", "in_flight", &Row::Level}})}};
  }

  Json Health() const ATTUNE_REQUIRES(mutex_) {
    return {{"disks", PerElement("smart", "healthy",
                                 {{"healthy", "healthy", &Row::Level},
                                  {"temperature_degC", "temperature", &Row::Level},
                                  {"power_on_hours", "power_on_time", &Row::Level},
                                  {"reallocated_sectors", "reallocated_sectors", &Row::Level},
                                  {"pending_sectors", "pending_sectors", &Row::Level},
                                  {"uncorrectable_sectors", "uncorrectable_sectors", &Row::Level},
                                  {"used_percent", "used", &Row::Level},
                                  {"spare_percent", "spare", &Row::Level},
                                  {"media_errors", "media_errors", &Row::Level},
                                  {"critical_warning", "critical_warning", &Row::Level}})},
            {"temperatures",
             PerElement("hwmon", "temperature",
                        {{"degC", "temperature", &Row::Level}, {"limit_degC", "temperature_limit", &Row::Level}})},
            {"throttling",
             {{"packages", PerElement("hwmon", "package_throttles",
                                      {{"events", "package_throttles", &Row::Level},
                                       {"events_per_s", "package_throttles", &Row::Rate}})},
              {"cgroup_quota_cpus", QuotaCpus()}}},
            {"file_systems", PerElement("storage", "total_bytes",
                                        {{"total_bytes", "total_bytes", &Row::Level},
                                         {"free_bytes", "free_bytes", &Row::Level},
                                         {"total_inodes", "total_inodes", &Row::Level},
                                         {"free_inodes", "free_inodes", &Row::Level}})}};
  }

  /// CPUs that the quota of the cgroup withholds.
  Json QuotaCpus() const ATTUNE_REQUIRES(mutex_) {
    const auto rate = Of("pressure", "cgroup_throttled", &Row::Rate);
    return rate ? Json(*rate / 1e9) : Json(nullptr);
  }

  mutable Mutex mutex_;
  analysis::AlarmEvaluator evaluator_ ATTUNE_GUARDED_BY(mutex_);
  std::map<model::ElementId, std::string> names_ ATTUNE_GUARDED_BY(mutex_);
  std::map<model::SeriesId, Row> rows_ ATTUNE_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, std::map<model::ElementId, model::SeriesId>> by_name_
      ATTUNE_GUARDED_BY(mutex_);
  std::map<model::StreamId, std::vector<model::SeriesId>> streams_ ATTUNE_GUARDED_BY(mutex_);
};

std::string Percent(const Json& value) {
  return value.is_number() ? fmt::format("{:.0f} %", value.get<double>()) : "-";
}
std::string Bytes(const Json& value) {
  return value.is_number() ? FormatBytes(static_cast<uint64_t>(std::max(0.0, value.get<double>()))) : "-";
}
std::string Number(const Json& value) { return value.is_number() ? FormatCount(value.get<double>()) : "-"; }

void PrintField(const char* name, const std::string& value) {
  std::printf("  %s %s\n", Styled(stdout, Style::kDim, fmt::format("{:<12}", name)).c_str(), Printable(value).c_str());
}

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
  const UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const timespec period{every_ns / 1'000'000'000, every_ns % 1'000'000'000};
  const itimerspec when{period, period};
  if (!timer || timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return ErrnoError("timer");
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
