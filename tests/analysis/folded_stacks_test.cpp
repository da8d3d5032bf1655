// Stacks as text and as trees, and those of what threads waited for.

#include "analysis/profile/folded_stacks.h"

#include <gmock/gmock.h>

#include <map>

#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"
#include "fake_source.h"

namespace attune::analysis::folded_stacks_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::ElementsAre;
using wire::SyncKind;

constexpr int64_t kMs = 1'000'000;

FlameFrame Code(std::string name) { return {.kind = FrameKind::kCode, .name = std::move(name), .group = "solver"}; }

/// Frames of code, one a letter, all at one site.
void AddLetters(FoldedStacks& stacks, std::string_view letters, int64_t time_ns, ElementId site = 0) {
  StackSteps steps;
  for (const char letter : letters) steps.push_back({stacks.IndexOf(Code({letter})), site});
  stacks.Add(steps, time_ns);
}

/// "a/b 30" for each node but the root, with what is left out below it.
std::vector<std::string> Nodes(const FoldedStacks& stacks, const FlameTree& tree) {
  std::vector<std::string> paths, texts;
  for (const FlameTree::Node& node : tree.nodes) {
    if (node.frame == FlameTree::kNone) {
      paths.emplace_back();
      continue;
    }
    const std::string above = paths.at(node.parent);
    paths.push_back((above.empty() ? "" : above + "/") + stacks.frames()[node.frame].name);
    texts.push_back(paths.back() + " " + std::to_string(node.time_ns) +
                    (node.left_out_ns == 0 ? "" : " but " + std::to_string(node.left_out_ns)));
  }
  return texts;
}

TEST(FoldedStacks, AreLinesOfFramesAndMicroseconds) {
  FoldedStacks stacks;
  AddLetters(stacks, "ab", 1500);
  AddLetters(stacks, "ab", 1500, 7);  // at another place of the function
  AddLetters(stacks, "a", 2000);
  AddLetters(stacks, "c", 999);
  AddLetters(stacks, "d", 0);
  stacks.Add({{stacks.IndexOf(Code("std::map<a; b>\n")), 0}}, 5000);
  EXPECT_EQ(ToText(stacks), "a 2\na;b 3\nstd::map<a: b>? 5\n");
  EXPECT_EQ(ToText(FoldedStacks()), "");
}

TEST(FoldedStacks, BecomeATreeOfWhatTheyHaveInCommon) {
  FoldedStacks stacks;
  AddLetters(stacks, "abd", 10);
  AddLetters(stacks, "a", 1);
  AddLetters(stacks, "bd", 5);
  AddLetters(stacks, "abc", 20);
  const FlameTree tree = BuildFlameTree(stacks, FlameThreads::kEach, 100);
  EXPECT_THAT(Nodes(stacks, tree),
              testing::UnorderedElementsAre("a 31", "a/b 30", "a/b/c 20", "a/b/d 10", "b 5", "b/d 5"));
  EXPECT_EQ(tree.nodes[0].time_ns, 36);
  EXPECT_EQ(tree.nodes_in_all, 7u);
}

TEST(FoldedStacks, OfATreeThatIsTooLargeTheLargestNodesStay) {
  FoldedStacks stacks;
  AddLetters(stacks, "abd", 10);
  AddLetters(stacks, "abe", 9);
  AddLetters(stacks, "abfg", 8);
  AddLetters(stacks, "x", 3);
  const FlameTree tree = BuildFlameTree(stacks, FlameThreads::kEach, 4);
  EXPECT_THAT(Nodes(stacks, tree), ElementsAre("a 27", "a/b 27 but 17", "a/b/d 10"));
  EXPECT_EQ(tree.nodes[0].left_out_ns, 3);
  EXPECT_EQ(tree.nodes_in_all, 8u);
  const FlameTree root = BuildFlameTree(stacks, FlameThreads::kEach, 0);
  ASSERT_EQ(root.nodes.size(), 1u) << "the root is always there";
  EXPECT_EQ(root.nodes[0].left_out_ns, 30);
}

