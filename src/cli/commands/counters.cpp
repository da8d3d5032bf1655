#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/counters/bad_files_teller.h"
#include "cli/counters/counts_report.h"
#include "cli/counters/recorded_threads.h"
#include "cli/counters/row_modules.h"
#include "cli/counters/thread_report.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "counter/control_group.h"
#include "counter/sampled_event.h"
#include "session/tuning/by_hand.h"

namespace attune::cli {
namespace {

constexpr int64_t kLeastEveryNs = 1'000'000, kMostNs = int64_t{30} * 24 * 3600 * 1'000'000'000;
constexpr int64_t kMostRuns = 100'000, kMostRows = 1'000'000'000;

struct CountersOptions {
  std::vector<std::string> events, groups;
  std::vector<std::string> program;
  std::vector<std::string> periods, modules;
  std::string from, pid, cpus, cgroup, runs, every, rows, buffer, duration, bind, bind_attune, output;
  bool all = false, per_thread = false, migrations = false, self = false, csv = false, json = false;
};

/// Events that perf stat counts where nobody names any; those of the cores where there are counters.
std::string DefaultEvents(const std::vector<counter::Pmu>& pmus, bool of_program) {
  // Migrations are no part of what the kernel accounts of a program: an event in each thread would have to count them.
  std::string events =
      of_program ? "task-clock,context-switches,page-faults" : "task-clock,context-switches,cpu-migrations,page-faults";
  const bool has_cores = std::ranges::any_of(pmus, &counter::Pmu::is_core);
  return has_cores ? events + ",cycles,instructions,branches,branch-misses" : events;
}

CpuSet OnlineCpus(const HostRoot& host) {
  CpuSet online = CpuSet::In(host, "/sys/devices/system/cpu/online");
  return online.empty() ? CpuSet::Allowed() : online;
}

Result<int64_t> ParseNumber(const std::string& text, std::string_view option, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most) return number;
  return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no number from 1 to {}", option, text, most),
               fmt::format("as in {} 5", option)};
}

/// Those of them that are online. Error: none is
Result<CpuSet> ParseCpus(const std::string& text, std::string_view option, const CpuSet& online) {
  const auto chosen = CpuSet::Parse(text);
  if (!chosen.ok()) return chosen.error().WithContext(std::string(option));
  CpuSet cpus = chosen->Common(online);
  if (!cpus.empty()) return cpus;
  return Error{Errc::kInvalidArgument, fmt::format("{}: none of '{}' is online", option, text),
               fmt::format("online are {}", online.ToString())};
}

/// All that runs on CPUs, or in a control group.
bool IsOfCpus(const CountersOptions& options) {
  return options.all || !options.cpus.empty() || !options.cgroup.empty();
}

/// Rows of threads at moments of theirs.
bool HasMoments(const CountersOptions& options) {
  return !options.periods.empty() || options.migrations || options.self;
}

/// A recording has what was chosen when it was made.
Status CheckFrom(const CountersOptions& options) {
  const std::pair<std::string_view, bool> chosen_before[] = {
      {"--event", !options.events.empty()},           {"--repeat", !options.runs.empty()},
      {"--interval", !options.every.empty()},         {"--rows", !options.rows.empty()},
      {"--per-thread", options.per_thread},           {"--period", !options.periods.empty()},
      {"--migrations", options.migrations},           {"--self", options.self},
      {"--buffer", !options.buffer.empty()},          {"--module", !options.modules.empty()},
      {"--for", !options.duration.empty()},           {"--bind", !options.bind.empty()},
      {"--bind-attune", !options.bind_attune.empty()}};
  for (const auto& [name, is_given] : chosen_before) {
    if (!options.from.empty() && is_given)
      return Error{
          Errc::kInvalidArgument,
          fmt::format("{} and --from exclude each other: a recording has what was counted", name),
          "attune counters --from FILE has a row for each thread; attune run --count EVENT,... records others"};
  }
  return {};
}

