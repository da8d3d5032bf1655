#include "cli/options/observe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/cpu_set.h"
#include "base/privilege.h"
#include "base/root_helper.h"
#include "base/units.h"
#include "base/user_file.h"
#include "base/whole_file.h"
#include "cli/help/usage_error.h"
#include "cli/options/sensor_choice.h"
#include "cli/report/report.h"
#include "cli/terminal/control_fifo.h"
#include "cli/terminal/output.h"
#include "cli/terminal/recording_watch.h"
#include "cli/terminal/terminal.h"
#include "console/console.h"
#include "session/core/alarm_config.h"
#include "session/probes/interposition.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using session::Membership;
using session::SessionOptions;
using session::Watch;

constexpr const char* kPreload = "LD_PRELOAD";
constexpr int64_t kMaxDurationNs = 365LL * 24 * 3'600'000'000'000;

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

std::string BaseName(const std::string& path) { return fs::path(path).filename().string(); }

/// "attune-xz-20260131-140309.attune". The session puts a number behind it if that is taken.
std::string DefaultOutput(const std::string& what) {
  constexpr size_t kMostOfName = 200;  // a file's name has at most 255 bytes
  std::string stem = "attune-";
  for (const char c : BaseName(what).substr(0, kMostOfName))
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
  std::error_code error;
  if (options.output == "-") {
    return Error{Errc::kInvalidArgument, "--output: a recording cannot go to standard output",
                 "give it a name, and print it then: attune export FILE --to csv"};
  }
  if (!options.output.empty()) {
    result.output = fs::absolute(options.output, error).string();
    if (error) return Error{Errc::kIo, "--output: " + error.message(), ""};
    if (options.force) result.if_there = store::IfThere::kReplace;
  } else if (mode.keeps_recording) {
    const std::string name = DefaultOutput(options.program.empty() ? mode.name : options.program.front());
    result.output = fs::absolute(name, error).string();
    if (error && options.program.empty()) return Error{Errc::kIo, "the current folder: " + error.message(), ""};
    if (error) result.output.clear();
    result.if_there = store::IfThere::kNumber;
  }
  return {};
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<std::vector<sink::SinkChoice>> ChooseSinks(const std::vector<std::string>& texts) {
  std::vector<sink::SinkChoice> choices;
  for (const std::string& text : texts) {
    ATTUNE_TRY(sink::SinkChoice choice, sink::FindSink(text, "--sink"));
    if (std::any_of(choices.begin(), choices.end(), [&](const auto& other) { return other.name == choice.name; }))
      return Error{Errc::kInvalidArgument, fmt::format("--sink: {} is given twice", choice.name), ""};
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<session::GraphChoice> ChooseGraph(const ObserveOptions& options) {
  constexpr int64_t kLeastNs = 10'000'000, kMostNs = 3'600'000'000'000;
  session::GraphChoice choice{.folder = {}, .overwrite = options.force};
  if (options.xml.empty()) {
    if (options.every.empty()) return choice;
    return Error{Errc::kInvalidArgument, "--every without --xml", "give the folder for the graphs: --xml FOLDER"};
  }
  std::error_code error;
  choice.folder = fs::absolute(options.xml, error).string();
  if (error) return Error{Errc::kIo, "--xml: " + error.message(), ""};
  if (!options.every.empty()) {
    ATTUNE_TRY(choice.every_ns, ParseIntervalNs(options.every, "--every", kLeastNs, kMostNs));
  }
  return choice;
}

Result<session::TraceChoice> ChooseTrace(const ObserveOptions& options) {
  session::TraceChoice choice{.streams = options.trace_stream};
  if (options.trace_buffer.empty()) return choice;
  constexpr uint64_t kLeast = wire::kTraceMinWords * sizeof(uint64_t), kMost = wire::kTraceMaxWords * sizeof(uint64_t);
  ATTUNE_TRY(const uint64_t bytes, ParseBytes(options.trace_buffer, "--trace-buffer"));
  if (bytes < kLeast || bytes > kMost) {
    return Error{Errc::kInvalidArgument, fmt::format("--trace-buffer: {} is out of its limits", options.trace_buffer),
                 "4KiB to 32MiB a thread; an event takes 8 bytes"};
  }
  choice.buffer_bytes = std::bit_ceil(bytes);
  return choice;
}

/// 0: none are to be taken.
Result<int64_t> ChooseCpuSamples(const ObserveOptions& options, const ObserveMode& mode) {
  constexpr int64_t kLeastNs = 100'000, kMostNs = 1'000'000'000;
  if (options.cpu_samples.empty()) return mode.cpu_sample_ns;
  if (options.cpu_samples == "off") return 0;
  return ParseIntervalNs(options.cpu_samples, "--cpu-samples", kLeastNs, kMostNs);
}

Result<SessionOptions> MakeSessionOptions(const ObserveOptions& options, const ObserveMode& mode) {
  SessionOptions result;
  result.mode = mode.name;
  result.flush_ns = mode.flush_ns;
  result.follows = !options.program.empty() || !options.pid.empty();
  std::error_code ignored;
  result.folder = options.folder.empty() ? fs::current_path(ignored).string() : options.folder;
  result.program = !options.program.empty() ? Joined(options.program)
                   : !options.pid.empty()   ? "pid " + options.pid
                                            : "the whole machine";
  ATTUNE_CHECK_OK(ChooseOutput(options, mode, result));
  if (!options.max_size.empty()) {
    ATTUNE_TRY(result.max_bytes, ParseBytes(options.max_size, "--max-size"));
  }
  ATTUNE_TRY(result.sensors, ChooseSensors(options.sensors, options.interval, result.follows));
  ATTUNE_TRY(result.sinks, ChooseSinks(options.sinks));
  ATTUNE_TRY(result.graph, ChooseGraph(options));
  ATTUNE_TRY(result.alarms, session::ChooseAlarms(options.alarm_file, options.alarms));
  if (!options.cpus.empty()) {
    const auto cpus = CpuSet::Parse(options.cpus);
    if (!cpus.ok()) return cpus.error().WithContext("--cpus");
    if (cpus->Common(CpuSet::Allowed()).empty()) {
      return Error{Errc::kInvalidArgument, fmt::format("--cpus: attune may use none of the CPUs '{}'", options.cpus),
                   fmt::format("it may use {}", CpuSet::Allowed().ToString())};
    }
    result.cpus = cpus->ToString();
  }
  result.keep_awake = options.keep_awake;
  ATTUNE_TRY(result.level, model::ParseLevel(options.level.empty() ? mode.default_level : options.level));
  if (options.check_influence && (options.no_interpose || result.level == model::Level::kOff)) {
    return Error{Errc::kInvalidArgument, "--check-influence: at level off, or without the probe library, there is none",
                 "leave out --level off and --no-interpose"};
  }
  if (options.check_influence && options.no_check_influence)
    return Error{Errc::kInvalidArgument, "--check-influence and --no-check-influence", "give one of them"};
  if (options.check_influence) result.influence = session::InfluenceChoice::kAllCalls;
  if (options.no_check_influence) result.influence = session::InfluenceChoice::kNone;
  ATTUNE_TRY(result.trace, ChooseTrace(options));
  ATTUNE_TRY(result.cpu_sample_ns, ChooseCpuSamples(options, mode));
  if (!options.runs.empty() && !options.allow_run)
    return Error{Errc::kInvalidArgument, "--runs without --allow-run", "give both: the folder is the console's"};
  if (options.allow_run) {
    std::string runs = fs::absolute(options.runs.empty() ? "attune-runs" : options.runs).string();
    result.make_console = [runs = std::move(runs), folder = result.folder, inherited = console::Inherited::Now()] {
      return console::MakeConsole(runs, folder, inherited);
    };
  }
  result.serve_page = mode.serves_page || options.page || !options.listen.empty();
  result.listen = options.listen;
  result.tls_cert = Absolute(options.tls_cert);
  result.tls_key = Absolute(options.tls_key);
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

Result<UniqueFd> TimerAfter(int64_t ns) {
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec when{{}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  if (!timer || timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return ErrnoError("timer");
  return timer;
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
      ATTUNE_TRY(timer, TimerAfter(duration_ns_));
    }
    return options_.program.empty() ? WatchOnly(member, timer) : RunProgram(member, timer, program_mask);
  }

 private:
  Status OpenFifo(const Membership& member) {
    if (options_.fifo.empty()) return {};
    ATTUNE_TRY(session::ControlClient client, session::ControlClient::Connect(member.info().folder + "/ctl"));
    ATTUNE_TRY(ControlFifo opened, ControlFifo::Open(options_.fifo, std::move(client)));
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
    if (mode_.name == "live") hint = "a port is chosen with: attune live --listen 127.0.0.1:" + first;
    if (mode_.name == "stat") {
      hint = fmt::format("a row every {} s is: attune stat -i {}s", first, first);
      const double rows = options_.program.size() > 1 ? std::atof(options_.program[1].c_str()) : 0;
      if (rows > 0) hint += fmt::format(" --for {:g}s", rows * std::atof(first.c_str()));
    }
    return Error{Errc::kInvalidArgument, fmt::format("there is no program '{}'", first), hint};
  }

  Status Check() {
    if (!options_.program.empty()) ATTUNE_CHECK_OK(CheckIsNoNumber());
    if (!options_.program.empty() && !options_.pid.empty()) {
      return Error{Errc::kInvalidArgument, "--pid and a program exclude each other", "give one of them"};
    }
    if (mode_.needs_target && options_.program.empty() && options_.pid.empty()) {
      return Error{Errc::kInvalidArgument, "no program given",
                   fmt::format("attune {} -- PROGRAM, or attune {} -p PID", mode_.name, mode_.name)};
    }
    if (!options_.pid.empty()) {
      ATTUNE_TRY(pid_, ParsePid(options_.pid));
    }
    if (!options_.duration.empty()) {
      ATTUNE_TRY(duration_ns_, ParseDurationNs(options_.duration, "--for", 1'000'000, kMaxDurationNs));
    }
    ATTUNE_TRY(session_options_, MakeSessionOptions(options_, mode_));
    return {};
  }

  /// Also where only errors are said.
  void SayIfNothingIsKept(const Membership& member) const {
    if (!mode_.keeps_recording || !member.started_it() || !member.info().temporary) return;
    if (session_options_.output.empty()) {
      Say("no recording is kept: the current folder cannot be found; -o FILE puts it elsewhere");
    } else if (options_.quiet && !member.notes().empty()) {
      Say(member.notes().front());
    }
  }

  void SayIt(const Membership& member) const {
    SayIfNothingIsKept(member);
    if (options_.quiet) return;
    SayWhereItGoes(member, session_options_, options_.output);
    if (options_.program.empty() && (!session_options_.output.empty() || session_options_.serve_page)) Say(HowItEnds());
    if (member.started_it() && !unseen_.empty() && !options_.no_interpose) Say("not seen: " + unseen_);
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
    for (const model::Gap& gap : source->Meta()->gaps) {
      if (gap.reason == model::GapReason::kDiskFull) Say(store::NotWrittenText(gap.t1_ns - gap.t0_ns, gap.count));
    }
    Say(fmt::format("attune report {} says what it holds, attune view {} shows it", shown, shown));
    return {};
  }

  /// With the probe library, where that is possible.
  std::vector<std::pair<std::string, std::string>> ProgramEnvironment(const Membership& member) {
    auto environment = member.ProgramEnvironment(session_options_.level);
    if (options_.no_interpose) {
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
    ATTUNE_CHECK_OK(WritePidFile(getpid()));
    return session::BecomeProgram({options_.program, {}}, mask);
  }

  /// The whole line at once: who waits for the file never sees a part of it.
  Status WritePidFile(pid_t pid) const {
    if (options_.pid_file.empty()) return {};
    const Status written = ReplaceFile(options_.pid_file, fmt::format("{} {}\n", pid, session::StartTicks(pid)));
    return written.ok() ? written : Status(written.error().WithContext("--pid-file"));
  }

  Result<int> RunProgram(Membership& member, const UniqueFd& timer, const sigset_t& mask) {
    ATTUNE_CHECK_OK(EnterFolder());
    ATTUNE_TRY(session::Child child, session::Child::Fork({options_.program, ProgramEnvironment(member)}, mask));
    if (!unseen_.empty()) Note(member.Unseen(unseen_));
    Note(member.Started(child.pid(), child.start_ns(), options_.program));
    if (const Status started = child.Go(); !started.ok()) {
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
      Complain(Leave(member));
    }
    if (status.signal != 0) {
      std::fflush(nullptr);
      fifo_.reset();  // nothing is destroyed after this
      session::DieLike(status.signal);
    }
    return status.signal != 0 ? 128 + status.signal : status.code;
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
      const bool said = options_.quiet || mode_.reports || member.info().temporary;
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
  const ObserveMode& mode_;
  SessionOptions session_options_;
  pid_t pid_ = 0;
  int64_t duration_ns_ = 0;
  std::optional<ControlFifo> fifo_;
  std::optional<RecordingWatch> recording_watch_;
  std::vector<Watch> watches_;
  std::optional<Status> ended_;  ///< how the session ended before it was left
  bool silent_ = false;          ///< it did not answer, and that was said
  std::string unseen_;           ///< what of the program cannot be seen; empty: nothing
};

}  // namespace

std::vector<Option> ProbeOptions(ObserveOptions& options) {
  return {
      {"-l,--level", "LEVEL",
       "How much the probes inside the program record: off; profile, sums for each lock and call site, and every wait; "
       "blame, also the holders that others waited for; trace, also every acquisition and release in order, some with "
       "a time; stamped, all with a time (docs/waits.md, docs/trace.md). Default: profile",
       &options.level, Complete::kNothing, model::LevelNames()},
      {"--check-influence", "",
       "Measure how much attune changes the contention: for 20 ms of every 200 ms or so nothing is recorded, and the "
       "calls of futex are compared with those of recorded time (docs/waits.md). Waits that begin in these 20 ms are "
       "not in the sums. Needs root",
       &options.check_influence},
      {"--no-check-influence", "",
       "Leave out the comparison that is done by default at levels profile and blame: where threads contend for "
       "mutexes, free ones are only counted for 5 ms of every 200 ms or so (docs/waits.md)",
       &options.no_check_influence},
      {"--trace-buffer", "SIZE",
       "Memory for the newest events of each thread at levels trace and stamped, 8 bytes an event, from 4KiB to 32MiB. "
       "Default: 256KiB",
       &options.trace_buffer},
      {"--trace-stream", "",
       "Record these events all the time. Default: record each thread's newest when the program ends, and at "
       "attune ctl dump",
       &options.trace_stream},
      {"--cpu-samples", "TIME",
       "CPU time of a thread between two samples of where it is and which memory it uses (4ms, 250Hz), from 100us to "
       "1s; "
       "off: none (docs/profile.md). Default: 251Hz",
       &options.cpu_samples},
  };
}

std::vector<Option> SharedOptions(ObserveOptions& options) {
  return {
      {"-s,--sensors", "SENSORS",
       "Sensors, separated by commas, each as NAME[:sum][@INTERVAL]: one series a CPU, device or thread, or with :sum "
       "one for the whole machine; @INTERVAL instead of -i, as in cpu:sum,vmstat@10ms. NAME can be a file that "
       "describes "
       "a sensor; NAME=PATH reads its registers or files from PATH. Default: all that work here and "
       "are not by request (attune list sensors); none: no sensor",
       &options.sensors, Complete::kSensor},
      {"-i,--interval", "TIME",
       "Time between two samples (10ms, 1s) or rate (100Hz), from 100us to 1h. Default: each sensor's own (attune list "
       "sensors); those of 200ms and more keep it as the least, unless -s names them",
       &options.interval},
      {"-o,--output", "FILE", "The recording", &options.output, Complete::kRecording},
      {"-f,--force", "", "Overwrite the recording if it exists", &options.force},
      {"--max-size", "SIZE", "Keep the recording below this size (64MB, 2GB): the oldest part goes first",
       &options.max_size},
      {"--sink", "NAME[=ARGUMENT]",
       "Also hand what is observed to a sink, as in influxdb=FILE; may be given more than once (attune list sinks)",
       &options.sinks, Complete::kSink},
      {"--xml", "FOLDER",
       "Also write XML there at every interval of --every: the synchronisation graph (docs/sync-graph.md); for MPI "
       "also the task graph (docs/task-graph.md); with -s hardware also the hardware counters of each CPU "
       "(docs/hardware.md)",
       &options.xml, Complete::kFile},
      {"--every", "TIME", "Time between two writes of --xml, from 10ms to 1h. Default: 1s", &options.every},
      {"--for", "TIME", "Observe for this long; the program goes on", &options.duration},
      {"-p,--pid", "PID", "Watch a process that runs already, without touching it", &options.pid},
      {"--no-interpose", "",
       "Leave the program's environment without LD_PRELOAD: its locks and waits are then not seen (docs/waits.md)",
       &options.no_interpose},
      {"--cpus", "CPUS",
       "CPUs on which attune itself runs, as in 0-3,8. Default: those of the first NUMA node where there are several; "
       "else any",
       &options.cpus},
      {"--keep-awake", "",
       "Keep idle CPUs from halting meanwhile: sampling above some kHz then costs a third less, and is more punctual; "
       "the CPUs need more power. Needs root",
       &options.keep_awake},
      {"--fifo", "FILE",
       "A control FIFO: each line written to it is a command of attune ctl (label TEXT, pause, resume, interval 10ms, "
       "record FILE, ...)",
       &options.fifo, Complete::kFile},
      {"--alarm", "NAME=VALUE",
       "Threshold of an alarm, as in storage.space=10%; NAME=off and NAME=on turn it off and on, all=off all of them. "
       "May "
       "be given more than once (attune alarms --list)",
       &options.alarms},
      {"--alarms", "FILE",
       "Settings of alarms, instead of ~/.config/attune/alarms.toml (docs/alarms.md; man attune-alarms)",
       &options.alarm_file, Complete::kFile},
      {"--listen", "ADDRESS:PORT", "Serve the page there; other than loopback needs --tls-cert and --tls-key",
       &options.listen},
      {"--tls-cert", "FILE", "Certificate chain for --listen, PEM", &options.tls_cert, Complete::kFile},
      {"--tls-key", "FILE", "Private key for --listen, PEM", &options.tls_key, Complete::kFile},
      {"-q,--quiet", "", "Say nothing but errors", &options.quiet},
  };
}

Result<int> Observe(const ObserveOptions& options, const ObserveMode& mode) { return Observation(options, mode).Run(); }

}  // namespace attune::cli