TEST(FoldedStacks, ANodeIsAtThePlaceWithMostTime) {
  FoldedStacks stacks;
  AddLetters(stacks, "a", 10, 3);
  AddLetters(stacks, "a", 30, 4);
  AddLetters(stacks, "a", 20, 5);
  const FlameTree tree = BuildFlameTree(stacks, FlameThreads::kEach, 100);
  ASSERT_EQ(tree.nodes.size(), 2u);
  EXPECT_EQ(tree.nodes[1].site, 4u);
  EXPECT_EQ(tree.nodes[1].time_ns, 60);
}

TEST(FoldedStacks, AHundredThousandStacksAddUpAndAreBounded) {
  FoldedStacks stacks;
  for (uint32_t i = 0; i < 100'000; ++i) {
    StackSteps steps;
    for (uint32_t depth = 0, left = i; depth < 5; ++depth, left /= 10)
      steps.push_back({stacks.IndexOf(Code(std::to_string(left % 10))), 0});
    stacks.Add(steps, 1 + i % 7);
  }
  const FlameTree tree = BuildFlameTree(stacks, FlameThreads::kTogether, 20'000);
  ASSERT_EQ(tree.nodes.size(), 20'000u);
  EXPECT_EQ(tree.nodes_in_all, 111'111u);
  std::vector<int64_t> below(tree.nodes.size());
  for (size_t i = tree.nodes.size(); i-- > 1;) {
    ASSERT_LT(tree.nodes[i].parent, i);
    below[tree.nodes[i].parent] += tree.nodes[i].time_ns;
    const bool is_leaf = below[i] == 0 && tree.nodes[i].left_out_ns == 0;
    EXPECT_TRUE(is_leaf || below[i] + tree.nodes[i].left_out_ns == tree.nodes[i].time_ns) << i;
  }
}

struct Program : FakeSource {
  Program() {
    process = AddProcess(100);
    main_thread = AddElement(ElementKind::kThread, "", process, 100);
    other_thread = AddElement(ElementKind::kThread, "", process, 101);
  }
  ElementId AddProcess(int64_t pid) { return AddElement(ElementKind::kProcess, "solver", 0, pid); }
  ElementId AddSite(const std::string& name, std::vector<model::Site> frames = {}) {
    const ElementId id = AddElement(ElementKind::kSite, name, process);
    for (model::Site& frame : frames) {
      frame.id = id;
      meta.sites.push_back(frame);
    }
    return id;
  }
  FoldedStacks Fold(std::span<const model::Site> names = {}) {
    auto stacks = FoldWaits(*this, meta, SiteNames(meta, names));
    EXPECT_TRUE(stacks.ok());
    return stacks.ok() ? *std::move(stacks) : FoldedStacks();
  }
  ElementId process, main_thread, other_thread;
};

TEST(FoldedWaits, HasAStackForEachThreadAndPlace) {
  Program program;
  const ElementId lock = program.AddElement(ElementKind::kLock, "mutex 0x1", program.process);
  const ElementId here = program.AddSite(
      "solver+0x10", {{.frame = 0, .function = "std::lock<a; b>"}, {.frame = 1, .function = "work\nhard"}});
  const ElementId there = program.AddSite("solver+0x20");
  program.sync = {{5, program.main_thread, lock, here, SyncKind::kMutex, 9, 2, 3 * kMs, 0, 0},
                  {6, program.main_thread, lock, here, SyncKind::kMutex, 9, 2, 1 * kMs, 0, 0},
                  {6, program.other_thread, lock, there, SyncKind::kMutex, 9, 2, 7 * kMs, 0, 0},
                  {6, program.other_thread, lock, here, SyncKind::kMutex, 9, 0, 0, 0, 0}};
  EXPECT_EQ(ToText(program.Fold()),
            "solver;thread 100;work?hard;std::lock<a: b>;wait for mutex 0x1 4000\n"
            "solver;thread 101;solver+0x20;wait for mutex 0x1 7000\n");
  const std::vector<model::Site> names = {{.id = there, .function = "drain"}};
  EXPECT_THAT(ToText(program.Fold(names)), testing::HasSubstr("solver;thread 101;drain;wait for mutex 0x1 7000\n"));
}

TEST(FoldedWaits, WithoutThreadsTheirStacksAreOneAndSoAreProcessesOfAName) {
  Program program;
  const ElementId lock = program.AddElement(ElementKind::kLock, "mutex 0x1", program.process);
  const ElementId there = program.AddSite("solver+0x20");
  const ElementId rank = program.AddProcess(200);
  const ElementId third = program.AddElement(ElementKind::kThread, "", rank, 201);
  for (const ElementId thread : {program.main_thread, program.other_thread, third})
    program.sync.push_back({6, thread, lock, there, SyncKind::kMutex, 9, 2, 7, 0, 0});
  const FoldedStacks stacks = program.Fold();
  EXPECT_THAT(Nodes(stacks, BuildFlameTree(stacks, FlameThreads::kTogether, 100)),
              ElementsAre("solver 21", "solver/solver+0x20 21", "solver/solver+0x20/wait for mutex 0x1 21"));
  const FlameTree each = BuildFlameTree(stacks, FlameThreads::kEach, 100);
  EXPECT_THAT(Nodes(stacks, each), testing::IsSupersetOf({"solver 14", "solver/thread 100 7", "solver/thread 101 7",
                                                          "solver 7", "solver/thread 201 7"}));
  EXPECT_EQ(each.nodes_in_all, 1u + 2 + 3 * 3);
}

TEST(FoldedSamples, AreCallPathsWithTheTimeOfTheirSamples) {
  Program program;
  const ElementId main_site = program.AddSite("solver+0x10", {{.frame = 0, .function = "main"}});
  const ElementId inner = program.AddSite("solver+0x20", {{.frame = 0, .function = "dot", .module = "/opt/solver"},
                                                          {.frame = 1, .function = "step", .module = "/opt/solver"}});
  const ElementId kernel = program.AddSite("[kernel]");
  program.stack_rows = {{1, 0, main_site}, {2, 1, inner}, {3, 2, kernel}};
  program.cpu_samples = {{.t_ns = 1, .thread = program.main_thread, .site = inner, .stack = 2, .weight_ns = 4000},
                         {.t_ns = 2, .thread = program.main_thread, .site = inner, .stack = 2, .weight_ns = 4000},
                         {.t_ns = 3, .thread = program.main_thread, .site = kernel, .stack = 3, .weight_ns = 4000},
                         {.t_ns = 4, .thread = program.other_thread, .site = kernel, .stack = 77, .weight_ns = 4000}};
  const auto samples = ReadCpuSamples(program);
  ASSERT_TRUE(samples.ok());
  const FoldedStacks stacks = FoldSamples(*samples, program.meta, SiteNames(program.meta, {}));
  EXPECT_EQ(ToText(stacks),
            "solver;thread 100;main;step;dot 8\n"
            "solver;thread 100;main;step;dot;[kernel] 4\n"
            "solver;thread 101 4\n")
      << "of a path that is not there the thread is known";
  std::map<std::string, std::string> groups;
  for (const FlameFrame& frame : stacks.frames()) groups[frame.name] = frame.group;
  EXPECT_EQ(groups["dot"], "solver") << "its file";
  EXPECT_EQ(groups["[kernel]"], "[kernel]");
  EXPECT_EQ(groups["main"], "") << "not known";
  const FlameTree tree = BuildFlameTree(stacks, FlameThreads::kTogether, 100);
  EXPECT_THAT(Nodes(stacks, tree), ElementsAre("solver 16000", "solver/main 12000", "solver/main/step 12000",
                                               "solver/main/step/dot 12000", "solver/main/step/dot/[kernel] 4000"));
}

TEST(FoldedWaits, OfThreadsAndPlacesThatNobodyNamedHaveAName) {
  Program program;
  program.sync = {{5, 900, 901, 902, SyncKind::kBarrier, 1, 1, 2000, 0, 0}};
  EXPECT_EQ(ToText(program.Fold()), "?;?;?;wait for barrier 2\n");
}

}  // namespace
}  // namespace attune::analysis::folded_stacks_test
