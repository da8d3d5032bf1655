#pragma once
/// Sensor "resctrl": cache occupancy and memory bandwidth of each L3 cache and monitoring group.

#include <string>
#include <vector>

#include "sensor/catalog.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// An element is an L3 cache of a group: "mon_L3_00" is everything that is in no other group, "GROUP/mon_L3_00" a
/// control group, "mon_groups/GROUP/mon_L3_00" a monitoring group. What the hardware cannot tell at the moment
/// ("Unavailable", "Unassigned", "Error") is absent.
class ResctrlSensor final : public OfCatalog<"resctrl"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<ResctrlSensor>(); }

 private:
  /// Adds the caches of one group. @param group its folder, seen from resctrl's; empty: the root
  void AddGroup(const HostRoot& host, const std::string& group, std::vector<model::SignalSpec>& specs);

  std::vector<NumberFile> files_;
};

}  // namespace attune::sensor
