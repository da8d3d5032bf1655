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
/// A longer list for the dynamic linker, or a longer _init, is not read.
constexpr size_t kMaxDynamicBytes = 64u << 10;
constexpr size_t kMaxStartBytes = 64;

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

/// The function at an address, if its bytes move the stack pointer by a word and back: sub $8,%rsp ... add $8,%rsp;
/// ret.
std::optional<StartFunction> StartFunctionAt(uint64_t address, std::span<const std::byte> code) {
  constexpr std::array<uint8_t, 4> kLanding{0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
  constexpr std::array<uint8_t, 4> kMove{0x48, 0x83, 0xec, 0x08};
  constexpr std::array<uint8_t, 5> kBackAndReturn{0x48, 0x83, 0xc4, 0x08, 0xc3};
  const std::span text(reinterpret_cast<const uint8_t*>(code.data()), code.size());
  if (text.size() < kLanding.size() + kMove.size()) return std::nullopt;
  const size_t at = std::ranges::equal(text.first(kLanding.size()), kLanding) ? kLanding.size() : 0;
  if (!std::ranges::equal(text.subspan(at, kMove.size()), kMove)) return std::nullopt;
  const auto back = std::ranges::search(text, kBackAndReturn);
  if (back.empty()) return std::nullopt;
  const uint64_t end = address + static_cast<uint64_t>(back.end() - text.begin());
  return StartFunction{.begin = address, .moved = address + at + kMove.size(), .restored = end - 1, .end = end};
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
  Elf64_Phdr dynamic{};
  for (size_t i = 0; i < head->e_phnum; ++i) {
    const auto part = At<Elf64_Phdr>(parts, i);
    if (!part) return none;
    if (part->p_type == PT_LOAD) image.parts_.push_back({part->p_offset, part->p_vaddr, part->p_filesz});
    if (part->p_type == PT_GNU_EH_FRAME) image.frame_header_ = part->p_vaddr;
    if (part->p_type == PT_DYNAMIC) dynamic = *part;
  }
  if (image.frame_header_ != 0) image.KeepFrames(file, read);
  if (dynamic.p_type == PT_DYNAMIC) image.FindStartFunctions(file, read, dynamic.p_offset, dynamic.p_filesz);
  return image;
}

const CodeImage::Part* CodeImage::PartAt(uint64_t address) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& any) { return address >= any.address && address - any.address < any.bytes; });
  return part != parts_.end() ? &*part : nullptr;
}

/// @param offset of the list for the dynamic linker
void CodeImage::FindStartFunctions(const void* file, Reader read, uint64_t offset, uint64_t bytes) {
  if (bytes > kMaxDynamicBytes) return;
  const auto list = read(file, offset, bytes);
  for (size_t i = 0;; ++i) {
    const auto entry = At<Elf64_Dyn>(list, i);
    if (!entry || entry->d_tag == DT_NULL) return;
    if (entry->d_tag != DT_INIT && entry->d_tag != DT_FINI) continue;
    const uint64_t address = entry->d_un.d_ptr;
    const Part* part = PartAt(address);
    if (part == nullptr) continue;
    const uint64_t in_part = address - part->address;
    const auto code = read(file, part->offset + in_part, std::min<uint64_t>(kMaxStartBytes, part->bytes - in_part));
    if (!code) continue;
    if (const auto function = StartFunctionAt(address, *code)) start_functions_.push_back(*function);
  }
}

/// The header, and the table itself, which lies before or behind it in the same part.
void CodeImage::KeepFrames(const void* file, Reader read) {
  const Part* part = PartAt(frame_header_);
  if (part == nullptr) return;
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
