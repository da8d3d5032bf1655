#include "live/loaded_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace attune::live {
namespace {

/// A file that no other process can name. Not every file system has them; there the name is taken away at once.
Result<UniqueFd> NamelessFile() {
  const char* folder = std::getenv("TMPDIR");
  if (folder == nullptr || *folder == '\0') folder = "/tmp";
  UniqueFd fd(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string path = std::string(folder) + "/attune-XXXXXX";
  fd.reset(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return ErrnoError(fmt::format("a temporary file in {}", folder));
  ::unlink(path.c_str());
  return fd;
}

}  // namespace

Result<std::unique_ptr<LoadedFile>> LoadedFile::Create(std::string name, uint64_t bytes,
                                                       std::atomic<uint64_t>& all_bytes, uint64_t limit) {
  uint64_t before = all_bytes;
  do {
    if (bytes > limit || before > limit - bytes) {
      return Error{Errc::kUnavailable, fmt::format("{} is too large to be loaded here", name),
                   "look at it with: attune view FILE"};
    }
  } while (!all_bytes.compare_exchange_weak(before, before + bytes));
  std::unique_ptr<LoadedFile> file(new LoadedFile(std::move(name), bytes, all_bytes));
  ATTUNE_TRY(file->fd_, NamelessFile());
  return file;
}

LoadedFile::~LoadedFile() { all_bytes_ -= bytes_; }

Status LoadedFile::Append(std::string_view piece) {
  if (piece.size() > bytes_ - written_)
    return Error{Errc::kInvalidArgument, "client message: more of a recording than was announced", ""};
  while (!piece.empty()) {
    const ssize_t n = ::write(fd_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(fmt::format("storing {}", name_));
    piece.remove_prefix(static_cast<size_t>(n));
    written_ += static_cast<uint64_t>(n);
  }
  return {};
}

std::string LoadedFile::Path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

}  // namespace attune::live
