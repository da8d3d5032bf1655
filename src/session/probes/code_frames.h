#pragma once
/// The unwind rules of what programs have in memory, read from each file once.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>

#include "profile/stack_unwinder.h"
#include "symbols/call_frames.h"
#include "symbols/code_image.h"
#include "track/memory_map.h"

namespace attune::session {

/// Bounded: after kMaxFiles files, or kMaxBytes of their tables, no further ones are read. @thread one at a time
class CodeFrames {
 public:
  static constexpr size_t kMaxFiles = 4096, kMaxBytes = 512u << 20;

  /// @param file in which `address` lies @cost 50 ns; a file's first address: reading its table (CodeImage)
  profile::LoadedCode Find(int32_t pid, const track::MappedFile& file, uint64_t address);

 private:
  struct File {
    symbols::CodeImage image;
    symbols::CallFrames frames;
  };
  struct Known {
    uint64_t end = 0;
    uint64_t inode = 0;
    profile::LoadedCode code;
  };

  File* FileOf(int32_t pid, const track::MappedFile& mapped);

  std::map<std::tuple<std::string, uint64_t>, std::unique_ptr<File>> files_;  ///< by path and inode; nullptr: none
  size_t bytes_ = 0;
  std::unordered_map<int32_t, std::map<uint64_t, Known>> known_;  ///< by pid and start of the range
};

}  // namespace attune::session
