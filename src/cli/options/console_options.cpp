#include "cli/options/console_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "analysis/alarms/alarm_rule.h"
#include "base/host_root.h"
#include "base/user_file.h"
#include "cli/options/sensor_choice.h"
#include "console/console_file.h"
#include "sink/found_sinks.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

/// The values of the command line's option of that name. @return false: it was given there
bool Take(const console::ObserveSetting& setting, const std::vector<Option>& known) {
  const auto option = std::ranges::find_if(known, [&setting](const Option& candidate) {
    const size_t dashes = candidate.flags.find("--");
    return dashes != std::string::npos && candidate.flags.substr(dashes + 2) == setting.name;
  });
  if (option == known.end()) return false;
  if (auto* const* flag = std::get_if<bool*>(&option->target)) **flag = true;
  if (auto* const* text = std::get_if<std::string*>(&option->target)) {
    if (!(*text)->empty()) return false;
    **text = setting.values.front();
  }
  if (auto* const* texts = std::get_if<std::vector<std::string>*>(&option->target)) {
    if (!(*texts)->empty()) return false;
    **texts = setting.values;
  }
  return true;
}

/// What only this side can judge. Errors later on would no longer know the place.
Status Check(const console::ObserveSetting& setting) {
  if (setting.name == "sensors") ATTUNE_CHECK_OK(ChooseSensors(setting.values, "", true));
  for (const std::string& value : setting.values) {
    analysis::AlarmSettings settings;
    if (setting.name == "sink") ATTUNE_CHECK_OK(sink::FindSink(value, "sink"));
    if (setting.name == "alarm") ATTUNE_CHECK_OK(analysis::AddAlarmSetting(value, settings));
  }
  return {};
}

}  // namespace

Status ApplyConsoleFile(ObserveOptions& options) {
  const std::string& file = options.console_file;
  if (!options.program.empty() || !options.pid.empty())
    return Error{Errc::kInvalidArgument, "--console-file says which program is run: none can be given beside it",
                 "leave out the program, or --console-file"};
  const fs::path path = fs::absolute(file);
  const auto text = ReadUserFile(path.string(), console::kMaxConsoleFileBytes);
  if (!text.ok()) return text.error().WithContext("--console-file");
  ATTUNE_TRY(const console::RunDescription run, console::ParseConsoleFile(*text, file));

  const fs::path folder = (path.parent_path() / run.folder).lexically_normal();
  if (!fs::is_directory(folder))
    return Error{Errc::kNotFound, fmt::format("{}: there is no folder {}", file, folder.string()),
                 "folder = \"...\" is where the program works, relative to the file's own folder"};
  options.folder = folder.string();
  options.input = run.input;
  // Files that the command line names are where attune was started.
  for (std::string* named : {&options.fifo, &options.pid_file}) {
    if (!named->empty()) *named = fs::absolute(*named).string();
  }
  options.environment = console::EnvironmentOf(run);
  std::vector<Option> known = SharedOptions(options);
  std::ranges::move(ProbeOptions(options), std::back_inserter(known));
  for (const console::ObserveSetting& setting : run.observe) {
    if (!Take(setting, known)) continue;
    if (const Status good = Check(setting); !good.ok()) return good.error().WithContext(setting.place + ": [observe]");
  }
  ATTUNE_TRY(options.program, console::CommandOf(run));
  return {};
}

}  // namespace attune::cli
