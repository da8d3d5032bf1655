#include "analysis/folded_waits.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/sync_sums.h"

namespace attune::analysis {
namespace {

FlameFrame WaitFrame(const model::Metadata& meta, model::ElementId id, wire::SyncKind kind) {
  const model::Element* object = meta.FindElement(id);
  const std::string_view what = model::ToString(kind);
  return {.kind = FrameKind::kWait,
          .element = id,
          .name = fmt::format("wait for {}", object != nullptr ? std::string_view(object->name) : what),
          .group = std::string(what)};
}

}  // namespace

Result<FoldedStacks> FoldWaits(model::Source& source, const model::Metadata& meta, const SiteNames& names) {
  ATTUNE_TRY(const SyncSums sums, ReadSyncSums(source));
  FoldedStacks stacks;
  StackNamer namer(meta, names, stacks);
  for (const auto& [object, sum] : sums.objects) {
    for (const auto& [place, threads] : sum.places) {
      const auto& [site, kind] = place;
      const StackStep waited{.frame = stacks.IndexOf(WaitFrame(meta, object, kind))};
      for (const auto& [thread, counts] : threads) {
        StackSteps steps = namer.OfThread(thread);
        const StackSteps& code = namer.OfSite(site);
        steps.insert(steps.end(), code.begin(), code.end());
        steps.push_back(waited);
        stacks.Add(steps, counts.wait_ns);
      }
    }
  }
  return stacks;
}

}  // namespace attune::analysis
