#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/places/code_place.h"
#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

/// Nodes of a tree.
constexpr size_t kMaxNodes = 20'000;

/// By column; frame and parent of the root are -1.
Json FlameTreeJson(const FlameTree& tree) {
  const auto index = [](uint32_t i) { return i == FlameTree::kNone ? int64_t{-1} : int64_t{i}; };
  Json frame = Json::array(), parent = Json::array(), time = Json::array(), left_out = Json::array(),
       site = Json::array();
  for (const FlameTree::Node& node : tree.nodes) {
    frame.push_back(index(node.frame));
    parent.push_back(index(node.parent));
    time.push_back(node.time_ns);
    left_out.push_back(node.left_out_ns);
    site.push_back(node.site);
  }
  return {{"nodes_in_all", tree.nodes_in_all}, {"frame", std::move(frame)},          {"parent", std::move(parent)},
          {"time_ns", std::move(time)},        {"left_out_ns", std::move(left_out)}, {"site", std::move(site)}};
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
  return PageText(flames);
}

}  // namespace

PageDocument MakeFlamesDocument() { return {.name = "flames", .may_have_range = true, .make = Flames}; }

}  // namespace attune::analysis
