#include "cli/options/option_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/alarms/alarm_rule.h"
#include "base/host_root.h"
#include "base/user_file.h"
#include "cli/options/sensor_choice.h"
#include "console/console_file.h"
#include "session/core/option_file.h"
#include "sink/found_sinks.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using session::OptionSetting;

const session::OptionRow& RowOf(const OptionSetting& setting) {
  return session::kRunOptions[session::FindOption(setting.name)];
}

/// Judges what only this side can. Errors later on would no longer know the place.
Status Check(const OptionSetting& setting) {
  const session::OptionRow& row = RowOf(setting);
  const session::OptionType type = row.type;
  if (type == session::OptionType::kSensors) ATTUNE_CHECK_OK(ChooseSensors(setting.values, "", true));
  for (const std::string& value : setting.values) {
    analysis::AlarmSettings settings;
    if (type == session::OptionType::kSink) ATTUNE_CHECK_OK(sink::FindSink(value, row.name));
    if (type == session::OptionType::kAlarm) ATTUNE_CHECK_OK(analysis::AddAlarmSetting(value, settings));
  }
  return {};
}

/// @param where added to the place in errors
Status Take(const OptionSetting& setting, std::string_view where, session::OptionValues& given) {
  if (!given.Take(setting)) return {};
  if (const Status good = Check(setting); !good.ok())
    return good.error().WithContext(fmt::format("{}{}", setting.place, where));
  return {};
}

Status ApplyConsoleFile(ObserveOptions& options) {
  const std::string& file = options.given.Text("console-file");
  if (!options.program.empty() || !options.given.Text("pid").empty())
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
  if (const std::string& fifo = options.given.Text("fifo"); !fifo.empty())
    options.given.Set("fifo", fs::absolute(fifo).string());
  if (const std::string& pid = options.given.Text("pid-file"); !pid.empty())
    options.given.Set("pid-file", fs::absolute(pid).string());
  options.environment = console::EnvironmentOf(run);
  for (const OptionSetting& setting : run.observe) ATTUNE_CHECK_OK(Take(setting, ": [observe]", options.given));
  ATTUNE_TRY(options.program, console::CommandOf(run));
  return {};
}

Status ApplyDefaults(ObserveOptions& options) {
  ATTUNE_TRY(const std::vector<OptionSetting> settings,
             session::ReadDefaults(session::DefaultsFile(), options.command));
  const session::OptionValues before = options.given;
  for (const OptionSetting& setting : settings) {
    const session::OptionRow& row = RowOf(setting);
    const bool is_overruled = std::ranges::any_of(row.against, [&before](std::string_view other) {
      return !other.empty() && before.IsOn(session::FindOption(other));
    });
    if (!is_overruled && row.needs.empty()) ATTUNE_CHECK_OK(Take(setting, "", options.given));
  }
  // Now it is known which of those that others need are there.
  for (const OptionSetting& setting : settings) {
    const session::OptionRow& row = RowOf(setting);
    if (!row.needs.empty() && options.given.IsOn(session::FindOption(row.needs)))
      ATTUNE_CHECK_OK(Take(setting, "", options.given));
  }
  return {};
}

}  // namespace

Status ApplyFiles(ObserveOptions& options) {
  if (options.command == session::kInRun && !options.given.Text("console-file").empty())
    ATTUNE_CHECK_OK(ApplyConsoleFile(options));
  return options.given.Is("no-defaults") ? Status() : ApplyDefaults(options);
}

}  // namespace attune::cli
