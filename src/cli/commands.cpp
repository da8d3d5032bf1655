#include "cli/commands.h"

namespace attune::cli {

std::vector<Command> MakeAllCommands() {
  std::vector<Command> commands;
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeRecordCommand());
  commands.push_back(MakeStatCommand());
  commands.push_back(MakeLiveCommand());
  commands.push_back(MakeCtlCommand());
  commands.push_back(MakeReportCommand());
  commands.push_back(MakeCompareCommand());
  commands.push_back(MakeAlarmsCommand());
  commands.push_back(MakeQueryCommand());
  commands.push_back(MakeExportCommand());
  commands.push_back(MakeMergeCommand());
  commands.push_back(MakeViewCommand());
  commands.push_back(MakeListCommand());
  commands.push_back(MakeInfoCommand());
  commands.push_back(MakeDoctorCommand());
  commands.push_back(MakeHelpCommand());
  commands.push_back(MakeCompletionCommand());
  commands.push_back(MakeManCommand());
  commands.push_back(MakeConsoleRunCommand());
  commands.push_back(MakePluginHostCommand());
  return commands;
}

}  // namespace attune::cli
