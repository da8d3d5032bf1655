#pragma once
/// Status and health of a machine: derived series as a document (catalog/status/status.toml).

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/derived/derived_operator.h"

namespace attune::analysis {

struct StatusField {
  const char* key;
  DerivedSeries series;
};
struct StatusFigure {
  const char* path;      ///< "/status/cpu/cpus"
  DerivedSeries series;  ///< its value; with fields, the elements that have one are a list
  std::span<const StatusField> fields;
};
std::span<const StatusFigure> AllStatusFigures();

/// @thread one at a time
class StatusFigures : public Operator {
 public:
  StatusFigures();

  void Learn(const std::shared_ptr<const model::Metadata>& meta) override;
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override {
    return derived_.Columns(meta, stream);
  }
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override {
    derived_.AddSamples(stream, block);
  }

  /// Rates are those since the last call, or since the start. What is not known is null, so that all keys are there.
  ///   status: cpu, load, memory, swap, pressure, network, disks   what the machine does
  ///   health: disks, temperatures, throttling, file_systems       how it is
  nlohmann::ordered_json Take();

 private:
  DerivedOperator derived_;
  std::unordered_map<model::ElementId, std::string> names_;
};

}  // namespace attune::analysis
