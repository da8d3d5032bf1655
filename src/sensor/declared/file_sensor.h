#pragma once
/// A described sensor whose signals are files with a number in each.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/declared/description.h"

namespace attune::sensor {

/// The first number of a text, times 10^-scale: "45000", "0x1f", and "12.5" as 125 for scale -1. Digits behind the
/// decimal point that the scale has no place for are cut off. @return kAbsent: there is none, or it is too large
int64_t ParseNumber(std::string_view text, int scale);

/// @param file_system as statfs(2) names it  @return whether the kernel makes the text of its files when they are read:
/// nothing else can keep the reader
bool IsMadeByTheKernel(int64_t file_system);

class FileSensor final : public model::Sensor {
 public:
  /// @param folder instead of the description's; then what says whether the hardware is there is not asked. "": none
  FileSensor(std::shared_ptr<const Description> description, std::string folder);
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  /// A file that is gone, or has no number, is absent. False: all files are.
  bool Sample(std::span<int64_t> out) override;
  /// Folders that the stars of a path fit come and go.
  std::unique_ptr<model::Sensor> Fresh() const override;

 private:
  struct Column {
    UniqueFd fd;
    int scale = 0;
  };

  const std::shared_ptr<const Description> description_;
  const std::string folder_;
  model::SensorInfo info_;
  std::vector<Column> columns_;
};

}  // namespace attune::sensor
