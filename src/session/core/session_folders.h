#pragma once
/// Private folders of sessions: where they may lie, who may use them, and how others see whether their owner lives.
///
/// A session holds an flock on each of its folders. The lock ends with the process, also by kill -9, and is seen from
/// every PID namespace that shares the file system, where a pid means nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::session {

/// A folder (0700) of this process, locked while the object lives; it stays in the file system until Remove().
class OwnedFolder {
 public:
  OwnedFolder() = default;
  /// Makes the folder. Error: kExists where the name is taken.
  static Result<OwnedFolder> Make(std::string path);
  const std::string& path() const { return path_; }
  void Remove();

 private:
  UniqueFd fd_;
  std::string path_;
};

/// The folders that hold sessions of this user, those that exist: $XDG_RUNTIME_DIR/attune (alone, where it is another
/// than a login's), /run/user/UID/attune,
/// /tmp/attune-UID, /dev/shm/attune-UID, /var/tmp/attune-UID. Where somebody else took one of the last three names, a
/// folder with a random ending behind it.
std::vector<std::string> SessionBases();
/// The first of these places that can be used; made if it is not there. Error: kPermission, kNoSpace, kIo of the last.
Result<std::string> SessionBase();

/// A new folder for a session with info.json's place in the first base that has room for it.
/// @param id wanted name; "-2", "-3", … follow where it is taken (a process of another PID namespace)
Result<OwnedFolder> MakeSessionFolder(const std::string& id);

/// A new folder for rings, in tmpfs under a name that nobody can guess. @param fallback used where /dev/shm is missing,
/// read-only or nearly full
Result<OwnedFolder> MakeRingFolder(const std::string& fallback);

/// A folder whose lock nobody holds: its session was killed.
struct AbandonedFolder {
  std::string path;
  bool is_rings = false;  ///< else a session's folder, with its temporary recording
  uint64_t bytes = 0;     ///< that its files take
  Status removed;         ///< why it could not be
};
struct SessionFolders {
  std::vector<std::string> living;  ///< folders of sessions, without those of their rings
  std::vector<AbandonedFolder> abandoned;
};
enum class Abandoned { kRemove, kKeep };
/// Looks at all folders of this user's sessions and their rings, and removes those of dead ones. Each new session does.
Result<SessionFolders> CollectAbandoned(Abandoned what);

}  // namespace attune::session
