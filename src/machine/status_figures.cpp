#include "machine/status_figures.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/schema.h"
#include "model/series_values.h"

namespace attune::machine {
namespace {

using Json = nlohmann::ordered_json;
using model::kAbsent;

/// Whole numbers as such.
Json OrNull(const std::optional<double>& value) {
  constexpr double kLargestExact = 9007199254740992.0;
  if (value && *value == std::floor(*value) && std::abs(*value) < kLargestExact) return static_cast<int64_t>(*value);

  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

/// Rates count from the last time that somebody asked.
struct Row : model::SeriesReading {
  void Add(int64_t at_ns, int64_t now) {
    t_ns = at_ns;
    raw = now;
    // A counter that went back begins anew.
    if (base_ns == kAbsent || base == kAbsent || now < base) Begin();
  }
  void Begin() {
    base_ns = t_ns;
    base = raw;
  }
};

}  // namespace

class StatusFigures::Impl {
 public:
  void Consume(const model::Batch& batch) {
    switch (batch.table) {
      case model::Element::kTable:
        for (const model::Element& element : model::RowsFrom<model::Element>(batch)) names_[element.id] = element.name;
        break;
      case model::Series::kTable:
        for (const model::Series& series : model::RowsFrom<model::Series>(batch)) {
          rows_[series.id].series = series;
          by_name_[{series.sensor, series.signal}][series.element] = series.id;
        }
        break;
      case model::StreamColumn::kTable:
        for (const model::Stream& stream : model::RowsFrom<model::Stream>(batch)) streams_[stream.id] = stream.series;
        break;
      case model::Sample::kTable: AddSamples(batch); break;
      default: break;
    }
  }

  Json Take() {
    Json taken{{"status", Status()}, {"health", Health()}};
    for (auto& [id, row] : rows_) row.Begin();
    return taken;
  }

 private:
  void AddSamples(const model::Batch& batch) {
    const auto found = streams_.find(batch.stream);
    if (found == streams_.end()) return;
    for (size_t column = 0; column < found->second.size() && column + 1 < batch.ints.size(); ++column) {
      Row& row = rows_[found->second[column]];
      for (size_t at = 0; at < batch.rows; ++at) row.Add(batch.ints[0][at], batch.ints[column + 1][at]);
    }
  }

  const Row* Find(const std::string& sensor, const std::string& signal, model::ElementId element) const {
    const auto signals = by_name_.find({sensor, signal});
    if (signals == by_name_.end()) return nullptr;
    const auto found = signals->second.find(element);
    return found == signals->second.end() ? nullptr : &rows_.at(found->second);
  }
  /// What `get` makes of the machine's only row of a signal.
  template <class Get>
  std::optional<double> Of(const std::string& sensor, const std::string& signal, Get get) const {
    const auto signals = by_name_.find({sensor, signal});
    if (signals == by_name_.end() || signals->second.empty()) return std::nullopt;
    return (rows_.at(signals->second.begin()->second).*get)();
  }
  Json Level(const std::string& sensor, const std::string& signal) const {
    return OrNull(Of(sensor, signal, &Row::Level));
  }
  Json Rate(const std::string& sensor, const std::string& signal) const {
    return OrNull(Of(sensor, signal, &Row::Rate));
  }
  Json Share(const std::string& sensor, const std::string& signal) const {
    return OrNull(Of(sensor, signal, &Row::Share));
  }

  /// An object for each element that has `signal`: name, and what the makers say of it. Elements without a value at the
  /// moment are left out.
  struct Field {
    const char* key;
    const char* signal;
    std::optional<double> (Row::*get)() const;
  };
  Json PerElement(const std::string& sensor, const std::string& signal, std::initializer_list<Field> fields) const {
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
  Json Cpu() const {
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

  Json Memory(const char* total_key, const char* free_key) const {
    const auto total = Of("memory", total_key, &Row::Level);
    const auto free = Of("memory", free_key, &Row::Level);
    const bool known = total && free && *total > 0;
    return {{"total_bytes", OrNull(total)},
            {"available_bytes", OrNull(free)},
            {"used_percent", known ? Json(100 * (*total - *free) / *total) : Json(nullptr)}};
  }

  Json Status() const {
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

  Json Health() const {
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
  Json QuotaCpus() const {
    const auto rate = Of("pressure", "cgroup_throttled", &Row::Rate);
    return rate ? Json(*rate / 1e9) : Json(nullptr);
  }

  std::map<model::ElementId, std::string> names_;
  std::map<model::SeriesId, Row> rows_;
  std::map<std::pair<std::string, std::string>, std::map<model::ElementId, model::SeriesId>> by_name_;
  std::map<model::StreamId, std::vector<model::SeriesId>> streams_;
};

StatusFigures::StatusFigures() : impl_(std::make_unique<Impl>()) {}
StatusFigures::~StatusFigures() = default;

void StatusFigures::Consume(const model::Batch& batch) { impl_->Consume(batch); }
Json StatusFigures::Take() { return impl_->Take(); }

}  // namespace attune::machine
