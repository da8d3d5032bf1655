#pragma once
/// An ELF file as it is loaded into a program: where its parts lie, and the bytes that unwinding needs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "symbols/call_frames.h"

namespace attune::symbols {

/// A 64-bit little-endian file. Nothing of it is read after it was made: it may be changed then. @thread any, once made
class CodeImage {
 public:
  /// A longer unwind table is not read. Of the largest programs it has some 30 MB.
  static constexpr uint64_t kMaxTableBytes = 64u << 20;

  /// Error: kCorrupt: it is no such file. @cost reading its unwind table, 0.3 ms a MB
  static Result<CodeImage> Read(int fd);
  /// The image of a file that lies in memory as a whole: the vDSO's. Error: as Read
  static Result<CodeImage> Of(std::span<const std::byte> bytes);

  /// Copies bytes of the part that was kept: the table for unwinding. @return false: not all of them are in it
  bool Copy(uint64_t address, std::span<std::byte> into) const;
  /// The address of a byte at an offset of the file; nullopt: it is not loaded from there.
  std::optional<uint64_t> AddressOf(uint64_t offset) const;
  /// Address of .eh_frame_hdr; 0: there is none.
  uint64_t frame_header() const { return frame_header_; }
  /// _init and _fini, where they are as the C library's start files make them on x86-64.
  const std::vector<StartFunction>& start_functions() const { return start_functions_; }
  /// Bytes that were kept.
  size_t bytes() const { return kept_.size(); }

 private:
  struct Part {
    uint64_t offset = 0, address = 0, bytes = 0;
  };
  using Reader = std::optional<std::vector<std::byte>> (*)(const void* file, uint64_t offset, uint64_t bytes);

  static Result<CodeImage> Make(const void* file, Reader read);
  void KeepFrames(const void* file, Reader read);
  void FindStartFunctions(const void* file, Reader read, uint64_t offset, uint64_t bytes);
  const Part* PartAt(uint64_t address) const;

  std::vector<Part> parts_;
  uint64_t frame_header_ = 0;
  std::vector<StartFunction> start_functions_;
  uint64_t kept_address_ = 0;
  std::vector<std::byte> kept_;
};

}  // namespace attune::symbols
