// Programs with markers, from the first event to the reader: what is recorded, and that nothing is lost unseen.

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <random>

#include "probe_run.h"

namespace attune::probe_test {
namespace {

using testing::HasSubstr;
using wire::EventKind;

constexpr uint64_t kNoLimit = UINT64_MAX;

std::string ProgramPath(const std::string& name) { return std::string(ATTUNE_PROBE_PROGRAMS) + "/" + name; }

std::vector<std::string> Scenario(const std::string& name, const std::vector<long>& numbers = {},
                                  const std::string& program = "scenarios") {
  std::vector<std::string> command = {ProgramPath(program), name};
  for (const long number : numbers) command.push_back(std::to_string(number));
  return command;
}

Program::Environment Rings(const RingFolder& folder) { return {{ATTUNE_RING_FOLDER_VARIABLE, folder.Path()}}; }

bool ExitedWell(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// Runs a scenario to its end while its rings are drained and topped up, then reads the rest.
int RunDrained(Program* program, Collected* collected) {
  while (!program->Ended()) collected->Drain(false, kNoLimit);
  const int status = program->Wait();
  collected->Finish();
  return status;
}

/// "outer{ instant counter=5 }outer" of one file, in order.
std::string Describe(const Collected& collected, const std::string& file) {
  std::string text;
  for (const auto& [record, name, from] : collected.Events()) {
    if (from != file) continue;
    switch (record.kind) {
      case EventKind::kThreadStart: text += "start"; break;
      case EventKind::kThreadEnd: text += "end"; break;
      case EventKind::kRegionBegin: text += name + "{"; break;
      case EventKind::kRegionEnd: text += "}" + name; break;
      case EventKind::kSend: text += name + "<" + std::to_string(record.a) + "#" + std::to_string(record.b); break;
      case EventKind::kReceive: text += name + ">" + std::to_string(record.a) + "#" + std::to_string(record.b); break;
      case EventKind::kDropped: text += "dropped " + std::to_string(record.a); break;
      default: text += name + "=" + std::to_string(static_cast<int64_t>(record.a));
    }
    text += ' ';
  }
  return text;
}

constexpr const char* kBasicEvents =
    "start outer{ inner{ instant=0 valued=-5 }inner counter=9223372036854775807 channel<100#7 channel>100#7 }outer ";

class Linked : public testing::TestWithParam<const char*> {};

TEST_P(Linked, RecordsEveryKind) {
  const RingFolder folder;
  Program program(Scenario("basic", {}, GetParam()), Rings(folder));
  const pid_t pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  ASSERT_EQ(collected.Readers().size(), 1u);
  EXPECT_EQ(Describe(collected, folder.Names()[0]), kBasicEvents);
  const track::RingReader& reader = collected.Readers().begin()->second;
  EXPECT_EQ(reader.Identity().pid, pid);
  EXPECT_GT(reader.Identity().start_ticks, 0u);
  EXPECT_EQ(reader.FileName(), std::to_string(pid) + "." + std::to_string(reader.Identity().start_ticks) + ".0");
  for (const auto& [record, name, file] : collected.Events()) {
    EXPECT_EQ(record.pid, pid);
    EXPECT_EQ(record.tid, pid);
    EXPECT_GE(record.ticks, reader.Identity().attach_ticks);
  }
  EXPECT_EQ(collected.OutOfOrder(), 0u);
}

TEST_P(Linked, DoesNothingWithoutAttune) {
  Program program(Scenario("basic", {}, GetParam()), {});
  EXPECT_TRUE(ExitedWell(program.Wait()));
}

INSTANTIATE_TEST_SUITE_P(Probe, Linked,
                         testing::Values("scenarios", "scenarios_archive", "scenarios_static", "scenarios_static_pie"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Probe, IsPreloadedIntoAProgramThatIsNotLinkedWithIt) {
  const RingFolder folder;
  Program plain({ProgramPath("optional_marker")}, Rings(folder));
  EXPECT_TRUE(ExitedWell(plain.Wait()));
  EXPECT_EQ(plain.Output(), "0\n");
  Program::Environment environment = Rings(folder);
  environment.emplace_back("LD_PRELOAD", ATTUNE_PROBE_LIBRARY);
  Program preloaded({ProgramPath("optional_marker")}, environment);
  EXPECT_TRUE(ExitedWell(preloaded.Wait()));
  EXPECT_EQ(preloaded.Output(), "1\n");
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(collected.Count("optional"), 2u);
}

TEST(Probe, IsPreloadedIntoAProgramThatHasItAlready) {
  for (const char* name : {"scenarios", "scenarios_archive"}) {
    const RingFolder folder;
    Program::Environment environment = Rings(folder);
    environment.emplace_back("LD_PRELOAD", ATTUNE_PROBE_LIBRARY);
    Program program(Scenario("basic", {}, name), environment);
    EXPECT_TRUE(ExitedWell(program.Wait()));
    Collected collected(folder);
    collected.Finish();
    EXPECT_EQ(collected.Accounted(), 9u) << name;
  }
}

TEST(Probe, IsLoadedAndClosedAtRunTime) {
  const RingFolder folder;
  Program program({ProgramPath("unloading"), ATTUNE_PROBE_LIBRARY}, Rings(folder));
  EXPECT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(Describe(collected, folder.Names()[0]), "start from dlopen=0 end ");
}

TEST(Probe, CompilesToNothing) {
  for (const char* name : {"disabled_c", "disabled_cpp"}) {
    const RingFolder folder;
    Program program({ProgramPath(name)}, Rings(folder));
    EXPECT_TRUE(ExitedWell(program.Wait())) << name;
    EXPECT_TRUE(folder.Names().empty());
  }
}

TEST(Probe, FollowsCppScopes) {
  const RingFolder folder;
  Program program({ProgramPath("cpp_program")}, Rings(folder));
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(Describe(collected, folder.Names()[0]),
            "start before main=0 throws{ }throws caught=0 loop{ }loop loop{ }loop object{ }object after the object=0 "
            "worker 0{ }worker 0 worker 1{ }worker 1 in a lambda=1 template{ }template template{ }template "
            "after main=0 ");
}

TEST(Probe, StartsWithTheLevelOfTheEnvironment) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"off", "0 0 0\n"},     {"profile", "1 1 0\n"},
                                                                  {"blame", "2 2 0\n"},   {"trace", "3 3 0\n"},
                                                                  {"stamped", "4 4 0\n"}, {"nonsense", "1 1 0\n"}};
  for (const auto& [level, output] : cases) {
    const RingFolder folder;
    Program::Environment environment = Rings(folder);
    environment.emplace_back(ATTUNE_LEVEL_VARIABLE, level);
    Program program(Scenario("level"), environment);
    EXPECT_TRUE(ExitedWell(program.Wait()));
    EXPECT_EQ(program.Output(), output) << level;
  }
}

TEST(Probe, FollowsTheLevelWhileItRuns) {
  const RingFolder folder;
  Program program(Scenario("commands"), Rings(folder));
  program.Do('e');
  Collected collected(folder);
  collected.Drain();
  track::RingReader& reader = collected.Readers().begin()->second;
  ASSERT_TRUE(reader.SetLevel(wire::kRingLevelOff).ok());
  program.Do('e');
  ASSERT_TRUE(reader.SetLevel(wire::kRingLevelTrace).ok());
  program.Do('e');
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(collected.Count("step"), 200u);
  EXPECT_EQ(collected.Accounted(), 200u);
  EXPECT_FALSE(reader.SetLevel(5).ok());
}

TEST(Probe, SharesNamesAndBoundsThem) {
  const RingFolder folder;
  track::RingOptions options;
  options.ring_words = 1 << 17;  // room for all events, so that each can be compared
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  Program program(Scenario("names", {20000}), Rings(folder));
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  EXPECT_EQ(collected.Count("same"), 5u);
  EXPECT_EQ(collected.Count(std::string(254, 'x')), 1u);  // cut before the character that does not fit
  EXPECT_EQ(collected.Count("line?feed?[31m"), 1u);
  EXPECT_EQ(collected.Count("generated name number 0"), 1u);
  EXPECT_EQ(collected.RefusedNames(), collected.Count(ATTUNE_RING_NO_ROOM_NAME));
  EXPECT_GT(collected.RefusedNames(), 15000u);
  EXPECT_EQ(collected.Accounted(), 20008u);
}

TEST(Probe, GivesThreadsTheirOwnSlotsAndTakesThemBack) {
  const RingFolder folder;
  Program program(Scenario("threads", {10, 20, 1000}), Rings(folder));  // 10 000 threads
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  EXPECT_EQ(collected.Accounted(), 200'000u);
  EXPECT_EQ(collected.OutOfOrder(), 0u);
  std::map<int, int> events_of_thread;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind == EventKind::kCounter) ++events_of_thread[record.tid];
  }
  EXPECT_GT(events_of_thread.size(), 1000u);
}

