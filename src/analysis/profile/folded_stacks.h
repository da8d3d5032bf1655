#pragma once
/// Stacks with a time each, or how often an event occurred there: what flame graphs are made of, whatever the time was
/// spent on. They become text that other tools read, and a tree for the page (docs/export.md, docs/live.md).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/places/code_place.h"
#include "model/source.h"

namespace attune::analysis {

/// Kind of a box in a flame graph.
enum class FrameKind : uint8_t {
  kProcess,
  kThread,
  kCode,  ///< a function, or a place in the code that has no name
  kWait,  ///< the object of a wait
};
/// "process", "thread", "code", "wait".
std::string_view ToString(FrameKind kind);

/// One frame, wherever it is in a stack.
struct FlameFrame {
  FrameKind kind = FrameKind::kCode;
  model::ElementId element = 0;  ///< the process, the thread, what was waited for; 0: code
  std::string name;              ///< one line, without ';'
  std::string group;  ///< frames of one colour: file name of the code's module, or kind of the object of a wait

  auto operator<=>(const FlameFrame&) const = default;
};

/// A frame of a stack, and where in the code it was.
struct StackStep {
  uint32_t frame = 0;         ///< index into FoldedStacks::frames()
  model::ElementId site = 0;  ///< 0: no place

  auto operator<=>(const StackStep&) const = default;
};
/// From the outside in.
using StackSteps = std::vector<StackStep>;

/// @thread one at a time
class FoldedStacks {
 public:
  /// The index of the frame that is equal. Its name and group become one line; ';' divides frames, and becomes ':'.
  uint32_t IndexOf(FlameFrame frame);
  /// Adds to the time of this stack; nothing where there is none. @cost a hash of the steps
  void Add(const StackSteps& steps, int64_t time_ns);

  std::span<const FlameFrame> frames() const { return frames_; }
  struct Hash {
    size_t operator()(const StackSteps& steps) const;
  };
  const std::unordered_map<StackSteps, int64_t, Hash>& stacks() const { return stacks_; }

 private:
  std::vector<FlameFrame> frames_;
  std::map<FlameFrame, uint32_t> index_;
  std::unordered_map<StackSteps, int64_t, Hash> stacks_;
};

/// The frames that threads and sites are in stacks, each made once.
class StackNamer {
 public:
  /// @param meta, names, stacks must outlive this
  StackNamer(const model::Metadata& meta, const SiteNames& names, FoldedStacks& stacks)
      : meta_(meta), names_(names), stacks_(stacks) {}

  /// Process and thread.
  const StackSteps& OfThread(model::ElementId thread);
  /// The functions there, those that others are inlined into first.
  const StackSteps& OfSite(model::ElementId site);

 private:
  const model::Metadata& meta_;
  const SiteNames& names_;
  FoldedStacks& stacks_;
  std::unordered_map<model::ElementId, StackSteps> threads_;
  std::unordered_map<model::ElementId, StackSteps> sites_;
};

/// A line for each stack, by name: frames with ';' between them, and microseconds. Those of less than one are left out.
/// @param unit of the numbers in the lines: 1 for counts  @param root a frame that all begin with; empty: none
std::string ToText(const FoldedStacks& stacks, int64_t unit = 1000, std::string_view root = {});

enum class FlameThreads {
  kEach,
  kTogether,  ///< no frames of threads, and processes of a name are one
};

/// Prefix tree of stacks: steps that they have in common share a node.
struct FlameTree {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint32_t frame = kNone;     ///< kNone: the root, of which all stacks are
    uint32_t parent = kNone;    ///< index into `nodes`
    int64_t time_ns = 0;        ///< time of all stacks that go through it
    int64_t left_out_ns = 0;    ///< time of the nodes below it that are left out
    model::ElementId site = 0;  ///< place of its heaviest stack; 0: no place
  };
  std::vector<Node> nodes;  ///< the root, then each behind its parent
  size_t nodes_in_all = 0;  ///< with those left out
};

/// @param most nodes, at least 1; of more those with most time are kept @cost sorting the stacks
FlameTree BuildFlameTree(const FoldedStacks& stacks, FlameThreads threads, size_t most);

}  // namespace attune::analysis
