#include "base/own_files.h"

#include <unistd.h>

#include <filesystem>

#include "base/host_root.h"

namespace attune {

std::string FindOwnLibrary(std::string_view name) {
  const auto self = HostRoot().ReadLink("/proc/self/exe");
  if (!self.ok()) return "";
  const std::filesystem::path prefix = std::filesystem::path(*self).parent_path().parent_path();
  for (const char* folder : {ATTUNE_LIBRARY_FOLDER, "lib"}) {
    std::filesystem::path file = prefix / folder / name;
    if (access(file.c_str(), R_OK) == 0) return file.string();
  }
  return "";
}

}  // namespace attune
