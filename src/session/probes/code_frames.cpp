#include "session/probes/code_frames.h"

#include "profile/perf_record.h"
#include "session/probes/process_files.h"
#include "symbols/vdso.h"

namespace attune::session {
namespace {

constexpr size_t kMaxKnownProcesses = 4096;

}  // namespace

profile::LoadedCode CodeFrames::Find(int32_t pid, const track::MappedFile& file, uint64_t address) {
  if (known_.size() >= kMaxKnownProcesses && !known_.contains(pid)) known_.clear();
  Known& known = known_[pid][file.start];
  if (known.end == file.end && known.inode == file.inode) return known.code;
  known = {.end = file.end, .inode = file.inode, .code = {}};
  File* const found = FileOf(pid, file);
  if (found == nullptr) return {};
  const uint64_t offset = address - file.start + (file.path == profile::kVdso ? 0 : file.offset);
  if (const auto in_file = found->image.AddressOf(offset))
    known.code = {.frames = &found->frames, .bias = address - *in_file};
  return known.code;
}

CodeFrames::File* CodeFrames::FileOf(int32_t pid, const track::MappedFile& mapped) {
  if (files_.size() >= kMaxFiles || bytes_ >= kMaxBytes) return nullptr;
  const auto [found, is_new] = files_.try_emplace({mapped.path, mapped.inode});
  if (!is_new) return found->second.get();
  const auto read = [&]() -> Result<symbols::CodeImage> {
    if (mapped.path == profile::kVdso) return symbols::CodeImage::Of(symbols::OwnVdso());
    ATTUNE_TRY(const UniqueFd fd, OpenMapped(pid, mapped));
    return symbols::CodeImage::Read(fd.get());
  };
  auto image = read();
  if (!image.ok()) return nullptr;
  found->second = std::make_unique<File>(File{*std::move(image), {}});
  File& file = *found->second;
  bytes_ += file.image.bytes();
  if (file.image.frame_header() != 0) {
    file.frames = symbols::CallFrames(
        [&file](uint64_t address, std::span<std::byte> into) { return file.image.Copy(address, into); },
        file.image.frame_header(), file.image.start_functions());
  }
  return &file;
}

}  // namespace attune::session
