#pragma once
/// The options of run, record, live and stat, a row each. The command line with its help, completion and manual, the
/// console file, the form on the page and the file of defaults come from these rows. A new option is its row, and what
/// reads its value; what it does to the program stands in the row (`prepare`).

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace attune::session {

enum class OptionType {
  kSwitch,
  kText,
  kFile,
  kRecording,
  kSensors,
  kSink,
  kAlarm,  ///< NAME=VALUE
  kLevel,
  kInterval,       ///< or a rate
  kIntervalOrOff,  ///< "off", too
  kDuration,
  kSize,
};

/// Places in which an option can be given; a bit each.
enum OptionPlace : unsigned {
  kInRun = 1,
  kInRecord = 2,
  kInLive = 4,
  kInStat = 8,
  kInConsoleFile = 16,
  kInDefaults = 32,
  kInTune = 64,
};
/// The subcommands among them, as the file of defaults calls them.
inline constexpr std::array<std::pair<std::string_view, OptionPlace>, 5> kOptionCommands{
    {{"run", kInRun}, {"record", kInRecord}, {"live", kInLive}, {"stat", kInStat}, {"tune", kInTune}}};
inline constexpr unsigned kInProbing =
    kInRun | kInRecord | kInLive | kInTune;  ///< those that record inside the program
inline constexpr unsigned kInAll = kInProbing | kInStat;
inline constexpr unsigned kInFiles = kInConsoleFile | kInDefaults;

struct OptionRow {
  std::string_view name = {};  ///< "level": --level, and the key in files
  char letter = 0;             ///< 'l': -l
  OptionType type = OptionType::kSwitch;
  bool many = false;             ///< may be given more than once
  std::string_view value = {};   ///< its name in help: "LEVEL"
  std::string_view help = {};    ///< without the default
  std::string_view normal = {};  ///< the default, in words
  unsigned places = 0;           ///< OptionPlace
  int64_t low = 0;               ///< limits of intervals and durations, nanoseconds
  int64_t high = 0;
  std::string_view field = {};                   ///< its title in the page's form; empty: it has no field there
  std::string_view field_hint = {};              ///< stands in the empty field
  std::string_view needs = {};                   ///< a default counts only where this option is given
  std::array<std::string_view, 2> against = {};  ///< a default counts only where none of these is given
  /// Done with each value to the program that is started, before its first instruction; an error keeps it from
  /// starting. nullptr: the option is about something else.
  Status (*prepare)(pid_t pid, const std::string& value) = nullptr;
};

/// In the order in which help has them.
inline constexpr auto kRunOptions = std::to_array<OptionRow>({
    {.name = "sensors",
     .letter = 's',
     .type = OptionType::kSensors,
     .many = true,
     .value = "SENSORS",
     .help = "Sensors, separated by commas, each as NAME[:sum][@INTERVAL]: one series a CPU, device or thread, or with "
             ":sum one for the whole machine; @INTERVAL instead of -i, as in cpu:sum,vmstat@10ms. NAME can be a file "
             "that describes a sensor; NAME=PATH reads its registers or files from PATH",
     .normal = "all that work here and are not by request (attune list sensors); none: no sensor",
     .places = kInAll | kInFiles,
     .field = "Sensors",
     .field_hint = "all that work here"},
    {.name = "interval",
     .letter = 'i',
     .type = OptionType::kInterval,
     .value = "TIME",
     .help = "Time between two samples (10ms, 1s) or rate (100Hz), from 100us to 1h",
     .normal = "each sensor's own (attune list sensors); those of 200ms and more keep it as the least, unless -s names "
               "them",
     .places = kInAll | kInFiles,
     .low = kMinIntervalNs,
     .high = kMaxIntervalNs,
     .field = "Interval",
     .field_hint = "each sensor's own, as 10ms"},
    {.name = "output",
     .letter = 'o',
     .type = OptionType::kRecording,
     .value = "FILE",
     .help = "The recording",
     .places = kInAll},
    {.name = "force", .letter = 'f', .help = "Overwrite the recording if it exists", .places = kInAll},
    {.name = "max-size",
     .type = OptionType::kSize,
     .value = "SIZE",
     .help = "Keep the recording below this size (64MB, 2GB): the oldest part goes first",
     .places = kInAll | kInFiles},
    {.name = "sink",
     .type = OptionType::kSink,
     .many = true,
     .value = "NAME[=ARGUMENT]",
     .help = "Also hand what is observed to a sink, as in influxdb=FILE; may be given more than once (attune list "
             "sinks)",
     .places = kInAll | kInFiles},
    {.name = "xml",
     .type = OptionType::kFile,
     .value = "FOLDER",
     .help = "Also write XML there at every interval of --every: the synchronisation graph (docs/sync-graph.md); for "
             "MPI also the task graph (docs/task-graph.md); with -s hardware also the hardware counters of each CPU "
             "(docs/hardware.md)",
     .places = kInAll | kInFiles},
    {.name = "every",
     .type = OptionType::kInterval,
     .value = "TIME",
     .help = "Time between two writes of --xml, from 10ms to 1h",
     .normal = "1s",
     .places = kInAll | kInFiles,
     .low = 10'000'000,
     .high = 3'600'000'000'000,
     .needs = "xml"},
    {.name = "for",
     .type = OptionType::kDuration,
     .value = "TIME",
     .help = "Observe for this long; the program goes on",
     .places = kInAll | kInFiles,
     .low = 1'000'000,
     .high = 365LL * 24 * 3'600'000'000'000,
     .field = "For",
     .field_hint = "to its end, as 30s"},
    {.name = "pid",
     .letter = 'p',
     .type = OptionType::kText,
     .value = "PID",
     .help = "Watch a process that runs already, without touching it",
     .places = kInAll},
    {.name = "no-interpose",
     .help = "Leave the program's environment without LD_PRELOAD: its locks and waits are then not seen "
             "(docs/waits.md)",
     .places = kInAll | kInFiles,
     .against = {{"check-influence"}}},
    {.name = "cpus",
     .type = OptionType::kText,
     .value = "CPUS",
     .help = "CPUs on which attune itself runs, as in 0-3,8",
     .normal = "those of the first NUMA node where there are several; else any",
     .places = kInAll | kInFiles},
    {.name = "keep-awake",
     .help = "Keep idle CPUs from halting meanwhile: sampling above some kHz then costs a third less, and is more "
             "punctual; the CPUs need more power. Needs root",
     .places = kInAll | kInFiles},
    {.name = "fifo",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "A control FIFO: each line written to it is a command of attune ctl (label TEXT, pause, resume, interval "
             "10ms, record FILE, ...)",
     .places = kInAll},
    {.name = "alarm",
     .type = OptionType::kAlarm,
     .many = true,
     .value = "NAME=VALUE",
     .help = "Threshold of an alarm, as in storage.space=10%; NAME=off and NAME=on turn it off and on, all=off all of "
             "them. May be given more than once (attune alarms --list)",
     .places = kInAll | kInFiles},
    {.name = "alarms",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Settings of alarms, instead of ~/.config/attune/alarms.toml (docs/alarms.md; man attune-alarms)",
     .places = kInAll | kInDefaults},
    {.name = "listen",
     .type = OptionType::kText,
     .value = "ADDRESS:PORT",
     .help = "Serve the page there; other than loopback needs --tls-cert and --tls-key",
     .places = kInAll | kInDefaults},
    {.name = "tls-cert",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Certificate chain for --listen, PEM",
     .places = kInAll | kInDefaults},
    {.name = "tls-key",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Private key for --listen, PEM",
     .places = kInAll | kInDefaults},
    {.name = "quiet", .letter = 'q', .help = "Say nothing but errors", .places = kInAll | kInDefaults},
    {.name = "no-defaults",
     .help = "Do without the file of your defaults, ~/.config/attune/defaults.toml (docs/command-line.md)",
     .places = kInAll},
    {.name = "level",
     .letter = 'l',
     .type = OptionType::kLevel,
     .value = "LEVEL",
     .help = "How much the probes inside the program record: off; profile, sums for each lock and call site, and every "
             "wait; blame, also the holders that others waited for; trace, also every acquisition and release in "
             "order, some with a time; stamped, all with a time (docs/waits.md, docs/trace.md)",
     .normal = "profile",
     .places = kInProbing | kInFiles,
     .field = "Level",
     .field_hint = "as attune run does (profile)"},
    {.name = "check-influence",
     .help =
         "Measure how much observing changes the contention: for 20 ms of every 200 ms or so nothing is recorded, and "
         "the calls of futex are compared with those of recorded time (docs/waits.md). Waits that begin in these "
         "20 ms are not in the sums. Where the kernel does not count these calls (it takes root), taking free mutexes "
         "is only counted for 5 ms instead, and nothing is lost",
     .places = kInProbing | kInFiles,
     .against = {{"no-interpose"}}},
    {.name = "trace-buffer",
     .type = OptionType::kSize,
     .value = "SIZE",
     .help = "Memory for the newest events of each thread at levels trace and stamped, 8 bytes an event, from 4KiB to "
             "32MiB",
     .normal = "256KiB",
     .places = kInProbing | kInFiles},
    {.name = "trace-stream",
     .help = "Record these events all the time. Default: record each thread's newest when the program ends, and at "
             "attune ctl dump",
     .places = kInProbing | kInFiles},
    {.name = "cpu-samples",
     .type = OptionType::kIntervalOrOff,
     .value = "TIME",
     .help = "CPU time of a thread between two samples of where it is and which memory it uses (4ms, 250Hz), from "
             "100us to 1s; off: none (docs/profile.md)",
     .normal = "251Hz",
     .places = kInProbing | kInFiles,
     .low = 100'000,
     .high = 1'000'000'000},
    {.name = "event-samples",
     .type = OptionType::kText,
     .value = "EVENT[=N][,EVENT]",
     .help = "Also sample where these events occur: each N-th one, or about as often as CPU time: "
             "page-faults=1,cache-misses; attune list events (docs/profile.md)",
     .places = kInProbing | kInFiles},
    {.name = "count",
     .type = OptionType::kText,
     .value = "EVENT[,EVENT]",
     .help = "Count these events of each thread, every second and at its end: task-clock,page-faults,cycles; attune "
             "list events (docs/counters.md)",
     .places = kInProbing | kInFiles},
    {.name = "module",
     .type = OptionType::kText,
     .many = true,
     .value = "NAME[=ARGUMENT]",
     .help = "Have a monitoring module make virtual counters of what threads count, as speedup; may be given more than "
             "once (attune list modules)",
     .places = kInProbing | kInFiles},
    {.name = "live", .help = "Serve the page while it runs", .places = kInRun | kInRecord | kInTune | kInDefaults},
    {.name = "console-file",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Run what this file describes: program, arguments, folder, environment, OpenMP threads or MPI ranks, and "
             "how it is observed; the page's console saves and loads the same (docs/console.md). Options of the "
             "command line override it",
     .places = kInRun},
    {.name = "pid-file",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Write the program's process id there, and the time of its start in clock ticks since boot",
     .places = kInRun},
    {.name = "allow-run",
     .help = "Offer the console on the page: anyone who opened the printed address can run programs as you "
             "(docs/console.md)",
     .places = kInLive | kInDefaults},
    {.name = "runs",
     .type = OptionType::kFile,
     .value = "FOLDER",
     .help = "Where the console's runs and their recordings lie; those that are there are found again",
     .normal = "attune-runs",
     .places = kInLive | kInDefaults,
     .needs = "allow-run"},
    {.name = "events",
     .letter = 'e',
     .type = OptionType::kText,
     .many = true,
     .value = "SIGNALS",
     .help = "Columns, as SENSOR.SIGNAL, separated by commas; a % behind the name shows per cent of the largest "
             "possible rate",
     .normal = "what vmstat shows",
     .places = kInStat | kInDefaults},
    {.name = "discrete",
     .letter = 'd',
     .help = "One column for each CPU, device or thread instead of one for all",
     .places = kInStat | kInDefaults},
    {.name = "csv",
     .help = "Comma-separated values, one heading",
     .places = kInStat | kInDefaults,
     .against = {{"json"}}},
    {.name = "json",
     .help = "stat: one JSON object a line; tune: what was done as one JSON object, the last text on stderr",
     .places = kInStat | kInTune | kInDefaults,
     .against = {{"csv"}}},
    {.name = "objective",
     .type = OptionType::kText,
     .value = "NAME|FORMULA",
     .help =
         "What is to become faster, by a part of its name (parallel regions, calls of MPI, bytes, locks, a marker), "
         "or what is to grow, as a formula over signals: 'rate(block.read_bytes)', '1 / level(program.latency)'",
     .normal = "the steadiest thing that the program does again and again",
     .places = kInTune | kInDefaults},
    {.name = "only",
     .type = OptionType::kText,
     .many = true,
     .value = "NAME",
     .help = "Only this tunlet or knob; may be given more than once (attune list tunlets, attune list knobs)",
     .places = kInTune | kInDefaults},
    {.name = "never",
     .type = OptionType::kText,
     .many = true,
     .value = "NAME",
     .help = "Never this tunlet or knob; may be given more than once",
     .places = kInTune | kInDefaults},
    {.name = "settings",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Turn the knobs of this file from the start, as attune tune --save wrote it (docs/tuning.md)",
     .places = kInRun | kInTune},
    {.name = "save",
     .type = OptionType::kFile,
     .value = "FILE",
     .help = "Write what was kept there, for attune run --settings FILE",
     .places = kInTune},
    {.name = "placebo",
     .help = "Decide as usual and write nothing: whatever is kept then is an error of the guard",
     .places = kInTune},
    {.name = "dry-run", .help = "Say what would be tried, and change nothing", .places = kInTune},
    {.name = "allow-tune",
     .help = "On the page, let whoever opened the printed address try knobs and take them back",
     .places = kInTune | kInDefaults},
    {.name = "allow",
     .type = OptionType::kText,
     .value = "machine",
     .help = "Also turn knobs that other programs feel: those of the scope machine",
     .places = kInRun | kInTune},
});

/// Index of the row of that name; kRunOptions.size(): there is none.
constexpr size_t FindOption(std::string_view name) {
  size_t row = 0;
  while (row < kRunOptions.size() && kRunOptions[row].name != name) ++row;
  return row;
}

/// Value of an option: of a switch, a text, or texts.
using OptionValue = std::variant<bool, std::string, std::vector<std::string>>;
constexpr size_t KindOf(const OptionRow& row) { return row.type == OptionType::kSwitch ? 0 : row.many ? 2 : 1; }

/// Names a row whose values are kept so; a name that is none does not compile.
template <size_t kind>
struct OptionId {
  consteval OptionId(const char* name) : row(FindOption(name)) {  // NOLINT(google-explicit-constructor): a name is one
    if (row == kRunOptions.size() || KindOf(kRunOptions[row]) != kind) throw "no such option";
  }
  size_t row;
};

/// A value as a file gives it.
struct OptionSetting {
  std::string name;                 ///< "level"
  std::vector<std::string> values;  ///< a switch has none
  std::string place = {};           ///< "run.toml:12:9", for errors; empty: of no file
  bool on = true;                   ///< false: a switch that is off
};

/// Values of all options, as given.
class OptionValues {
 public:
  OptionValues();
  bool Is(OptionId<0> option) const { return std::get<0>(values_[option.row]); }
  /// Empty: not given.
  const std::string& Text(OptionId<1> option) const { return std::get<1>(values_[option.row]); }
  /// Or what holds where nothing is given.
  std::string TextOrNormal(OptionId<1> option) const {
    return Text(option).empty() ? std::string(kRunOptions[option.row].normal) : Text(option);
  }
  const std::vector<std::string>& Texts(OptionId<2> option) const { return std::get<2>(values_[option.row]); }
  void Set(OptionId<1> option, std::string text) { values_[option.row] = std::move(text); }

  OptionValue& at(size_t row) { return values_[row]; }
  const OptionValue& at(size_t row) const { return values_[row]; }
  /// It has a value, or Take() has turned it off.
  bool IsGiven(size_t row) const { return IsOn(row) || off_[row]; }
  bool IsOn(size_t row) const;
  /// @return false: it was given already, and stays
  bool Take(const OptionSetting& setting);

 private:
  std::array<OptionValue, kRunOptions.size()> values_;
  std::bitset<kRunOptions.size()> off_;
};

/// All values that there are, where they are words; else empty.
std::vector<std::string> WordsOf(const OptionRow& row);
/// Whether the option can have that value, as far as its type says so.
Status CheckOption(const OptionRow& row, const std::string& text);
/// The value of an interval or a duration; nullopt: nothing, or "off". Errors begin with the option's name.
Result<std::optional<int64_t>> OptionNs(const OptionValues& values, OptionId<1> option);

/// Carries out those options that are about the program itself (OptionRow::prepare). @param pid it has not begun yet
Status PrepareProgram(const OptionValues& values, pid_t pid);

/// The command line that says all that was given, in words that a shell takes. Of sinks it has the names alone: their
/// arguments can hold passwords. @param command "run"  @param program with its arguments; may be empty
std::string CommandLineOf(std::string_view command, const OptionValues& values,
                          const std::vector<std::string>& program);

}  // namespace attune::session
