#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/places/code_place.h"
#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"

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
Json FlamesJson(const FoldedStacks& stacks) {
  FlameTree together = BuildFlameTree(stacks, FlameThreads::kTogether, kMaxNodes);
  FlameTree each = BuildFlameTree(stacks, FlameThreads::kEach, kMaxNodes);
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
  return {{"frames", std::move(frames)}, {"together", FlameTreeJson(together)}, {"each", FlameTreeJson(each)}};
}

/// Flame graphs of what time was spent on: `waiting` is that of `attune export --to folded`, `computing` that of
/// `--to folded-cpu`, where there are CPU samples. Of each a tree with the threads and one without them, with the
/// kMaxNodes nodes of most time (docs/live.md). @cost as FoldWaits, ReadCpuSamples and BuildFlameTree
Result<std::string> Flames(const PageRequest& request) {
  const auto meta = request.source.Meta();
  const SiteNames site_names(*meta, request.names);
  ATTUNE_TRY(const FoldedStacks waits, request.range
                                           ? FoldWaitsWithin(request.source, *meta, site_names, *request.range)
                                           : FoldWaits(request.source, *meta, site_names));
  ATTUNE_TRY(const CpuSamples samples, ReadCpuSamples(request.source, request.range));
  Json flames{{"waiting", FlamesJson(waits)}};
  // Without samples nothing is known of it, which is not the same as that nothing ran.
  if (samples.samples_in_all > 0) flames["computing"] = FlamesJson(FoldSamples(samples, *meta, site_names));
  return JsonText(flames);
}

}  // namespace

PageDocument MakeFlamesDocument() { return {.name = "flames", .may_have_range = true, .make = Flames}; }

}  // namespace attune::analysis
