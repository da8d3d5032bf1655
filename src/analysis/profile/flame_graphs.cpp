#include "analysis/profile/flame_graphs.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"
#include "counter/event.h"

namespace attune::analysis {
namespace {

/// Nodes of a tree.
constexpr size_t kMaxNodes = 20'000;

/// By column; frame and parent of the root are -1.
Json FlameTreeJson(const FlameTree& tree) {
  const auto index = [](uint32_t i) { return i == FlameTree::kNone ? int64_t{-1} : int64_t{i}; };
  return {{"nodes_in_all", tree.nodes_in_all},
          {"frame", JsonRows(tree.nodes, [&](const FlameTree::Node& node) { return index(node.frame); })},
          {"parent", JsonRows(tree.nodes, [&](const FlameTree::Node& node) { return index(node.parent); })},
          {"time_ns", JsonRows(tree.nodes, &FlameTree::Node::time_ns)},
          {"left_out_ns", JsonRows(tree.nodes, &FlameTree::Node::left_out_ns)},
          {"site", JsonRows(tree.nodes, &FlameTree::Node::site)}};
}

/// Frames that no tree has are not sent.
Json StacksJson(const FoldedStacks& stacks, FlameTrees trees) {
  FlameTree together = BuildFlameTree(stacks, FlameThreads::kTogether, kMaxNodes);
  FlameTree each;
  if (trees == FlameTrees::kBoth) each = BuildFlameTree(stacks, FlameThreads::kEach, kMaxNodes);
  std::vector<uint32_t> sent(stacks.frames().size(), FlameTree::kNone);
  Json frames = Json::array();
  for (FlameTree* tree : {&together, &each}) {
    for (FlameTree::Node& node : tree->nodes) {
      if (node.frame == FlameTree::kNone) continue;
      const FlameFrame& frame = stacks.frames()[node.frame];
      uint32_t& index = sent[node.frame];
      if (index == FlameTree::kNone) {
        index = static_cast<uint32_t>(frames.size());
        frames.push_back(
            {{"kind", ToString(frame.kind)}, {"element", frame.element}, {"name", frame.name}, {"group", frame.group}});
      }
      node.frame = index;
    }
  }
  Json json{{"frames", std::move(frames)}, {"together", FlameTreeJson(together)}};
  if (trees == FlameTrees::kBoth) json["each"] = FlameTreeJson(each);
  return json;
}

}  // namespace

Result<Json> FlameGraphs(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                         const std::optional<model::TimeRange>& range, FlameTrees trees) {
  ATTUNE_TRY(const FoldedStacks waits,
             range ? FoldWaitsWithin(source, meta, names, *range) : FoldWaits(source, meta, names));
  ATTUNE_TRY(const SampleSums samples, ReadCpuSamples(source, range));
  Json flames{{"waiting", StacksJson(waits, trees)}};
  // Without samples nothing is known of it, which is not the same as that nothing ran.
  if (samples.samples_in_all > 0) flames["computing"] = StacksJson(FoldSamples(samples, meta, names), trees);
  ATTUNE_TRY(const auto events, ReadEventSamples(source, range));
  for (const auto& [event, of_event] : events) {
    Json stacks = StacksJson(FoldSamples(of_event, meta, names), trees);
    stacks["event"] = event;
    stacks["unit"] = counter::UnitOf(event);
    flames["events"].push_back(std::move(stacks));
  }
  return flames;
}

}  // namespace attune::analysis
