#pragma once
/// A block of memory-mapped registers, and the way to read it that cannot kill us.
///
/// Character devices (/dev/mem, UIO) and files of sysfs (a PCI function's resource) are mapped and read with volatile
/// loads. Every other file is read with pread: a mapping of it would end the process should somebody cut it shorter.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "sensor/declared/description.h"

namespace attune::sensor {

/// A file that holds blocks.
struct RegisterSource {
  UniqueFd fd;
  bool mapped = false;     ///< by what kind of file it is
  int64_t size_bytes = 0;  ///< size of a file that is read, not mapped
};
/// @param writable freeze registers are written
/// @param description the file that names the path, for the root helper; empty: a user named it
/// @return kPermission, kNotFound: with a hint
Result<RegisterSource> OpenRegisterSource(const HostRoot& host, std::string_view path, bool writable,
                                          std::string_view description = "");

/// How wide a block is and how it may be read.
struct RegisterLayout {
  int64_t size_bytes = 0;
  int access_bytes = 8;
  bool big_endian = false;
  bool writable = false;
};

/// @thread one at a time
class RegisterBlock {
 public:
  /// @param source must outlive the block
  static Result<RegisterBlock> Open(const RegisterSource& source, int64_t address, const RegisterLayout& layout);
  RegisterBlock(RegisterBlock&& other) noexcept;
  RegisterBlock& operator=(RegisterBlock&&) = delete;
  ~RegisterBlock();

  /// Before Load(): fetches the bytes [low, high). Nothing to do for a mapped block. @return false: they are not there
  bool Fetch(int64_t low, int64_t high);
  /// The field's bits. The bytes must have been fetched. Does not allocate.
  uint64_t Load(const BitField& field) const;
  /// Writes a whole register at once. @return false: it could not be written
  bool Store(int64_t offset, int bytes, uint64_t value);

 private:
  explicit RegisterBlock(const RegisterLayout& layout) : layout_(layout) {}
  uint64_t LoadMapped(int64_t offset, int bytes) const;

  RegisterLayout layout_;
  volatile unsigned char* mapped_ = nullptr;  // the block; nullptr: it is read
  void* mapping_ = nullptr;                   // from the page that it begins in
  size_t mapping_bytes_ = 0;
  int fd_ = -1;
  int64_t address_ = 0;
  std::vector<unsigned char> bytes_;  // bytes of a block that is read, not mapped
};

}  // namespace attune::sensor