TEST(Probe, CountsTheThreadsThatFindNoSlot) {
  const RingFolder folder;
  Program program(Scenario("live", {1000, 50}), Rings(folder));
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  EXPECT_EQ(collected.Accounted(), 50'000u);
  EXPECT_GT(collected.Count("step"), 0u);
  EXPECT_GE(collected.Readers().begin()->second.Counters().refused_threads, 1000u - wire::kRingDefaultSlots);
}

TEST(Probe, TellsParentChildAndGrandchildApart) {
  const RingFolder folder;
  Program program(Scenario("fork"), Rings(folder));
  const pid_t pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  int child = 0;
  int grandchild = 0;
  ASSERT_EQ(std::sscanf(program.Output().c_str(), "%d %d", &child, &grandchild), 2);
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(collected.Readers().size(), 1u);
  std::map<int, int> events_of_process;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind == EventKind::kCounter) ++events_of_process[record.pid];
  }
  EXPECT_EQ(events_of_process, (std::map<int, int>{{pid, 15}, {child, 21}, {grandchild, 30}}));
  EXPECT_EQ(collected.Count("step", pid), 15u);
  EXPECT_EQ(collected.Count("step", child), 21u);
}

TEST(Probe, SurvivesThreadsThatFork) {
  const RingFolder folder;
  Program program(Scenario("forking-threads", {4, 50, 50}), Rings(folder));
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  EXPECT_EQ(collected.Accounted(), 4u * 50 * 50 * 2);
}

