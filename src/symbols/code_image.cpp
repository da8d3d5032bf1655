#include "symbols/code_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "symbols/frame_reader.h"

namespace attune::symbols {
namespace {

/// More than any linker writes.
constexpr size_t kMaxParts = 256;

template <class T>
std::optional<T> At(const std::optional<std::vector<std::byte>>& bytes, size_t index = 0) {
  T value{};
  if (!bytes || bytes->size() < (index + 1) * sizeof value) return std::nullopt;
  std::memcpy(&value, bytes->data() + index * sizeof value, sizeof value);
  return value;
}

std::optional<std::vector<std::byte>> ReadFrom(const void* file, uint64_t offset, uint64_t bytes) {
  if (offset > INT64_MAX || bytes > CodeImage::kMaxTableBytes) return std::nullopt;
  std::vector<std::byte> into(bytes);
  for (size_t done = 0; done < into.size();) {
    const ssize_t got = pread(*static_cast<const int*>(file), into.data() + done, into.size() - done,
                              static_cast<off_t>(offset + done));
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return into;
}

std::optional<std::vector<std::byte>> CopyFrom(const void* file, uint64_t offset, uint64_t bytes) {
  const auto& all = *static_cast<const std::span<const std::byte>*>(file);
  if (offset > all.size() || bytes > all.size() - offset) return std::nullopt;
  const auto part = all.subspan(offset, bytes);
  return std::vector<std::byte>(part.begin(), part.end());
}

}  // namespace

Result<CodeImage> CodeImage::Read(int fd) { return Make(&fd, ReadFrom); }

Result<CodeImage> CodeImage::Of(std::span<const std::byte> bytes) { return Make(&bytes, CopyFrom); }

Result<CodeImage> CodeImage::Make(const void* file, Reader read) {
  const Error none{Errc::kCorrupt, "it is no 64-bit ELF file", ""};
  const auto head = At<Elf64_Ehdr>(read(file, 0, sizeof(Elf64_Ehdr)));
  constexpr std::array<unsigned char, 6> kStart{ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB};
  if (!head || !std::equal(kStart.begin(), kStart.end(), head->e_ident) || head->e_phentsize != sizeof(Elf64_Phdr) ||
      head->e_phnum > kMaxParts)
    return none;
  const auto parts = read(file, head->e_phoff, uint64_t{head->e_phnum} * sizeof(Elf64_Phdr));
  CodeImage image;
  for (size_t i = 0; i < head->e_phnum; ++i) {
    const auto part = At<Elf64_Phdr>(parts, i);
    if (!part) return none;
    if (part->p_type == PT_LOAD) image.parts_.push_back({part->p_offset, part->p_vaddr, part->p_filesz});
    if (part->p_type == PT_GNU_EH_FRAME) image.frame_header_ = part->p_vaddr;
  }
  if (image.frame_header_ != 0) image.KeepFrames(file, read);
  return image;
}

/// The header, and the table itself, which lies before or behind it in the same part.
void CodeImage::KeepFrames(const void* file, Reader read) {
  const auto part = std::ranges::find_if(parts_, [this](const Part& any) {
    return frame_header_ >= any.address && frame_header_ - any.address < any.bytes;
  });
  if (part == parts_.end()) return;
  const auto head = read(file, part->offset + (frame_header_ - part->address), 8);
  if (!head) return;
  FrameReader reader(*head, 4);
  // Encoding relative to its own place; CallFrames takes no other.
  const uint64_t table = frame_header_ + 4 + static_cast<uint64_t>(int64_t{reader.Take<int32_t>()});
  uint64_t begin = frame_header_;
  if (table >= part->address && table < begin) begin = table;
  const uint64_t bytes = part->bytes - (begin - part->address);
  auto kept = read(file, part->offset + (begin - part->address), bytes);
  if (!kept) return;
  kept_address_ = begin;
  kept_ = *std::move(kept);
}

bool CodeImage::Copy(uint64_t address, std::span<std::byte> into) const {
  if (address < kept_address_) return false;
  const uint64_t at = address - kept_address_;
  if (at > kept_.size() || into.size() > kept_.size() - at) return false;
  std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(at), into.size(), into.begin());
  return true;
}

std::optional<uint64_t> CodeImage::AddressOf(uint64_t offset) const {
  for (const Part& part : parts_) {
    if (offset >= part.offset && offset - part.offset < part.bytes) return part.address + (offset - part.offset);
  }
  return std::nullopt;
}

}  // namespace attune::symbols
