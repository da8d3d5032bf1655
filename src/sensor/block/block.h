#pragma once
/// Sensor "block": what each disk reads and writes, from /proc/diskstats or from its own /sys/block/NAME/stat.

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"
#include "sensor/text/ordered_names.h"

namespace attune::sensor {

/// Whole devices (those of /sys/block) that hold something, not their partitions. The kernel counts sectors of 512
/// bytes, whatever the device has; its times have 32 bits of milliseconds and wrap, which is a missing point.
class BlockSensor final : public OfCatalog<"block"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<BlockSensor>(); }

 private:
  void OpenOwnFiles(const HostRoot& host, size_t lines);
  bool SampleOwnFiles(std::span<int64_t> out);

  UniqueFd file_;
  std::vector<UniqueFd> own_files_;  // one a device; empty: all are read from file_
  OrderedNames devices_;             // in the order of the file
  size_t values_ = 0;                // values of a device that this kernel counts
  std::vector<char> buffer_;
};

inline constexpr size_t kBlockValues = 12;
/// One line of /proc/diskstats. @param text foreign bytes  @param out kAbsent where the line ends early
/// @return the device's name; empty: no such line
std::string_view ParseBlockLine(std::string_view text, std::span<int64_t, kBlockValues> out);
/// The numbers behind a device's name, which are all that its own file has. @return false: there are none
bool ParseBlockNumbers(std::string_view text, std::span<int64_t, kBlockValues> out);

}  // namespace attune::sensor
