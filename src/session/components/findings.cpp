// Bottlenecks of the programs, as rows of the table `findings` while they run (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "analysis/findings/find_findings.h"
#include "analysis/findings/finding_rows.h"
#include "analysis/findings/program_operators.h"
#include "analysis/places/site_names.h"
#include "base/clock.h"
#include "base/saturating.h"
#include "session/components/factories.h"
#include "session/core/batch_queue.h"

namespace attune::session {
namespace {

using std::chrono::steady_clock;

/// Places are named behind the rows that say what was found there.
constexpr std::chrono::milliseconds kNamingLimit{500};
/// Beyond these, events and samples are left out (of the findings, never of the recording) and counted.
constexpr size_t kMaxQueuedRows = 2u << 20;
constexpr std::chrono::milliseconds kInterval{500};
/// Part of a CPU that judging takes at most; adding up comes on top.
constexpr int64_t kMostOfACpu = 50;  ///< 1/50

/// Finds what holds the programs back while they run, and writes it into the table `findings`.
class FindingWatch : public model::Sink {
 public:
  /// @param source gives names  @param made_known called after rows were published of findings that are new
  FindingWatch(Pipeline& pipeline, model::Source& source, std::function<void()> made_known)
      : pipeline_(pipeline), source_(source), made_known_(std::move(made_known)), feed_(source, program_.All()) {}

  void Consume(const model::BatchPtr& batch) override {
    if (!feed_.Takes(batch->table)) return;
    if (batch->table == model::Sample::kTable) {
      const MutexLock lock(mutex_);
      if (unwanted_.contains(batch->stream)) return;
    }
    // Sums are worth judging at once.
    queue_.Add(batch,
               batch->table == model::Sync::kTable ? BatchQueue::Kind::kUrgent : BatchQueue::Kind::kMayBeLeftOut);
  }

  /// Judges once more, with everything that came. Further batches are ignored.
  void Finish() { queue_.Finish(); }
  /// Rows that were left out. @thread any
  uint64_t LeftOut() const { return queue_.LeftOut(); }

 private:
  void Run();
  void Judge(bool is_last);
  void NamePlaces(const std::vector<analysis::Finding>& findings);

  Pipeline& pipeline_;
  model::Source& source_;
  const std::function<void()> made_known_;
  Mutex mutex_;
  std::set<model::StreamId> unwanted_ ATTUNE_GUARDED_BY(mutex_);

  // Used by the queue's thread alone.
  analysis::ProgramOperators program_;
  analysis::LiveFeed feed_;
  analysis::FindingRevisions revisions_;
  std::vector<model::Site> names_;
  std::set<model::ElementId> named_;
  BatchQueue queue_{"attune-find", kMaxQueuedRows, [this] { Run(); }};
};

void FindingWatch::Run() {
  auto next = steady_clock::now();
  for (bool last = false; !last;) {
    std::deque<model::BatchPtr> batches;
    last = !queue_.Take(next, next + kInterval, batches);
    std::set<model::StreamId> unwanted = feed_.Learn();
    for (const model::BatchPtr& batch : batches) feed_.Add(*batch);
    {
      const MutexLock lock(mutex_);
      unwanted_ = std::move(unwanted);
    }
    const auto begin = steady_clock::now();
    if (!batches.empty() || last) Judge(last);
    const auto took = steady_clock::now() - begin;
    next = steady_clock::now() + std::max<steady_clock::duration>(took * kMostOfACpu, std::chrono::milliseconds(20));
  }
}

void FindingWatch::Judge(bool is_last) {
  const auto meta = source_.Meta();
  const analysis::SiteNames names(*meta, names_);
  const int64_t now_ns = MonotonicNs();
  const model::TimeRange extent = source_.Extent();
  const analysis::FindingInput input = program_.Snapshot(
      *meta, names, is_last ? extent.t1_ns : now_ns, is_last ? INT64_MAX : now_ns - analysis::EventOrder::kSettleNs);
  const std::vector<analysis::Finding> findings = analysis::FindFindings(input);
  const auto rows = revisions_.Update(
      findings, {extent.t0_ns, now_ns},
      is_last ? analysis::FindingRevisions::Is::kTheLast : analysis::FindingRevisions::Is::kOneOfMany);
  if (!rows.empty()) pipeline_.Publish(model::ToBatch(rows));
  if (std::ranges::any_of(rows, [](const model::Finding& row) { return row.revision == 1; })) made_known_();
  if (!is_last) NamePlaces(findings);
}

/// Looks up what the places of findings are called, each once.
void FindingWatch::NamePlaces(const std::vector<analysis::Finding>& findings) {
  const auto meta = source_.Meta();
  std::vector<model::Site> wanted;
  for (const analysis::Finding& finding : findings) {
    if (finding.site.id == 0 || !named_.insert(finding.site.id).second) continue;
    std::ranges::copy_if(meta->sites, std::back_inserter(wanted),
                         [&](const model::Site& site) { return site.id == finding.site.id; });
  }
  const std::vector<model::Site> named =
      analysis::LookUpSites(std::move(wanted), analysis::TrustPaths::kYes, kNamingLimit);
  names_.insert(names_.end(), named.begin(), named.end());
}

class FindingComponent : public Component {
 public:
  FindingComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}

  Status Start() override {
    if (!context_.options.follows) return {};
    // Whoever reads the recording while it grows finds them at once.
    const auto write = [this] {
      recording_.pipeline().Drain();
      static_cast<void>(recording_.writer().Flush());
    };
    watch_ = std::make_unique<FindingWatch>(recording_.pipeline(), recording_.writer(), write);
    in_pipeline_.emplace(recording_.pipeline(), *watch_);
    return {};
  }

  /// It judges once more what all producers delivered.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override {
    if (watch_ == nullptr) return;
    watch_->Finish();
    if (watch_->LeftOut() > 0)
      recording_.AddUnseen(
          fmt::format("findings while it ran: {} events and samples, which came too fast", watch_->LeftOut()));
  }

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<FindingWatch> watch_;  ///< nullptr: there is no program
  std::optional<InPipeline> in_pipeline_;
};

}  // namespace

std::unique_ptr<Component> MakeFindings(SessionContext& context, RecordingComponent& recording) {
  return std::make_unique<FindingComponent>(context, recording);
}

}  // namespace attune::session
