#include <algorithm>
#include <iterator>

#include "cli/command.h"
#include "cli/options/observe.h"

namespace attune::cli {

Command MakeLiveCommand() {
  auto options = std::make_shared<ObserveOptions>();
  Command command;
  command.name = "live";
  command.rank = 40;
  command.summary = "watch the machine or a program on a page in the browser";
  command.description =
      "Serves the page on the loopback address and prints its address; ends with the program, after --for, or with "
      "Ctrl-C. Without -o nothing is kept: the newest part is held in a bounded temporary recording.";
  command.options = SharedOptions(*options);
  std::ranges::move(ProbeOptions(*options), std::back_inserter(command.options));
  command.options.push_back({"--allow-run", "",
                             "Offer the console on the page: anyone who opened the printed address can run programs "
                             "as you (docs/console.md)",
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
