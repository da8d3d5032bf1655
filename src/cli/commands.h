#pragma once
/// One function a subcommand; commands.cpp lists them.

#include "cli/command.h"

namespace attune::cli {

Command MakeRunCommand();
Command MakeRecordCommand();
Command MakeStatCommand();
Command MakeLiveCommand();
Command MakeCtlCommand();
Command MakeReportCommand();
Command MakeAlarmsCommand();
Command MakeCompareCommand();
Command MakeQueryCommand();
Command MakeExportCommand();
Command MakeMergeCommand();
Command MakeViewCommand();
Command MakeListCommand();
Command MakeInfoCommand();
Command MakeDoctorCommand();
Command MakeHelpCommand();
Command MakeCompletionCommand();
Command MakeManCommand();
Command MakeConsoleRunCommand();
Command MakePluginHostCommand();

}  // namespace attune::cli
