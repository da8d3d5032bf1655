// The graphs that a session writes while it runs (`--xml FOLDER --every TIME`): again and again, and once when it ends,
// the synchronisation graph (docs/sync-graph.md), once something was sent the task graph (docs/task-graph.md), and the
// hardware counters.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "analysis/messages/task_graph.h"
#include "analysis/timeline/hardware_view.h"
#include "analysis/waits/sync_graph.h"
#include "base/saturating.h"
#include "base/whole_file.h"
#include "session/components/factories.h"
#include "session/core/batch_queue.h"

namespace attune::session {
namespace {

using model::Batch;

/// Beyond these, events are left out of the graphs (never out of the recording), and counted.
constexpr size_t kMaxQueuedGraphRows = 4u << 20;

std::string FileNameOf(std::string_view graph, uint64_t number) { return fmt::format("{}-{:06}.xml", graph, number); }

class GraphWriter : public model::Sink {
 public:
  /// @param source gives names; must outlive this
  GraphWriter(const GraphChoice& choice, model::Source& source) : choice_(choice), source_(source) {}

  void Consume(const model::BatchPtr& batch) override {
    if (const Taken* taken = FindTaken(batch->table)) queue_.Add(batch, taken->kind);
  }
  /// Writes the last graph, of everything that came. @return the first error of all writes
  Status Finish() {
    queue_.Finish();
    return status_;
  }
  /// Rows. @thread any
  uint64_t LeftOut() const { return queue_.LeftOut(); }

 private:
  /// A table that graphs are made of.
  struct Taken {
    model::Table table;
    void (GraphWriter::*take)(const Batch&);
    BatchQueue::Kind kind = BatchQueue::Kind::kMayBeLeftOut;
  };
  static const std::array<Taken, 5> kTaken;
  /// nullptr: it is none.
  static const Taken* FindTaken(model::Table table);

  void TakeSync(const Batch& batch);
  void TakeTasks(const Batch& batch) { tasks_.AddRows(batch); }
  void TakeClock(const Batch& batch);
  void TakeEvents(const Batch& batch);
  void Run();
  void Take(const std::deque<model::BatchPtr>& batches, bool last);
  Status WriteGraphs(bool is_last);
  Status Write(const std::string& name, const std::string& text) const;

  const GraphChoice choice_;
  model::Source& source_;

  // Used by the queue's thread alone.
  analysis::SyncGraphBuilder builder_;
  analysis::TaskGraphBuilder tasks_;
  analysis::HardwareViewBuilder hardware_;
  analysis::EventOrder unsettled_;  ///< events that others may still come before
  uint64_t written_ = 0;
  Status status_;
  BatchQueue queue_{"attune-graph", kMaxQueuedGraphRows, [this] { Run(); }};
};

/// Makes the folder. Errors: kExists (hint --force): graphs of another run are there; what making folder and file says
Status PrepareFolder(const GraphChoice& choice) {
  const bool made = mkdir(choice.folder.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return ErrnoError("--xml " + choice.folder);
  const std::string first = choice.folder + "/" + FileNameOf("sync", 1);
  if (!choice.overwrite && access(first.c_str(), F_OK) == 0) {
    return Error{Errc::kExists, fmt::format("--xml: {} is there already", first),
                 "give another folder, or --force to write over what is there"};
  }
  if (access(choice.folder.c_str(), W_OK | X_OK) != 0) return ErrnoError("--xml " + choice.folder);
  return {};
}

void GraphWriter::Run() {
  auto due = BatchQueue::Clock::now();
  for (bool last = false; !last;) {
    due += std::chrono::nanoseconds(choice_.every_ns);
    std::deque<model::BatchPtr> batches;
    last = !queue_.Take(due, due, batches);
    due = std::max(due, BatchQueue::Clock::now() - std::chrono::nanoseconds(choice_.every_ns));
    Take(batches, last);
    const Status written = WriteGraphs(last);
    if (status_.ok() && !written.ok()) status_ = written;
  }
}

void GraphWriter::TakeSync(const Batch& batch) {
  for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) builder_.Add(row);
  TakeTasks(batch);
}

void GraphWriter::TakeClock(const Batch& batch) {
  builder_.AddClock(batch);
  TakeTasks(batch);
}

void GraphWriter::TakeEvents(const Batch& batch) {
  const auto& columns = batch.ints;
  unsettled_.Add({columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6]});
}

constexpr std::array<GraphWriter::Taken, 5> GraphWriter::kTaken{
    {{model::Sync::kTable, &GraphWriter::TakeSync, BatchQueue::Kind::kNeeded},
     {model::ClockReading::kTable, &GraphWriter::TakeClock, BatchQueue::Kind::kNeeded},
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
  const uint64_t number = ++written_;
  ATTUNE_CHECK_OK(Write(FileNameOf("sync", number), ToXml(DocumentOf(builder_.Build(*meta, extent)))));
  if (is_last) tasks_.Finish();
  if (!tasks_.IsEmpty())
    ATTUNE_CHECK_OK(Write(FileNameOf("task", number),
                          ToXml(DocumentOf(tasks_.Build(*meta, extent, analysis::SiteNames(*meta, {}))))));
  ATTUNE_CHECK_OK(hardware_.Read(source_));
  if (!hardware_.IsEmpty())
    ATTUNE_CHECK_OK(Write(FileNameOf("hardware", number), ToXml(DocumentOf(hardware_.Build(*meta)))));
  return {};
}

/// Readers of the folder find whole files only.
Status GraphWriter::Write(const std::string& name, const std::string& text) const {
  return ReplaceFile(choice_.folder + "/" + name, text);
}

class GraphComponent : public Component {
 public:
  GraphComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}

  Status Start() override {
    const GraphChoice& choice = context_.options.graph;
    if (choice.folder.empty()) return {};
    ATTUNE_CHECK_OK(PrepareFolder(choice));
    graph_ = std::make_unique<GraphWriter>(choice, recording_.writer());
    in_pipeline_.emplace(recording_.pipeline(), *graph_);
    return {};
  }
  bool IsChosen() const override { return true; }
  /// The last graph has the names of the places.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override {
    if (graph_ == nullptr) return;
    const Status written = graph_->Finish();
    if (!written.ok()) recording_.AddUnseen("graphs: " + written.error().message);
    if (graph_->LeftOut() > 0)
      recording_.AddUnseen(
          fmt::format("graphs: {} events and messages, which came too fast for it", graph_->LeftOut()));
  }

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<GraphWriter> graph_;  ///< nullptr: none is asked for
  std::optional<InPipeline> in_pipeline_;
};

}  // namespace

std::unique_ptr<Component> MakeGraphs(SessionContext& context, RecordingComponent& recording) {
  return std::make_unique<GraphComponent>(context, recording);
}

}  // namespace attune::session
