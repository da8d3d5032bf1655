#include "traffic_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attune::interconnect {
namespace {

/// Counts of each card in some seconds after the array has been written.
std::vector<Counts> CountsOf(TrafficModel& model, const Parameters& parameters, double seconds) {
  constexpr double kBegin = 1;
  model.RunUntil(kBegin);
  EXPECT_LT(model.InitialisedAt(), kBegin) << "the array is still being written";
  std::vector<Counts> counts;
  for (int i = 0; i < parameters.boards; ++i) counts.push_back(model.counts(i));
  model.RunUntil(kBegin + seconds);
  for (int i = 0; i < parameters.boards; ++i) {
    for (int k = 0; k < kCounters; ++k) {
      double& one = counts[static_cast<size_t>(i)][static_cast<size_t>(k)];
      one = model.counts(i)[static_cast<size_t>(k)] - one;
    }
  }
  return counts;
}

Parameters Small(Placement placement) {
  Parameters parameters{.placement = placement};
  parameters.array_bytes /= 20;
  return parameters;
}

double Sum(const std::vector<Counts>& counts, Counter counter) {
  double sum = 0;
  for (const Counts& one : counts) sum += one[counter];
  return sum;
}

double LinesMoved(const Counts& counts) { return counts[kReadsReceived] + 2 * counts[kReadsToModifyReceived]; }

TEST(Pages, LieWhereTheyAreTouchedFirst) {
  Pages pages(4);
  const size_t first = pages.Allocate(3);
  pages.Touch(first, 2);
  pages.Touch(first, 3);
  EXPECT_EQ(pages.NodeOf(first), 2);
  pages.Interleave(first + 1);
  pages.Interleave(first + 2);
  EXPECT_NE(pages.NodeOf(first + 1), pages.NodeOf(first + 2));
}

TEST(TrafficModel, TheBoardWhereTheParentTouchedTheStacksIsSaturated) {
  for (const int home : {1, 4}) {
    Parameters parameters = Small(Placement::kParent);
    parameters.parent_board = home;
    TrafficModel model(parameters);
    EXPECT_EQ(model.BoardOfStack(parameters.Threads() - 1), home);
    const auto counts = CountsOf(model, parameters, 1);
    for (int i = 0; i < parameters.boards; ++i) {
      const double waits = counts[static_cast<size_t>(i)][kRequestWaitCycles] / parameters.card_hz;
      if (i == home) {
        EXPECT_GT(waits, 0.9) << "board " << i;
      } else {
        EXPECT_LT(waits, 0.1) << "board " << i;
      }
    }
    // A saturated engine moves as many lines as it can, whatever is asked of it.
    const double most = parameters.card_hz / parameters.line_cycles;
    EXPECT_NEAR(LinesMoved(counts[static_cast<size_t>(home)]) / most, 1, 0.01);
  }
}

TEST(TrafficModel, NobodyWaitsWhenEachThreadTouchesItsOwnStack) {
  const Parameters parameters = Small(Placement::kSelf);
  TrafficModel model(parameters);
  for (int i = 0; i < parameters.Threads(); ++i) EXPECT_EQ(model.BoardOfStack(i), parameters.BoardOfThread(i));
  const auto counts = CountsOf(model, parameters, 1);
  EXPECT_EQ(Sum(counts, kReadsToModifyReceived), 0) << "only the array, which is read, is on other boards";
  const double mean = Sum(counts, kRequests) / parameters.boards;
  // Utilisation, by the law of that name; requests that meet another one wait.
  const double busy = mean * parameters.line_cycles / parameters.card_hz;
  for (const Counts& one : counts) {
    EXPECT_NEAR(one[kRequests] / mean, 1, 0.1);
    EXPECT_NEAR(one[kRequestWaitCycles] / parameters.card_hz, 1 - (1 - busy) * std::exp(busy), 0.002);
  }
}

TEST(TrafficModel, InterleavedStacksLoadAllBoardsAlike) {
  const Parameters parameters = Small(Placement::kInterleave);
  TrafficModel model(parameters);
  const auto counts = CountsOf(model, parameters, 1);
  const double mean = Sum(counts, kRequests) / parameters.boards;
  for (const Counts& one : counts) EXPECT_NEAR(one[kRequests] / mean, 1, 0.2);
  TrafficModel own(Small(Placement::kSelf));
  EXPECT_GT(Sum(counts, kRequests), 5 * Sum(CountsOf(own, parameters, 1), kRequests)) << "but they are remote";
}

TEST(TrafficModel, WhatIsSentIsReceived) {
  const Parameters parameters = Small(Placement::kInterleave);
  TrafficModel model(parameters);
  const auto counts = CountsOf(model, parameters, 0.5);
  EXPECT_EQ(Sum(counts, kReadsSent), Sum(counts, kReadsReceived));
  EXPECT_EQ(Sum(counts, kReadsToModifySent), Sum(counts, kReadsToModifyReceived));
  EXPECT_EQ(Sum(counts, kVictimsSent), Sum(counts, kReadsToModifyReceived));
  EXPECT_EQ(Sum(counts, kFullLinesSent), Sum(counts, kFullLinesReceived));
  EXPECT_EQ(Sum(counts, kRequests), Sum(counts, kReadsReceived) + Sum(counts, kReadsToModifyReceived));
}

TEST(TrafficModel, AFasterCardIsNotSaturated) {
  Parameters parameters = Small(Placement::kParent);
  parameters.line_cycles /= 20;
  TrafficModel model(parameters);
  const auto counts = CountsOf(model, parameters, 1);
  EXPECT_LT(counts[1][kRequestWaitCycles] / parameters.card_hz, 0.6);
}

/// The figures of the paper, of a twentieth of its run.
TEST(TrafficModel, RunsAsLongAndMovesAsMuchAsThePapersBenchmark) {
  constexpr double kPart = 20;
  double seconds[2], bytes[2];
  for (const Placement placement : {Placement::kParent, Placement::kSelf}) {
    Parameters parameters = Small(placement);
    parameters.work_seconds /= kPart;
    TrafficModel model(parameters);
    const int at = placement == Placement::kSelf ? 1 : 0;
    seconds[at] = model.RunToEnd() * kPart;
    double lines = 0;
    for (int i = 0; i < parameters.boards; ++i) lines += model.counts(i)[kFullLinesSent];
    bytes[at] = lines * 64 * kPart;
  }
  EXPECT_NEAR(seconds[0], 634.4, 30);
  EXPECT_NEAR(seconds[1], 112.1, 5);
  EXPECT_NEAR(bytes[0] / (1 << 30), 17.8, 1);
  EXPECT_GT(bytes[0] / bytes[1], 5) << "15.6 in the paper";
}

}  // namespace
}  // namespace attune::interconnect
