#include "cli/options/observe.h"
#include "base/clock.h"
#include "cli/counters/bad_files_teller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/child_process.h"
#include "base/cpu_set.h"
#include "base/privilege.h"
#include "base/root_helper.h"
#include "base/timer.h"
#include "base/units.h"
#include "base/user_file.h"
#include "base/whole_file.h"
#include "cli/help/usage_error.h"
#include "cli/options/objective_choice.h"
#include "cli/options/sensor_choice.h"
#include "cli/report/report.h"
#include "cli/terminal/control_fifo.h"
#include "cli/terminal/output.h"
#include "cli/terminal/recording_watch.h"
#include "cli/terminal/terminal.h"
#include "console/console.h"
#include "counter/event.h"
#include "model/knob_file.h"
#include "module/module_process.h"
#include "session/core/alarm_config.h"
#include "session/probes/interposition.h"
#include "session/tuning/remembered.h"
#include "session/tuning/settings_file.h"
#include "store/log_writer.h"
#include "store/recording.h"
#include "tunlet/tunlet.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using session::Membership;
using session::OptionValues;
using session::SessionOptions;
using session::Watch;

constexpr const char* kPreload = "LD_PRELOAD";

/// Completion of values of that type.
Complete CompletionOf(session::OptionType type) {
  switch (type) {
    case session::OptionType::kFile: return Complete::kFile;
    case session::OptionType::kRecording: return Complete::kRecording;
    case session::OptionType::kSensors: return Complete::kSensor;
    case session::OptionType::kSink: return Complete::kSink;
    default: return Complete::kNothing;
  }
}

Result<pid_t> ParsePid(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0) {
    return Error{Errc::kInvalidArgument, "--pid: '" + text + "' is not a process id",
                 "pgrep finds the ids of a name: -p $(pgrep -n " + text + ")"};
  }
  if (session::StartTicks(pid) == 0)
    return Error{Errc::kNotFound, "--pid: there is no process " + text, "ps -e lists them"};
  return pid;
}

/// The session leaves the folder in which attune was started. @param path empty: stays so
std::string Absolute(const std::string& path) {
  std::error_code ignored;
  return path.empty() ? path : fs::absolute(path, ignored).string();
}

/// "attune-xz-20260131-140309.attune". The session puts a number behind it if that is taken.
std::string DefaultOutput(const std::string& what) {
  constexpr size_t kMostOfName = 200;  // a file's name has at most 255 bytes
  std::string stem = "attune-";
  for (const char c : fs::path(what).filename().string().substr(0, kMostOfName))
    stem += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ? c : '-';
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "-%Y%m%d-%H%M%S", &local);
  return stem + stamp + ".attune";
}

/// The recording's absolute path and what becomes of a file that has it.
Status ChooseOutput(const ObserveOptions& options, const ObserveMode& mode, SessionOptions& result) {
  const OptionValues& given = options.given;
  std::error_code error;
  if (given.Text("output") == "-") {
    return Error{Errc::kInvalidArgument, "--output: a recording cannot go to standard output",
                 "give it a name, and print it then: attune export FILE --to csv"};
  }
  if (!given.Text("output").empty()) {
    result.output = fs::absolute(given.Text("output"), error).string();
    if (error) return Error{Errc::kIo, "--output: " + error.message(), ""};
    if (given.Is("force")) result.if_there = store::IfThere::kReplace;
  } else if (mode.keeps_recording) {
    const std::string name = DefaultOutput(options.program.empty() ? mode.name : options.program.front());
    result.output = fs::absolute(name, error).string();
    if (error && options.program.empty()) return Error{Errc::kIo, "the current folder: " + error.message(), ""};
    if (error) result.output.clear();
    result.if_there = store::IfThere::kNumber;
  }
  return {};
}

