#pragma once
/// Rows of a table, asked for batch by batch: several recordings can be read side by side.

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"
#include "model/source.h"

namespace attune::merge {

/// A thread reads ahead by some batches. @thread one, besides
class TableReader {
 public:
  TableReader(model::Source& source, model::Table table);
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// nullopt: there are no more, or status() says why.
  std::optional<model::Batch> Next();
  Status status();

 private:
  static constexpr size_t kAhead = 4;

  bool Hand(const model::Batch& batch);

  Mutex mutex_;
  CondVar changed_;
  std::deque<model::Batch> batches_ ATTUNE_GUARDED_BY(mutex_);
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool ended_ ATTUNE_GUARDED_BY(mutex_) = false;
  Status status_ ATTUNE_GUARDED_BY(mutex_);
  std::thread thread_;
};

/// Reads a table of several recordings, whichever has the earliest batch first.
/// @param begin the time on a common clock that the first row of a batch has
/// @param visit sees the batch and the number of its recording
Status ReadSideBySide(const std::vector<model::Source*>& sources, model::Table table,
                      const std::function<int64_t(size_t recording, int64_t t_ns)>& begin,
                      const std::function<Status(size_t recording, model::Batch batch)>& visit);

}  // namespace attune::merge
