/// The binary, from the outside: exit codes, messages and hints, above all for bad input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/cli/process.h"
#include "tests/cli/recording.h"
#include "tests/cli/script_run.h"

namespace attune::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class CommandLine : public testing::Test {
 protected:
  /// A recording in the test's folder.
  std::string Recording() {
    const auto status = WriteRecording(folder / "job.attune", ScriptRun());
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return folder / "job.attune";
  }
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  }
  /// A failure: the code, nothing on stdout, a message in our words.
  static void ExpectError(const std::string& arguments, int code, const std::string& message, const std::string& hint) {
    const Outcome outcome = Attune(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("attune: "), HasSubstr(message))) << arguments;
    if (!hint.empty()) {
      EXPECT_THAT(outcome.err, HasSubstr("\n  hint: " + hint)) << arguments;
    }
  }

  TestFolder folder;
};

TEST_F(CommandLine, UnknownNamesGetTheNearestOnes) {
  ExpectError("reprot x", 2, "there is no subcommand 'reprot'", "did you mean report?");
  ExpectError("qqqq", 2, "there is no subcommand 'qqqq'", "attune --help lists them");
  ExpectError("report --jsn x", 2, "attune report has no option '--jsn'", "did you mean --json?");
  ExpectError("list sensros", 2, "there is no list of 'sensros'", "did you mean sensors");
  ExpectError("list signals vmsta", 2, "there is no sensor 'vmsta'", "did you mean vmstat?");
  ExpectError("completion tcsh", 2, "no completion for the shell 'tcsh'", "there is one for bash, zsh and fish");
}

TEST_F(CommandLine, MissingAndSurplusArgumentsAreUsageErrors) {
  ExpectError("", 2, "no subcommand given", "begin with: attune run -- PROGRAM");
  ExpectError("report", 2, "FILE is required", "attune report --help");
  ExpectError("report a b.attune", 2, "the report has no section 'b.attune'",
              "two recordings are compared with: attune compare");
  ExpectError("report a wait", 2, "the report has no section 'wait'", "did you mean waits?");
  ExpectError("report a nothing", 2, "the report has no section 'nothing'", "there are program, findings, ");
  ExpectError("report x --top 0", 2, "--top: '0' is not a number of rows", "give one from 1 to 100000");
  ExpectError("report x --top many", 2, "--top: 'many'", "");
  ExpectError("list --json --names", 2, "--json and --names exclude each other", "");
  ExpectError("list sensors here", 2, "the list of sensors takes nothing behind it", "");
}

TEST_F(CommandLine, CpusThatCannotBeUsedAreRefused) {
  ExpectError("record --cpus 99999 --for 1s", 2, "--cpus: attune may use none of the CPUs '99999'", "it may use ");
  ExpectError("record --cpus one --for 1s", 2, "--cpus: ", "");
  ExpectError("record --cpus '' -s cpuu --for 1s", 2, "there is no sensor 'cpuu'", "did you mean cpu or gpu?");
}

TEST_F(CommandLine, EverySubcommandHasHelpWithExamples) {
  for (const Command& command : MakeAllCommands()) {
    const Outcome outcome = Attune(command.name + " --help");
    EXPECT_EQ(outcome.code, 0) << command.name;
    EXPECT_THAT(outcome.out, AllOf(StartsWith(command.summary), HasSubstr("Usage: attune " + command.name)));
    if (!command.hidden) {
      EXPECT_THAT(outcome.out, HasSubstr("EXAMPLES\n  ")) << command.name;
    }
  }
  EXPECT_EQ(Attune("--version").code, 0);
}

/// Subcommands that read a recording: what they say of files that are none.
class ReadsARecording : public CommandLine, public testing::WithParamInterface<const char*> {
 protected:
  /// The subcommand on this file. The parameter has FILE in its place.
  static std::string On(const std::string& file) {
    std::string line = GetParam();
    return line.replace(line.find("FILE"), 4, Quoted(file));
  }
};

