#pragma once
/// Status and health of a machine, from the samples of its sensors.

#include <memory>
#include <nlohmann/json.hpp>

#include "model/batch.h"

namespace attune::machine {

/// @thread one at a time
class StatusFigures {
 public:
  StatusFigures();
  ~StatusFigures();
  StatusFigures(const StatusFigures&) = delete;
  StatusFigures& operator=(const StatusFigures&) = delete;

  /// Of elements, series, streams and samples; others are of no use.
  void Consume(const model::Batch& batch);
  /// Rates are those since the last call, or since the start. What is not known is null, so that all keys are there.
  ///   status: cpu, load, memory, swap, pressure, network, disks   what the machine does
  ///   health: disks, temperatures, throttling, file_systems       how it is
  nlohmann::ordered_json Take();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace attune::machine
