#pragma once
/// Sensors that others add, without touching attune: where their files are looked for.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune::sensor {

/// The folders in which NAME.toml describes the sensor NAME and NAME.so is a plug-in for it, in the order in which they
/// are asked: $XDG_CONFIG_HOME/attune/sensors (~/.config), /etc/attune/sensors, and attune's own (share/attune/sensors
/// beside the folder of the program). The first file of a name counts.
std::vector<std::string> SensorFolders();

/// A file that adds a sensor.
struct FoundSensor {
  std::string name;
  std::string file;
};
/// All of them, by name. Files that somebody else could have written (not the user's or root's, or writable by others)
/// are left out.
std::vector<FoundSensor> FindSensorFiles(const std::vector<std::string>& folders);

/// What stands behind -s: "numaconnect2", "numaconnect2=PATH", "./my.toml", "./my.so=ARGUMENT".
struct SensorName {
  std::string name;   ///< or the file
  std::string where;  ///< "": nothing given
  bool IsFile() const {
    return name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".so");
  }
};
SensorName SplitSensorName(std::string_view text);
/// The same with paths that do not depend on the working folder.
std::string WithAbsolutePaths(std::string_view text);

}  // namespace attune::sensor
