// The components of a session as `attune ctl` sees them: made, but not started.

#include "session/host/components.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace attune::session {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

Result<VerbCall> Parse(std::string_view line) { return SessionVerbs().Parse(line); }

TEST(SessionVerbs, AreOfferedToPeopleInTheOrderOfHelp) {
  const std::vector<std::string> names = SessionVerbs().Names(Role::kOwner);
  EXPECT_THAT(names, IsSupersetOf({"status", "label", "level", "dump", "interval", "pause", "resume", "record", "sink",
                                   "alarm", "alarms", "stop"}));
  EXPECT_EQ(names.front(), "status");
  EXPECT_THAT(names, Not(Contains("join")));
  const std::vector<std::string> of_page = SessionVerbs().Names(Role::kPage);
  EXPECT_THAT(of_page, IsSupersetOf({"label", "interval", "pause", "resume"}));
  for (const char* name : {"stop", "record", "sink", "join"}) EXPECT_THAT(of_page, Not(Contains(name)));
  EXPECT_EQ(SessionVerbs().Find("level")->Grammar(), "level off|profile|blame|trace|stamped");
  EXPECT_EQ(SessionVerbs().Find("sink")->Grammar(), "sink NAME[=ARGUMENT]|off [NAME]");
}

TEST(SessionVerbs, AreCompleteRows) {
  std::set<std::string> names;
  std::set<int> ranks;
  for (const Verb& verb : SessionVerbs().All()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_TRUE(ranks.insert(verb.rank).second) << verb.name;
    EXPECT_FALSE(verb.roles.empty()) << verb.name;
    EXPECT_FALSE(verb.help.empty()) << verb.name;
    EXPECT_TRUE(verb.run) << verb.name;
    EXPECT_EQ(verb.example.empty(), verb.example_meaning.empty()) << verb.name;
  }
}

TEST(SessionVerbs, StandInTheDocumentation) {
  const char* sources = std::getenv("ATTUNE_SOURCE");
  ASSERT_NE(sources, nullptr);
  std::ifstream file(std::string(sources) + "/docs/sessions.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Verb& verb : SessionVerbs().All()) {
    if (!verb.Permits(Role::kOwner)) continue;
    std::string grammar = verb.Grammar();
    for (size_t at = 0; (at = grammar.find('|', at)) != std::string::npos; at += 2) grammar.insert(at, "\\");
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` | {} |", grammar, verb.help)));
  }
}

TEST(ControlGrammar, ReadsEveryCommand) {
  EXPECT_EQ(Parse("status\r")->verb->name, "status");
  EXPECT_EQ(Parse("label  second phase ")->Text(0), "second phase");
  const auto alarm = [](std::string_view line) {
    return std::get<analysis::AlarmSettings>(Parse(line)->values.at(0)).at("memory.low");
  };
  EXPECT_EQ(alarm("alarm memory.low = 10 %").threshold, 10);
  EXPECT_EQ(alarm("alarm memory.low=off").on, false);
  EXPECT_EQ(Parse("alarms")->verb->name, "alarms");
  EXPECT_EQ(std::get<Level>(Parse("level trace")->values.at(0)), Level::kTrace);
  EXPECT_EQ(Parse("interval 10ms")->Number(1), 10'000'000);
  EXPECT_EQ(Parse("interval 10ms")->Text(0), "");
  EXPECT_EQ(Parse("interval vmstat 1kHz")->Number(1), 1'000'000);
  EXPECT_EQ(Parse("interval vmstat 1kHz")->Text(0), "vmstat");
  EXPECT_NE(Parse("record off")->IfOff(0), nullptr);
  EXPECT_EQ(Parse("record /a b.attune")->Text(0), "/a b.attune");
  EXPECT_EQ(Parse("sink influxdb=a b")->Text(0), "influxdb=a b");
  EXPECT_EQ(Parse("sink offline=x")->IfOff(0), nullptr);
  ASSERT_NE(Parse("sink off influxdb")->IfOff(0), nullptr);
  EXPECT_EQ(Parse("sink off influxdb")->IfOff(0)->name, "influxdb");
  EXPECT_EQ(Parse("sink off")->IfOff(0)->name, "");
  EXPECT_EQ(Parse("started 12 34")->Number(1), 34);
  EXPECT_EQ(Parse("started 12 34 sh -c 'a  b'")->Text(2), "sh -c 'a  b'");
  EXPECT_EQ(Parse("started 12 34 5")->Text(2), "5");
  EXPECT_EQ(Parse("exited 1 2 3 4 5 6 7 8 9 10 11")->Number(10), 11);
  EXPECT_EQ(Parse("unseen locks and waits: no library")->Text(0), "locks and waits: no library");
}

TEST(ControlGrammar, RefusesEverythingElseWithAReason) {
  for (const char* line : {"",
                           "   ",
                           "labl x",
                           "alarm",
                           "alarm memory.low",
                           "alarm memory.low=x",
                           "alarms now",
                           "label",
                           "level loud",
                           "level",
                           "interval 0ms",
                           "interval -1s",
                           "interval often",
                           "interval vmstat 0",
                           "pause now",
                           "started 1",
                           "unseen",
                           "sink",
                           "record",
                           "record x.attune",
                           "started a b",
                           "exited 1 2",
                           "interval 1ns",
                           "join 1 2",
                           "join 99999999999999999999"}) {
    const auto call = Parse(line);
    ASSERT_FALSE(call.ok()) << line;
    EXPECT_EQ(call.error().code, Errc::kInvalidArgument) << line;
    EXPECT_FALSE(call.error().message.empty()) << line;
  }
  EXPECT_EQ(Parse("labl x").error().hint, "did you mean label?");
  EXPECT_EQ(Parse("alarm memory.lwo=5").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace attune::session
