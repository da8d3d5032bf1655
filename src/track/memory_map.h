#pragma once
/// What files lie in a process's memory, as /proc/PID/maps says.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"

namespace attune::track {

/// A stretch of a process's memory that is a part of a file.
struct MappedFile {
  uint64_t start = 0;   ///< its first address
  uint64_t end = 0;     ///< behind the last
  uint64_t offset = 0;  ///< of `start` in the file
  std::string path;

  bool operator==(const MappedFile&) const = default;
};

/// The lines of /proc/PID/maps that name a file, in ascending order. Lines that make no sense are left out.
std::vector<MappedFile> ParseMemoryMap(std::string_view text);

/// @return kNotFound: the process is gone; kPermission: somebody else's @cost 50 us and more
Result<std::vector<MappedFile>> ReadMemoryMap(const HostRoot& host, int64_t pid);

/// The part that an address lies in, or nullptr.
const MappedFile* FindMapped(const std::vector<MappedFile>& map, uint64_t address);

}  // namespace attune::track