Status CheckWhat(const CountersOptions& options) {
  ATTUNE_CHECK_OK(CheckFrom(options));
  const int targets = static_cast<int>(!options.program.empty()) + static_cast<int>(!options.from.empty()) +
                      static_cast<int>(!options.pid.empty()) + static_cast<int>(IsOfCpus(options));
  if (targets == 0)
    return Error{Errc::kInvalidArgument, "what is to be counted?",
                 "attune counters -- PROGRAM, -p PID, -a (the whole machine), -C CPUS, --cgroup GROUP, or --from FILE"};
  if (targets > 1)
    return Error{Errc::kInvalidArgument, "a program, --pid, --from, and --all, --cpus or --cgroup exclude each other",
                 ""};
  if (options.csv && options.json) return Error{Errc::kInvalidArgument, "--csv and --json exclude each other", ""};
  if (!options.runs.empty() && options.program.empty())
    return Error{Errc::kInvalidArgument, "--repeat needs a program", "attune counters -r 5 -- PROGRAM"};
  if (!options.duration.empty() && !options.program.empty())
    return Error{Errc::kInvalidArgument, "--for is for what runs already: a program is counted to its end", ""};
  if (options.per_thread && IsOfCpus(options))
    return Error{Errc::kInvalidArgument, "--per-thread is for a program or a process", "-- PROGRAM, or -p PID"};
  if (options.per_thread && !options.runs.empty() && options.runs != "1")
    return Error{Errc::kInvalidArgument, "--per-thread and --repeat exclude each other", ""};
  if (!options.modules.empty() && !options.per_thread)
    return Error{Errc::kInvalidArgument, "--module needs --per-thread",
                 "attune counters -t --module speedup -- PROGRAM; attune run --module records"};
  if (!options.buffer.empty() && !options.per_thread)
    return Error{Errc::kInvalidArgument, "--buffer needs --per-thread", "attune counters -t --buffer 64M -- PROGRAM"};
  const bool has_moments = HasMoments(options);
  if (has_moments && !options.per_thread)
    return Error{Errc::kInvalidArgument, "--period, --migrations and --self need --per-thread",
                 "attune counters -t --period page-faults=1000 -- PROGRAM"};
  if (!options.every.empty() && !options.runs.empty() && options.runs != "1")
    return Error{Errc::kInvalidArgument, "--interval and --repeat exclude each other", ""};
  return {};
}

RowFormat FormatOf(const CountersOptions& options) {
  return options.json ? RowFormat::kJson : options.csv ? RowFormat::kCsv : RowFormat::kText;
}

/// The stream of the counts: a program's output is its own.
class Output {
 public:
  static Result<Output> Open(const CountersOptions& options) {
    Output output(options.program.empty() ? stdout : stderr);
    if (options.output.empty()) return output;
    output.file_ = std::shared_ptr<FILE>(std::fopen(options.output.c_str(), "we"), [](FILE* file) {
      if (file != nullptr) std::fclose(file);
    });
    if (output.file_ == nullptr) return ErrnoError("--output: " + options.output);
    output.stream_ = output.file_.get();
    return output;
  }
  FILE* stream() const { return stream_; }

 private:
  explicit Output(FILE* stream) : stream_(stream) {}
  FILE* stream_;
  std::shared_ptr<FILE> file_;
};

Status Write(const Output& output, const std::string& text) {
  std::fputs(text.c_str(), output.stream());
  return FinishStream(output.stream());
}

/// Rows as they come. The heading is above the first one, so that there is none where counting is refused.
class Rows {
 public:
  Rows(const Output& output, std::string heading) : output_(output), heading_(std::move(heading)) {}

  /// @return false: nothing can be written any more
  bool Add(const std::string& row) {
    if (written_.ok()) written_ = Write(output_, std::exchange(heading_, "") + row);
    return written_.ok();
  }
  /// @param below the rows  @return why they are not all there
  Status End(const std::string& below = "") {
    Add(below);
    return written_;
  }

 private:
  const Output& output_;
  std::string heading_;
  Status written_;
};

/// Behind rows of text. CSV and JSON have no place for them: they are on standard error, where that has no rows.
std::string BelowRows(const Output& output, RowFormat format, const std::vector<counter::EventNote>& notes) {
  if (format == RowFormat::kText) return NotesText(notes);
  if (output.stream() != stderr) std::fputs(NotesText(notes).c_str(), stderr);
  return "";
}