TEST(Probe, SurvivesVfork) {
  const RingFolder folder;
  Program program(Scenario("vfork"), Rings(folder));
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(collected.Count("step"), 20u);
  EXPECT_EQ(collected.Count("between vfork and exec"), 1u);
}

TEST(Probe, MakesANewFileAfterExec) {
  const RingFolder folder;
  Program program(Scenario("exec"), Rings(folder));
  const pid_t pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  const std::vector<std::string> names = folder.Names();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(collected.Count("step", pid), 10u);
  EXPECT_EQ(Describe(collected, names[1]), kBasicEvents);
  EXPECT_EQ(names[0].substr(0, names[0].rfind('.')), names[1].substr(0, names[1].rfind('.')));
}

TEST(Probe, SurvivesPthreadExitOfMain) {
  const RingFolder folder;
  Program program(Scenario("pthread-exit"), Rings(folder));
  const pid_t pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(collected.Count("step", pid), 10u);
  EXPECT_EQ(collected.Count("step"), 30u);
}

TEST(Probe, SurvivesCancellation) {
  const RingFolder folder;
  Program program(Scenario("cancel"), Rings(folder));
  const pid_t pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(collected.Count("step", pid), 10u);
  int begins = 0;
  int ends = 0;
  for (const auto& [record, name, file] : collected.Events()) {
    begins += record.kind == EventKind::kRegionBegin;
    ends += record.kind == EventKind::kRegionEnd;
  }
  EXPECT_EQ(begins, 2);
  EXPECT_GE(ends, 1);  // the deferred one; asynchronously the scope itself may be interrupted
}

TEST(Probe, CountsWhatSignalHandlersEmitInsideOtherEvents) {
  const RingFolder folder;
  Program program(Scenario("signals", {2000}), Rings(folder));
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  long emitted = 0;
  long handled = 0;
  ASSERT_EQ(std::sscanf(program.Output().c_str(), "%ld %ld", &emitted, &handled), 2);
  EXPECT_EQ(collected.Accounted(), static_cast<uint64_t>(emitted + handled));
  EXPECT_GT(collected.Count("timer"), 0u);
  EXPECT_EQ(collected.OutOfOrder(), 0u);
}

TEST(Probe, RecoversFromJumpsOutOfSignalHandlers) {
  const RingFolder folder;
  Program program(Scenario("longjmp", {1000}), Rings(folder));
  Collected collected(folder);
  program.Do('x');  // it answers when all jumps are done
  collected.Drain();
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  // At most one stuck state is left when the jumps end; it costs 64 events, counted.
  EXPECT_GE(collected.Count("after"), 1000u - 64);
}

TEST(Probe, RecoversFromJumpsOutOfTheFirstEvent) {
  const RingFolder folder;
  Program program(Scenario("jumping-threads", {200, 10}), Rings(folder));
  ASSERT_TRUE(ExitedWell(program.Wait()));  // nobody frees the slots of dead threads meanwhile
  Collected collected(folder);
  collected.Finish();
  EXPECT_GE(collected.Count("after") + collected.Dropped() + collected.Refused(), 200 * 100u);
  // The jumps of one thread have used up no slots of the next ones.
  EXPECT_EQ(collected.Readers().begin()->second.Counters().refused_threads, 0u);
}

