#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/terminal/terminal.h"
#include "session/tuning/by_hand.h"

namespace attune::cli {
namespace {

Result<int> Run(const std::string& of) {
  ATTUNE_TRY(const pid_t pid, session::ParseProcess(of));
  ATTUNE_TRY(const session::Undone undone, session::RestoreChanges(pid));
  for (const std::string& failure : undone.failures) Say(failure);
  if (undone.changes + undone.gone + undone.failures.size() == 0) {
    Say("nothing is changed");
  } else {
    Say(fmt::format("{} setting{} as before, {} of what has ended", undone.changes, undone.changes == 1 ? "" : "s",
                    undone.gone));
  }
  return undone.failures.empty() ? 0 : 1;
}

}  // namespace

Command MakeRestoreCommand() {
  auto pid = std::make_shared<std::string>();
  Command command;
  command.name = "restore";
  command.rank = 96;
  command.summary = "undo what attune set, and what killed tuning sessions have changed";
  command.description =
      "Writes the values of before, the last change first. A tuning session that ends, or is killed, undoes its "
      "changes "
      "itself; this is for what is left where its guardian was killed, too.";
  command.options = {{"-p,--pid", "PID", "Only of this process", pid.get()}};
  command.examples = {{"attune restore", "all that is left"}, {"attune list changes", "what that is"}};
  command.run = [pid] { return Run(*pid); };
  return command;
}

}  // namespace attune::cli
