#pragma once
/// Sensors that others add, without touching attune: where their files are looked for.

#include <string>
#include <string_view>
#include <vector>

#include "base/plugin_files.h"
#include "base/result.h"

namespace attune::sensor {

/// The folders in which NAME.toml describes the sensor NAME and NAME.so is a plug-in for it (base/plugin_files.h).
std::vector<std::string> SensorFolders();

/// A file that adds a sensor.
using FoundSensor = PluginFile;
/// All that are trusted, by name.
std::vector<FoundSensor> FindSensorFiles(const std::vector<std::string>& folders);

/// An argument of -s: "numaconnect2", "numaconnect2=PATH", "./my.toml", "./my.so=ARGUMENT".
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
