#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "cli/console_options.h"
#include "cli/observe.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

Status ReportOn(const session::SessionInfo& info, const std::string& shown) {
  ATTUNE_TRY(const auto source, store::OpenRecording(info.recording));
  return PrintReport(*source, stderr, {.recording = shown});
}

}  // namespace

Command MakeRunCommand() {
  auto options = std::make_shared<ObserveOptions>();
  Command command;
  command.name = "run";
  command.summary = "run a program, report what it did and what held it back";
  command.description =
      "Runs PROGRAM as it is: its output, input, signals and exit code stay its own. What attune has to say goes to "
      "stderr. The recording is kept (attune-PROGRAM-DATE.attune, or -o) and can be read with report, view, query and "
      "export.\n\n"
      "Everything of one MPI job on a host shares one session and one recording: mpirun -n 8 attune run -- PROGRAM. "
      "Under sudo the program runs as the user who called sudo.";
  command.options = SharedOptions(*options);
  std::ranges::move(ProbeOptions(*options), std::back_inserter(command.options));
  command.options.push_back({"--live", "", "Serve the page while it runs", &options->page});
  command.options.push_back({"--console-file", "FILE",
                             "Run what this file describes: program, arguments, folder, environment, OpenMP threads or "
                             "MPI ranks, and how it is observed; the page's console saves and loads the same "
                             "(docs/console.md). What is given here too goes first",
                             &options->console_file, Complete::kFile});
  command.options.push_back(
      {"--pid-file", "FILE",
       "Write the program's process id there, and the time of its start in clock ticks since boot", &options->pid_file,
       Complete::kFile});
  command.program = &options->program;
  command.examples = {
      {"attune run -- xz -T0 -k big.tar", "run a program, print the report, keep the recording"},
      {"attune run -i 10ms -o slow.attune -- ./solver input.dat", "sample 100 times a second into a file of that name"},
      {"attune run -p 4711 --for 30s", "watch a running process for half a minute, without touching it"},
      {"mpirun -n 8 attune run -- ./solver", "one session and one recording for the ranks of this host"},
      {"attune run --console-file run.toml", "what the file says, as the page's console runs it"},
  };
  command.run = [options]() -> Result<int> {
    ObserveMode mode;
    mode.name = "run";
    mode.needs_target = true;
    mode.keeps_recording = true;
    mode.reports = true;
    if (!options->quiet) {
      mode.finished = [options](const session::SessionInfo& info) {
        // A console file's program works in a folder of its own, and so does its launcher.
        return ReportOn(info, options->folder.empty() ? ShownPath(info.recording) : info.recording);
      };
    }
    if (!options->console_file.empty()) ATTUNE_CHECK_OK(ApplyConsoleFile(*options));
    return Observe(*options, mode);
  };
  return command;
}

Command MakeRecordCommand() {
  auto options = std::make_shared<ObserveOptions>();
  Command command;
  command.name = "record";
  command.summary = "record the machine, with or without a program";
  command.description =
      "Writes a recording (attune-record-DATE.attune, or -o) until the program ends, the time is over, or Ctrl-C. "
      "Without a program it records the machine.";
  command.options = SharedOptions(*options);
  std::ranges::move(ProbeOptions(*options), std::back_inserter(command.options));
  command.options.push_back({"--live", "", "Serve the page meanwhile", &options->page});
  command.program = &options->program;
  command.examples = {
      {"attune record -i 1kHz -s vmstat --for 10s -o burst.attune", "every vmstat counter, a thousand times a second"},
      {"attune record -- make -j8", "a program, without a report at the end"},
  };
  command.run = [options] {
    ObserveMode mode;
    mode.name = "record";
    mode.keeps_recording = true;
    return Observe(*options, mode);
  };
  return command;
}

Command MakeLiveCommand() {
  auto options = std::make_shared<ObserveOptions>();
  Command command;
  command.name = "live";
  command.summary = "watch the machine or a program on a page in the browser";
  command.description =
      "Serves the page on the loopback address and prints its address; ends with the program, after --for, or with "
      "Ctrl-C. Without -o nothing is kept: the newest part is held in a bounded temporary recording.";
  command.options = SharedOptions(*options);
  std::ranges::move(ProbeOptions(*options), std::back_inserter(command.options));
  command.options.push_back({"--allow-run", "",
                             "Offer the console on the page: who has opened the printed address can run programs as "
                             "you (docs/console.md)",
                             &options->allow_run});
  command.options.push_back({"--runs", "FOLDER",
                             "Where the console's runs and their recordings lie; those that are there are found again. "
                             "Default: attune-runs",
                             &options->runs, Complete::kFile});
  command.program = &options->program;
  command.examples = {
      {"attune live", "the whole machine, until Ctrl-C"},
      {"attune live -i 1kHz -- ./solver input.dat", "a program, sampled a thousand times a second"},
      {"attune live --listen 127.0.0.1:8080", "on a port of your choice"},
      {"attune live --allow-run", "and run programs from the page"},
  };
  command.run = [options] {
    ObserveMode mode;
    mode.name = "live";
    mode.serves_page = true;
    return Observe(*options, mode);
  };
  return command;
}

}  // namespace attune::cli
