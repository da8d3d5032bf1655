#include "store/frame_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>

#include "model/codec.h"

namespace attune::store {
namespace {

/// Reads of more columns than this are exports and the like: they would only push out what a page looks at.
constexpr size_t kMaxColumnsKept = 64;

uint64_t NextFileId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

FrameFile::FrameFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)), id_(NextFileId()) {}

Result<std::string> FrameFile::Read(uint64_t offset, size_t bytes) const {
  std::string buffer(bytes, '\0');
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got = ::pread(fd_.get(), buffer.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(fmt::format("{}: reading at offset {}", path_, offset));
    if (got == 0) {
      return Error{Errc::kCorrupt, fmt::format("{}: the file ends at offset {}", path_, offset + have), ""};
    }
    have += static_cast<size_t>(got);
  }
  return buffer;
}

Result<uint64_t> FrameFile::Size() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return ErrnoError(path_);
  return static_cast<uint64_t>(status.st_size);
}

Result<std::shared_ptr<const FrameFile>> ReadableFile(int fd, const std::string& path) {
  UniqueFd reading(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!reading) return ErrnoError(path);
  return std::make_shared<const FrameFile>(std::move(reading), path);
}

Column ColumnCache::Find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->column;
}

void ColumnCache::Keep(const Key& key, const Column& column) {
  const auto cost = [](const Entry& entry) { return sizeof(int64_t) * entry.column->size() + 128; };
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.push_front({key, column});
  by_key_.emplace(key, entries_.begin());
  bytes_ += cost(entries_.front());
  while (bytes_ > max_bytes_ && !entries_.empty()) {
    bytes_ -= cost(entries_.back());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Result<std::vector<Column>> ColumnCache::Get(const FrameFile& file, const FrameRef& ref,
                                             std::span<const uint32_t> wanted) {
  std::vector<Column> columns(wanted.size());
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < wanted.size(); ++i) {
    columns[i] = Find({file.id(), ref.offset, wanted[i]});
    if (columns[i] == nullptr) missing.push_back(wanted[i]);
  }
  if (missing.empty()) return columns;

  ATTUNE_TRY(const std::string bytes, file.Read(ref.offset, ref.bytes));
  ATTUNE_TRY(auto decoded, model::DecodeColumns(bytes, missing, true));
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (columns[i] != nullptr) continue;
    // The index may have been read from elsewhere in the file: a frame that does not agree with it is damage.
    if (decoded[next].size() != ref.rows) {
      return Error{Errc::kCorrupt,
                   fmt::format("{}: the frame at offset {} is not the one indexed", file.path(), ref.offset), ""};
    }
    columns[i] = std::make_shared<const std::vector<int64_t>>(std::move(decoded[next++]));
    if (wanted.size() <= kMaxColumnsKept) Keep({file.id(), ref.offset, wanted[i]}, columns[i]);
  }
  return columns;
}

}  // namespace attune::store
