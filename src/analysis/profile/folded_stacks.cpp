#include "analysis/profile/folded_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "analysis/waits/sync_sums.h"
#include "base/text.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

std::string OneFrame(std::string_view text) {
  std::string frame = CleanText(text);
  std::ranges::replace(frame, ';', ':');
  return frame.empty() ? "?" : frame;
}

/// Makes the tree of stacks that come in order: what a stack has in common with the one before is there already.
class TreeBuilder {
 public:
  TreeBuilder() : nodes_(1), heaviest_ns_(1) {}

  void Add(const StackSteps& steps, int64_t time_ns) {
    size_t depth = 0;
    while (depth < steps.size() && depth < path_.size() && nodes_[path_[depth]].frame == steps[depth].frame) ++depth;
    path_.resize(depth);
    for (; depth < steps.size(); ++depth) {
      const uint32_t parent = depth == 0 ? 0 : path_[depth - 1];
      path_.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.frame = steps[depth].frame, .parent = parent});
      heaviest_ns_.push_back(0);
    }
    AddTo(nodes_[0].time_ns, time_ns);
    for (size_t i = 0; i < steps.size(); ++i) {
      FlameTree::Node& node = nodes_[path_[i]];
      AddTo(node.time_ns, time_ns);
      if (time_ns <= heaviest_ns_[path_[i]]) continue;
      heaviest_ns_[path_[i]] = time_ns;
      node.site = steps[i].site;
    }
  }

  FlameTree Finish(size_t most) && {
    FlameTree tree{.nodes = {}, .nodes_in_all = nodes_.size()};
    if (nodes_.size() <= most) {
      tree.nodes = std::move(nodes_);
      return tree;
    }
    // A parent has no less than its child and stands before it: so it is kept, too.
    std::vector<uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(order, end, [this](uint32_t a, uint32_t b) {
      return std::pair(-nodes_[a].time_ns, a) < std::pair(-nodes_[b].time_ns, b);
    });
    std::sort(order.begin(), end);
    std::vector<uint32_t> now(nodes_.size(), FlameTree::kNone);
    for (uint32_t i = 0; i < most; ++i) now[order[i]] = i;
    for (auto old = order.begin(); old != end; ++old) {
      FlameTree::Node node = nodes_[*old];
      if (node.parent != FlameTree::kNone) node.parent = now[node.parent];
      tree.nodes.push_back(node);
    }
    for (size_t i = 1; i < nodes_.size(); ++i) {
      const uint32_t parent = now[nodes_[i].parent];
      if (now[i] == FlameTree::kNone && parent != FlameTree::kNone)
        AddTo(tree.nodes[parent].left_out_ns, nodes_[i].time_ns);
    }
    return tree;
  }

 private:
  std::vector<FlameTree::Node> nodes_;  ///< each behind its parent
  std::vector<int64_t> heaviest_ns_;    ///< by node: time of the stack that gave it its site
  std::vector<uint32_t> path_;          ///< nodes of the last stack
};

}  // namespace

std::string_view ToString(FrameKind kind) {
  switch (kind) {
    case FrameKind::kProcess: return "process";
    case FrameKind::kThread: return "thread";
    case FrameKind::kCode: return "code";
    case FrameKind::kWait: return "wait";
  }
  return "?";
}

