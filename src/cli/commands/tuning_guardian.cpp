#include "cli/command.h"
#include "session/tuning/guardian.h"

namespace attune::cli {

Command MakeTuningGuardianCommand() {
  auto journal = std::make_shared<std::string>();
  Command command;
  command.name = "tuning-guardian";
  command.rank = 210;
  command.hidden = true;
  command.summary = "undo what a tuning session has changed when it ends; attune starts this itself";
  command.positionals = {{"JOURNAL", "The session's journal", journal.get()}};
  command.run = [journal] { return session::RunGuardian(*journal); };
  return command;
}

}  // namespace attune::cli
