#include "cli/help/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace attune::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A subcommand that has everything a description can have.
std::vector<Command> Everything() {
  static std::string text;
  static bool flag;
  static std::vector<std::string> many;
  Command trace;
  trace.name = "trace";
  trace.summary = "run a program: 'quoted' [bracketed] back\\slash";
  trace.description = "First paragraph.\nIts second line.\n\n.starts with a dot";
  trace.options = {{"-l,--level",
                    "LEVEL",
                    "The level: 'profile' [or not]",
                    &text,
                    Complete::kNothing,
                    {"off", "profile", "blame", "trace", "stamped"}},
                   {"-o,--output", "FILE", "The recording", &text, Complete::kRecording},
                   {"-s,--sensors", "SENSORS", "Sensors", &many, Complete::kSensor},
                   {"-f,--force", "", "Overwrite", &flag},
                   {"--sink", "NAME", "Sinks", &many, Complete::kSink}};
  trace.program = &many;
  trace.examples = {{"attune trace -- xz", "an example"}};
  Command show;
  show.name = "show";
  show.summary = "show a recording";
  show.positionals = {{"FILE", "The recording", &text, true, Complete::kRecording},
                      {"FORMAT", "The format", &text, false, Complete::kNothing, {"json", "csv", "perfetto"}}};
  show.options = {{"--json", "", "As JSON", &flag}};
  Command steer;
  steer.name = "steer";
  steer.summary = "steer a session";
  steer.positionals = {{"VERB",
                        "The verb",
                        &text,
                        true,
                        Complete::kNothing,
                        {"level", "record", "stop"},
                        {{"level", Complete::kNothing, {"off", "profile"}}, {"record", Complete::kFile}}},
                       {"ARGUMENT", "What it needs", &many, false}};
  Command hidden;
  hidden.name = "secret";
  hidden.hidden = true;
  return {trace, show, steer, hidden};
}

class Completion : public testing::Test {
 protected:
  std::string Script(const std::string& shell) {
    const auto script = CompletionScript(shell, Everything());
    EXPECT_TRUE(script.ok());
    const std::string path = folder / ("attune." + shell);
    std::ofstream(path) << *script;
    return path;
  }

  /// What bash offers when Tab is pressed behind the last word. The words are split as readline splits them.
  std::vector<std::string> Bash(const std::vector<std::string>& words) {
    std::string line = "cd " + folder.path() + " && bash --norc --noprofile -c '. " + Script("bash") + "; COMP_WORDS=(";
    for (const std::string& word : words) line += "\"" + word + "\" ";
    line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
            "; _attune 2>/dev/null; [ ${#COMPREPLY[@]} = 0 ] || printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
    const Outcome outcome = Shell(line);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Lines(outcome.out);
  }

