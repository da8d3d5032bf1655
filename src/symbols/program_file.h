#pragma once
/// The kind of a program file: its loader, and the libraries that it needs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace attune::symbols {

struct ProgramFile {
  std::string interpreter;          ///< an ELF file's dynamic loader, a script's interpreter; "": it needs none
  bool is_script = false;           ///< begins with "#!"
  int machine = 0;                  ///< e_machine of an ELF file
  int bits = 0;                     ///< 32 or 64; 0: no ELF file
  bool has_hooks = false;           ///< linked with the probe for static programs (libattune_probe.a)
  std::vector<std::string> needed;  ///< libraries that it names itself (DT_NEEDED)

  bool operator==(const ProgramFile&) const = default;
};

/// @return kNotFound, kPermission; kCorrupt: it is neither an ELF file nor a script
Result<ProgramFile> ReadProgramFile(const std::string& path);

}  // namespace attune::symbols
