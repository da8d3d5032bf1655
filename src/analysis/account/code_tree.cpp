#include "analysis/account/code_tree.h"

#include <algorithm>
#include <ranges>

#include "analysis/places/own_place.h"

namespace attune::analysis {
namespace {

/// A function that has so much of what its caller has is what to look at.
constexpr double kNearlyAll = 0.8;
/// Part of an outermost function's time: a callee with so much stands alone, where such callees have most of it.
constexpr double kMuch = 0.1;
constexpr double kMost = 0.5;

bool IsOwn(const model::Site& frame, bool executes_python) {
  if (executes_python && IsPythonInterpreter(frame.module)) return false;
  return !frame.module.empty() && !IsSystemModule(frame.module) && !IsSystemHeader(frame.file);
}

CodePlace PlaceOf(const model::Site& frame, const std::string& name) {
  return {.name = name,
          .function = frame.function,
          .file = frame.file,
          .line = frame.line,
          .module = frame.module,
          .id = frame.id};
}

}  // namespace

int OwnPaths::FunctionOf(const CodePlace& place) {
  const auto key =
      place.function.empty() ? std::pair(std::string(), place.name) : std::pair(place.module, place.function);
  return functions_.try_emplace(key, static_cast<int>(functions_.size()) + 1).first->second;
}

const std::vector<PathFrame>& OwnPaths::Of(int64_t stack) {
  const auto [found, is_new] = paths_.try_emplace(stack);
  if (!is_new) return found->second;
  std::vector<PathFrame>& path = found->second;
  CodePlace innermost;  // innermost named place, for paths of library code alone
  int caller = 0;
  const auto sites = samples_.PathOf(stack);
  const bool executes_python = ExecutesPython(sites, names_);
  for (const model::ElementId site : sites) {
    const auto frames = names_.FramesOf(site);
    if (!frames.empty()) innermost = names_.PlaceOf(site);
    if (frames.empty() || !IsOwn(frames.back(), executes_python)) caller = 0;
    for (const model::Site& frame : frames | std::views::reverse) {
      if (!IsOwn(frame, executes_python)) continue;
      CodePlace place = PlaceOf(frame, names_.PlaceOf(site).name);
      const int function = FunctionOf(place);
      if (!path.empty() && path.back().function == function) {
        path.back().place = std::move(place);
      } else {
        path.push_back({function, caller, std::move(place)});
      }
      caller = function;
    }
  }
  if (path.empty() && !innermost.name.empty()) path.push_back({FunctionOf(innermost), 0, innermost});
  if (path.size() > kMaxDepth) path.erase(path.begin(), path.end() - kMaxDepth);
  return path;
}

void CodeTree::Add(const std::vector<PathFrame>& path, double weight_ns) {
  size_t at = 0;
  nodes_[0].weight_ns += weight_ns;
  for (const PathFrame& frame : path) {
    const auto [callee, is_new] = nodes_[at].callees.try_emplace(frame.function, nodes_.size());
    at = callee->second;
    if (is_new) nodes_.emplace_back();
    nodes_[at].weight_ns += weight_ns;
    Line& line = nodes_[at].lines[{frame.place.file, frame.place.line}];
    if (line.weight_ns == 0) line.place = frame.place;
    line.weight_ns += weight_ns;
  }
}

size_t CodeTree::Innermost(size_t node) const {
  const double enough_ns = kNearlyAll * nodes_[node].weight_ns;
  for (bool is_deeper = true; is_deeper;) {
    is_deeper = false;
    for (const auto& [function, callee] : nodes_[node].callees) {
      if (nodes_[callee].weight_ns < enough_ns || nodes_[callee].weight_ns <= 0) continue;
      node = callee;
      is_deeper = true;
      break;
    }
  }
  return node;
}

CodeTree::Part CodeTree::PartAt(size_t node) const {
  Part part{.place = {}, .weight_ns = nodes_[node].weight_ns};
  const auto most = std::ranges::max_element(
      nodes_[node].lines, [](const auto& a, const auto& b) { return a.second.weight_ns < b.second.weight_ns; });
  if (most != nodes_[node].lines.end()) part.place = most->second.place;
  return part;
}

std::vector<CodeTree::Part> CodeTree::Parts() const {
  std::vector<Part> parts;
  if (weight_ns() <= 0) return parts;
  const size_t node = Innermost(0);
  const auto is_outermost = [this, node] {
    return node == 0 || std::ranges::any_of(nodes_[0].callees, [node](const auto& c) { return c.second == node; });
  };
  double in_callees_ns = 0;
  if (is_outermost()) {
    for (const auto& [function, callee] : nodes_[node].callees) {
      if (nodes_[callee].weight_ns < kMuch * nodes_[node].weight_ns) continue;
      parts.push_back(PartAt(Innermost(callee)));
      parts.back().weight_ns = nodes_[callee].weight_ns;
      in_callees_ns += nodes_[callee].weight_ns;
    }
  }
  if (node != 0 && in_callees_ns < kMost * nodes_[node].weight_ns) parts = {PartAt(node)};
  std::ranges::stable_sort(parts, std::greater{}, &Part::weight_ns);
  return parts;
}

}  // namespace attune::analysis