std::string CommandLine(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// @param find as sink::FindSink()
Result<session::GraphChoice> ChooseGraph(const OptionValues& given) {
  session::GraphChoice choice{.folder = {}, .overwrite = given.Is("force")};
  if (given.Text("xml").empty()) {
    if (given.Text("every").empty()) return choice;
    return Error{Errc::kInvalidArgument, "--every without --xml", "give the folder for the graphs: --xml FOLDER"};
  }
  std::error_code error;
  choice.folder = fs::absolute(given.Text("xml"), error).string();
  if (error) return Error{Errc::kIo, "--xml: " + error.message(), ""};
  ATTUNE_TRY(const auto every_ns, session::OptionNs(given, "every"));
  choice.every_ns = every_ns.value_or(choice.every_ns);
  return choice;
}

Result<session::TraceChoice> ChooseTrace(const OptionValues& given) {
  const std::string& size = given.Text("trace-buffer");
  session::TraceChoice choice{.streams = given.Is("trace-stream")};
  if (size.empty()) return choice;
  constexpr uint64_t kLeast = wire::kTraceMinWords * sizeof(uint64_t), kMost = wire::kTraceMaxWords * sizeof(uint64_t);
  ATTUNE_TRY(const uint64_t bytes, ParseBytes(size, "--trace-buffer"));
  if (bytes < kLeast || bytes > kMost) {
    return Error{Errc::kInvalidArgument, fmt::format("--trace-buffer: {} is out of its limits", size),
                 "4KiB to 32MiB a thread; an event takes 8 bytes"};
  }
  choice.buffer_bytes = std::bit_ceil(bytes);
  return choice;
}

/// Settings that other programs feel need a word of their own.
Status CheckAllowed(const session::TuningChoice& choice) {
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  for (const session::KnobChoice& setting : choice.settings) {
    const auto knob = model::FindKnob(knobs, setting.knob);
    if (knob.ok() && (*knob)->scope == model::KnobScope::kMachine && !choice.allow_machine)
      return Error{Errc::kInvalidArgument,
                   fmt::format("--settings: {} also changes what other programs get", setting.knob),
                   "--allow machine sets it all the same"};
  }
  return {};
}

Result<session::TuningChoice> ChooseTuning(const ObserveOptions& options, const ObserveMode& mode) {
  const OptionValues& given = options.given;
  session::TuningChoice choice{.on = mode.tunes,
                               .dry_run = given.Is("dry-run"),
                               .allow_machine = given.Text("allow") == "machine",
                               .from_page = given.Is("allow-tune"),
                               .objective = given.Text("objective"),
                               .only = given.Texts("only"),
                               .never = given.Texts("never")};
  if (!given.Text("allow").empty() && !choice.allow_machine)
    return Error{Errc::kInvalidArgument,
                 fmt::format("--allow: '{}' is nothing that can be allowed", given.Text("allow")),
                 "--allow machine: knobs that other programs feel, too"};
  if (!given.Text("settings").empty()) {
    ATTUNE_TRY(choice.settings, session::ReadSettings(given.Text("settings")));
    ATTUNE_CHECK_OK(CheckAllowed(choice));
  }
  choice.placebo = given.Is("placebo");
  if (!mode.tunes) return choice;
  if (!options.program.empty())
    choice.remembered = session::Remembered(FindProgram(options.program.front(), std::getenv("PATH")));
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  std::vector<std::string> names;
  for (const model::Knob& knob : knobs) names.push_back(knob.name);
  for (const auto& make : tunlet::AllTunlets()) names.emplace_back(make()->Name());
  for (const auto* list : {&choice.only, &choice.never}) {
    for (const std::string& name : *list) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const std::string near = DidYouMean(name, names);
      return Error{Errc::kInvalidArgument, fmt::format("there is no tunlet or knob '{}'", name),
                   near.empty() ? "attune list tunlets and attune list knobs list them" : near};
    }
  }
  return choice;
}

/// 0: none are to be taken.
Result<int64_t> ChooseCpuSamples(const OptionValues& given, const ObserveMode& mode) {
  if (given.Text("cpu-samples").empty()) return mode.cpu_sample_ns;
  ATTUNE_TRY(const auto sample_ns, session::OptionNs(given, "cpu-samples"));
  return sample_ns.value_or(0);
}

/// Events of a list, as `parse` reads them; none: it is empty. @param option that it was given by
template <class Event, class Parse>
Status ChooseEvents(const std::string& list, const char* option, const Parse& parse, std::vector<Event>& chosen,
                    std::vector<counter::EventNote>& left_out) {
  const BadFilesTeller teller;
  if (list.empty()) return {};
  const HostRoot host;
  const CpuSet online = CpuSet::In(host, "/sys/devices/system/cpu/online");
  auto events = parse(host, counter::FindPmus(host, online), list, &left_out);
  if (!events.ok()) return events.error().WithContext(option);
  if (events->empty()) return counter::NothingIsCounted(left_out).WithContext(option);
  chosen = *std::move(events);
  return {};
}