TEST_P(ReadsARecording, AFileThatIsNone) {
  ExpectError(On(folder / "missing.attune"), 1, "missing.attune: No such file or directory", "");
  ExpectError(On(folder.path()), 2, "is a folder", "");
  ExpectError(On(File("empty.attune", "")), 1, "empty.attune is empty", "");
  ExpectError(On(File("foreign.attune", std::string(5000, 'x'))), 1, "foreign.attune is not a recording", "");
}

TEST_P(ReadsARecording, AFileThatMayNotBeRead) {
  const std::string path = Recording();
  ASSERT_EQ(Shell("chmod 000 " + path).code, 0);
  if (geteuid() != 0) {
    ExpectError(On(path), 4, "Permission denied", "");
    return;
  }
  const Outcome outcome =
      Shell("chmod 755 " + folder.path() + "; setpriv --reuid=65534 --clear-groups \"$ATTUNE\" " + On(path));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("Permission denied"));
}

INSTANTIATE_TEST_SUITE_P(Subcommands, ReadsARecording,
                         testing::Values("report FILE", "report FILE --json", "view FILE --for 1s",
                                         "query FILE \"select 1\""));

TEST_F(CommandLine, ReportReadsARealRecording) {
  const std::string path = Recording();
  const Outcome screen = Attune("report " + path);
  EXPECT_EQ(screen.code, 0);
  EXPECT_THAT(screen.out, AllOf(HasSubstr("sh job.sh"), HasSubstr("CPU 1 was idle 50 %"), Not(HasSubstr("40 x true"))));
  EXPECT_LE(std::ranges::count(screen.out, '\n'), 24);
  const Outcome text = Attune("report --full " + path);
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("sh job.sh"), HasSubstr("40 x true"), HasSubstr("CPU 1 was idle 50 %")));
  EXPECT_THAT(text.out, Not(HasSubstr("\x1b["))) << "colours only on a terminal";
  const auto json = nlohmann::json::parse(Attune("report --json " + path).out);
  EXPECT_EQ(json["totals"]["processes"], 42);
  EXPECT_EQ(json["program"]["regions"].size(), 2u);
}

TEST_F(CommandLine, ReportReadsWhatIsLeftOfACutRecording) {
  const std::string path = Recording();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 2 / 3);
  const Outcome outcome = Attune("report " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("could not be read: the figures stand on the rest"));
}

TEST_F(CommandLine, AFullDiskIsAnErrorAndAClosedPipeIsNone) {
  const std::string path = Recording();
  for (const std::string& arguments :
       {"report " + path, "report --json " + path, std::string("list signals"), std::string("completion bash")}) {
    const Outcome full = Attune(arguments + " >/dev/full");
    EXPECT_EQ(full.code, 1) << arguments;
    EXPECT_THAT(full.err, HasSubstr("not all of the output could be written")) << arguments;
    // The reader is gone before the first byte is written.
    const Outcome closed = Shell("{ (trap '' PIPE; while printf x 2>/dev/null; do :; done); \"$ATTUNE\" " + arguments +
                                 "; echo $? >&2; } | true");
    EXPECT_EQ(closed.err, "141\n") << arguments;  // silently, by SIGPIPE, as every program of a pipeline
  }
}

TEST_F(CommandLine, ListsAreTablesNamesAndJson) {
  EXPECT_THAT(Attune("list").out, AllOf(StartsWith("sensor"), HasSubstr("/proc/vmstat")));
  EXPECT_THAT(Attune("list sensors --names").out, HasSubstr("vmstat\n"));
  const auto sensors = nlohmann::json::parse(Attune("list sensors --json").out);
  EXPECT_TRUE(sensors.at(0).at("available").is_boolean());
  const auto signals = nlohmann::json::parse(Attune("list signals cpu --json").out);
  EXPECT_EQ(signals.at(0).at("sensor"), "cpu");
  EXPECT_EQ(signals.at(0).at("resolution"), 1e7);
  EXPECT_THAT(Attune("list signals cpu").out, AllOf(HasSubstr("in steps of"), HasSubstr("10 ms")));
  EXPECT_FALSE(signals.at(0).at("description").get<std::string>().empty());
  const auto memory = nlohmann::json::parse(Attune("list signals memory --json").out);
  EXPECT_EQ(memory.at(0).at("mnemonic"), "total");
  EXPECT_EQ(memory.at(0).at("element"), "machine");
  EXPECT_EQ(memory.at(0).at("max_per_second"), nullptr);
}

