#include "cli/options/sensor_choice.h"

#include <gmock/gmock.h>

#include <map>

#include "sensor/registry.h"

namespace attune::cli {
namespace {

using session::SensorChoice;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;

std::map<std::string, SensorChoice> Chosen(const std::vector<std::string>& lists, const std::string& interval = "",
                                           bool has_program = false) {
  const auto choices = ChooseSensors(lists, interval, has_program);
  EXPECT_TRUE(choices.ok()) << (choices.ok() ? "" : choices.error().message);
  std::map<std::string, SensorChoice> by_name;
  if (!choices.ok()) return by_name;
  for (const SensorChoice& choice : *choices) by_name[choice.name] = choice;
  return by_name;
}

void ExpectRefused(const std::string& list, const std::string& message, const std::string& hint) {
  const auto choices = ChooseSensors({list}, "", false);
  ASSERT_FALSE(choices.ok()) << list;
  EXPECT_THAT(choices.error().message, AllOf(HasSubstr("--sensors"), HasSubstr(message))) << list;
  EXPECT_THAT(choices.error().hint, HasSubstr(hint)) << list;
}

TEST(SensorChoice, NamesWithAndWithoutSumAndInterval) {
  auto chosen = Chosen({"cpu:sum,vmstat@10ms", "attune:sum@2s"}, "50ms");
  EXPECT_THAT(chosen, SizeIs(3));
  EXPECT_TRUE(chosen["cpu"].summed);
  EXPECT_EQ(chosen["cpu"].interval_ns, 50 * kMs);
  EXPECT_FALSE(chosen["vmstat"].summed);
  EXPECT_EQ(chosen["vmstat"].interval_ns, 10 * kMs);
  EXPECT_TRUE(chosen["attune"].summed);
  EXPECT_EQ(chosen["attune"].interval_ns, 2000 * kMs);
  EXPECT_EQ(Chosen({"attune"}, "1kHz")["attune"].interval_ns, kMs) << "named: as it was asked for";
  EXPECT_EQ(Chosen({"cpu@0.1Hz"})["cpu"].interval_ns, 10'000 * kMs);
}

TEST(SensorChoice, WithoutAListItIsEverySensorThatIsNotByRequestAtItsOwnInterval) {
  auto chosen = Chosen({});
  auto with_program = Chosen({}, "", true);
  for (const auto& sensor : sensor::MakeAllSensors({}, {})) {
    const model::SensorInfo& info = sensor->Info();
    const std::string name(info.name);
    EXPECT_EQ(chosen.contains(name), !info.needs_program && !info.by_request) << name;
    EXPECT_EQ(with_program.contains(name), !info.by_request) << name;
  }
  EXPECT_EQ(chosen["cpu"].interval_ns, 0) << "the default";
  EXPECT_FALSE(chosen["cpu"].named);
  EXPECT_TRUE(Chosen({"node"})["node"].named);
}

TEST(SensorChoice, AnIntervalForAllSparesTheSlowOnes) {
  auto chosen = Chosen({}, "1ms");
  EXPECT_EQ(chosen["cpu"].interval_ns, kMs);
  EXPECT_EQ(chosen["attune"].interval_ns, 1000 * kMs);
  EXPECT_EQ(Chosen({}, "10s")["attune"].interval_ns, 10'000 * kMs);
}

TEST(SensorChoice, NoneIsNone) {
  EXPECT_THAT(Chosen({"none"}), IsEmpty());
  ExpectRefused("none,cpu", "none and cpu exclude each other", "");
}

TEST(SensorChoice, MistakesSayWhatWouldBeRight) {
  ExpectRefused("vmstt", "there is no sensor 'vmstt'", "did you mean vmstat?");
  ExpectRefused("cpu:summ", "cpu knows no 'summ'", "did you mean sum?");
  ExpectRefused("cpu:10ms", "cpu knows no '10ms'", "cpu@10ms");
  ExpectRefused("cpu:each", "cpu knows no 'each'", "NAME[:sum][@INTERVAL]");
  ExpectRefused("cpu,cpu:sum", "cpu is given twice", "once");
  for (const char* cut : {"", "cpu,", ",cpu", "cpu:", "cpu@", "cpu:sum@", ":sum", "@10ms"}) {
    ExpectRefused(cut, "is not NAME[:sum][@INTERVAL]", "cpu:sum@10ms");
  }
  for (const char* wrong : {"cpu@0", "cpu@-1ms", "cpu@fast", "cpu@2h", "cpu@20kHz", "cpu@10"}) {
    ExpectRefused(wrong, "interval of cpu", "");
  }
  EXPECT_EQ(ChooseSensors({}, "0", false).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace attune::cli