Result<SessionOptions> MakeSessionOptions(const ObserveOptions& options, const ObserveMode& mode) {
  const OptionValues& given = options.given;
  SessionOptions result;
  result.mode = mode.name;
  result.flush_ns = mode.flush_ns;
  result.command_line = session::CommandLineOf(mode.name, given, options.program);
  result.follows = !options.program.empty() || !given.Text("pid").empty();
  std::error_code ignored;
  result.folder = options.folder.empty() ? fs::current_path(ignored).string() : options.folder;
  result.program = !options.program.empty()     ? CommandLine(options.program)
                   : !given.Text("pid").empty() ? "pid " + given.Text("pid")
                                                : "the whole machine";
  ATTUNE_CHECK_OK(ChooseOutput(options, mode, result));
  if (!given.Text("max-size").empty()) {
    ATTUNE_TRY(result.max_bytes, ParseBytes(given.Text("max-size"), "--max-size"));
  }
  ATTUNE_TRY(result.sensors, ChooseSensors(given.Texts("sensors"), given.Text("interval"), result.follows));
  if (mode.tunes) ATTUNE_CHECK_OK(AddObjectiveSensors(given.Text("objective"), result.sensors));
  ATTUNE_TRY(result.sinks, ChoosePlugins(given.Texts("sink"), "--sink", [](std::string_view text, auto option) {
               return sink::FindSink(text, option);
             }));
  ATTUNE_TRY(result.modules, modules::FindModules(given.Texts("module"), "--module"));
  ATTUNE_TRY(result.graph, ChooseGraph(given));
  ATTUNE_TRY(result.alarms, session::ChooseAlarms(given.Text("alarms"), given.Texts("alarm")));
  if (!given.Text("cpus").empty()) {
    const auto cpus = CpuSet::Parse(given.Text("cpus"));
    if (!cpus.ok()) return cpus.error().WithContext("--cpus");
    if (cpus->Common(CpuSet::Allowed()).empty()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--cpus: attune may use none of the CPUs '{}'", given.Text("cpus")),
                   fmt::format("it may use {}", CpuSet::Allowed().ToString())};
    }
    result.cpus = cpus->ToString();
  }
  result.keep_awake = given.Is("keep-awake");
  ATTUNE_TRY(result.level, model::ParseLevel(given.TextOrNormal("level")));
  result.check_influence = given.Is("check-influence");
  if (result.check_influence && (given.Is("no-interpose") || result.level == model::Level::kOff)) {
    return Error{Errc::kInvalidArgument, "--check-influence: at level off, or without the probe library, there is none",
                 "leave out --level off and --no-interpose"};
  }
  ATTUNE_TRY(result.trace, ChooseTrace(given));
  ATTUNE_TRY(result.tuning, ChooseTuning(options, mode));
  ATTUNE_CHECK_OK(
      ChooseEvents(given.Text("count"), "--count", counter::ParseEvents, result.counted, result.not_counted));
  ATTUNE_CHECK_OK(ChooseEvents(given.Text("event-samples"), "--event-samples", counter::ParseSampledEvents,
                               result.sampled_events, result.not_sampled));
  ATTUNE_TRY(result.cpu_sample_ns, ChooseCpuSamples(given, mode));
  if (!result.sampled_events.empty() && result.cpu_sample_ns == 0)
    return Error{Errc::kInvalidArgument, "--event-samples: without samples of CPU time there are none",
                 "leave out --cpu-samples off"};
  if (!given.Text("runs").empty() && !given.Is("allow-run"))
    return Error{Errc::kInvalidArgument, "--runs without --allow-run", "give both: the folder is the console's"};
  if (given.Is("allow-run")) {
    std::string runs = fs::absolute(given.TextOrNormal("runs")).string();
    result.make_console = [runs = std::move(runs), folder = result.folder, inherited = console::Inherited::Now()] {
      return console::MakeConsole(runs, folder, inherited);
    };
  }
  result.serve_page = mode.serves_page || given.Is("live") || !given.Text("listen").empty();
  result.listen = given.Text("listen");
  result.tls_cert = Absolute(given.Text("tls-cert"));
  result.tls_key = Absolute(given.Text("tls-key"));
  return result;
}

