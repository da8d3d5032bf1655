#include "cli/command.h"
#include "cli/options/observe.h"
#include "cli/options/option_files.h"

namespace attune::cli {

Command MakeLiveCommand() {
  auto options = std::make_shared<ObserveOptions>(session::kInLive);
  Command command;
  command.name = "live";
  command.rank = 40;
  command.summary = "watch the machine or a program on a page in the browser";
  command.description =
      "Serves the page on the loopback address and prints its address; ends after --for or with Ctrl-C; once the "
      "program "
      "has ended, from a terminal with Ctrl-C, else when nobody looks any more. Without -o nothing is kept: the newest "
      "part is held in a bounded temporary recording.";
  command.options = OptionsOf(*options);
  command.program = &options->program;
  command.examples = {
      {"attune live", "the whole machine, until Ctrl-C"},
      {"attune live -i 1kHz -- ./solver input.dat", "a program, sampled a thousand times a second"},
      {"attune live --listen 127.0.0.1:8080", "on a port of your choice"},
      {"attune live --allow-run", "and run programs from the page"},
  };
  command.run = [options]() -> Result<int> {
    ATTUNE_CHECK_OK(ApplyFiles(*options));
    ObserveMode mode;
    mode.name = "live";
    mode.serves_page = true;
    return Observe(*options, mode);
  };
  return command;
}

}  // namespace attune::cli