Status WriteCounts(const Output& output, const CountersOptions& options, const std::string& title,
                   const std::vector<counter::NamedEvent>& events, const std::vector<RunCounts>& runs) {
  if (options.json) {
    const auto document = CountsJson(title, events, runs);
    return Write(output, document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  if (options.csv) return Write(output, CountsCsv(events, runs));
  return Write(output, "\n" + CountsText(title, events, runs, TerminalWidth(output.stream())));
}

std::string TitleOf(const CountersOptions& options) {
  if (!options.from.empty()) return options.from;
  if (!options.pid.empty()) return "process " + options.pid;
  if (!options.cgroup.empty()) return "control group " + options.cgroup;
  if (options.program.empty()) return options.cpus.empty() ? "the whole machine" : "CPUs " + options.cpus;
  std::string title;
  for (const std::string& word : options.program) title += (title.empty() ? "" : " ") + word;
  return title;
}

/// The events, then the metrics.
template <class Options>
std::vector<counter::NamedEvent> ColumnsOf(const Options& what) {
  std::vector<counter::NamedEvent> columns = what.events;
  for (counter::NamedEvent& metric : what.metrics.Columns()) columns.push_back(std::move(metric));
  return columns;
}

/// The program's end is ours, also where not all could be written.
int ExitLike(const Status& written, const session::ExitStatus& exit) {
  if (!written.ok() && !IsReaderGone(written.error())) PrintError(written.error());
  if (exit.signal != 0) session::DieLike(exit.signal);
  return exit.signal != 0 ? 128 + exit.signal : exit.code;
}

/// @param rows nullptr: a table at the end
Result<int> RunPrograms(const CountersOptions& options, const CountOptions& what, const Output& output, Rows* rows,
                        int64_t runs) {
  std::vector<RunCounts> all;
  std::optional<session::ExitStatus> failed;  // the first one that has
  for (int64_t run = 0; run < runs; ++run) {
    ATTUNE_TRY(RunCounts counts, CountProgram(options.program, what));
    const session::ExitStatus exit = counts.exit;
    all.push_back(std::move(counts));
    const bool is_asked_to_end = exit.signal == SIGINT || exit.signal == SIGTERM;
    if (is_asked_to_end || (!failed && (exit.signal != 0 || exit.code != 0))) failed = exit;
    if (is_asked_to_end) break;
  }
  const Status written = rows != nullptr ? rows->End(BelowRows(output, FormatOf(options), all.back().notes))
                                         : WriteCounts(output, options, TitleOf(options), ColumnsOf(what), all);
  return ExitLike(written, failed.value_or(all.back().exit));
}

template <class Options>
Status AddGroups(const CountersOptions& options, const HostRoot& host, const std::vector<counter::Pmu>& pmus,
                 Options& what) {
  ATTUNE_TRY(const std::vector<counter::EventGroup> groups, counter::AllGroups());
  for (const std::string& list : options.groups) {
    for (const std::string_view name : Split(list, ",")) {
      const auto group = counter::FindGroup(groups, name);
      if (!group.ok()) return group.error().WithContext("--group");
      what.metrics.Add(host, pmus, **group, what.events);
    }
  }
  return {};
}

/// Events and metrics that are asked for, or the usual ones.
template <class Options>
Status ChooseEvents(const CountersOptions& options, const HostRoot& host, const CpuSet& online, Options& what) {
  const BadFilesTeller teller;
  const std::vector<counter::Pmu> pmus = counter::FindPmus(host, online);
  std::string names;
  for (const std::string& list : options.events) names += (names.empty() ? "" : ",") + list;
  const bool is_accounted = !options.program.empty() && options.every.empty() && !options.per_thread;
  if (names.empty() && options.groups.empty()) names = DefaultEvents(pmus, is_accounted);
  if (!names.empty()) {
    auto events = counter::ParseEvents(host, pmus, names, &what.left_out);
    if (!events.ok()) return events.error().WithContext("--event");
    what.events = *std::move(events);
  }
  if (!options.groups.empty()) ATTUNE_CHECK_OK(AddGroups(options, host, pmus, what));
  if (!what.events.empty()) return {};
  if (!what.left_out.empty()) return counter::NothingIsCounted(what.left_out).WithContext("--event");
  const counter::EventNote& note = what.metrics.notes().front();
  return Error{Errc::kUnavailable, fmt::format("--group: nothing of it can be counted here: {}", note.why), ""};
}

Result<int64_t> EveryNs(const CountersOptions& options) {
  if (options.every.empty()) return 0;
  return ParseIntervalNs(options.every, "--interval", kLeastEveryNs, kMostNs);
}

Result<int64_t> ForNs(const CountersOptions& options) {
  if (options.duration.empty()) return 0;
  return ParseDurationNs(options.duration, "--for", kLeastEveryNs, kMostNs);
}

/// Times, ends and CPUs of what is counted.
template <class Options>
Status ChooseTimes(const CountersOptions& options, const CpuSet& online, Options& what) {
  ATTUNE_TRY(what.every_ns, EveryNs(options));
  ATTUNE_TRY(what.for_ns, ForNs(options));
  if (!options.rows.empty()) {
    if (what.every_ns == 0 && !HasMoments(options))
      return Error{Errc::kInvalidArgument, "--rows needs --interval, --period, --migrations or --self",
                   "attune counters -i 1s -n 10 -p PID"};
    ATTUNE_TRY(what.most_rows, ParseNumber(options.rows, "--rows", kMostRows));
  }
  if (!options.bind.empty()) {
    if (options.program.empty())
      return Error{Errc::kInvalidArgument, "--bind is for a program that attune starts", "-- PROGRAM"};
    ATTUNE_TRY(what.binding.program, ParseCpus(options.bind, "--bind", online));
  }
  if (!options.bind_attune.empty()) {
    ATTUNE_TRY(what.binding.attune, ParseCpus(options.bind_attune, "--bind-attune", online));
  }
  return {};
}

/// The events, the metrics, then the virtual counters of modules.
std::vector<counter::NamedEvent> ThreadColumns(const ThreadOptions& what) {
  std::vector<counter::NamedEvent> columns = ColumnsOf(what);
  if (what.modules == nullptr) return columns;
  for (counter::NamedEvent& counter : what.modules->Columns()) columns.push_back(std::move(counter));
  return columns;
}

Status WriteThreads(const Output& output, const CountersOptions& options, const ThreadOptions& what,
                    const ThreadRun& run) {
  const std::vector<counter::NamedEvent> columns = ThreadColumns(what);
  if (options.json) {
    const auto document = ThreadsJson(TitleOf(options), columns, run);
    return Write(output, document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  if (!options.csv)
    return Write(output, "\n" + ThreadsText(TitleOf(options), columns, what.events.size(), what.metrics, run,
                                            TerminalWidth(output.stream())));
  std::string text = ThreadHeading(columns, RowFormat::kCsv);
  for (const ThreadRow& row : run.rows) text += ThreadRowText(columns, row, RowFormat::kCsv);
  return Write(output, text + BelowRows(output, RowFormat::kCsv, run.notes));
}

/// "EVENT=N", as in page-faults=1000. Such an event is counted, too.
Status ChoosePeriods(const CountersOptions& options, const HostRoot& host, ThreadOptions& what) {
  const std::vector<counter::Pmu> pmus = counter::FindPmus(host, what.online);
  for (const std::string& period : options.periods) {
    auto sampled = counter::ParseSampledEvents(host, pmus, period);
    if (!sampled.ok()) return sampled.error().WithContext("--period");
    for (const counter::SampledEvent& one : *sampled) {
      if (one.period == 0)
        return Error{Errc::kInvalidArgument, fmt::format("--period: '{}' is no EVENT=N", period),
                     "as in --period page-faults=1000"};
      const Status can_be = counter::CheckSampledByBpf(one.event);
      if (!can_be.ok()) return can_be.error().WithContext("--period");
      if (std::ranges::find(what.events, one.event.name, &counter::NamedEvent::name) == what.events.end())
        what.events.push_back(one.event);
      what.periods.push_back(one);
    }
  }
  return {};
}

Result<uint32_t> ParseBuffer(const std::string& text) {
  constexpr uint64_t kLeastBytes = 64 << 10, kMostBytes = 1 << 30;
  ATTUNE_TRY(const uint64_t bytes, ParseBytes(text, "--buffer"));
  if (bytes >= kLeastBytes && bytes <= kMostBytes) return static_cast<uint32_t>(bytes);
  return Error{Errc::kInvalidArgument, fmt::format("--buffer: '{}' is not between 64K and 1G", text),
               "as in --buffer 64M"};
}

Result<int> RunPerThread(const CountersOptions& options, const HostRoot& host) {
  ThreadOptions what{.events = {}, .metrics = {}, .online = OnlineCpus(host), .tell = {}};
  ATTUNE_CHECK_OK(ChooseEvents(options, host, what.online, what));
  ATTUNE_CHECK_OK(ChoosePeriods(options, host, what));
  what.migrations = options.migrations;
  what.self = options.self;
  if (!options.buffer.empty()) {
    ATTUNE_TRY(what.buffer_bytes, ParseBuffer(options.buffer));
  }
  ATTUNE_CHECK_OK(ChooseTimes(options, what.online, what));
  std::unique_ptr<RowModules> modules;
  if (!options.modules.empty()) {
    ATTUNE_TRY(const std::vector<PluginChoice> chosen, modules::FindModules(options.modules, "--module"));
    ATTUNE_TRY(modules, RowModules::Start(chosen, host, counter::FindPmus(host, what.online), what.events));
    what.modules = modules.get();
  }
  ATTUNE_TRY(const Output output, Output::Open(options));
  const std::vector<counter::NamedEvent> columns = ThreadColumns(what);
  const RowFormat format = FormatOf(options);
  Rows rows(output, ThreadHeading(columns, format));
  if (what.every_ns > 0 || HasMoments(options))
    what.tell = [&](const ThreadRow& row) { return rows.Add(ThreadRowText(columns, row, format)); };
  pid_t pid = 0;
  if (!options.pid.empty()) {
    ATTUNE_TRY(pid, session::ParseProcess(options.pid));
  }
  ATTUNE_TRY(const ThreadRun run,
             pid == 0 ? CountThreadsOfProgram(options.program, what) : CountThreadsOfProcess(pid, what));
  const Status written =
      what.tell ? rows.End(BelowRows(output, format, run.notes)) : WriteThreads(output, options, what, run);
  if (pid != 0) ATTUNE_CHECK_OK(written);
  return ExitLike(written, run.exit);
}

Result<int> TellRecorded(const CountersOptions& options) {
  const BadFilesTeller teller;
  ThreadOptions what{.events = {}, .metrics = {}, .online = {}, .tell = {}};
  ATTUNE_TRY(const ThreadRun run, ThreadsOfRecording(options.from, options.groups, what));
  ATTUNE_TRY(const Output output, Output::Open(options));
  ATTUNE_CHECK_OK(WriteThreads(output, options, what, run));
  return 0;
}

Result<int> RunCounters(const CountersOptions& options) {
  ATTUNE_CHECK_OK(CheckWhat(options));
  if (!options.from.empty()) return TellRecorded(options);
  const HostRoot host;
  if (options.per_thread) return RunPerThread(options, host);
  const CpuSet online = OnlineCpus(host);
  CountOptions what;
  ATTUNE_CHECK_OK(ChooseEvents(options, host, online, what));
  const std::vector<counter::NamedEvent> columns = ColumnsOf(what);
  ATTUNE_CHECK_OK(ChooseTimes(options, online, what));
  ATTUNE_TRY(const Output output, Output::Open(options));
  const RowFormat format = FormatOf(options);
  Rows rows(output, RowsHeading(columns, format));
  if (what.every_ns > 0) {
    what.tell = [&](double seconds, const std::vector<counter::EventCount>& counts) {
      return rows.Add(RowText(seconds, columns, counts, format));
    };
  }
  if (!options.program.empty()) {
    ATTUNE_TRY(const int64_t runs, ParseNumber(options.runs.empty() ? "1" : options.runs, "--repeat", kMostRuns));
    return RunPrograms(options, what, output, what.tell ? &rows : nullptr, runs);
  }
  pid_t pid = 0;
  if (!options.pid.empty()) {
    ATTUNE_TRY(pid, session::ParseProcess(options.pid));
  }
  CpuSet cpus = online;
  if (!options.cpus.empty()) {
    ATTUNE_TRY(cpus, ParseCpus(options.cpus, "--cpus", online));
  }
  UniqueFd group;
  if (!options.cgroup.empty()) {
    ATTUNE_TRY(group, counter::OpenControlGroup(host, options.cgroup));
  }
  ATTUNE_TRY(const RunCounts counts, CountRunning(pid, cpus, group.get(), what));
  ATTUNE_CHECK_OK(what.tell ? rows.End(BelowRows(output, format, counts.notes))
                            : WriteCounts(output, options, TitleOf(options), columns, {counts}));
  return 0;
}

}  // namespace

Command MakeCountersCommand() {
  auto options = std::make_shared<CountersOptions>();
  Command command;
  command.name = "counters";
  command.rank = 45;
  command.summary = "count events of a program, a process or CPUs";
  command.description =
      "Counts while PROGRAM runs, with all that it starts, and prints the counts on standard error; the exit code is "
      "the program's. Nothing is recorded, and nothing is loaded into the program.\n\n"
      "Events that are more than the cores have counters for take turns: their counts are scaled, with a bound of how "
      "far off they may be in 19 of 20 cases. CPU time, page faults and context switches of a program are those that "
      "the kernel accounts anyway.";
  command.options = {
      {"-e,--event", "EVENT[,EVENT]",
       "Events: attune list events; cpu/event=0x3c/, r003c, sched:sched_switch, libpfm4's names; :u and :k behind one "
       "count the program or the kernel alone. By default CPU time, switches, page faults and, where the cores have "
       "counters, cycles, instructions and branches",
       &options->events},
      {"-g,--group", "GROUP[,GROUP]",
       "Groups of events and what is computed of their counts, as instructions a cycle: attune list groups",
       &options->groups},
      {"-r,--repeat", "N",
       "Run the program N times: means with 95 % bounds; the exit code is that of the first run that fails",
       &options->runs},
      {"-i,--interval", "TIME", "A row of counts each time that this has passed: 100ms, 1s", &options->every},
      {"-n,--rows", "N",
       "With -i: rows at so many times; with --period, --migrations or --self: so many rows of these. With -p, -a or "
       "-C it is "
       "then the end. With -t rows of threads' ends come besides",
       &options->rows},
      {"--buffer", "SIZE",
       "With -t: room for rows that were not taken yet, 64K to 1G; by default 8M. What finds none is lost, and counted",
       &options->buffer},
      {"-p,--pid", "PID", "A process that runs already, with what it starts from now on", &options->pid},
      {"-t,--per-thread", "", "A row for each thread; with -i a row for each that lives, each time",
       &options->per_thread},
      {"--period", "EVENT=N", "With -t: a row also each time that the event has occurred N times in a thread",
       &options->periods},
      {"--migrations", "", "With -t: a row also each time that a thread moves to another CPU", &options->migrations},
      {"--self", "",
       "With -t: a row also each time that a thread takes a sample of itself: attune_counters_sample() of "
       "attune/counters.h",
       &options->self},
      {"--module", "NAME[=ARGUMENT]",
       "With -t: virtual counters of a monitoring module, as columns behind the events: attune list modules",
       &options->modules},
      {"-a,--all", "", "All that runs on this machine", &options->all},
      {"-C,--cpus", "CPUS", "All that runs on these CPUs: 0-3,8", &options->cpus},
      {"--cgroup", "GROUP", "All that runs in this control group: system.slice/ssh.service; with -C on these CPUs",
       &options->cgroup},
      {"--from", "FILE", "Counts of threads in a recording (attune run --count), with metrics of -g", &options->from,
       Complete::kRecording},
      {"--for", "TIME", "With -p, -a or -C: end after this", &options->duration},
      {"--bind", "CPUS", "Run the program on these CPUs alone", &options->bind},
      {"--bind-attune", "CPUS", "Run attune itself on these CPUs alone", &options->bind_attune},
      {"-o,--output", "FILE", "Write the counts there", &options->output, Complete::kFile},
      {"--csv", "", "As CSV", &options->csv},
      {"--json", "", "As one JSON document; rows: a document on each line", &options->json},
  };
  command.program = &options->program;
  command.examples = {
      {"attune counters -- xz -T2 -k big.tar", "CPU time, switches, page faults, and what the cores counted"},
      {"attune counters -r 5 -e cycles,instructions:u -- ./solver", "means of five runs, with bounds"},
      {"attune counters -g ipc,branches -- ./solver", "instructions a cycle, and how well branches are predicted"},
      {"attune counters -t -e task-clock,cycles -- ./solver", "what each thread counted"},
      {"attune counters -t -i 100ms --module group=scheduler -- ./solver",
       "a module's virtual counters beside the counts"},
      {"attune counters --from FILE -g scheduler", "the same of a recording made with --count"},
      {"attune counters -i 1s -p 4711", "a row a second of a process that runs already"},
      {"attune counters -a --for 10s -e context-switches,cpu-migrations", "the whole machine, for ten seconds"},
  };
  command.run = [options] { return RunCounters(*options); };
  return command;
}

}  // namespace attune::cli
