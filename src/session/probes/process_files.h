#pragma once
/// Files as a followed process sees them: in its mount namespace, and those that are at no path any more.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "track/memory_map.h"

namespace attune::session {

/// Opens a regular file at a path of the process. Links lead to nothing outside of its root, and what is no regular
/// file is not opened. Error: kNotFound: no such file, or the process is gone; kPermission; kInvalidArgument
Result<UniqueFd> OpenInRootOf(int32_t pid, const std::string& path);

/// Opens the file that a process has mapped, although another one may be at its path by now, or none. Error: kNotFound:
/// it is not to be had any more. @cost some 20 us
Result<UniqueFd> OpenMapped(int32_t pid, const track::MappedFile& file);

}  // namespace attune::session