/// @param wanted where the user wants the recording; empty: anywhere
void SayWhereItGoes(const Membership& member, const SessionOptions& options, const std::string& wanted) {
  const std::string& recording = member.info().recording;
  if (!member.started_it() && !wanted.empty() && recording != options.output)
    Say(fmt::format("{} is not written: this is observed already, and goes into {}", wanted,
                    member.info().temporary ? "that session" : recording));
  if (!member.started_it()) return;
  if (!member.info().temporary) Say("recording to " + recording);
  if (!member.info().url.empty()) Say("page at " + member.info().url);
  for (const std::string& note : member.notes()) Say(note);
}

/// Notices when the session ends before the program: it was told to (ctl stop), or it died. The program goes on.
Watch SessionWatch(Membership& member, std::optional<Status>& ended) {
  return {member.fd(), [&member, &ended] {
            ended = member.TakeEnd();
            return false;
          }};
}

/// The whole of one observation, step by step.
class Observation {
 public:
  Observation(const ObserveOptions& options, const ObserveMode& mode) : options_(options), mode_(mode) {}

  Result<int> Run() {
    ATTUNE_CHECK_OK(Check());
    const sigset_t program_mask = session::BlockLauncherSignals();
    bool refused = false;
    auto joined = Membership::JoinOrStart(session_options_, refused);
    // Observing is the session's; whoever starts the program needs no more rights than the program has.
    DropKeptCapabilities();
    SetRootHelperSocket(-1);
    if (!joined.ok() && (refused || options_.program.empty())) return joined.error();
    if (!joined.ok()) return RunUnobserved(joined.error(), program_mask);
    Membership member = *std::move(joined);
    if (mode_.watches) {
      ATTUNE_TRY(watches_, mode_.watches(member.info()));
    }
    watches_.push_back(SessionWatch(member, ended_));
    ATTUNE_CHECK_OK(OpenFifo(member));
    ATTUNE_CHECK_OK(WatchRecording(member));
    UniqueFd timer;
    if (duration_ns_ > 0) {
      ATTUNE_TRY(timer, MakeTimer(duration_ns_));
    }
    return options_.program.empty() ? WatchOnly(member, timer) : RunProgram(member, timer, program_mask);
  }

 private:
  Status OpenFifo(const Membership& member) {
    if (given_.Text("fifo").empty()) return {};
    ATTUNE_TRY(session::ControlClient client, session::ControlClient::Connect(member.info().folder + "/ctl"));
    ATTUNE_TRY(ControlFifo opened, ControlFifo::Open(given_.Text("fifo"), std::move(client)));
    fifo_.emplace(std::move(opened));
    watches_.push_back({fifo_->fd(), [this] {
                          fifo_->Serve();
                          return true;
                        }});
    return {};
  }

  Status WatchRecording(const Membership& member) {
    if (!member.started_it() || (session_options_.sinks.empty() && member.info().temporary)) return {};
    ATTUNE_TRY(RecordingWatch started, RecordingWatch::Start(member.info().folder));
    recording_watch_.emplace(std::move(started));
    watches_.push_back(recording_watch_->Watch());
    return {};
  }

  /// "attune stat 1 5", as vmstat takes it, or "attune run 4711", names no program.
  Status CheckIsNoNumber() const {
    const std::string& first = options_.program.front();
    if (first.find_first_not_of("0123456789.") != std::string::npos || IsProgram(first)) return {};
    std::string hint = fmt::format("a process that runs is watched with: attune {} -p {}", mode_.name, first);
    if (mode_.serves_page) hint = "a port is chosen with: attune live --listen 127.0.0.1:" + first;
    if (mode_.watches) {
      hint = fmt::format("a row every {} s is: attune stat -i {}s", first, first);
      const double rows = options_.program.size() > 1 ? std::atof(options_.program[1].c_str()) : 0;
      if (rows > 0) hint += fmt::format(" --for {:g}s", rows * std::atof(first.c_str()));
    }
    return Error{Errc::kInvalidArgument, fmt::format("there is no program '{}'", first), hint};
  }