uint32_t FoldedStacks::IndexOf(FlameFrame frame) {
  frame.name = OneFrame(frame.name);
  frame.group = CleanText(frame.group);
  const auto [found, is_new] = index_.try_emplace(std::move(frame), static_cast<uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(found->first);
  return found->second;
}

size_t FoldedStacks::Hash::operator()(const StackSteps& steps) const {
  uint64_t hash = steps.size();
  for (const StackStep& step : steps)
    hash = (hash ^ (uint64_t{step.frame} << 32 | step.site)) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
  return std::hash<uint64_t>()(hash);
}

void FoldedStacks::Add(const StackSteps& steps, int64_t time_ns) {
  if (time_ns > 0) AddTo(stacks_[steps], time_ns);
}

const StackSteps& StackNamer::OfThread(ElementId id) {
  const auto [found, is_new] = threads_.try_emplace(id);
  if (!is_new) return found->second;
  const model::Element* thread = meta_.FindElement(id);
  const model::Element* process = thread == nullptr ? nullptr : meta_.FindElement(thread->parent);
  std::string name;
  if (thread != nullptr) {
    name = thread->name.empty() ? "thread" : thread->name;
    if (thread->os_id != kAbsent) name += fmt::format(" {}", thread->os_id);
  }
  const auto add = [&](FrameKind kind, const model::Element* element, std::string text) {
    const FlameFrame frame{
        .kind = kind, .element = element == nullptr ? 0 : element->id, .name = std::move(text), .group = {}};
    found->second.push_back({.frame = stacks_.IndexOf(frame)});
  };
  add(FrameKind::kProcess, process, process == nullptr ? "" : process->name);
  add(FrameKind::kThread, thread, name);
  return found->second;
}

const StackSteps& StackNamer::OfSite(ElementId site) {
  const auto [found, is_new] = sites_.try_emplace(site);
  if (!is_new) return found->second;
  const CodePlace place = names_.PlaceOf(site);
  const auto add = [&](const std::string& function, const std::string& module) {
    const FlameFrame frame{.kind = FrameKind::kCode,
                           .name = function.empty() ? place.name : function,
                           .group = module.substr(module.rfind('/') + 1)};
    found->second.push_back({.frame = stacks_.IndexOf(frame), .site = site});
  };
  const std::span<const model::Site> frames = names_.FramesOf(site);
  for (size_t i = frames.size(); i-- > 0;) add(frames[i].function, frames[i].module);
  // "[kernel]" is no file, and a module all the same.
  if (frames.empty()) add("", place.name.starts_with('[') ? place.name : "");
  return found->second;
}

std::string ToText(const FoldedStacks& stacks, int64_t unit, std::string_view root) {
  std::map<std::string, int64_t> times_ns;
  for (const auto& [steps, time_ns] : stacks.stacks()) {
    std::string line(root);
    for (const StackStep& step : steps) line += (line.empty() ? "" : ";") + stacks.frames()[step.frame].name;
    AddTo(times_ns[line], time_ns);
  }
  std::string text;
  for (const auto& [frames, time_ns] : times_ns) {
    if (time_ns >= unit) text += fmt::format("{} {}\n", frames, time_ns / unit);
  }
  return text;
}

FlameTree BuildFlameTree(const FoldedStacks& stacks, FlameThreads threads, size_t most) {
  // Maps each frame to the one shown. Without threads, processes of one name become the first of them.
  std::vector<uint32_t> shown(stacks.frames().size());
  std::iota(shown.begin(), shown.end(), 0u);
  std::map<std::string_view, uint32_t> processes;
  for (uint32_t i = 0; i < shown.size() && threads == FlameThreads::kTogether; ++i) {
    const FlameFrame& frame = stacks.frames()[i];
    if (frame.kind == FrameKind::kProcess) shown[i] = processes.try_emplace(frame.name, i).first->second;
    if (frame.kind == FrameKind::kThread) shown[i] = FlameTree::kNone;
  }
  std::vector<std::pair<StackSteps, int64_t>> sorted;
  sorted.reserve(stacks.stacks().size());
  for (const auto& [steps, time_ns] : stacks.stacks()) {
    StackSteps kept;
    for (const StackStep& step : steps) {
      if (shown[step.frame] != FlameTree::kNone) kept.push_back({.frame = shown[step.frame], .site = step.site});
    }
    sorted.emplace_back(std::move(kept), time_ns);
  }
  // By frames: places within one function are one node.
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    const auto frame_of = [](const StackStep& step) { return step.frame; };
    const bool less = std::ranges::lexicographical_compare(a.first, b.first, {}, frame_of, frame_of);
    const bool more = std::ranges::lexicographical_compare(b.first, a.first, {}, frame_of, frame_of);
    return less || (!more && a < b);
  });
  TreeBuilder builder;
  for (const auto& [steps, time_ns] : sorted) builder.Add(steps, time_ns);
  return std::move(builder).Finish(std::max<size_t>(1, most));
}

}  // namespace attune::analysis