  std::vector<std::string> Fish(const std::string& line) {
    const Outcome outcome = Shell("cd " + folder.path() + " && HOME=" + folder.path() +
                                  " fish --no-config -c 'source " + Script("fish") + "; complete -C \"" + line + "\"'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<std::string> words;
    for (const std::string& word : Lines(outcome.out)) words.push_back(word.substr(0, word.find('\t')));
    return words;
  }

  TestFolder folder;
};

bool Has(const std::string& shell) { return Shell("command -v " + shell).code == 0; }

TEST_F(Completion, BashOffersSubcommandsThatAreNotHidden) {
  EXPECT_THAT(Bash({"attune", ""}), ElementsAre("trace", "show", "steer", "--help", "--version"));
  EXPECT_THAT(Bash({"attune", "sh"}), ElementsAre("show"));
}

TEST_F(Completion, BashOffersWhatFollowsTheFirstArgument) {
  ASSERT_EQ(Shell("cd " + folder.path() + " && touch two.txt").code, 0);
  EXPECT_THAT(Bash({"attune", "steer", ""}), ElementsAre("level", "record", "stop"));
  EXPECT_THAT(Bash({"attune", "steer", "level", ""}), ElementsAre("off", "profile"));
  EXPECT_THAT(Bash({"attune", "steer", "record", "tw"}), ElementsAre("two.txt"));
  EXPECT_THAT(Bash({"attune", "steer", "stop", ""}), IsEmpty());
  EXPECT_THAT(Bash({"attune", "steer", "level", "off", ""}), IsEmpty());
}

TEST_F(Completion, BashOffersOptionsAndTheirValues) {
  EXPECT_THAT(Bash({"attune", "trace", "--"}),
              ElementsAre("--level", "--output", "--sensors", "--force", "--sink", "--help"));
  EXPECT_THAT(Bash({"attune", "trace", "--level", ""}), ElementsAre("off", "profile", "blame", "trace", "stamped"));
  EXPECT_THAT(Bash({"attune", "trace", "-l", "pro"}), ElementsAre("profile"));
  EXPECT_THAT(Bash({"attune", "trace", "--level", "=", "b"}), ElementsAre("blame"));
  EXPECT_THAT(Bash({"attune", "trace", "--level", "="}), ElementsAre("off", "profile", "blame", "trace", "stamped"));
}

TEST_F(Completion, BashOffersRecordingsAndFolders) {
  ASSERT_EQ(Shell("cd " + folder.path() + " && touch one.attune two.txt && mkdir sub").code, 0);
  EXPECT_THAT(Bash({"attune", "show", ""}), ElementsAre("one.attune", "sub"));
  EXPECT_THAT(Bash({"attune", "show", "one.attune", "p"}), ElementsAre("perfetto"));
  EXPECT_THAT(Bash({"attune", "trace", "-o", "o"}), ElementsAre("one.attune"));
}

TEST_F(Completion, BashTakesWhatStandsBehindASinkForItsArgument) {
  ASSERT_EQ(Shell("cd " + folder.path() + " && touch input.dat out.lp").code, 0);
  EXPECT_THAT(Bash({"attune", "trace", "--sink", "influxdb", "=", "ou"}), ElementsAre("out.lp"));
  EXPECT_THAT(Bash({"attune", "trace", "--sink", "influxdb", "="}), Contains("out.lp"));
  EXPECT_THAT(Bash({"attune", "trace", "--sink", "influxdb", "=", "http", ":", "//db", ":", "80/write?db", "=", "x",
                    "grep", "inp"}),
              ElementsAre("input.dat"));
}

TEST_F(Completion, BashCompletesTheProgramsOwnCommandLine) {
  ASSERT_EQ(Shell("cd " + folder.path() + " && touch input.dat").code, 0);
  EXPECT_THAT(Bash({"attune", "trace", "--", "gre"}), Contains("grep"));
  EXPECT_THAT(Bash({"attune", "trace", "gre"}), Contains("grep"));
  EXPECT_THAT(Bash({"attune", "trace", "-l", "off", "--", "grep", "inp"}), ElementsAre("input.dat"));
  // The program's own options are not attune's.
  EXPECT_THAT(Bash({"attune", "trace", "grep", "--lev"}), IsEmpty());
  EXPECT_THAT(Bash({"attune", "trace", "--", "grep", "--lev"}), IsEmpty());
  // An interval behind a sensor is a value, not the program.
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", "@", "10ms", "--for"}), ElementsAre("--force"));
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", ":", "sum", "@", "10ms", "--for"}), ElementsAre("--force"));
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", "@", "1"}), IsEmpty());
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", ":", "s"}), ElementsAre("sum"));
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", ":"}), ElementsAre("sum"));
  EXPECT_THAT(Bash({"attune", "trace", "-s", "cpu", ":", "sum", "@", "1"}), IsEmpty());
}

TEST_F(Completion, BashAsksAttuneForSensors) {
  const char* attune = std::getenv("ATTUNE_BIN");
  ASSERT_NE(attune, nullptr);
  EXPECT_THAT(Bash({attune, "trace", "-s", ""}), IsSupersetOf({"none", "cpu", "vmstat"}));
  EXPECT_THAT(Bash({attune, "trace", "-s", "cpu,vm"}), ElementsAre("cpu,vmstat"));
}

TEST_F(Completion, TheScriptsAreValid) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!Has(shell)) continue;  // bash is always there
    const Outcome outcome = Shell(shell + " -n " + Script(shell));
    EXPECT_EQ(outcome.code, 0) << shell << ": " << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty()) << shell;
  }
  EXPECT_FALSE(CompletionScript("csh", Everything()).ok());
}

TEST_F(Completion, FishCompletes) {
  if (!Has("fish")) GTEST_SKIP() << "fish is not installed";
  ASSERT_EQ(Shell("cd " + folder.path() + " && touch one.attune input.dat").code, 0);
  EXPECT_THAT(Fish("attune "), IsSupersetOf({"trace", "show"}));
  EXPECT_THAT(Fish("attune "), Not(Contains("secret")));
  EXPECT_THAT(Fish("attune trace --le"), ElementsAre("--level"));
  EXPECT_THAT(Fish("attune trace --level pro"), ElementsAre("profile"));
  EXPECT_THAT(Fish("attune show on"), ElementsAre("one.attune"));
  EXPECT_THAT(Fish("attune steer le"), ElementsAre("level"));
  EXPECT_THAT(Fish("attune steer level "), UnorderedElementsAre("off", "profile"));
  EXPECT_THAT(Fish("attune trace -l off -- gre"), Contains("grep"));
  EXPECT_THAT(Fish("attune trace -l off -- cat inp"), ElementsAre("input.dat"));
  EXPECT_THAT(Fish("attune trace cat --lev"), IsEmpty());
}

TEST_F(Completion, ZshLoads) {
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Outcome outcome = Shell("ZDOTDIR=" + folder.path() + " zsh -f -c 'autoload -U compinit; compinit -D -u; . " +
                                Script("zsh") + "; whence -w _attune; print $_comps[attune]'");
  EXPECT_EQ(outcome.out, "_attune: function\n_attune\n") << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Completion, ManualPagesHaveNoWarnings) {
  const std::vector<ManualPage> pages = ManualPages(Everything());
  ASSERT_EQ(pages.size(), 4u);
  EXPECT_EQ(pages[0].name, "attune.1");
  EXPECT_EQ(pages[1].name, "attune-trace.1");
  for (const ManualPage& page : pages) {
    EXPECT_THAT(page.text, Not(HasSubstr("secret")));
    std::ofstream(folder / page.name) << page.text;
    if (!Has("groff")) continue;
    const Outcome outcome = Shell("groff -man -Tutf8 -ww -b -z " + folder / page.name);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.err, IsEmpty()) << page.name;
  }
  EXPECT_THAT(pages[1].text,
              AllOf(StartsWith(".TH ATTUNE\\-TRACE 1"), HasSubstr("\n\\&.starts with a dot\n"),
                    HasSubstr("back\\eslash"), HasSubstr("\\fB\\-l\\fR, \\fB\\-\\-level\\fR \\fILEVEL\\fR")));
}

}  // namespace
}  // namespace attune::cli
