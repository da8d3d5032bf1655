#include "cli/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/terminal/terminal.h"
#include "tests/cli/script_run.h"

namespace attune::cli {
namespace {

using analysis::FakeSource;
using testing::HasSubstr;
using testing::Not;

std::string PrintAs(FakeSource& source, const ReportOptions& options) {
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

/// All sections.
std::string Print(FakeSource& source, ReportOptions options) {
  options.full = true;
  return PrintAs(source, options);
}

std::string Golden(const std::string& name) {
  const char* folder = std::getenv("ATTUNE_SOURCE");
  EXPECT_TRUE(folder != nullptr);
  std::ifstream file(std::string(folder) + "/tests/cli/golden/" + name);
  std::stringstream golden;
  golden << file.rdbuf();
  return golden.str();
}

TEST(Report, ItsFirstScreenHasTwentyFourLines) {
  setenv("TZ", "UTC", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  FakeSource source = ScriptRun();
  const std::string printed = PrintAs(source, {.recording = "job.attune"});
  EXPECT_EQ(printed, Golden("report_first.txt"));
  EXPECT_LE(std::ranges::count(printed, '\n'), 24);
}

/// A process with two threads, which wait for a lock at a place with a long name.
FakeSource Contention(const std::string& function) {
  FakeSource source;
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", 0, 100);
  const auto thread = source.AddElement(model::ElementKind::kThread, "", process, 100);
  const auto other = source.AddElement(model::ElementKind::kThread, "", process, 101);
  const auto lock = source.AddElement(model::ElementKind::kLock, "mutex queue_lock", process);
  const auto site = source.AddElement(model::ElementKind::kSite, "solver+0x10", process);
  source.meta.sites.push_back({.id = site, .line = 34, .function = function, .file = "src/queue.cpp"});
  source.meta.processes.push_back(
      {.id = process, .pid = 100, .start_ns = 0, .end_ns = 1'000'000'000, .exit_code = 0, .exit_signal = 0});
  source.extent = {0, 1'000'000'000};
  source.sync = {{9, thread, lock, site, wire::SyncKind::kMutex, 100, 20, 300'000'000, 0, 0},
                 {9, other, lock, site, wire::SyncKind::kMutex, 100, 0, 0, 4'000'000, 2}};
  return source;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Report, ItsFirstScreenHasPlaceAndAdviceWholeWhereThereIsRoom) {
  FakeSource source = Contention("Queue<Job, Allocator<Job>>::Enqueue(Job&&, Priority const&)");
  source.meta.info[std::string(model::info::kProgram)] = "solver " + std::string(100, 'x');
  const std::string printed = PrintAs(source, {.recording = "job.attune"});
  const std::vector<std::string> lines = LinesOf(printed);
  EXPECT_LE(lines.size(), 24);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80) << line;
  EXPECT_THAT(lines.front(), testing::EndsWith(">  exit code 0"));
  EXPECT_THAT(printed, HasSubstr("\n     at Queue<Job, Allocator<Job>>::Enqueue(Job&&, Priority const&)\n"
                                 "     (queue.cpp:34), mutex queue_lock\n"));
  EXPECT_THAT(printed, HasSubstr("\n       their own, or keep results for each thread and join them at the end.\n"));
  EXPECT_THAT(printed, HasSubstr("attune report job.attune waits   what threads waited for, and where\n"));
}

TEST(Report, ItsFirstScreenCutsNoCommand) {
  FakeSource source = Contention("Enqueue(Job&)");
  const std::string recording = "/srv/somebody/results/" + std::string(60, 'r') + ".attune";
  EXPECT_THAT(PrintAs(source, {.recording = recording}), HasSubstr("\n  attune view " + recording + "\n"));
}

TEST(Report, SectionsArePrintedAlone) {
  FakeSource source = ScriptRun();
  const std::string printed = PrintAs(source, {.sections = {"processes", "alarms"}, .recording = "job.attune"});
  EXPECT_THAT(printed, HasSubstr("Processes"));
  EXPECT_THAT(printed, Not(HasSubstr("What stands out")));
  EXPECT_THAT(printed, HasSubstr("alarms that were raised: there is nothing"));
}

TEST(Report, IsTheGoldenScreen) {
  setenv("TZ", "UTC", 1);
  FakeSource source = ScriptRun();
  const std::string printed = Print(source, {.recording = "job.attune"});
  EXPECT_EQ(printed, Golden("report.txt"));
}

TEST(Report, TopLimitsEveryTableAndSaysWhatIsLeftOut) {
  FakeSource source = ScriptRun();
  const std::string printed = Print(source, {.top = 1});
  EXPECT_THAT(printed, HasSubstr("... 41 processes more, 70 ms of CPU time together"));
  EXPECT_THAT(printed, HasSubstr("... 1 region more"));
  EXPECT_THAT(printed, Not(HasSubstr("job.sh\n  4001")));
}

TEST(Report, ListsLocksBeforeConditionsWithTheirPlaces) {
  FakeSource source;
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", 0, 100);
  const auto thread = source.AddElement(model::ElementKind::kThread, "", process, 100);
  const auto lock = source.AddElement(model::ElementKind::kLock, "mutex 0x1040", process);
  const auto condition = source.AddElement(model::ElementKind::kLock, "condition 0x2080", process);
  const auto here = source.AddElement(model::ElementKind::kSite, "solver+0x10", process);
  const auto there = source.AddElement(model::ElementKind::kSite, "solver+0x20", process);
  source.meta.sites.push_back({.id = here, .line = 34, .function = "Enqueue(Job&)", .file = "src/queue.cpp"});
  source.meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 1'000'000'000});
  source.extent = {0, 1'000'000'000};
  source.sync = {{9, thread, lock, here, wire::SyncKind::kMutex, 100, 20, 300'000'000, 4000, 2},
                 {9, thread, lock, there, wire::SyncKind::kMutex, 100, 5, 100'000'000, 0, 0},
                 {9, thread, condition, there, wire::SyncKind::kCondition, 7, 7, 500'000'000, 0, 0}};
  const std::string text = Print(source, {});
  const size_t waits = text.find("What the threads waited for");
  ASSERT_NE(waits, std::string::npos) << text;
  const size_t first = text.find("mutex 0x1040", waits);
  EXPECT_LT(first, text.find("condition 0x2080")) << text;
  EXPECT_NE(text.find("40.0 %", text.find("What the threads")), std::string::npos) << text;
  EXPECT_NE(text.find("75.0 % of it Enqueue(Job&) (queue.cpp:34)"), std::string::npos) << text;
  EXPECT_NE(text.find("25.0 % of it solver+0x20"), std::string::npos) << text;
  EXPECT_NE(text.find("12.5 %"), std::string::npos) << "25 of 200 calls waited\n" << text;
  source.sync.clear();
  EXPECT_EQ(Print(source, {}).find("What the threads waited for"), std::string::npos);
}

TEST(Report, SaysFirstWhatHoldsTheProgramBack) {
  FakeSource source;
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", 0, 100);
  const auto thread = source.AddElement(model::ElementKind::kThread, "", process, 100);
  const auto lock = source.AddElement(model::ElementKind::kLock, "mutex 0x1040", process);
  const auto site = source.AddElement(model::ElementKind::kSite, "solver+0x10", process);
  source.meta.sites.push_back({.id = site, .line = 34, .function = "Enqueue(Job&)", .file = "src/queue.cpp"});
  source.meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 1'000'000'000});
  source.extent = {0, 1'000'000'000};
  const auto other = source.AddElement(model::ElementKind::kThread, "", process, 101);
  source.sync = {{9, thread, lock, site, wire::SyncKind::kMutex, 100, 20, 300'000'000, 0, 0},
                 {9, other, lock, site, wire::SyncKind::kMutex, 100, 0, 0, 4'000'000, 2}};
  const std::string text = Print(source, {});
  const size_t found = text.find("lock-contention at Enqueue(Job&) (queue.cpp:34), mutex 0x1040\n");
  ASSERT_NE(found, std::string::npos) << text;
  EXPECT_LT(text.find("What holds it back"), found);
  EXPECT_LT(found, text.find("Processes"));
  EXPECT_THAT(text, HasSubstr(" 300 ms  30.0 %  lock-contention"));
  EXPECT_THAT(text, HasSubstr("\n                   1 thread waited 20 times, 15 ms on average: 10 % of the calls\n"));
  EXPECT_THAT(text, HasSubstr("\n                   > Do less while the lock is held there"));
  // What to do goes on in a second line, below the first one's words.
  EXPECT_THAT(text, HasSubstr("\n                     for each thread"));
}

TEST(Report, SaysWhatObservingChanged) {
  FakeSource source;
  const auto process = source.AddElement(model::ElementKind::kProcess, "solver", 0, 100);
  const auto thread = source.AddElement(model::ElementKind::kThread, "", process, 100);
  const auto lock = source.AddElement(model::ElementKind::kLock, "mutex 0x1040", process);
  source.meta.processes.push_back({.id = process, .pid = 100, .start_ns = 0, .end_ns = 1'000'000'000});
  source.extent = {0, 1'000'000'000};
  source.sync = {{9, thread, lock, 0, wire::SyncKind::kMutex, 100, 20, 300'000'000, 4000, 2}};
  source.meta.info["futex_calls_unknown"] = "only eBPF counts them: run as root";
  EXPECT_THAT(Print(source, {}), HasSubstr("  not counted: only eBPF counts them: run as root\n"));

  source.meta.info.erase("futex_calls_unknown");
  source.meta.info["futex_calls"] = "50";
  source.meta.info["influence.not_compared"] = "--check-influence was not given";
  EXPECT_THAT(Print(source, {}), HasSubstr("  50 calls of futex, 2.5 for each of 20 waits\n"
                                           "  not compared with passing its mutexes through: --check-influence was not "
                                           "given\n"));
  source.meta.info.erase("influence.not_compared");

  source.meta.info["influence.turns"] = "0";
  source.meta.info["influence.passed_ns"] = "80000000";
  EXPECT_THAT(Print(source, {}), HasSubstr("  too few to be compared with where its calls are passed "
                                           "through; 80 ms passed through, of which nothing is recorded\n"));

  source.meta.info["influence.turns"] = "31";
  for (const auto& [key, value] :
       {std::pair("ratio", "1.0421"), {"low95", "0.97"}, {"high95", "1.1"}, {"same_to_same", "1.004"}})
    source.meta.info[std::string("influence.") + key] = value;
  EXPECT_THAT(Print(source, {}),
              HasSubstr("  1.04 times as many as where its calls are passed through, 0.97 to 1.10 at 95 %\n"
                        "  in 31 turns, where it is 1.00 against itself; 80 ms passed through"));
  const auto json = nlohmann::json::parse(Print(source, {.json = true}))["influence"];
  EXPECT_EQ(json["futex_calls"], 50);
  EXPECT_EQ(json["calls_per_wait"], 2.5);
  EXPECT_EQ(json["compared"]["ratio"], 1.0421);
  EXPECT_EQ(json["compared"]["turns"], 31);
  EXPECT_EQ(json["compared"]["passed"], "calls");
  source.meta.info.erase("futex_calls");
  source.meta.info["futex_calls_unknown"] = "run as root";
  source.meta.info["mutex_futex_calls"] = "40";
  source.meta.info["influence.passed"] = "mutexes";
  EXPECT_THAT(
      Print(source, {}),
      HasSubstr("  40 calls of futex by its mutexes without attributes\n"
                "  others are not counted: run as root\n"
                "  1.04 times as many as where free mutexes are passed through, 0.97 to 1.10 at 95 %\n"
                "  in 31 turns, where it is 1.00 against itself; 80 ms passed through, of which they are counted\n"));
  source.meta.info["influence.ratio"] = "a lot";  // a file that somebody wrote
  EXPECT_TRUE(nlohmann::json::parse(Print(source, {.json = true}))["influence"]["compared"]["ratio"].is_null());
}

TEST(Wrapped, BreaksAtSpaces) {
  using testing::ElementsAre;
  EXPECT_THAT(Wrapped("ab cd efg h", 5), ElementsAre("ab cd", "efg h"));
  EXPECT_THAT(Wrapped("a verylongword b", 4), ElementsAre("a", "verylongword", "b"));
  EXPECT_THAT(Wrapped("", 4), testing::IsEmpty());
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
  const std::unique_ptr<FILE, int (*)(FILE*)> full(std::fopen("/dev/full", "w"), std::fclose);
  ASSERT_TRUE(full);
  FakeSource source = ScriptRun();
  EXPECT_FALSE(PrintReport(source, full.get(), {}).ok());
}

TEST(FailLimit, IsAClassAndAShare) {
  const auto limit = ParseFailLimit("lock-contention>2.5%");
  ASSERT_TRUE(limit.ok());
  analysis::Finding finding{
      .kind = analysis::FindingClass::kLockContention, .share = 0.025, .object_name = "mutex 0x1"};
  EXPECT_FALSE(limit->IsExceededBy(finding));
  finding.share = 0.03;
  EXPECT_TRUE(limit->IsExceededBy(finding));
  EXPECT_TRUE(ParseFailLimit("any>1")->IsExceededBy(finding));
  EXPECT_FALSE(ParseFailLimit("io-wait>1%")->IsExceededBy(finding));
  const analysis::Finding cycle{.kind = analysis::FindingClass::kLockOrderCycle};
  EXPECT_TRUE(ParseFailLimit("lock-order-cycle")->IsExceededBy(cycle)) << "it need not have lost anything";
  EXPECT_FALSE(ParseFailLimit("any>0%")->IsExceededBy(cycle));
  const analysis::Finding others{.kind = {.name = "other-programs", .about = "", .of_others = true}, .share = 0.5};
  EXPECT_FALSE(ParseFailLimit("any>5%")->IsExceededBy(others));
  EXPECT_TRUE(ParseFailLimit("other-programs>5%")->IsExceededBy(others));
  const FailLimit limits[] = {*limit};
  const analysis::Finding findings[] = {finding, cycle};
  EXPECT_THAT(Exceeded(limits, findings),
              testing::ElementsAre("lock-contention, mutex 0x1: 3.0 % of the threads' time (--fail-on "
                                   "lock-contention>2.5%)"));
}

TEST(FailLimit, ThatIsNoneSaysWhatWasMeant) {
  const auto unknown = ParseFailLimit("lock-contension>5%");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(unknown.error().hint, HasSubstr("lock-contention"));
  for (const char* text : {"", "any>", "any>x%", "any>-1%", "any>101%", "any>nan", "any>5%%"})
    EXPECT_FALSE(ParseFailLimit(text).ok()) << text;
}

}  // namespace
}  // namespace attune::cli