TEST(Probe, NeedsNoSystemCallsToEmit) {
  for (const char* name : {"scenarios", "scenarios_static"}) {
    const RingFolder folder;
    Program program(Scenario("seccomp", {}, name), Rings(folder));
    const int status = program.Wait();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "seccomp is not available here";
    ASSERT_TRUE(ExitedWell(status)) << name << ": killed by signal " << WTERMSIG(status);
    Collected collected(folder);
    collected.Finish();
    EXPECT_EQ(collected.Accounted(), 50'001u);
    EXPECT_GT(collected.Dropped(), 0u);
  }
}

TEST(Probe, CountsDropsExactlyUnderAStalledReader) {
  const RingFolder folder;
  Program program(Scenario("commands"), Rings(folder));
  Collected collected(folder);
  // A counter takes 3 words. First there is the thread's start (3 words) in the ring, later what was dropped (4).
  const uint64_t room = wire::kRingDefaultWords - wire::kRingReservedWords;
  const uint64_t fits[3] = {(room - 3) / 3, (room - 4) / 3, (room - 4) / 3};
  uint64_t emitted = 0;
  uint64_t delivered = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 250; ++i) program.Do('e');
    collected.Drain();
    emitted += 25'000;
    delivered += fits[round];
    EXPECT_EQ(collected.Count("step"), delivered);
  }
  program.Do('e');
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(collected.Accounted(), emitted + 100);
  uint64_t reported = 0;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kDropped) continue;
    reported += record.a;
    EXPECT_LE(record.ticks, record.b);
  }
  EXPECT_EQ(reported, collected.Dropped());
  EXPECT_EQ(collected.OutOfOrder(), 0u);
}

TEST(Probe, LosesNothingUncountedWhileTheWritersAreFaster) {
  const RingFolder folder;
  Program program(Scenario("threads", {4, 1'000'000, 1}), Rings(folder));
  Collected collected(folder);
  ASSERT_TRUE(ExitedWell(RunDrained(&program, &collected)));
  EXPECT_EQ(collected.Accounted(), 4'000'000u);
  EXPECT_EQ(collected.OutOfOrder(), 0u);
}

TEST(Probe, KeepsEveryEventOfAKilledProgram) {
  std::minstd_rand random(7);
  for (int round = 0; round < 20; ++round) {
    const RingFolder folder;
    const std::string path = folder.Path() + "/counter";
    const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
    auto* counter = static_cast<volatile long*>(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0));
    Program program(Scenario("counted"), Rings(folder));
    program.Write(path + "\n");
    Collected collected(folder);
    const long until = 1 + static_cast<long>(random() % 100'000);
    while (*counter < until) {
      if (round % 2 == 0) collected.Drain();
    }
    program.Kill();
    const auto emitted = static_cast<uint64_t>(*counter);
    collected.Finish();
    EXPECT_GE(collected.Accounted(), emitted);
    EXPECT_LE(collected.Accounted(), emitted + 1);
    ::munmap(const_cast<long*>(counter), 4096);
  }
}

TEST(Probe, FreesTheSlotsOfChildrenThatLeaveWithoutAWord) {
  const RingFolder folder;
  track::RingOptions options;
  options.slot_count = 8;
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  Program program(Scenario("commands"), Rings(folder));
  Collected collected(folder);
  for (int child = 0; child < 100; ++child) {
    program.Do('f');
    collected.Drain(false, kNoLimit);
  }
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(collected.Count("step"), 10'000u);
  EXPECT_EQ(collected.Refused(), 0u);
}

TEST(Probe, GivesARefusedThreadASlotWhenThereIsOne) {
  const RingFolder folder;
  track::RingOptions options;
  options.slot_count = 4;
  options.ready_slots = 1;
  ASSERT_TRUE(track::WriteRingConfig(folder.Fd(), options).ok());
  Program program(Scenario("until-told"), Rings(folder));
  Collected collected(folder);
  while (collected.Refused() == 0) collected.Drain();
  EXPECT_EQ(collected.Count("step"), 1u);  // main's
  while (collected.Count("step") < 2) collected.Drain(false, kNoLimit);
  program.Write("x");
  while (!program.Ended()) collected.Drain(false, kNoLimit);
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(collected.Accounted(), std::stoull(program.Output()));
}

}  // namespace
}  // namespace attune::probe_test
