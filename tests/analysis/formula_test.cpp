#include "analysis/derived/formula.h"

#include <gmock/gmock.h>

#include "analysis/derived/derived_operator.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::formula_test {
namespace {

using model::ElementKind;
using model::SeriesKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

/// A disk of 100 bytes of which 40 are used, and whose reads grow by 7 a second.
std::optional<double> ValueOf(const std::string& text) {
  FakeSource source;
  const auto sda = source.AddElement(ElementKind::kDevice, "sda"), sdb = source.AddElement(ElementKind::kDevice, "sdb");
  const auto stream = source.AddStream(kSecond, {{sda, "disk", "used", "bytes", SeriesKind::kGauge},
                                                 {sda, "disk", "size", "bytes", SeriesKind::kGauge},
                                                 {sda, "disk", "reads", "1"},
                                                 {sdb, "disk", "reads", "1"}});
  source.samples[stream] = {{kSecond, {40, 100, 0, 0}}, {2 * kSecond, {40, 100, 7, 3}}};
  source.extent = {0, 10 * kSecond};
  const auto formula = Formula::Parse(text);
  EXPECT_TRUE(formula.ok()) << formula.error().message;
  std::optional<double> last;
  DerivedOperator by({&formula->series()}, [&](int64_t now_ns, std::span<const DerivedValue* const> values) {
    for (const DerivedValue* value : values) last = value->At(now_ns);
  });
  EXPECT_TRUE(FeedInOrder(source, by).ok());
  return last;
}

TEST(FormulaText, IsComputed) {
  EXPECT_EQ(ValueOf("level(disk.used)"), 40);
  EXPECT_EQ(ValueOf(" 100 * level(disk.used) / level(disk.size) "), 40);
  EXPECT_EQ(ValueOf("rate(disk.reads)"), 10);
  EXPECT_EQ(ValueOf("largest(rate(disk.reads)) + elements(rate(disk.reads))"), 9);
  EXPECT_EQ(ValueOf("level(disk.used, disk.size) - 2 - 3"), 135) << "from left to right";
  EXPECT_EQ(ValueOf("1 + 2 * level(disk.used)"), 81);
  EXPECT_EQ(ValueOf("(1 + 2) * level(disk.used)"), 120);
  EXPECT_EQ(ValueOf("max(0, min(1.5e1, level(disk.used)))"), 15);
  EXPECT_EQ(ValueOf("1 / (level(disk.used) - 40)"), std::nullopt) << "nothing is a part of nothing";
}

TEST(FormulaText, ATermIsThereOnce) {
  const auto formula = Formula::Parse("level(a.b) / (level(a.b) + level(a.c-d:e))");
  ASSERT_TRUE(formula.ok());
  ASSERT_EQ(formula->series().terms.size(), 2u);
  EXPECT_THAT(formula->series().terms[1].signals, ElementsAre(SignalName{"a", "c-d:e"}));
  const Formula copy = *formula;
  EXPECT_EQ(copy.series().terms[0].signals[0].signal, "b");
}

TEST(FormulaText, ErrorsSayWhere) {
  const auto message = [](const std::string& text) {
    const auto formula = Formula::Parse(text);
    EXPECT_FALSE(formula.ok()) << text;
    return formula.ok() ? "" : formula.error().message + " | " + formula.error().hint;
  };
  EXPECT_THAT(message(""), HasSubstr("column 1: its end where a number, '(' or a function is expected"));
  EXPECT_THAT(message("rate(vmstat)"), HasSubstr("column 6: 'v' where SENSOR.SIGNAL"));
  EXPECT_THAT(message("rate(a.b"), HasSubstr("column 9: its end where ')' is expected"));
  EXPECT_THAT(message("rate(a.b) rate(a.b)"), HasSubstr("column 11: 'r' where an operator is expected"));
  EXPECT_THAT(message("2 * raet(a.b)"), HasSubstr("did you mean rate?"));
  EXPECT_THAT(message("1 + 2"), HasSubstr("has no signal"));
  EXPECT_THAT(message("1e999 * rate(a.b)"), HasSubstr("a number is expected"));
  EXPECT_THAT(message(std::string(100, '(') + "1"), HasSubstr("more than 64 parentheses"));
  EXPECT_THAT(message(std::string(5000, '1')), HasSubstr("at most 4096 bytes"));
}

TEST(FormulaText, IsToldFromAName) {
  EXPECT_TRUE(LooksLikeFormula("rate(a.b)"));
  EXPECT_FALSE(LooksLikeFormula("parallel regions"));
}

}  // namespace
}  // namespace attune::analysis::formula_test
