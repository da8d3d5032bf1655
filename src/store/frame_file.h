#pragma once
/// The bytes of a recording, and a cache of its decoded columns.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/codec.h"
#include "store/frame_index.h"

namespace attune::store {

/// An open recording. Read with pread only, so that a file that shrinks meanwhile gives an error and no signal.
/// @thread any
class FrameFile {
 public:
  FrameFile(UniqueFd fd, std::string path);

  /// Exactly `bytes` bytes, or an Error that names file and offset.
  Result<std::string> Read(uint64_t offset, size_t bytes) const;
  Result<uint64_t> Size() const;
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// Unique among the files of this process.
  uint64_t id() const { return id_; }

 private:
  const UniqueFd fd_;
  const std::string path_;
  const uint64_t id_;
};

/// A second descriptor of an open file, for readers.
Result<std::shared_ptr<const FrameFile>> ReadableFile(int fd, const std::string& path);

/// LRU cache of decoded integer columns, bounded in bytes. @thread any
class ColumnCache {
 public:
  explicit ColumnCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// result[i] is column wanted[i] of the frame. Columns that are not in the cache are read, checked and decoded.
  /// @param keeps whether they are then in the cache
  Result<std::vector<model::DecodedColumn>> Get(const FrameFile& file, const FrameRef& ref,
                                                std::span<const uint32_t> wanted, bool keeps);

  size_t max_bytes() const { return max_bytes_; }
  /// Bytes that a column takes.
  static size_t Cost(size_t rows);

  using Key = std::pair<uint64_t, uint64_t>;  ///< file, offset

  /// Those of `wanted` that are kept; the others stay empty.
  void Find(const Key& key, std::span<const uint32_t> wanted, std::vector<model::DecodedColumn>& columns);
  void Keep(const Key& key, std::span<const uint32_t> wanted, std::span<const model::DecodedColumn> columns);

 private:
  struct Entry {
    Key key;
    std::vector<std::pair<uint32_t, model::DecodedColumn>> columns;  // ascending
  };

  void Trim() ATTUNE_REQUIRES(mutex_);

  const size_t max_bytes_;
  Mutex mutex_;
  size_t bytes_ ATTUNE_GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ ATTUNE_GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<Entry>::iterator> by_key_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::store
