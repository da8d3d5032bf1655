#pragma once
/// Any sensor, summed over its elements: one value of the machine a signal (`-s NAME:sum`).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/sensor.h"

namespace attune::sensor {

/// The catalog defines how values combine (model::SumRule). Absent values are left out. A sum of counters adds the
/// growth of its elements since the first sample: it never goes back, and an element that wraps, resets, vanishes or
/// appears adds nothing at that moment. Signals without a sum, or with another unit, kind or scale than the first of
/// their name, are left out. @cost that of the sensor + 2 ns a value
class SummedSensor final : public model::Sensor {
 public:
  explicit SummedSensor(std::unique_ptr<model::Sensor> inner) : inner_(std::move(inner)) {}

  const model::SensorInfo& Info() const override { return inner_->Info(); }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override;
  std::vector<std::pair<std::string, std::string>> Notes() const override { return inner_->Notes(); }
  void Continue(model::Sensor& before) override;

 private:
  struct Total {
    std::string signal;
    model::SumRule rule = model::SumRule::kSum;
    bool is_counter = false;
    int64_t counted = 0;  // counters: first values, and growth since the first sample
    int64_t value = 0;    // other signals: value of this sample
    int64_t weight = 0;   // columns that had a value in this sample
  };
  struct Column {
    std::string key;  // signal and element: the same in every instance
    size_t total = 0;
    int64_t last = model::kAbsent;
  };

  void Add(Total& total, Column& column, int64_t value) const;

  std::unique_ptr<model::Sensor> inner_;
  std::vector<Total> totals_;    // by signal, as the inner sensor names them
  std::vector<Column> columns_;  // one a value of the inner sensor; total == totals_.size(): left out
  std::vector<size_t> columns_by_key_;
  std::vector<size_t> totals_by_signal_;
  std::vector<int64_t> values_;
  bool started_ = false;
};

}  // namespace attune::sensor
