#pragma once
/// The files mapped into a process's memory, by /proc/PID/maps.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"

namespace attune::track {

/// A range of a process's memory that is a part of a file.
struct MappedFile {
  uint64_t start = 0;   ///< its first address
  uint64_t end = 0;     ///< behind the last
  uint64_t offset = 0;  ///< position of `start` in the file
  std::string path;
  uint64_t inode = 0;  ///< inode of the file; 0: not known

  bool operator==(const MappedFile&) const = default;
};

/// The lines of /proc/PID/maps that name a file, and the vDSO's, in ascending order. Malformed lines are left out.
std::vector<MappedFile> ParseMemoryMap(std::string_view text);

/// @return kNotFound: the process is gone; kPermission: another user's. @cost 50 us and more
Result<std::vector<MappedFile>> ReadMemoryMap(const HostRoot& host, int64_t pid);

/// The range that contains an address, or nullptr.
const MappedFile* FindMapped(const std::vector<MappedFile>& map, uint64_t address);

}  // namespace attune::track