  Status Check() {
    if (!options_.program.empty()) ATTUNE_CHECK_OK(CheckIsNoNumber());
    if (!options_.program.empty() && !given_.Text("pid").empty()) {
      return Error{Errc::kInvalidArgument, "--pid and a program exclude each other", "give one of them"};
    }
    if (mode_.needs_target && options_.program.empty() && given_.Text("pid").empty()) {
      return Error{Errc::kInvalidArgument, "no program given",
                   fmt::format("attune {} -- PROGRAM, or attune {} -p PID", mode_.name, mode_.name)};
    }
    if (!given_.Text("pid").empty()) {
      ATTUNE_TRY(pid_, ParsePid(given_.Text("pid")));
    }
    ATTUNE_TRY(const auto duration_ns, session::OptionNs(given_, "for"));
    duration_ns_ = duration_ns.value_or(0);
    ATTUNE_TRY(session_options_, MakeSessionOptions(options_, mode_));
    return {};
  }

  /// Also where only errors are said.
  void SayIfNothingIsKept(const Membership& member) const {
    if (!mode_.keeps_recording || !member.started_it() || !member.info().temporary) return;
    if (session_options_.output.empty()) {
      Say("no recording is kept: the current folder cannot be found; -o FILE puts it elsewhere");
    } else if (given_.Is("quiet") && !member.notes().empty()) {
      Say(member.notes().front());
    }
  }

  void SayIt(const Membership& member) const {
    SayIfNothingIsKept(member);
    if (given_.Is("quiet")) return;
    SayWhereItGoes(member, session_options_, given_.Text("output"));
    if (options_.program.empty() && (!session_options_.output.empty() || session_options_.serve_page)) Say(HowItEnds());
    if (member.started_it() && !unseen_.empty() && !given_.Is("no-interpose")) Say("not seen: " + unseen_);
  }

  std::string HowItEnds() const {
    std::string text = "it ends ";
    if (duration_ns_ > 0) text += "after " + FormatDuration(duration_ns_) + ", ";
    if (pid_ != 0) text += fmt::format("when process {} ends, ", pid_);
    return text + (duration_ns_ > 0 || pid_ != 0 ? "or " : "") + "with Ctrl-C";
  }

  /// Its size, its length, and what to do with it.
  Status SayWhatWasRecorded(const std::string& recording) const {
    ATTUNE_TRY(const auto source, store::OpenRecording(recording, {.verify_bytes = 0}));
    std::error_code error;
    const auto bytes = fs::file_size(recording, error);
    const model::TimeRange extent = source->Extent();
    const std::string shown = ShownPath(recording);
    Say(fmt::format("recorded {} in {}: {}", FormatDuration(extent.t1_ns - extent.t0_ns),
                    error ? "a file" : FormatBytes(bytes), shown));
    const auto meta = source->Meta();
    for (const model::Gap& gap : meta->gaps) {
      if (gap.reason == model::GapReason::kDiskFull) Say(store::NotWrittenText(gap.t1_ns - gap.t0_ns, gap.count));
    }
    Say(fmt::format("attune report {} says what it holds, attune view {} shows it", shown, shown));
    return {};
  }

  /// With the probe library, where that is possible.
  std::vector<std::pair<std::string, std::string>> ProgramEnvironment(const Membership& member) {
    auto environment = member.ProgramEnvironment(session_options_.level);
    if (given_.Is("no-interpose")) {
      unseen_ = "locks and waits: --no-interpose";
      return environment;
    }
    const char* set = std::getenv(kPreload);
    const std::string own = set != nullptr ? set : "";
    const session::Interposition plan =
        session::PlanInterposition(options_.program.front(), session::FindProbeLibrary(), own, geteuid(), getegid());
    unseen_ = plan.why_not;
    if (!plan.library.empty()) environment.emplace_back(kPreload, session::PreloadValue(plan.library, own));
    return environment;
  }

