#include "analysis/places/site_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/thread_safety.h"
#include "symbols/symbolizer.h"

namespace attune::analysis {
namespace {

using model::Site;

/// State shared by the lookup thread and the caller that waits for it.
struct NamingWork {
  std::vector<Site> wanted;
  Mutex mutex;
  CondVar news;
  std::vector<Site> named ATTUNE_GUARDED_BY(mutex);  // rows
  bool is_done ATTUNE_GUARDED_BY(mutex) = false;
  bool is_given_up ATTUNE_GUARDED_BY(mutex) = false;
};

std::vector<Site> RowsOf(const Site& site, const std::vector<symbols::CodeFrame>& frames) {
  std::vector<Site> rows;
  for (const symbols::CodeFrame& frame : frames) {
    if (frames.size() == 1 && frame.function.empty() && frame.file.empty()) break;  // nothing is known
    rows.push_back({.id = site.id,
                    .frame = static_cast<int64_t>(rows.size()),
                    .address = site.address,
                    .line = frame.line > 0 ? frame.line : model::kAbsent,
                    .inlined = frame.inlined,
                    .function = frame.function,
                    .file = frame.file,
                    .module = site.module,
                    .build_id = site.build_id});
  }
  return rows;
}

void LookUp(NamingWork& work) {
  symbols::Symbolizer symbolizer;
  // The ranks of a job have the same sites each.
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<symbols::CodeFrame>> known;
  for (const Site& site : work.wanted) {
    const auto [found, is_new] = known.try_emplace({site.module, site.build_id, site.address});
    if (is_new) {
      auto frames = symbolizer.Resolve({site.module, site.build_id}, static_cast<uint64_t>(site.address));
      if (frames.ok()) found->second = *std::move(frames);
    }
    const std::vector<Site> rows = RowsOf(site, found->second);
    const MutexLock lock(work.mutex);
    if (work.is_given_up) return;
    work.named.insert(work.named.end(), rows.begin(), rows.end());
  }
  const MutexLock lock(work.mutex);
  work.is_done = true;
  work.news.NotifyAll();
}

/// Whether it has no name yet, and may get one.
bool IsToBeNamed(const Site& site, TrustPaths trust) {
  const bool is_named = site.frame > 0 || !site.function.empty() || !site.file.empty() || site.line != model::kAbsent;
  return !is_named && site.module.starts_with('/') && site.address != model::kAbsent &&
         (trust == TrustPaths::kYes || !site.build_id.empty());
}

/// A sample of an event counts for as much as one of CPU time, at its usual rate.
constexpr double kEventSampleNs = 4e6;

/// Adds the CPU time at each site and at those that it was called from.
Status AddSamples(model::Source& source, std::unordered_map<model::ElementId, double>& spent_ns) {
  std::unordered_map<int64_t, double> by_stack;
  ATTUNE_CHECK_OK(source.ReadTable(model::CpuSample::kTable, [&](const model::Batch& batch) {
    for (const model::CpuSample& row : model::RowsFrom<model::CpuSample>(batch)) {
      by_stack[row.stack] += static_cast<double>(row.weight_ns);
      if (row.stack == 0) spent_ns[row.site] += static_cast<double>(row.weight_ns);
    }
    return true;
  }));
  ATTUNE_CHECK_OK(source.ReadTable(model::EventSample::kTable, [&](const model::Batch& batch) {
    for (const model::EventSample& row : model::RowsFrom<model::EventSample>(batch)) {
      by_stack[row.stack] += kEventSampleNs;
      if (row.stack == 0) spent_ns[row.site] += kEventSampleNs;
    }
    return true;
  }));
  std::vector<model::Stack> stacks;
  ATTUNE_CHECK_OK(source.ReadTable(model::Stack::kTable, [&](const model::Batch& batch) {
    for (const model::Stack& row : model::RowsFrom<model::Stack>(batch)) stacks.push_back(row);
    return true;
  }));
  // A parent's id is smaller: by falling ids each has all of its own when its parent gets it.
  std::ranges::sort(stacks, std::greater(), &model::Stack::id);
  for (const model::Stack& stack : stacks) {
    const double ns = by_stack[stack.id];
    spent_ns[stack.site] += ns;
    by_stack[stack.parent] += ns;
  }
  return {};
}

}  // namespace

Result<std::vector<Site>> NameSites(model::Source& source, TrustPaths trust, std::chrono::milliseconds limit,
                                    const std::unordered_set<model::ElementId>& but) {
  const auto meta = source.Meta();
  std::vector<Site> wanted;
  for (const Site& site : meta->sites) {
    if (!but.contains(site.id) && IsToBeNamed(site, trust)) wanted.push_back(site);
  }
  if (wanted.empty()) return wanted;
  std::unordered_map<model::ElementId, double> spent_ns;
  ATTUNE_CHECK_OK(source.ReadTable(model::Sync::kTable, [&](const model::Batch& batch) {
    for (const model::Sync& row : model::RowsFrom<model::Sync>(batch))
      spent_ns[row.site] += static_cast<double>(row.wait_ns);
    return true;
  }));
  ATTUNE_CHECK_OK(AddSamples(source, spent_ns));
  ATTUNE_CHECK_OK(source.ReadTable(model::Message::kTable, [&](const model::Batch& batch) {
    for (const model::Message& row : model::RowsFrom<model::Message>(batch)) {
      const double ns = row.wait_ns == model::kAbsent ? 0 : static_cast<double>(row.t_ns - row.wait_ns);
      spent_ns[row.wait_site] += ns;
      if (row.wait_site != row.site) spent_ns[row.site] += ns;
    }
    return true;
  }));
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Site& a, const Site& b) { return spent_ns[a.id] > spent_ns[b.id]; });
  return LookUpSites(std::move(wanted), trust, limit);
}

std::vector<Site> LookUpSites(std::vector<Site> sites, TrustPaths trust, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto work = std::make_shared<NamingWork>();
  work->wanted = std::move(sites);
  std::erase_if(work->wanted, [trust](const Site& site) { return !IsToBeNamed(site, trust); });
  if (work->wanted.empty()) return {};
  std::thread([work] { LookUp(*work); }).detach();
  MutexLock lock(work->mutex);
  work->news.WaitUntil(lock, deadline, [&]() ATTUNE_REQUIRES(work->mutex) { return work->is_done; });
  work->is_given_up = true;
  return std::move(work->named);
}

Status SiteNamer::Update(model::Source& source, std::chrono::milliseconds limit) {
  const auto meta = source.Meta();
  ATTUNE_TRY(const std::vector<Site> named, NameSites(source, trust_, limit, done_));
  names_.insert(names_.end(), named.begin(), named.end());
  for (const Site& site : named) done_.insert(site.id);
  for (const Site& site : meta->sites) {
    if (!done_.contains(site.id) && !tried_.insert(site.id).second) done_.insert(site.id);
  }
  return {};
}

}  // namespace attune::analysis
