#pragma once
/// Sensor "network": what each network interface received and sent, from /proc/net/dev.

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"
#include "sensor/text/ordered_names.h"

namespace attune::sensor {

/// Interfaces of the network namespace that attune runs in. The limit of the bytes is the speed of the link, where it
/// is known. Drivers whose counters have 32 bits wrap: that is a missing point.
class NetworkSensor final : public OfCatalog<"network"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<NetworkSensor>(); }

 private:
  UniqueFd file_;
  OrderedNames interfaces_;  // in the order of the file
  std::vector<char> buffer_;
};

inline constexpr size_t kNetworkValues = 8;
/// One line of /proc/net/dev. @param text foreign bytes  @param out kAbsent where the line ends early
/// @return the interface's name; empty: a heading, or no line of an interface
std::string_view ParseNetworkLine(std::string_view text, std::span<int64_t, kNetworkValues> out);

}  // namespace attune::sensor
