#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/text.h"
#include "base/timer.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options/observe.h"
#include "cli/options/option_files.h"
#include "cli/options/sensor_choice.h"
#include "cli/terminal/output.h"
#include "cli/terminal/stat_rows.h"
#include "cli/terminal/terminal.h"
#include "sensor/registry.h"
#include "session/core/opening.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

/// The sensor of that name as -s gives it (a file, another path of registers), else as it is.
Result<std::unique_ptr<model::Sensor>> SensorNamed(const std::string& name, const std::vector<std::string>& chosen) {
  if (!chosen.empty()) {
    ATTUNE_TRY(const auto choices, ChooseSensors(chosen, "", true));
    for (const session::SensorChoice& choice : choices) {
      ATTUNE_TRY(auto sensor, sensor::MakeSensor(choice.name, sensor::ShownContext()));
      if (sensor->Info().name == name) return sensor;
    }
  }
  return sensor::MakeSensor(name, sensor::ShownContext());
}

/// The sensor's signals here. Nothing: it takes so long to say that a program should not wait for it.
Result<std::optional<std::vector<model::SignalSpec>>> SignalsOf(std::unique_ptr<model::Sensor> sensor) {
  constexpr int64_t kPatienceNs = 100'000'000;
  constexpr int64_t kEndNs = 1'000'000'000;  // a plug-in's process is killed: mostly it takes some ms
  using Signals = std::optional<std::vector<model::SignalSpec>>;
  std::optional<session::OpenedSensor> opened;
  if (session::MayTakeLong(*sensor)) {
    session::Opening opening(HostRoot(), std::move(sensor));
    opened = opening.Take(MonotonicNs() + kPatienceNs);
    // The session is forked soon: by then no thread of it may be left, and no process of a plug-in.
    if (!opened) opening.Cancel(MonotonicNs() + kEndNs);
  } else {
    opened = session::OpenSensor(HostRoot(), std::move(sensor));
  }
  if (!opened) return Signals();
  if (!opened->signals.ok()) return opened->signals.error();
  return Signals(*std::move(opened->signals));
}

/// The short heading of a signal that this host has. Errors: there is none of that name; it has no per cent.
Result<std::string> HeadingOf(const StatColumn& column, const std::vector<std::string>& chosen) {
  const std::string& sensor_name = column.sensor;
  const std::string& signal = column.signal;
  ATTUNE_TRY(auto sensor, SensorNamed(sensor_name, chosen));
  ATTUNE_TRY(const auto specs, SignalsOf(std::move(sensor)));
  if (!specs) return signal;
  std::vector<std::string> names;
  for (const model::SignalSpec& spec : *specs) {
    if (spec.signal == signal) {
      if (column.percent && spec.max_per_second <= 0) return NoLargestRate(column);
      return spec.mnemonic.empty() ? spec.signal : spec.mnemonic;
    }
    if (names.empty() || names.back() != spec.signal) names.push_back(spec.signal);
  }
  return Error{Errc::kInvalidArgument, "--events: sensor " + sensor_name + " has no signal '" + signal + "' here",
               DidYouMean(signal, names)};
}

/// Gives columns of a table their short headings; those that two would share keep their names.
void Shorten(std::vector<StatColumn>& columns, const std::vector<std::string>& headings) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (std::count(headings.begin(), headings.end(), headings[i]) == 1) columns[i].heading = headings[i];
  }
}

/// "-e vmstat.pgfault,cpu.user": one column each, summed over the elements, in the signal's own unit.
/// @param chosen what -s says  @param shorten for people's eyes: short headings
Result<std::vector<StatColumn>> ChosenColumns(const std::vector<std::string>& lists,
                                              const std::vector<std::string>& chosen, bool shorten) {
  std::vector<StatColumn> columns;
  std::vector<std::string> headings;
  for (const std::string& list : lists) {
    for (const std::string_view part : Split(list, ",")) {
      const std::string item(part);
      const size_t dot = item.find('.');
      if (dot == std::string::npos || dot == 0 || dot + 1 == item.size()) {
        return Error{Errc::kInvalidArgument, "--events: '" + item + "' is not SENSOR.SIGNAL",
                     "attune list signals shows them, as in vmstat.pgfault"};
      }
      const bool percent = item.ends_with('%');
      StatColumn column{item, item.substr(0, dot), item.substr(dot + 1, item.size() - dot - 1 - (percent ? 1 : 0))};
      column.percent = percent;
      column.decimals = percent ? 1 : StatColumn::kOfScale;
      ATTUNE_TRY(const std::string heading, HeadingOf(column, chosen));
      headings.push_back(heading + (percent ? "%" : ""));
      columns.push_back(std::move(column));
    }
  }
  if (shorten) Shorten(columns, headings);
  return columns;
}

/// Refuses a choice (-s) of sensors of which none has a default column. Errors: that, or why a sensor that was chosen
/// is not available
Status CheckDefaults(const std::vector<StatColumn>& columns, const std::vector<std::string>& chosen) {
  if (chosen.empty()) return {};
  ATTUNE_TRY(const auto choices, ChooseSensors(chosen, "", true));
  std::string name = "SENSOR", signals = "SENSOR.SIGNAL";
  for (const session::SensorChoice& choice : choices) {
    ATTUNE_TRY(auto sensor, sensor::MakeSensor(choice.name, sensor::ShownContext()));
    name = sensor->Info().name;
    const auto is_of_it = [&](const StatColumn& column) { return column.sensor == name; };
    if (std::any_of(columns.begin(), columns.end(), is_of_it)) return {};
    auto specs = SignalsOf(std::move(sensor));
    if (!specs.ok()) return specs.error().WithContext("sensor " + name + " is not available");
    if (specs->has_value() && !(*specs)->empty()) signals = name + "." + (*specs)->front().signal;
  }
  return Error{
      Errc::kInvalidArgument,
      "--sensors: the columns that are shown by default are of the sensors cpu and vmstat, which it leaves out",
      "name columns, as in -e " + signals + "; attune list signals " + name + " shows them"};
}

