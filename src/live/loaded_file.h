#pragma once
/// A recording that a client sends piece by piece: kept in a file without a name, which is gone with this object or
/// with the process, whatever happens.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::live {

/// @thread one at a time
class LoadedFile {
 public:
  /// @param name of the client's file, for messages  @param all_bytes what all such files take together, and at most
  /// `limit` of it
  /// @return kUnavailable: too large beside the others
  static Result<std::unique_ptr<LoadedFile>> Create(std::string name, uint64_t bytes, std::atomic<uint64_t>& all_bytes,
                                                    uint64_t limit);
  ~LoadedFile();
  LoadedFile(const LoadedFile&) = delete;
  LoadedFile& operator=(const LoadedFile&) = delete;

  /// @return kInvalidArgument: more than was announced
  Status Append(std::string_view piece);
  bool Complete() const { return written_ == bytes_; }
  /// As long as this object lives.
  std::string Path() const;
  const std::string& name() const { return name_; }

 private:
  LoadedFile(std::string name, uint64_t bytes, std::atomic<uint64_t>& all_bytes)
      : name_(std::move(name)), bytes_(bytes), all_bytes_(all_bytes) {}

  const std::string name_;
  const uint64_t bytes_;
  std::atomic<uint64_t>& all_bytes_;
  uint64_t written_ = 0;
  UniqueFd fd_;
};

}  // namespace attune::live
