#include "analysis/profile/folded_samples.h"

namespace attune::analysis {

FoldedStacks FoldSamples(const SampleSums& samples, const model::Metadata& meta, const SiteNames& names) {
  FoldedStacks stacks;
  StackNamer namer(meta, names, stacks);
  for (const auto& [where, weight_ns] : samples.weights) {
    const auto& [thread, stack] = where;
    StackSteps steps = namer.OfThread(thread);
    for (const model::ElementId site : samples.PathOf(stack)) {
      const StackSteps& code = namer.OfSite(site);
      steps.insert(steps.end(), code.begin(), code.end());
    }
    stacks.Add(steps, weight_ns);
  }
  return stacks;
}

}  // namespace attune::analysis
