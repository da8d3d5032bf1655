#include <algorithm>
#include <iterator>

#include "cli/command.h"
#include "cli/options/observe.h"

namespace attune::cli {

Command MakeRecordCommand() {
  auto options = std::make_shared<ObserveOptions>();
  Command command;
  command.name = "record";
  command.rank = 20;
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

}  // namespace attune::cli
