#pragma once
/// How a recording gets onto the disk: created privately, never in the place of something else by accident, locked
/// while it is written, and cut back to what was whole when a write fails.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/user_file.h"

namespace attune::store {

enum class IfThere {
  kRefuse,
  kReplace,  ///< the older file keeps its name until TakePlace()
  kNumber,   ///< NAME-2, NAME-3 and so on
};

/// A file that is being made. Nobody ever sees another file of its name vanish for one that came to nothing.
class OutputFile {
 public:
  /// Creates a file with mode 0600 and `beginning` in it, locked for writing. Names are claimed by creating the file:
  /// of many who want one name at once each gets its own.
  /// Errors: kExists (also for a file that somebody is writing), kInvalidArgument (not a file), what open() says.
  static Result<OutputFile> Create(const std::string& path, IfThere if_there, std::string_view beginning);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int fd() const { return fd_.get(); }
  /// The name that it has, or will have.
  const std::string& path() const { return path_; }
  /// An older file still has the name.
  bool waits() const { return waits_; }
  /// Gives it its name, at once. Nothing to do if it has that already.
  Status TakePlace();
  /// Removes it. An older file stays.
  void Discard();

  /// An empty file next to it, locked for writing, without a name where the file system can do that.
  Result<UniqueFd> CreateNext();
  /// Lets that file take this one's place, at once. After Discard() without a name, too.
  Status ReplaceBy(UniqueFd next);
  /// Removes what CreateNext() may have left.
  void DropNext();

 private:
  OutputFile(std::string path, FolderAndName at)
      : path_(std::move(path)), folder_(std::move(at.folder)), name_(std::move(at.name)) {}
  Status ClaimOlder();
  void Unlink(std::string& name);

  std::string path_;
  UniqueFd folder_;   // of the path, whatever its name is later
  std::string name_;  // there
  UniqueFd fd_;
  UniqueFd older_;  // locked while it waits, so that nobody else replaces it
  // Names of fd_ while it waits, and of what CreateNext() made; empty where the file system can do without.
  std::string waiting_name_;
  std::string next_name_;
  bool waits_ = false;
  bool discarded_ = false;
};

/// Writes all bytes at `offset`. On failure the file is cut back to `offset`, and SIGXFSZ stays away from the process.
Status WriteWhole(int fd, const std::string& path, uint64_t offset, std::string_view bytes);

/// Marks the open file as being written. The kernel ends it with the process, however that ends.
/// @return false: somebody else writes it
bool LockForWriting(int fd);
void Unlock(int fd);
enum class Writer { kNone, kThere, kUnknown };  ///< kUnknown: the file system has no locks
Writer FindWriter(int fd);

}  // namespace attune::store
