#include "session/probes/graph_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/saturating.h"
#include "base/whole_file.h"

namespace attune::session {
namespace {

using model::Batch;

std::string NameOf(std::string_view graph, uint64_t number) { return fmt::format("{}-{:06}.xml", graph, number); }

}  // namespace

Result<std::unique_ptr<GraphWriter>> GraphWriter::Start(const GraphChoice& choice, model::Source& source) {
  const bool made = mkdir(choice.folder.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return ErrnoError("--xml " + choice.folder);
  const std::string first = choice.folder + "/" + NameOf("sync", 1);
  if (!choice.overwrite && access(first.c_str(), F_OK) == 0) {
    return Error{Errc::kExists, fmt::format("--xml: {} is there already", first),
                 "give another folder, or --force to write over what is there"};
  }
  if (access(choice.folder.c_str(), W_OK | X_OK) != 0) return ErrnoError("--xml " + choice.folder);
  std::unique_ptr<GraphWriter> writer(new GraphWriter(choice, source));
  writer->thread_ = std::thread([at = writer.get()] { at->Run(); });
  pthread_setname_np(writer->thread_.native_handle(), "attune-graph");
  return writer;
}

void GraphWriter::Consume(const model::BatchPtr& batch) {
  const Taken* taken = FindTaken(batch->table);
  if (taken == nullptr) return;
  const MutexLock lock(mutex_);
  if (taken->may_be_left_out && queued_rows_ + batch->rows > kMaxQueuedRows) {
    left_out_ += batch->rows;
    return;
  }
  queued_rows_ += batch->rows;
  queue_.push_back(batch);
}

Status GraphWriter::Finish() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
  return status_;
}

uint64_t GraphWriter::Written() const {
  const MutexLock lock(mutex_);
  return written_;
}

uint64_t GraphWriter::LeftOut() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

void GraphWriter::Run() {
  auto due = std::chrono::steady_clock::now();
  for (bool last = false; !last;) {
    due += std::chrono::nanoseconds(choice_.every_ns);
    std::deque<model::BatchPtr> batches;
    {
      MutexLock lock(mutex_);
      wake_.WaitUntil(lock, due, [this]() ATTUNE_REQUIRES(mutex_) { return stopping_; });
      last = stopping_;
      batches = std::exchange(queue_, {});
      queued_rows_ = 0;
    }
    due = std::max(due, std::chrono::steady_clock::now() - std::chrono::nanoseconds(choice_.every_ns));
    Take(batches, last);
    const Status written = WriteGraphs(last);
    if (status_.ok() && !written.ok()) status_ = written;
  }
}

void GraphWriter::TakeSync(const Batch& batch) {
  for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) builder_.Add(row);
  TakeTasks(batch);
}

void GraphWriter::TakeTasks(const Batch& batch) { tasks_.AddRows(batch); }

void GraphWriter::TakeClock(const Batch& batch) {
  builder_.AddClock(batch);
  TakeTasks(batch);
}

void GraphWriter::TakeEvents(const Batch& batch) {
  const auto& columns = batch.ints;
  unsettled_.Add({columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6]});
}

constexpr std::array<GraphWriter::Taken, 5> GraphWriter::kTaken{
    {{model::Sync::kTable, &GraphWriter::TakeSync, false},
     {model::ClockReading::kTable, &GraphWriter::TakeClock, false},
     {model::Event::kTable, &GraphWriter::TakeEvents},
     {model::Message::kTable, &GraphWriter::TakeTasks},
     {model::Collective::kTable, &GraphWriter::TakeTasks}}};

const GraphWriter::Taken* GraphWriter::FindTaken(model::Table table) {
  const auto found = std::ranges::find(kTaken, table, &Taken::table);
  return found == kTaken.end() ? nullptr : &*found;
}

void GraphWriter::Take(const std::deque<model::BatchPtr>& batches, bool last) {
  tasks_.Learn(source_.Meta());  // elements come before the rows that refer to them
  for (const model::BatchPtr& batch : batches) (this->*FindTaken(batch->table)->take)(*batch);
  const int64_t settled_ns = last ? INT64_MAX : SaturatingSub(unsettled_.newest_ns(), analysis::EventOrder::kSettleNs);
  unsettled_.Release(settled_ns, [this](const model::Event& event) { builder_.Add(event); });
}

Status GraphWriter::WriteGraphs(bool is_last) {
  const auto meta = source_.Meta();
  const model::TimeRange extent = source_.Extent();
  const uint64_t number = Written() + 1;
  ATTUNE_CHECK_OK(Write(NameOf("sync", number), ToXml(DocumentOf(builder_.Build(*meta, extent)))));
  if (is_last) tasks_.Finish();
  if (!tasks_.IsEmpty())
    ATTUNE_CHECK_OK(
        Write(NameOf("task", number), ToXml(DocumentOf(tasks_.Build(*meta, extent, analysis::SiteNames(*meta, {}))))));
  ATTUNE_CHECK_OK(hardware_.Read(source_));
  if (!hardware_.IsEmpty())
    ATTUNE_CHECK_OK(Write(NameOf("hardware", number), ToXml(DocumentOf(hardware_.Build(*meta)))));
  const MutexLock lock(mutex_);
  ++written_;
  return {};
}

/// Readers of the folder find whole files only.
Status GraphWriter::Write(const std::string& name, const std::string& text) const {
  return ReplaceFile(choice_.folder + "/" + name, text);
}

}  // namespace attune::session
