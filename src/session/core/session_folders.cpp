#include "session/core/session_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/host_root.h"
#include "base/whole_file.h"

namespace attune::session {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";
/// Rings of a few processes fit in; with less, a disk serves better.
constexpr uint64_t kLeastRingBytes = 16u << 20;
/// Attempts at a free name.
constexpr int kMaxNames = 100;

/// A folder in a place that others can write to as well is trusted only when it is ours alone.
bool IsPrivate(const std::string& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

Status MakePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || IsPrivate(path)) return {};
  if (errno != EEXIST) return ErrnoError("making the folder " + path);
  return Error{Errc::kPermission, path + " is not a private folder of yours",
               "remove it, or set XDG_RUNTIME_DIR to a folder of yours"};
}

std::string RandomName() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<uint64_t>(getpid());
  return fmt::format("{:016x}", bits);
}

bool IsOwnFolder(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         access(path.c_str(), W_OK) == 0;
}

/// A place of sessions: a folder of its own, or a name in a folder that all users share.
struct Place {
  std::string path;
  bool is_shared = false;
  bool is_chosen = false;  ///< by XDG_RUNTIME_DIR, in place of the login's
};

std::vector<Place> Places() {
  std::vector<Place> places;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  // As a login sets it: sessions started under sudo, which takes the variable away, are found all the same.
  const std::string login = fmt::format("/run/user/{}", geteuid());
  if (runtime != nullptr && IsOwnFolder(runtime))
    places.push_back({.path = std::string(runtime) + "/attune", .is_chosen = runtime != login});
  if (places.empty() && IsOwnFolder(login)) places.push_back({login + "/attune"});
  for (const char* shared : {"/tmp", kSharedMemory, "/var/tmp"})
    places.push_back({fmt::format("{}/attune-{}", shared, geteuid()), true});
  return places;
}

/// The folder in use while somebody else has the name; "": none.
std::string Substitute(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string prefix = whole.filename().string() + "+";
  const auto names = HostRoot().List(whole.parent_path().string());
  if (!names.ok()) return "";
  for (const std::string& name : *names) {
    std::string found = whole.parent_path() / name;
    if (name.starts_with(prefix) && IsPrivate(found)) return found;
  }
  return "";
}

Result<std::string> MakeBase(const Place& place) {
  const Status made = MakePrivateFolder(place.path);
  if (made.ok()) return place.path;
  if (!place.is_shared || made.error().code != Errc::kPermission) return made.error();
  if (std::string found = Substitute(place.path); !found.empty()) return found;
  const std::string path = place.path + "+" + RandomName();
  ATTUNE_CHECK_OK(MakePrivateFolder(path));
  return path;
}

Status RemoveFolder(const std::string& path) {
  std::error_code error;
  if (!path.empty()) std::filesystem::remove_all(path, error);
  return error ? Status(ErrnoError("removing " + path, error.value())) : Status();
}

/// On the disk, or in memory: sparse files take less than they are long.
uint64_t BytesIn(const std::string& path) {
  constexpr uint64_t kBlock = 512;  // unit of st_blocks, on every file system
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status{};
    if (lstat(entry->path().c_str(), &status) == 0) bytes += static_cast<uint64_t>(status.st_blocks) * kBlock;
  }
  return bytes;
}

void Collect(const std::string& path, bool is_rings, Abandoned what, SessionFolders& folders) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)) return;
  // One that cannot be asked, without descriptors for one, is not taken for dead.
  if (!fd || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!is_rings) folders.living.push_back(path);
    return;
  }
  AbandonedFolder folder{.path = path, .is_rings = is_rings, .bytes = BytesIn(path), .removed = {}};
  if (what == Abandoned::kRemove) folder.removed = RemoveFolder(path);
  folders.abandoned.push_back(std::move(folder));
}

bool HasRoomForRings() {
  struct statvfs space{};
  return statvfs(kSharedMemory, &space) == 0 && space.f_bavail * space.f_frsize >= kLeastRingBytes;
}

}  // namespace

Result<OwnedFolder> OwnedFolder::Make(std::string path) {
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    if (mkdir(path.c_str(), 0700) != 0) return ErrnoError("making the folder " + path);
    OwnedFolder folder;
    folder.fd_.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    // Whoever collects abandoned folders can come between mkdir and flock.
    const bool is_ours = folder.fd_ && flock(folder.fd_.get(), LOCK_EX | LOCK_NB) == 0 &&
                         fstat(folder.fd_.get(), &status) == 0 && status.st_nlink > 0;
    if (!is_ours) continue;
    folder.path_ = std::move(path);
    return folder;
  }
  return Error{Errc::kIo, path + " is removed again and again by another process", ""};
}

void OwnedFolder::Remove() {
  static_cast<void>(RemoveFolder(path_).ok());
  path_.clear();
  fd_.reset();
}

std::vector<std::string> SessionBases() {
  std::vector<std::string> bases;
  for (const Place& place : Places()) {
    const std::string path = IsPrivate(place.path) ? place.path : place.is_shared ? Substitute(place.path) : "";
    if (!path.empty()) bases.push_back(path);
    // A place that somebody chose holds what they want to see.
    if (place.is_chosen) break;
  }
  return bases;
}

Result<std::string> SessionBase() {
  Error last{Errc::kIo, "there is no place for sessions", "set XDG_RUNTIME_DIR to a folder of yours"};
  for (const Place& place : Places()) {
    Result<std::string> base = MakeBase(place);
    if (base.ok()) return base;
    last = base.error();
  }
  return last;
}

Result<OwnedFolder> MakeSessionFolder(const std::string& id) {
  Error last{Errc::kIo, "there is no place for sessions", "set XDG_RUNTIME_DIR to a folder of yours"};
  for (const Place& place : Places()) {
    const Result<std::string> base = MakeBase(place);
    Result<OwnedFolder> folder = base.ok() ? OwnedFolder::Make(*base + "/" + id) : Result<OwnedFolder>(base.error());
    for (int i = 2; base.ok() && !folder.ok() && folder.error().code == Errc::kExists && i < kMaxNames; ++i)
      folder = OwnedFolder::Make(fmt::format("{}/{}-{}", *base, id, i));
    // A full file system still makes folders.
    const Status room = folder.ok() ? WriteFile(folder->path() + "/info.json", std::string(4096, ' ')) : folder.error();
    if (room.ok()) return folder;
    if (folder.ok()) folder->Remove();
    last = room.error();
  }
  return last;
}

Result<OwnedFolder> MakeRingFolder(const std::string& fallback) {
  if (HasRoomForRings()) {
    for (int attempt = 0; attempt < kMaxNames; ++attempt) {
      auto folder = OwnedFolder::Make(fmt::format("{}/attune-{}-{}", kSharedMemory, geteuid(), RandomName()));
      if (folder.ok()) return folder;
      if (folder.error().code != Errc::kExists) break;
    }
  }
  return OwnedFolder::Make(fallback);
}

Result<SessionFolders> CollectAbandoned(Abandoned what) {
  SessionFolders folders;
  for (const std::string& base : SessionBases()) {
    ATTUNE_TRY(const std::vector<std::string> names, HostRoot().List(base));
    for (const std::string& name : names) Collect(base + "/" + name, false, what, folders);
  }
  const auto names = HostRoot().List(kSharedMemory);
  if (!names.ok()) return folders;
  const std::string prefix = fmt::format("attune-{}-", geteuid());
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", kSharedMemory, name);
    if (name.starts_with(prefix) && IsPrivate(path)) Collect(path, true, what, folders);
  }
  return folders;
}

}  // namespace attune::session
