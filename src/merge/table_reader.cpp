#include "merge/table_reader.h"

#include <memory>

namespace attune::merge {

TableReader::TableReader(model::Source& source, model::Table table) {
  thread_ = std::thread([this, &source, table] {
    Status status = source.ReadTable(table, [this](const model::Batch& batch) { return Hand(batch); });
    const MutexLock lock(mutex_);
    status_ = std::move(status);
    ended_ = true;
    changed_.NotifyAll();
  });
}

TableReader::~TableReader() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

bool TableReader::Hand(const model::Batch& batch) {
  MutexLock lock(mutex_);
  changed_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return stopping_ || batches_.size() < kAhead; });
  if (stopping_) return false;
  batches_.push_back(batch);
  changed_.NotifyAll();
  return true;
}

std::optional<model::Batch> TableReader::Next() {
  MutexLock lock(mutex_);
  changed_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return ended_ || !batches_.empty(); });
  if (batches_.empty()) return std::nullopt;
  model::Batch batch = std::move(batches_.front());
  batches_.pop_front();
  changed_.NotifyAll();
  return batch;
}

Status TableReader::status() {
  const MutexLock lock(mutex_);
  return status_;
}

Status ReadSideBySide(const std::vector<model::Source*>& sources, model::Table table,
                      const std::function<int64_t(size_t recording, int64_t t_ns)>& begin,
                      const std::function<Status(size_t recording, model::Batch batch)>& visit) {
  struct Reading {
    std::unique_ptr<TableReader> reader;
    std::optional<model::Batch> batch;
    int64_t begin_ns = 0;
  };
  std::vector<Reading> all(sources.size());
  const auto next = [&](size_t i) -> Status {
    all[i].batch = all[i].reader->Next();
    if (!all[i].batch) return all[i].reader->status();
    all[i].begin_ns = begin(i, model::TimeExtent(*all[i].batch).first);
    return {};
  };
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].reader = std::make_unique<TableReader>(*sources[i], table);
    ATTUNE_CHECK_OK(next(i));
  }
  while (true) {
    size_t first = all.size();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].batch && (first == all.size() || all[i].begin_ns < all[first].begin_ns)) first = i;
    }
    if (first == all.size()) return {};
    ATTUNE_CHECK_OK(visit(first, *std::move(all[first].batch)));
    ATTUNE_CHECK_OK(next(first));
  }
}

}  // namespace attune::merge