  /// From here on this process is where, and what, the program shall be. What was to be found where attune was started
  /// has been found.
  Status EnterFolder() const {
    if (!options_.folder.empty() && chdir(options_.folder.c_str()) != 0)
      return ErrnoError("the folder " + options_.folder);
    if (!options_.input.empty()) {
      ATTUNE_TRY(const UniqueFd input, OpenUserFile(options_.input));
      if (dup2(input.get(), STDIN_FILENO) < 0) return ErrnoError("the input " + options_.input);
    }
    for (const auto& [name, value] : options_.environment) setenv(name.c_str(), value.c_str(), 1);
    return {};
  }

  /// This process becomes the program: nothing else could end it, or be ended by it, as without attune.
  Result<int> RunUnobserved(const Error& why, const sigset_t& mask) const {
    ATTUNE_CHECK_OK(EnterFolder());
    Say("the program runs unobserved: " + why.message);
    if (!why.hint.empty()) Say(why.hint);
    ATTUNE_CHECK_OK(session::PrepareProgram(given_, getpid()));
    ATTUNE_CHECK_OK(WritePidFile(getpid()));
    return session::BecomeProgram({options_.program, {}}, mask);
  }

  /// The whole line at once: who waits for the file never sees a part of it.
  Status WritePidFile(pid_t pid) const {
    if (given_.Text("pid-file").empty()) return {};
    const Status written = ReplaceFile(given_.Text("pid-file"), fmt::format("{} {}\n", pid, session::StartTicks(pid)));
    return written.ok() ? written : Status(written.error().WithContext("--pid-file"));
  }

  Result<int> RunProgram(Membership& member, const UniqueFd& timer, const sigset_t& mask) {
    ATTUNE_CHECK_OK(EnterFolder());
    ATTUNE_TRY(session::Child child, session::Child::Fork({options_.program, ProgramEnvironment(member)}, mask));
    if (!unseen_.empty()) Note(member.Unseen(unseen_));
    Note(member.Started(child.pid(), child.start_ns(), options_.program));
    Status started = session::PrepareProgram(given_, child.pid());
    if (started.ok()) started = child.Go();
    if (!started.ok()) {
      Note(member.Failed(child.pid()));
      Note(member.Leave());
      return started.error();
    }
    Note(member.Running(child.pid()));
    Note(WritePidFile(child.pid()));
    SayIt(member);
    bool left = false;
    if (timer) {
      watches_.push_back({timer.get(), [&] {
                            left = true;
                            Complain(Leave(member));
                            return false;
                          }});
    }
    ATTUNE_TRY(const session::ExitStatus status, child.Wait(watches_));
    if (!left) {
      Note(member.Exited(child.pid(), status));
      if (!child.was_asked_to_end()) StayForThePage(member, status);
      Complain(Leave(member));
    }
    if (status.signal != 0) {
      std::fflush(nullptr);
      fifo_.reset();  // nothing is destroyed after this
      session::DieLike(status.signal);
    }
    return status.signal != 0 ? 128 + status.signal : status.code;
  }

  /// `attune live`: the page goes on after the program's end, from a terminal until Ctrl-C, else as long as somebody
  /// looks.
  void StayForThePage(const Membership& member, const session::ExitStatus& status) {
    if (!mode_.serves_page || !member.started_it() || ended_) return;
    const bool from_terminal = isatty(STDERR_FILENO) != 0;
    auto client = session::ControlClient::Connect(member.info().folder + "/ctl");
    const auto second = MakeTimer(kSecondNs, kSecondNs);
    if (!client.ok() || !second.ok() || (!from_terminal && !IsWatched(*client))) return;
    Say(fmt::format(
        "{} ended {}; the page goes on until Ctrl-C{}", options_.program.front(),
        status.signal != 0 ? fmt::format("by signal {}", status.signal) : fmt::format("with exit code {}", status.code),
        from_terminal ? "" : ", or until nobody looks any more"));
    if (!from_terminal)
      watches_.push_back({second->get(), [&] {
                            uint64_t passed = 0;
                            return read(second->get(), &passed, sizeof passed) < 0 || IsWatched(*client);
                          }});
    static_cast<void>(session::WaitForEnd(watches_));
  }

  static bool IsWatched(session::ControlClient& client) {
    const auto answer = client.Ask("status");
    const auto status = nlohmann::json::parse(answer.value_or(""), nullptr, /*allow_exceptions=*/false);
    return status.is_object() && status.value("/page/watched"_json_pointer, false);
  }

