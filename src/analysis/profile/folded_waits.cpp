#include "analysis/profile/folded_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

FlameFrame WaitFrame(const model::Metadata& meta, ElementId id, SyncKind kind) {
  const model::Element* object = meta.FindElement(id);
  const std::string_view what = model::ToString(kind);
  return {.kind = FrameKind::kWait,
          .element = id,
          .name = fmt::format("wait for {}", object != nullptr ? std::string_view(object->name) : what),
          .group = std::string(what)};
}

/// A wait's object, place, kind and thread.
struct WaitAt {
  ElementId object = 0, site = 0;
  SyncKind kind = SyncKind::kNone;
  ElementId thread = 0;
};

void AddWait(const model::Metadata& meta, const WaitAt& at, int64_t time_ns, StackNamer& namer, FoldedStacks& stacks) {
  StackSteps steps = namer.OfThread(at.thread);
  const StackSteps& code = namer.OfSite(at.site);
  steps.insert(steps.end(), code.begin(), code.end());
  steps.push_back({.frame = stacks.IndexOf(WaitFrame(meta, at.object, at.kind))});
  stacks.Add(steps, time_ns);
}

}  // namespace

Result<FoldedStacks> FoldWaits(model::Source& source, const model::Metadata& meta, const SiteNames& names) {
  ATTUNE_TRY(const SyncSums sums, ReadSyncSums(source));
  FoldedStacks stacks;
  StackNamer namer(meta, names, stacks);
  for (const auto& [object, sum] : sums.objects) {
    for (const auto& [place, threads] : sum.places) {
      const auto& [site, kind] = place;
      for (const auto& [thread, counts] : threads)
        AddWait(meta, {object, site, kind, thread}, counts.wait_ns, namer, stacks);
    }
  }
  return stacks;
}

Result<FoldedStacks> FoldWaitsWithin(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                                     model::TimeRange range) {
  // An event is written at the end of its wait, which may be long after the range.
  std::map<std::array<int64_t, 4>, int64_t> times_ns;  // by object, site, kind, thread
  ATTUNE_CHECK_OK(source.ReadEvents({range.t0_ns, INT64_MAX}, [&](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      const bool is_wait = block.kind[row] == static_cast<int64_t>(wire::EventKind::kWait) &&
                           block.b[row] != static_cast<int64_t>(SyncKind::kFile);
      const int64_t end_ns = block.t_ns[row];
      int64_t begin_ns = 0;
      if (!is_wait || __builtin_sub_overflow(end_ns, block.a[row], &begin_ns)) continue;
      begin_ns = std::max(begin_ns, range.t0_ns);
      const int64_t within_ns = std::min(end_ns, range.t1_ns) - begin_ns;
      if (within_ns > 0)
        AddTo(times_ns[{block.object[row], block.site[row], block.b[row], block.thread[row]}], within_ns);
    }
    return true;
  }));
  FoldedStacks stacks;
  StackNamer namer(meta, names, stacks);
  for (const auto& [key, time_ns] : times_ns) {
    const auto [object, site, kind, thread] = key;
    AddWait(meta,
            {static_cast<ElementId>(object), static_cast<ElementId>(site), static_cast<SyncKind>(kind),
             static_cast<ElementId>(thread)},
            time_ns, namer, stacks);
  }
  return stacks;
}

}  // namespace attune::analysis
