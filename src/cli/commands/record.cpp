#include "cli/command.h"
#include "cli/options/observe.h"
#include "cli/options/option_files.h"

namespace attune::cli {

Command MakeRecordCommand() {
  auto options = std::make_shared<ObserveOptions>(session::kInRecord);
  Command command;
  command.name = "record";
  command.rank = 20;
  command.summary = "record the machine, with or without a program";
  command.description =
      "Writes a recording (attune-record-DATE.attune, or -o) until the program ends, the time is over, or Ctrl-C. "
      "Without a program it records the machine.";
  command.options = OptionsOf(*options);
  command.program = &options->program;
  command.examples = {
      {"attune record -i 1kHz -s vmstat --for 10s -o burst.attune", "every vmstat counter, a thousand times a second"},
      {"attune record -- make -j8", "a program, without a report at the end"},
  };
  command.run = [options]() -> Result<int> {
    ATTUNE_CHECK_OK(ApplyFiles(*options));
    ObserveMode mode;
    mode.name = "record";
    mode.keeps_recording = true;
    return Observe(*options, mode);
  };
  return command;
}

}  // namespace attune::cli
