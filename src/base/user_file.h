#pragma once
/// Files that a user, a program or a recording names: the one way to open them.
///
/// Reading never waits: FIFOs, devices and sockets are refused. A symbolic link is followed only where nobody else
/// could have planted it: it belongs to the user or root, or, for an ordinary user who reads, to the owner of its
/// folder (the rule of fs.protected_symlinks, in every folder). Rights are those of the process, so under sudo the
/// caller's.

#include <fcntl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune {

/// Opens a regular file for reading.
/// Error: kNotFound, kPermission, kInvalidArgument (what it is instead; a link of somebody else), kIo
Result<UniqueFd> OpenUserFile(const std::string& path);
/// Whether an open file is a regular one. Error: kInvalidArgument (what it is instead), kIo
Status CheckRegular(int fd, const std::string& path);
/// The whole file. Error: also kInvalidArgument where it is longer than `max_bytes`.
Result<std::string> ReadUserFile(const std::string& path, size_t max_bytes);

/// The folder that a file is in, and its name there, for making, replacing and removing it with openat and its kin.
struct FolderAndName {
  UniqueFd folder;
  std::string name;  ///< not empty, neither "." nor ".."; it may be a link itself: use O_NOFOLLOW
};
Result<FolderAndName> OpenFolderOf(const std::string& path);

/// A user's file of settings: $XDG_CONFIG_HOME/attune/NAME or ~/.config/attune/NAME; empty where neither variable is
/// an absolute path.
std::string ConfigFile(std::string_view name);

/// A folder for what has to outlive a run: $XDG_STATE_HOME/attune/NAME or ~/.local/state/attune/NAME; empty as above.
std::string StateFolder(std::string_view name);
/// Whether nobody but root can change the file or any folder above it.
bool OnlyRootCanChange(const std::string& path);

}  // namespace attune
