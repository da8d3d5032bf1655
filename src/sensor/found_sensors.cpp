#include "sensor/found_sensors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "base/host_root.h"

namespace attune::sensor {
namespace {

namespace fs = std::filesystem;

bool IsTrusted(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::vector<std::string> SensorFolders() {
  std::vector<std::string> folders;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && config[0] == '/') {
    folders.push_back(std::string(config) + "/attune/sensors");
  } else if (home != nullptr && home[0] == '/') {
    folders.push_back(std::string(home) + "/.config/attune/sensors");
  }
  folders.emplace_back("/etc/attune/sensors");
  if (const auto self = HostRoot().ReadLink("/proc/self/exe"); self.ok())
    folders.push_back((fs::path(*self).parent_path().parent_path() / "share/attune/sensors").string());
  return folders;
}

std::vector<FoundSensor> FindSensorFiles(const std::vector<std::string>& folders) {
  std::vector<FoundSensor> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const fs::path& file = entry->path();
      if ((file.extension() != ".toml" && file.extension() != ".so") || !IsTrusted(file)) continue;
      const std::string name = file.stem().string();
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const FoundSensor& other) { return other.name == name; });
      if (!known) found.push_back({name, file.string()});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

SensorName SplitSensorName(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string WithAbsolutePaths(std::string_view text) {
  const SensorName split = SplitSensorName(text);
  std::error_code error;
  std::string whole = split.IsFile() ? fs::absolute(split.name, error).string() : split.name;
  const bool is_path = !split.name.ends_with(".so");  // of a plug-in it is anything
  if (!split.where.empty()) whole += "=" + (is_path ? fs::absolute(split.where, error).string() : split.where);
  return error ? std::string(text) : whole;
}

}  // namespace attune::sensor
