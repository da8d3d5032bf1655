#include "cli/command.h"
#include "cli/options/observe.h"
#include "cli/options/option_files.h"
#include "cli/report/report.h"
#include "cli/terminal/terminal.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

Status ReportOn(const session::SessionInfo& info, const std::string& shown) {
  ATTUNE_TRY(const auto source, store::OpenRecording(info.recording));
  ATTUNE_CHECK_OK(PrintReport(*source, stderr, {.recording = shown}));
  return {};
}

}  // namespace

Command MakeRunCommand() {
  auto options = std::make_shared<ObserveOptions>(session::kInRun);
  Command command;
  command.name = "run";
  command.rank = 10;
  command.summary = "run a program, report what it did and what held it back";
  command.description =
      "Runs PROGRAM as it is: its output, input, signals and exit code stay its own. What attune has to say goes to "
      "stderr. The recording is kept (attune-PROGRAM-DATE.attune, or -o) and can be read with report, view, query and "
      "export.\n\n"
      "Everything of one MPI job on a host shares one session and one recording: mpirun -n 8 attune run -- PROGRAM. "
      "Under sudo the program runs as the user who called sudo.";
  command.options = OptionsOf(*options);
  command.program = &options->program;
  command.examples = {
      {"attune run -- xz -T0 -k big.tar", "run a program, print the report, keep the recording"},
      {"attune run -i 10ms -o slow.attune -- ./solver input.dat", "sample 100 times a second into a file of that name"},
      {"attune run -p 4711 --for 30s", "watch a running process for half a minute, without touching it"},
      {"mpirun -n 8 attune run -- ./solver", "one session and one recording for the ranks of this host"},
      {"attune run --console-file run.toml", "what the file says, as the page's console runs it"},
  };
  command.run = [options]() -> Result<int> {
    ATTUNE_CHECK_OK(ApplyFiles(*options));
    ObserveMode mode;
    mode.name = "run";
    mode.needs_target = true;
    mode.keeps_recording = true;
    mode.reports = true;
    if (!options->given.Is("quiet")) {
      mode.finished = [options](const session::SessionInfo& info) {
        // A console file's program works in a folder of its own, and so does its launcher.
        return ReportOn(info, options->folder.empty() ? ShownPath(info.recording) : info.recording);
      };
    }
    return Observe(*options, mode);
  };
  return command;
}

}  // namespace attune::cli
