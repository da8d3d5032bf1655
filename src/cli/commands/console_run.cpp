#include "cli/command.h"
#include "console/console_keeper.h"

namespace attune::cli {

Command MakeConsoleRunCommand() {
  struct Options {
    std::string folder;
    std::string inherited;
  };
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "console-run";
  command.rank = 190;
  command.hidden = true;
  command.summary = "keep one run of the page's console; attune starts this itself";
  command.positionals = {{"FOLDER", "Of the run, with its run.toml", &options->folder},
                         {"INHERITED", "File mode mask, CPUs and open files of its program", &options->inherited}};
  command.run = [options]() -> Result<int> {
    ATTUNE_TRY(const console::Inherited inherited, console::Inherited::Parse(options->inherited));
    ATTUNE_CHECK_OK(console::StartKeeper(options->folder, inherited));
    return 0;
  };
  return command;
}

}  // namespace attune::cli
