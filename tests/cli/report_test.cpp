#include "cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/script_run.h"

namespace attune::cli {
namespace {

using analysis::FakeSource;
using testing::HasSubstr;
using testing::Not;

std::string Print(FakeSource& source, const ReportOptions& options) {
  char* text = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  const auto status = PrintReport(source, stream, options);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  std::fclose(stream);
  const std::string printed(text, size);
  std::free(text);
  return printed;
}

TEST(Report, IsTheGoldenScreen) {
  setenv("TZ", "UTC", 1);
  FakeSource source = ScriptRun();
  const std::string printed = Print(source, {.recording = "job.attune"});
  std::ifstream file(std::string(std::getenv("ATTUNE_SOURCE")) + "/tests/cli/golden/report.txt");
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(printed, golden.str());
}

TEST(Report, TopLimitsEveryTableAndSaysWhatIsLeftOut) {
  FakeSource source = ScriptRun();
  const std::string printed = Print(source, {.top = 1});
  EXPECT_THAT(printed, HasSubstr("... 41 processes more, 70 ms of CPU time together"));
  EXPECT_THAT(printed, HasSubstr("... 1 region more"));
  EXPECT_THAT(printed, Not(HasSubstr("job.sh\n  4001")));
}

TEST(Report, NothingRecordedIsAShortReport) {
  FakeSource source;
  const std::string printed = Print(source, {});
  EXPECT_THAT(printed, HasSubstr("the whole machine"));
  EXPECT_THAT(printed, Not(HasSubstr("Processes")));
}

TEST(Report, JsonIsOneDocument) {
  FakeSource source = ScriptRun();
  const auto json = nlohmann::json::parse(Print(source, {.json = true}));
  EXPECT_EQ(json["processes"].size(), 42u);
  EXPECT_EQ(json["totals"]["failed"], 2);
}

TEST(Report, AFullDiskIsAnError) {
  FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  FakeSource source = ScriptRun();
  EXPECT_FALSE(PrintReport(source, full, {}).ok());
  std::fclose(full);
}

}  // namespace
}  // namespace attune::cli