/// The default columns that a terminal has room for: what tells least goes first. @return how many have none
size_t FitDefaults(std::vector<StatColumn>& columns, size_t width) {
  const size_t all = columns.size();
  for (const std::string_view spared :
       {"forks/s", "ni%", "st%", "swin/s", "swout/s", "maj/s", "int/s", "blk", "id%", "freeMB", "run"}) {
    if (width == 0 || StatRows::LineWidth(columns) <= width) break;
    std::erase_if(columns, [&](const StatColumn& column) { return column.heading == spared; });
  }
  return all - columns.size();
}

/// The rows, and the recording that they are read from.
struct Printing {
  std::unique_ptr<StatRows> rows;
  std::string recording;
  std::unique_ptr<model::Source> source;  ///< once the program runs: until then its name may be an older file's
  UniqueFd timer;
  Status failed;  ///< nothing is printed any more

  Status Print(bool final) {
    if (failed.ok()) failed = PrintRows(final);
    if (failed.ok()) failed = FinishStream(stdout);
    return failed;
  }

 private:
  Status PrintRows(bool final) {
    if (!source) {
      ATTUNE_TRY(source, store::OpenRecording(recording));
    }
    return rows->Print(*source, final);
  }
};

Result<int> Run(ObserveOptions& options) {
  ATTUNE_CHECK_OK(ApplyFiles(options));
  session::OptionValues& given = options.given;
  if (given.Is("csv") && given.Is("json"))
    return Error{Errc::kInvalidArgument, "--csv and --json exclude each other", ""};
  const StatFormat format = given.Is("csv")    ? StatFormat::kCsv
                            : given.Is("json") ? StatFormat::kJson
                                               : StatFormat::kText;
  ATTUNE_TRY(std::vector<StatColumn> columns,
             ChosenColumns(given.Texts("events"), given.Texts("sensors"), format == StatFormat::kText));
  if (columns.empty()) {
    columns = DefaultStatColumns(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), sysconf(_SC_PAGESIZE));
    ATTUNE_CHECK_OK(CheckDefaults(columns, given.Texts("sensors")));
    const size_t spared = FitDefaults(columns, format == StatFormat::kText ? TerminalWidth(stdout) : 0);
    if (spared > 0 && !given.Is("quiet"))
      Say(std::to_string(spared) + " columns have no room on this terminal; -e names columns, --json has all");
  }
  if (given.Text("interval").empty()) given.Set("interval", "1s");
  ATTUNE_TRY(const int64_t interval_ns, ParseInterval(given.Text("interval"), "--interval"));

  auto printing = std::make_shared<Printing>();
  printing->rows = std::make_unique<StatRows>(std::move(columns), given.Is("discrete"), format, interval_ns, stdout);
  ObserveMode mode;
  mode.name = "stat";
  mode.cpu_sample_ns = 0;  // its rows have none of it
  mode.flush_ns = std::min<int64_t>(interval_ns, 500'000'000);
  mode.watches = [printing, interval_ns](const session::SessionInfo& info) -> Result<std::vector<session::Watch>> {
    printing->recording = info.recording;
    const int64_t period_ns = std::max<int64_t>(interval_ns, 50'000'000);
    ATTUNE_TRY(printing->timer, MakeTimer(period_ns, period_ns));
    return std::vector<session::Watch>{{printing->timer.get(), [printing] {
                                          uint64_t ticks = 0;
                                          [[maybe_unused]] const ssize_t n =
                                              read(printing->timer.get(), &ticks, sizeof ticks);
                                          return printing->Print(false).ok();
                                        }}};
  };
  mode.finished = [printing](const session::SessionInfo&) { return printing->Print(true); };
  return Observe(options, mode);
}

}  // namespace

Command MakeStatCommand() {
  auto options = std::make_shared<ObserveOptions>(session::kInStat);
  Command command;
  command.name = "stat";
  command.rank = 30;
  command.summary = "print a row of rates and levels every interval, like vmstat";
  command.description =
      "Counters are shown as rates a second, levels as they are. A column is the sum over all CPUs or devices, or, "
      "where the signal says so (temperatures), their largest or mean value, or one column each. '-' is a missing "
      "value. "
      "Labels (attune ctl label TEXT) are rows of their own. Ends with the program, after --for, or with Ctrl-C.";
  command.options = OptionsOf(*options);
  command.program = &options->program;
  command.examples = {
      {"attune stat", "a row a second, until Ctrl-C"},
      {"attune stat -i 100ms -e vmstat.pgfault,cpu.context_switches -- ./solver",
       "two rates, ten rows a second, while a program runs"},
      {"attune stat -d -e cpu.user% -i 500ms", "how busy each CPU is"},
      {"attune stat --csv --for 60s > minute.csv", "for a spreadsheet"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
