#include "sensor/found_sensors.h"

#include <filesystem>

namespace attune::sensor {

namespace fs = std::filesystem;

std::vector<std::string> SensorFolders() { return PluginFolders("sensors", "share"); }

std::vector<FoundSensor> FindSensorFiles(const std::vector<std::string>& folders) {
  return FindPluginFiles(folders, {".toml", ".so"});
}

SensorName SplitSensorName(std::string_view text) {
  NameAndRest split = SplitAtEquals(text);
  return {std::move(split.name), std::move(split.rest)};
}

std::string WithAbsolutePaths(std::string_view text) {
  const SensorName split = SplitSensorName(text);
  std::error_code error;
  std::string whole = split.IsFile() ? fs::absolute(split.name, error).string() : split.name;
  const bool is_path = !split.name.ends_with(".so");  // the argument of a plug-in is anything
  if (!split.where.empty()) whole += "=" + (is_path ? fs::absolute(split.where, error).string() : split.where);
  return error ? std::string(text) : whole;
}

}  // namespace attune::sensor