TEST_F(CommandLine, StatHeadsColumnsShortlyForPeopleAndByNameForPrograms) {
  const std::string options = "-e memory.MemFree,memory.SwapTotal -i 100ms --for 500ms";
  EXPECT_THAT(Attune("stat -s memory " + options).out, AllOf(HasSubstr(" free"), Not(HasSubstr("MemFree"))));
  EXPECT_THAT(Attune("stat -s memory --csv " + options).out, HasSubstr("memory.MemFree"));
}

TEST_F(CommandLine, RecordingsOfAFolderAreListedWithTheBrokenOnes) {
  Recording();
  File("broken.attune", "x");
  File("other.txt", "x");
  const auto rows = nlohmann::json::parse(Attune("list recordings " + folder.path() + " --json").out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0]["path"].get<std::string>(), testing::EndsWith("broken.attune"));
  EXPECT_TRUE(rows[0].contains("error"));
  EXPECT_EQ(rows[1]["program"], "sh job.sh");
  ExpectError("list recordings " + folder / "nowhere", 1, "No such file or directory", "give a folder");
  EXPECT_THAT(Attune("list recordings " + folder.path()).out, HasSubstr("not readable"));
}

TEST_F(CommandLine, InfoAndDoctorAgree) {
  const Outcome info = Attune("info --json");
  EXPECT_EQ(info.code, 0);
  const Outcome doctor = Attune("doctor --json");
  const auto facts = nlohmann::json::parse(info.out);
  const auto checks = nlohmann::json::parse(doctor.out)["checks"];
  EXPECT_GT(facts["clock_read_ns"], 0);
  EXPECT_EQ(facts["available"].size(), checks.size());
  bool missing = false;
  for (const auto& check : checks) {
    missing = missing || check["status"] == "missing";
    if (check["status"] == "ok") {
      EXPECT_EQ(check["fix"], "") << check;
    }
    if (check["status"] != "ok") {
      EXPECT_NE(check["effect"], "") << check;
    }
  }
  EXPECT_EQ(doctor.code, missing ? 3 : 0);
  EXPECT_THAT(Attune("info").out, HasSubstr("What attune can use here"));
}

TEST_F(CommandLine, DoctorNamesTheCommandThatMends) {
  const Outcome outcome = Shell("ulimit -Sn 256; \"$ATTUNE\" doctor");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("warning  open files"), HasSubstr("ulimit -n 1024")));
}

TEST_F(CommandLine, QueryPrintsTablesCsvAndJson) {
  const std::string path = Recording();
  const std::string sql =
      " \"select pid, command, exit_code from processes where exit_code = 3 or pid = 4001 order by pid\"";
  EXPECT_EQ(Attune("query " + path + sql).out,
            " pid  command               exit_code\n"
            "4000  sh job.sh                     3\n"
            "4001  ./solver?[2J big.dat          -\n");
  EXPECT_EQ(Attune("query --csv " + path + sql).out,
            "pid,command,exit_code\r\n4000,sh job.sh,3\r\n4001,./solver\x1b[2J big.dat,\r\n");
  const auto rows = nlohmann::json::parse(Attune("query --json " + path + sql).out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["pid"], 4000);
  EXPECT_TRUE(rows[1]["exit_code"].is_null());
  EXPECT_EQ(Attune("query --csv " + path + " \"select 'a,b' as x, 'say \"\"hi\"\"' as y, 1.5 as z\"").code, 0);
  EXPECT_EQ(Attune("query --json " + path + " \"select 1 where 0\"").out, "[]\n");
}

TEST_F(CommandLine, QueryPrintsMoreRowsThanItLooksAheadInTheSameColumns) {
  const Outcome outcome =
      Attune("query " + Recording() +
             " \"with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) select i from n\"");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("   i\n   1\n"), testing::EndsWith("\n1499\n1500\n")));
}

