#pragma once
/// The output file of a recording: created with mode 0600, never over another file by accident, locked while it is
/// written, and truncated to its last whole frame after a failed write.

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

/// A file under construction. An older file of its name is replaced only when TakePlace() is called.
class OutputFile {
 public:
  /// Creates a file with mode 0600 that contains `beginning`, locked for writing. Creation claims the name, so that
  /// concurrent callers with IfThere::kNumber each get their own.
  /// Errors: kExists (also for a file that is being written), kInvalidArgument (not a file), errors of open().
  static Result<OutputFile> Create(const std::string& path, IfThere if_there, std::string_view beginning);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int fd() const { return fd_.get(); }
  /// The current or future name.
  const std::string& path() const { return path_; }
  /// Whether an older file still has the name.
  bool waits() const { return waits_; }
  /// Takes the name atomically, if an older file still has it.
  Status TakePlace();
  /// Removes this file. An older file stays.
  void Discard();

  /// Creates an empty file in the same folder, locked for writing, without a name if the file system supports that.
  Result<UniqueFd> CreateNext();
  /// Replaces this file by that one, atomically. After Discard() the new file has no name either.
  Status ReplaceBy(UniqueFd next);
  /// Removes a file left by CreateNext().
  void DropNext();

 private:
  OutputFile(std::string path, FolderAndName at)
      : path_(std::move(path)), folder_(std::move(at.folder)), name_(std::move(at.name)) {}
  Status ClaimOlder();
  void Unlink(std::string& name);

  std::string path_;
  UniqueFd folder_;   // folder of the path, also if it is renamed later
  std::string name_;  // in the folder
  UniqueFd fd_;
  UniqueFd older_;  // locked while this file waits, so that no other process replaces it
  // Names of fd_ while it waits, and of the file of CreateNext(); empty if the file system supports unnamed files.
  std::string waiting_name_;
  std::string next_name_;
  bool waits_ = false;
  bool discarded_ = false;
};

/// Writes all bytes at `offset`. On failure the file is truncated to `offset`. SIGXFSZ does not reach the process.
Status WriteWhole(int fd, const std::string& path, uint64_t offset, std::string_view bytes);

/// Locks the open file for writing. The kernel releases the lock with the process, however that ends.
/// @return false: another process writes it
bool LockForWriting(int fd);
void Unlock(int fd);
enum class Writer { kNone, kThere, kUnknown };  ///< kUnknown: the file system has no locks
Writer FindWriter(int fd);

}  // namespace attune::store