  /// Without a program of ours: until somebody ends us, the time is over, or the process that we watch has ended.
  Result<int> WatchOnly(Membership& member, const UniqueFd& timer) {
    UniqueFd target;
    if (pid_ != 0) {
      target.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
      if (!target) return ErrnoError(fmt::format("watching process {}", pid_));
      ATTUNE_CHECK_OK(member.Attach(pid_));
      watches_.push_back({target.get(), [] { return false; }});
    }
    if (timer) watches_.push_back({timer.get(), [] { return false; }});
    SayIt(member);
    ATTUNE_TRY([[maybe_unused]] const int signal, session::WaitForEnd(watches_));
    ATTUNE_CHECK_OK(Leave(member));
    return 0;
  }

  /// The program's fate never depends on the session: what fails there is said, and that is all.
  template <class T>
  void Note(const Result<T>& result) {
    if (result.ok() || ended_ || silent_) return;
    Say(result.error().message);
    silent_ = result.error().code == Errc::kTimeout;
  }
  static void Complain(const Status& status) {
    if (!status.ok() && !IsReaderGone(status.error())) PrintError(status.error());
  }

  /// Errors: the recording, or what is made of it, has failed.
  Status Leave(Membership& member) {
    const auto finished = !ended_ ? member.Leave() : ended_->ok() ? Result<bool>(true) : Result<bool>(ended_->error());
    if (finished.ok() && !*finished) return {};  // others go on, the last one reports
    if (!finished.ok() && finished.error().code == Errc::kTimeout)
      return Error{Errc::kIo, finished.error().message,
                   session_options_.output.empty() ? ""
                                                   : "the end may be missing in " + member.info().recording +
                                                         ", which the session finishes when it goes on"};
    if (!finished.ok() && finished.error().code == Errc::kTargetFailed)
      return Error{Errc::kIo, "the session ended early",
                   session_options_.output.empty() ? "" : "what it had recorded is in " + member.info().recording};
    Status made = mode_.finished ? mode_.finished(member.info()) : Status();
    if (made.ok()) made = CheckDelivery(member);
    if (finished.ok()) {
      const bool said = given_.Is("quiet") || mode_.reports || member.info().temporary;
      if (!said) Complain(SayWhatWasRecorded(member.info().recording));
      return made;
    }
    Complain(made);
    const Error& error = finished.error();
    return Error{Errc::kIo, "the recording is not complete: " + error.message, error.hint};
  }

  Status CheckDelivery(const Membership& member) const {
    if (session_options_.sinks.empty()) return {};
    ATTUNE_TRY(const auto source, store::OpenRecording(member.info().recording, {.verify_bytes = 0}));
    return CheckSinks(*source);
  }

  const ObserveOptions& options_;
  const OptionValues& given_ = options_.given;
  const ObserveMode& mode_;
  SessionOptions session_options_;
  pid_t pid_ = 0;
  int64_t duration_ns_ = 0;
  std::optional<ControlFifo> fifo_;
  std::optional<RecordingWatch> recording_watch_;
  std::vector<Watch> watches_;
  std::optional<Status> ended_;  ///< how the session ended before it was left
  bool silent_ = false;          ///< it did not answer, and that was said
  std::string unseen_;           ///< parts of the program that cannot be seen; empty: none
};

}  // namespace

std::vector<Option> OptionsOf(ObserveOptions& options) {
  std::vector<Option> chosen;
  for (size_t i = 0; i < session::kRunOptions.size(); ++i) {
    const session::OptionRow& row = session::kRunOptions[i];
    if ((row.places & options.command) == 0) continue;
    Option option;
    option.flags = row.letter == 0 ? fmt::format("--{}", row.name) : fmt::format("-{},--{}", row.letter, row.name);
    option.value = row.value;
    option.help = row.normal.empty() ? std::string(row.help) : fmt::format("{}. Default: {}", row.help, row.normal);
    std::visit([&option](auto& value) { option.target = &value; }, options.given.at(i));
    option.complete = CompletionOf(row.type);
    option.words = session::WordsOf(row);
    chosen.push_back(std::move(option));
  }
  return chosen;
}

Result<int> Observe(const ObserveOptions& options, const ObserveMode& mode) { return Observation(options, mode).Run(); }

}  // namespace attune::cli