TEST_F(CommandLine, QuerySaysWhereTheSqlIsWrong) {
  const std::string path = Recording();
  ExpectError("query " + path + " \"selct 1\"", 2, "selct", "");
  ExpectError("query " + path + " \"select * from sampels\"", 2, "sampels", "");
  ExpectError("query " + path + " \"select nothing from samples\"", 2, "nothing", "");
  ExpectError("query " + path + " \"\"", 2, "", "");
  ExpectError("query " + path + " \"create table t(a)\"", 4, "", "");
  ExpectError("query " + path + " \"select 1\" --csv --json", 2, "--json and --csv exclude each other", "");
  ExpectError("query " + path, 2, "SQL is required", "");
}

/// Starts `attune view` in the background; $url and $pid are set once it serves.
std::string StartView(const std::string& arguments) {
  return "rm -f view.out; \"$ATTUNE\" view " + arguments +
         " >view.out 2>view.err & pid=$!; until url=$(head -1 view.out 2>/dev/null | grep http) || ! kill -0 $pid; do "
         ":; done; ";
}

TEST_F(CommandLine, ViewServesThePageUntilItIsToldToEnd) {
  const std::string path = Recording();
  for (const std::string signal : {"INT", "TERM"}) {
    const Outcome outcome = Shell("cd " + folder.path() + "; " + StartView(path) +
                                  "curl -s --compressed -o page.html -w '%{http_code}\\n' \"${url%%#*}\"; kill -" +
                                  signal + " $pid; wait $pid; echo $?; cat view.err >&2");
    EXPECT_EQ(outcome.out, "200\n0\n") << outcome.err;
    EXPECT_THAT(ReadWholeFile(folder / "page.html"), HasSubstr("<html"));
  }
}

TEST_F(CommandLine, ViewEndsAfterItsTime) {
  const Outcome outcome = Attune("view --for 50ms " + Recording());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("http://127.0.0.1:"));
}

TEST_F(CommandLine, ViewOnAPortInUseIsUnavailable) {
  const std::string path = Recording();
  const Outcome outcome = Shell("cd " + folder.path() + "; " + StartView(path) +
                                "port=${url#http://127.0.0.1:}; port=${port%%/*}; \"$ATTUNE\" view " + path +
                                " --listen 127.0.0.1:$port; echo $?; kill $pid; wait $pid");
  EXPECT_EQ(outcome.out, "3\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("in use"), HasSubstr("hint: ")));
}

TEST_F(CommandLine, ViewRefusesAddressesThatMakeNoSense) {
  const std::string path = Recording();
  ExpectError("view " + path + " --listen somewhere", 2, "--listen: 'somewhere' is not an address and a port",
              "write it");
  ExpectError("view " + path + " --listen 0.0.0.0:0", 2, "0.0.0.0", "");
  ExpectError("view " + path + " --for 10", 2, "--for: '10' has no unit", "");
  ExpectError("view " + path + " --listen 127.0.0.1:0 --tls-cert /nowhere --tls-key /nowhere", 1, "/nowhere", "");
}

TEST_F(CommandLine, ManualPagesAreWritten) {
  EXPECT_EQ(Attune("man --out " + folder / "man").code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "man/attune.1"));
  EXPECT_TRUE(std::filesystem::exists(folder / "man/attune-report.1"));
  ExpectError("man --out /proc/nowhere", 1, "/proc/nowhere", "");
}

TEST_F(CommandLine, CtlTakesHelpExamplesAndCompletionFromTheVerbsOfASession) {
  const Outcome help = Attune("ctl --help");
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_THAT(help.out, AllOf(HasSubstr("interval [SENSOR] TIME - sample one sensor"), HasSubstr("alarms - "),
                              HasSubstr("attune ctl interval vmstat 1ms"), Not(HasSubstr("join"))));
  EXPECT_THAT(Attune("completion bash").out,
              AllOf(HasSubstr("\"ctl \"0) echo \"words status label level dump interval"),
                    HasSubstr("\"ctl level \"1) echo \"words off profile blame trace stamped\"; return"),
                    HasSubstr("\"ctl interval \"1) echo sensor; return")));
  ExpectError("ctl labl x", 2, "there is no command 'labl'", "did you mean label?");
  ExpectError("ctl", 2, "COMMAND is required", "");
}

}  // namespace
}  // namespace attune::cli
