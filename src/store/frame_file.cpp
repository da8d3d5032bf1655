#include "store/frame_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>

namespace attune::store {

using model::DecodedColumn;

namespace {

/// A frame's places in list and map.
constexpr size_t kEntryBytes = 176;

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

size_t ColumnCache::Cost(size_t rows) {
  // With what the allocator and the reference count take.
  constexpr size_t kBesideValues = sizeof(std::pair<uint32_t, DecodedColumn>) + 40;
  return sizeof(int64_t) * rows + kBesideValues;
}

void ColumnCache::Find(const Key& key, std::span<const uint32_t> wanted, std::vector<DecodedColumn>& columns) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  entries_.splice(entries_.begin(), entries_, found->second);
  const auto& kept = found->second->columns;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::ranges::lower_bound(kept, wanted[i], {}, &std::pair<uint32_t, DecodedColumn>::first);
    if (at != kept.end() && at->first == wanted[i]) columns[i] = at->second;
  }
}

void ColumnCache::Keep(const Key& key, std::span<const uint32_t> wanted, std::span<const DecodedColumn> columns) {
  const MutexLock lock(mutex_);
  const auto [found, is_new] = by_key_.try_emplace(key);
  if (is_new) {
    entries_.push_front({key, {}});
    found->second = entries_.begin();
    bytes_ += kEntryBytes;
  }
  auto& kept = found->second->columns;
  kept.reserve(std::max(kept.size(), wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::ranges::lower_bound(kept, wanted[i], {}, &std::pair<uint32_t, DecodedColumn>::first);
    if (at != kept.end() && at->first == wanted[i]) continue;
    kept.insert(at, {wanted[i], columns[i]});
    bytes_ += Cost(columns[i].rows);
  }
  Trim();
}

void ColumnCache::Trim() {
  while (bytes_ > max_bytes_ && !entries_.empty()) {
    bytes_ -= kEntryBytes;
    for (const auto& [number, column] : entries_.back().columns) bytes_ -= Cost(column.rows);
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Result<std::vector<DecodedColumn>> ColumnCache::Get(const FrameFile& file, const FrameRef& ref,
                                                    std::span<const uint32_t> wanted, bool keeps) {
  const Key key{file.id(), ref.offset};
  std::vector<DecodedColumn> columns(wanted.size());
  Find(key, wanted, columns);
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (columns[i].values == nullptr) missing.push_back(wanted[i]);
  }
  if (missing.empty()) return columns;

  ATTUNE_TRY(const std::string bytes, file.Read(ref.offset, ref.bytes));
  ATTUNE_TRY(auto decoded, model::DecodeColumns(bytes, missing, true));
  auto next = decoded.begin();
  for (DecodedColumn& column : columns) {
    if (column.values != nullptr) continue;
    // The index may have been read from elsewhere in the file: a frame that does not agree with it is damage.
    if (next->rows != ref.rows) {
      return Error{Errc::kCorrupt,
                   fmt::format("{}: the frame at offset {} is not the one indexed", file.path(), ref.offset), ""};
    }
    column = std::move(*next++);
  }
  if (keeps) Keep(key, wanted, columns);
  return columns;
}

}  // namespace attune::store
