#include "merge/linear_program.h"

#include <gtest/gtest.h>

#include <random>

namespace attune::merge {
namespace {

LinearRow Row(std::initializer_list<std::pair<size_t, double>> terms, double bound) {
  LinearRow row{.terms = {}, .count = 0, .bound = bound};
  for (const auto& [variable, factor] : terms) row.Add(variable, factor);
  return row;
}

TEST(LinearProgram, FindsTheCornerWhereTheObjectiveIsLargest) {
  LinearProgram programme(2, 1e15);
  programme.Add(Row({{0, 1}, {1, 1}}, 4));
  programme.Add(Row({{0, 1}, {1, 3}}, 6));
  programme.Add(Row({{0, -1}}, 0));
  programme.Add(Row({{1, -1}}, 0));
  const std::vector<double> objective{3, 5};
  const auto point = programme.Maximise(objective);
  ASSERT_TRUE(point);
  EXPECT_NEAR(static_cast<double>((*point)[0]), 3, 1e-3);
  EXPECT_NEAR(static_cast<double>((*point)[1]), 1, 1e-3);
}

TEST(LinearProgram, SaysThatRowsContradictEachOther) {
  LinearProgram programme(1, 1e15);
  programme.Add(Row({{0, 1}}, 1));
  programme.Add(Row({{0, -1}}, -2));
  const std::vector<double> objective{1};
  EXPECT_FALSE(programme.Maximise(objective));
}

TEST(LinearProgram, StaysInTheBoxWhereNothingElseHoldsIt) {
  const LinearProgram programme(2, 1000);
  const std::vector<double> objective{1, -1};
  const auto point = programme.Maximise(objective);
  ASSERT_TRUE(point);
  EXPECT_EQ((*point)[0], 1000);
  EXPECT_EQ((*point)[1], -1000);
}

/// No point of many that satisfy all rows is better than the one that is found.
TEST(LinearProgram, IsAsGoodAsAnythingThatIsTried) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> factor(-1, 1);
  for (int round = 0; round < 50; ++round) {
    constexpr size_t kVariables = 4;
    LinearProgram programme(kVariables, 1e6);
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < 60; ++i) {
      std::vector<double> factors;
      LinearRow row{.terms = {}, .count = 0, .bound = 100};
      for (size_t k = 0; k < kVariables; ++k) {
        factors.push_back(factor(random));
        row.Add(k, factors.back());
      }
      programme.Add(row);
      rows.push_back(factors);
    }
    const std::vector<double> objective{factor(random), factor(random), factor(random), factor(random)};
    const auto point = programme.Maximise(objective);
    ASSERT_TRUE(point);
    double best = 0;
    for (size_t k = 0; k < kVariables; ++k) best += objective[k] * static_cast<double>((*point)[k]);
    for (const auto& row : rows) {
      double sum = 0;
      for (size_t k = 0; k < kVariables; ++k) sum += row[k] * static_cast<double>((*point)[k]);
      EXPECT_LE(sum, 100 + 1e-2);
    }
    for (int i = 0; i < 200; ++i) {
      std::vector<double> tried(kVariables);
      for (double& value : tried) value = factor(random);
      double farthest = 0, gained = 0;
      for (const auto& row : rows) {
        double sum = 0;
        for (size_t k = 0; k < kVariables; ++k) sum += row[k] * tried[k];
        farthest = std::max(farthest, sum);
      }
      for (size_t k = 0; k < kVariables; ++k) gained += objective[k] * tried[k];
      EXPECT_LE(gained * 100 / farthest, best + 1e-2);
    }
  }
}

}  // namespace
}  // namespace attune::merge
