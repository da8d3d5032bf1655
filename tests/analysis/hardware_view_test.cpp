#include "analysis/timeline/hardware_view.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "model/info_keys.h"
#include "tests/analysis/fake_source.h"

namespace attune::analysis::hardware_view_test {
namespace {

using model::ElementKind;
using model::kAbsent;
using model::SeriesKind;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000'000;

class HardwareViewTest : public ::testing::Test {
 protected:
  HardwareViewTest() {
    source.meta.info["host"] = "box";
    source.meta.info["counter.hardware.cycles"] = "cpu-cycles (RTM: ONE)";
    source.meta.info["counter.hardware.l1d_hits"] = "L1-dcache-loads (RTM: HIT); loads that miss count too";
    source.meta.info["skipped.hardware.l2_hits"] = "no such event is known of these cores";
    source.meta.info["skipped.energy"] = "of another sensor";
    const auto machine = source.AddElement(ElementKind::kMachine, "box");
    const auto package = source.AddElement(ElementKind::kPackage, "package 1", machine, 1);
    std::vector<FakeSource::Signal> signals;
    for (const int64_t cpu : {4, 0}) {
      const auto core = source.AddElement(ElementKind::kCore, "core", package, cpu / 2);
      const auto element = source.AddElement(ElementKind::kCpu, "cpu", core, cpu);
      signals.push_back({element, "hardware", "cycles", "cycles"});
      signals.push_back({element, "hardware", "cycles_counted", "%", SeriesKind::kGauge, -1});
      signals.push_back({element, "hardware", "l1d_hits", "loads"});
    }
    stream_ = source.AddStream(kSecond, signals);
  }
  void Add(int64_t second, std::vector<int64_t> values) {
    source.samples[stream_].push_back({second * kSecond, std::move(values)});
    source.extent = {0, second * kSecond + 1};
  }
  FakeSource source;
  model::StreamId stream_ = 0;
};

TEST_F(HardwareViewTest, CountsAreOfEachCpuWithWhereItLiesAndHowMuchWasCounted) {
  Add(0, {100, 1000, 5, 10, 500, 7});
  Add(1, {1100, 500, kAbsent, 20, 500, 7});
  Add(3, {1200, 300, 25, 30, 500, 7});
  HardwareViewBuilder builder;
  EXPECT_TRUE(builder.IsEmpty());
  ASSERT_TRUE(builder.Read(source).ok());
  const HardwareView view = builder.Build(source.meta);
  EXPECT_EQ(view.length_ns, 3 * kSecond);
  ASSERT_EQ(view.counters.size(), 3U);
  EXPECT_EQ(view.counters[1].event, "L1-dcache-loads");
  EXPECT_EQ(view.counters[1].rtm, "HIT");
  EXPECT_EQ(view.counters[1].differs, "loads that miss count too");
  EXPECT_EQ(view.counters[2].missing, "no such event is known of these cores");
  ASSERT_EQ(view.cpus.size(), 2U);
  EXPECT_EQ(view.cpus[0].cpu, 0) << "ascending";
  EXPECT_EQ(view.cpus[1].core, 2);
  EXPECT_EQ(view.cpus[1].package, 1);
  EXPECT_EQ(view.cpus[1].node, kAbsent);
  const HardwareValue& cycles = view.cpus[1].values[0];
  EXPECT_EQ(cycles.count, 1100);
  EXPECT_NEAR(cycles.per_second, 1100 / 3.0, 1e-6);
  EXPECT_NEAR(cycles.recent_per_second, 50, 1e-6);
  EXPECT_NEAR(cycles.counted, 0.6, 1e-6);
  EXPECT_EQ(view.cpus[1].values[1].count, 20) << "what was absent in between is no zero";
  EXPECT_EQ(view.cpus[1].values[1].counted, -1);
}

TEST_F(HardwareViewTest, ReadingInPartsIsReadingAtOnce) {
  HardwareViewBuilder parts;
  for (int64_t second = 0; second < 20; ++second) {
    Add(second, {second * 100, 1000, second, second * 7, 100 * (second % 10), 3});
    if (second % 4 != 1) continue;
    ASSERT_TRUE(parts.Read(source).ok());
  }
  ASSERT_TRUE(parts.Read(source).ok());
  HardwareViewBuilder whole;
  ASSERT_TRUE(whole.Read(source).ok());
  EXPECT_EQ(ToXml(DocumentOf(parts.Build(source.meta))), ToXml(DocumentOf(whole.Build(source.meta))));
}

TEST_F(HardwareViewTest, EachHostOfAMergedRecordingHasItsOwnCpus) {
  std::vector<FakeSource::Signal> signals;
  for (const char* host : {"box", "other"}) {
    const auto cpu = source.AddElement(ElementKind::kCpu, std::string(host) + " cpu0", 0, 7);
    source.meta.elements.back().host = host;
    signals.push_back({cpu, "hardware", "cycles", "cycles"});
    signals.push_back({cpu, "hardware", "cycles_counted", "%", SeriesKind::kGauge, -1});
  }
  const model::StreamId stream = source.AddStream(kSecond, signals);
  source.samples[stream] = {{0, {100, 1000, 5000, 500}}, {kSecond, {110, 1000, 7000, 500}}};
  source.extent = {0, kSecond + 1};
  HardwareViewBuilder builder;
  ASSERT_TRUE(builder.Read(source).ok());
  const HardwareView view = builder.Build(source.meta);
  ASSERT_EQ(view.cpus.size(), 2U);
  for (const HardwareCpu& cpu : view.cpus) {
    ASSERT_EQ(cpu.values.size(), 1U) << cpu.host;
    EXPECT_EQ(cpu.values[0].count, cpu.host == "other" ? 2000 : 10);
    EXPECT_NEAR(cpu.values[0].counted, cpu.host == "other" ? 0.5 : 1, 1e-6);
  }
  EXPECT_THAT(ToXml(DocumentOf(view)), HasSubstr(R"(<cpu host="other" id="7">)"));
  EXPECT_THAT(ToXml(DocumentOf(view)), HasSubstr(R"(<cpu id="7">)"));
}

TEST_F(HardwareViewTest, XmlSaysWhatIsMissingAndLeavesOutWhatIsNotKnown) {
  Add(0, {100, 1000, 5, 10, 500, 7});
  Add(1, {1100, 500, 25, 20, 500, 7});
  HardwareViewBuilder builder;
  ASSERT_TRUE(builder.Read(source).ok());
  const std::string xml = ToXml(DocumentOf(builder.Build(source.meta)));
  EXPECT_THAT(xml, HasSubstr(R"(<counter name="l2_hits" missing="no such event is known of these cores")"));
  EXPECT_THAT(xml, HasSubstr(R"(<cpu id="4" core="2" package="1">)"));
  EXPECT_THAT(
      xml,
      HasSubstr(R"(<value counter="cycles" count="1000" per_second="1000" recent_per_second="1000" counted="0.75")"));
  EXPECT_THAT(xml, Not(HasSubstr("-1")));
  EXPECT_THAT(xml, Not(HasSubstr("energy")));
}

/// Whether xmllint takes it by the schema.
bool IsValid(const std::string& xml, const std::string& sources) {
  const std::string file = testing::TempDir() + "hardware-" + std::to_string(getpid()) + ".xml";
  std::ofstream(file) << xml;
  const std::string command =
      "xmllint --noout --schema " + sources + "/docs/schema/hardware-view.xsd " + file + " 2>&1";
  const bool valid = std::system((command + " > /dev/null").c_str()) == 0;
  std::filesystem::remove(file);
  return valid;
}

TEST_F(HardwareViewTest, XmlIsAsTheSchemaSays) {
  const char* sources = std::getenv("ATTUNE_SOURCE");
  if (sources == nullptr || std::system("command -v xmllint > /dev/null") != 0)
    GTEST_SKIP() << "run it by ctest, with xmllint";
  Add(0, {100, 1000, 5, 10, 500, 7});
  Add(1, {1100, 500, 25, 20, 500, 7});
  HardwareViewBuilder builder;
  ASSERT_TRUE(builder.Read(source).ok());
  std::string xml = ToXml(DocumentOf(builder.Build(source.meta)));
  EXPECT_TRUE(IsValid(xml, sources)) << xml;
  const size_t at = xml.find("counter=\"cycles\"");
  ASSERT_NE(at, std::string::npos);
  xml.replace(at, 16, "counter=\"unsaid\"");
  EXPECT_FALSE(IsValid(xml, sources)) << "a value of a counter that is not listed";
}

}  // namespace
}  // namespace attune::analysis::hardware_view_test
