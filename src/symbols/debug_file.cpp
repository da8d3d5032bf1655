#include "symbols/debug_file.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace attune::symbols {
namespace {

namespace fs = std::filesystem;

enum class Beside : uint8_t { kNothing, kFile, kOther };

/// @return kOther: a FIFO or the like, whose opening may never end
Beside KindOf(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_regular_file(status)) return Beside::kFile;
  return fs::exists(status) ? Beside::kOther : Beside::kNothing;
}

/// Looks where libdw looks for a debug file by its name: beside the program, in .debug there, and in /usr/lib/debug
/// under the program's folder or the end of its path.
Beside LookByName(const fs::path& folder, const std::string& name) {
  Beside best = Beside::kNothing;
  for (const fs::path& place : {folder, folder / ".debug"}) {
    const Beside found = KindOf(place / name);
    if (found == Beside::kOther) return found;
    if (found == Beside::kFile) best = found;
  }
  fs::path below = folder.relative_path();
  while (best == Beside::kNothing) {
    if (KindOf("/usr/lib/debug" / below / name) != Beside::kNothing) return Beside::kFile;
    if (below.empty()) break;
    below = below.lexically_relative(*below.begin());
    if (below == ".") below.clear();
  }
  return best;
}

bool NamesAServer() {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  return servers != nullptr && *servers != '\0';
}

}  // namespace

int FindDebugFile(Dwfl_Module* module, void** user, const char* module_name, Dwarf_Addr base, const char* file,
                  const char* debug_link, GElf_Word crc, char** found) {
  if (file != nullptr) {
    std::error_code none;
    const fs::path path(file), target = fs::weakly_canonical(path, none);
    const std::string name = debug_link != nullptr ? debug_link : path.filename().string() + ".debug";
    const Beside here = LookByName(path.parent_path(), name);
    const Beside there = target == path ? here : LookByName(target.parent_path(), name);
    if (here == Beside::kOther || there == Beside::kOther) return -1;
    if (here == Beside::kNothing && there == Beside::kNothing && !NamesAServer())
      return dwfl_build_id_find_debuginfo(module, user, module_name, base, file, debug_link, crc, found);
  }
  return dwfl_standard_find_debuginfo(module, user, module_name, base, file, debug_link, crc, found);
}

}  // namespace attune::symbols
