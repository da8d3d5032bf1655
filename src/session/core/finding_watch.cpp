#include "session/core/finding_watch.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "analysis/places/site_names.h"
#include "base/clock.h"
#include "base/saturating.h"

namespace attune::session {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// Places are named behind the rows that say what was found there.
constexpr std::chrono::milliseconds kNamingLimit{500};

}  // namespace

FindingWatch::FindingWatch(Pipeline& pipeline, model::Source& source, std::function<void()> made_known)
    : pipeline_(pipeline), source_(source), made_known_(std::move(made_known)), feed_(source, program_.All()) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "attune-find");
}

void FindingWatch::Consume(const model::BatchPtr& batch) {
  if (!feed_.Takes(batch->table)) return;
  const bool is_sync = batch->table == model::Sync::kTable;
  {
    const MutexLock lock(mutex_);
    if (stopping_ || (batch->table == model::Sample::kTable && unwanted_.contains(batch->stream))) return;
    if (!is_sync && queued_rows_ + batch->rows > kMaxQueuedRows) {
      left_out_ += batch->rows;
      return;
    }
    queued_rows_ += batch->rows;
    queue_.push_back(batch);
    has_sums_ = has_sums_ || is_sync;
  }
  if (is_sync) wake_.NotifyOne();
}

void FindingWatch::Finish() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

uint64_t FindingWatch::LeftOut() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

void FindingWatch::Run() {
  auto next = steady_clock::now();
  for (bool last = false; !last;) {
    std::deque<model::BatchPtr> batches;
    {
      MutexLock lock(mutex_);
      // Sums come of all programs one after the other: what follows within the moment is taken with them.
      wake_.WaitUntil(lock, next + nanoseconds(kIntervalNs),
                      [&]() ATTUNE_REQUIRES(mutex_) { return stopping_ || has_sums_; });
      wake_.WaitUntil(lock, next, [&]() ATTUNE_REQUIRES(mutex_) { return stopping_; });
      last = stopping_;
      has_sums_ = false;
      batches = std::exchange(queue_, {});
      queued_rows_ = 0;
    }
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

}  // namespace attune::session
