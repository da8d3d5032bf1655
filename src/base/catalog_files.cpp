#include "base/catalog_files.h"

#include <cstddef>
#include <filesystem>

namespace attune {

std::vector<std::string> UserCatalogFiles(std::string_view kind) {
  std::vector<std::string> files;
  std::error_code error;
  if (const std::string file = ConfigFile(std::string(kind) + ".toml");
      !file.empty() && std::filesystem::exists(file, error))
    files.push_back(file);
  const std::string folder = ConfigFile(kind);
  if (folder.empty()) return files;
  const auto first = static_cast<std::ptrdiff_t>(files.size());
  for (auto entry = std::filesystem::directory_iterator(folder, error); !error && entry != std::filesystem::end(entry);
       entry.increment(error)) {
    if (entry->path().extension() == ".toml") files.push_back(entry->path().string());
  }
  std::sort(files.begin() + first, files.end());
  return files;
}

}  // namespace attune
