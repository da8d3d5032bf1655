#include "console/console_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "base/host_root.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "session/core/job.h"
#include "track/process_usage.h"

namespace attune::console {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kMaxStateBytes = 64u << 10;
constexpr uint64_t kMaxOutputPart = 128u << 10;
constexpr int kMostProcesses = 100'000;

uint64_t SizeOf(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

/// Whether somebody has locked the file.
bool IsLocked(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  // A lock that this question takes for a moment is let go with the descriptor.
  return flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

template <class T>
T NumberOr(const Json& json, const char* key, T otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<T>() : otherwise;
}

Json ProcessJson(const ProcessId& process) { return {{"pid", process.pid}, {"start_ticks", process.start_ticks}}; }

ProcessId ProcessFrom(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return {};
  return {NumberOr<pid_t>(*found, "pid", 0), NumberOr<uint64_t>(*found, "start_ticks", 0)};
}

std::optional<uint64_t> RunNumber(const std::string& name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || number > UINT32_MAX)
    return std::nullopt;
  return number;
}

std::string Title(const RunDescription& run) {
  std::string title = fs::path(run.program).filename().string();
  for (const std::string& argument : run.arguments) title += " " + argument;
  if (run.is_mpi) title += fmt::format(" ({} ranks)", run.mpi.ranks);
  return CleanText(title.substr(0, 300));
}

RunStage StageOf(const RunFacts& run, bool kept) {
  const bool program_lives = run.is_here && run.program && Lives(*run.program);
  if (run.state.end_real_ns != 0) {
    const bool began = run.program.has_value();
    return began ? RunStage::kEnded : RunStage::kFailed;
  }
  if (!run.is_here) return run.program ? RunStage::kRuns : RunStage::kStarting;
  if (kept && !run.program) return RunStage::kStarting;
  if (program_lives) return Lives(run.state.launcher) ? RunStage::kRuns : RunStage::kUnrecorded;
  // The keeper is about to say how it ended.
  return kept ? RunStage::kRuns : RunStage::kLost;
}

using Children = std::multimap<pid_t, ProcessId>;  ///< all processes, by their parent

Children AllChildren(const HostRoot& host) {
  Children children;
  const auto names = host.List("/proc");
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (const auto stat = track::ReadProcStat(host, pid); stat.ok())
      children.emplace(static_cast<pid_t>(stat->parent_pid), ProcessId{pid, static_cast<uint64_t>(stat->start_ticks)});
  }
  return children;
}

/// attune run and its session know the job; what they observe is told the session, too.
bool IsOfAttune(const HostRoot& host, pid_t pid) {
  const auto environment = track::ReadEnvironment(host, pid);
  return environment.ok() && environment->contains(session::kJobVariable) && !environment->contains("ATTUNE_SESSION");
}

/// The program and all that it started, parents first. What has lost its parent is the keeper's child, as long as there
/// is one.
std::vector<ProcessId> ProcessesOf(const RunFacts& run) {
  const HostRoot host;
  const Children children = AllChildren(host);
  std::vector<ProcessId> all{*run.program};
  if (Lives(run.state.keeper)) {
    const auto [first, last] = children.equal_range(run.state.keeper.pid);
    for (auto child = first; child != last; ++child) {
      if (child->second.pid != run.program->pid && !IsOfAttune(host, child->second.pid)) all.push_back(child->second);
    }
  }
  for (size_t at = 0; at < all.size() && all.size() < kMostProcesses; ++at) {
    const auto [first, last] = children.equal_range(all[at].pid);
    for (auto child = first; child != last; ++child) all.push_back(child->second);
  }
  return all;
}

Error HasEnded() { return {Errc::kNotFound, "the program has ended already", ""}; }

Status Signal(const ProcessId& process, int signal) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  // Asked after the descriptor holds the process: the id cannot be another one's any more.
  if (!pidfd || !Lives(process)) return HasEnded();
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0) return ErrnoError("ending the program");
  return {};
}

/// Cuts what is only a part of a character off the end.
void CutPartOfCharacter(std::string& text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) text.resize(text.size() - back);
    return;
  }
}

}  // namespace

bool Lives(const ProcessId& process) {
  return process.pid > 0 && process.start_ticks != 0 && session::StartTicks(process.pid) == process.start_ticks;
}

std::string_view ToString(RunStage stage) {
  switch (stage) {
    case RunStage::kStarting: return "starting";
    case RunStage::kRuns: return "runs";
    case RunStage::kUnrecorded: return "unrecorded";
    case RunStage::kEnded: return "ended";
    case RunStage::kFailed: return "failed";
    case RunStage::kLost: return "lost";
  }
  return "?";
}

std::string ToJson(const RunState& state) {
  const Json json{{"host", state.host},
                  {"keeper", ProcessJson(state.keeper)},
                  {"launcher", ProcessJson(state.launcher)},
                  {"start_real_ns", state.start_real_ns},
                  {"end_real_ns", state.end_real_ns},
                  {"exit_code", state.exit_code},
                  {"exit_signal", state.exit_signal}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RunState> RunStateFromJson(std::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Error{Errc::kCorrupt, "the state of a run is not JSON", ""};
  RunState state;
  if (const auto host = json.find("host"); host != json.end() && host->is_string()) state.host = *host;
  state.keeper = ProcessFrom(json, "keeper");
  state.launcher = ProcessFrom(json, "launcher");
  state.start_real_ns = NumberOr<int64_t>(json, "start_real_ns", 0);
  state.end_real_ns = NumberOr<int64_t>(json, "end_real_ns", 0);
  state.exit_code = NumberOr<int>(json, "exit_code", 0);
  state.exit_signal = NumberOr<int>(json, "exit_signal", 0);
  return state;
}

std::optional<ProcessId> ProcessIdFromText(std::string_view text) {
  ProcessId process;
  const char* const last = text.data() + text.size();
  const auto [space, error] = std::from_chars(text.data(), last, process.pid);
  if (error != std::errc() || space == last || *space != ' ' || process.pid <= 0) return std::nullopt;
  const auto [end, second] = std::from_chars(space + 1, last, process.start_ticks);
  if (second != std::errc() || (end != last && *end != '\n')) return std::nullopt;
  return process;
}

std::string RunFolder::PathOf(uint64_t number, std::string_view file) const {
  return fmt::format("{}/{:04}{}{}", path_, number, file.empty() ? "" : "/", file);
}

Result<std::vector<RunFacts>> RunFolder::List() const {
  std::vector<RunFacts> runs;
  std::vector<uint64_t> numbers;
  const auto names = HostRoot().List(path_);
  if (!names.ok() && names.error().code == Errc::kNotFound) return runs;
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (const auto number = RunNumber(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers, std::greater());
  if (numbers.size() > kMaxListed) numbers.resize(kMaxListed);
  for (const uint64_t number : numbers) {
    if (auto run = Find(number); run.ok()) runs.push_back(*std::move(run));
  }
  return runs;
}

Result<RunFacts> RunFolder::Find(uint64_t number) const {
  const HostRoot host;
  RunFacts run;
  run.number = number;
  const auto description = host.ReadFile(PathOf(number, "run.toml"), kMaxConsoleFileBytes + 1);
  if (!description.ok())
    return Error{Errc::kNotFound, fmt::format("there is no run {} in {}", number, path_),
                 "the list shows those that are"};
  const auto parsed = ParseConsoleFile(*description, "run.toml");
  run.title = parsed.ok() ? Title(*parsed) : parsed.error().message;
  // Before what the keeper writes: when it has gone, that is final.
  const bool kept = IsLocked(PathOf(number, "lock"));
  if (const auto text = host.ReadFile(PathOf(number, "state.json"), kMaxStateBytes); text.ok()) {
    if (auto state = RunStateFromJson(*text); state.ok()) run.state = *std::move(state);
  }
  if (const auto text = host.ReadFile(PathOf(number, "program.pid"), kMaxStateBytes); text.ok())
    run.program = ProcessIdFromText(*text);
  run.is_here = run.state.host.empty() || run.state.host == HostName();
  run.stop_asked = host.Exists(PathOf(number, "stopped"));
  run.output_bytes = SizeOf(PathOf(number, "output.txt"));
  run.recording_bytes = SizeOf(PathOf(number, "run.attune"));
  run.stage = StageOf(run, kept);
  return run;
}

Result<uint64_t> RunFolder::Make(const RunDescription& run) const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return Error{Errc::kIo, fmt::format("making the folder {}: {}", path_, error.message()), "--runs FOLDER"};
  const auto names = HostRoot().List(path_);
  if (!names.ok()) return names.error();
  uint64_t number = 0;
  for (const std::string& name : *names) number = std::max(number, RunNumber(name).value_or(0));
  // Another console may be at it too.
  do {
    ++number;
    if (mkdir(PathOf(number).c_str(), 0700) == 0) {
      ATTUNE_CHECK_OK(WriteFile(PathOf(number, "run.toml"), ToToml(run)));
      return number;
    }
  } while (errno == EEXIST);
  return ErrnoError("making the folder " + PathOf(number));
}

Result<OutputPart> RunFolder::Output(uint64_t number, std::optional<uint64_t> from) const {
  ATTUNE_TRY(const RunFacts run, Find(number));
  const UniqueFd fd(open(PathOf(number, "output.txt").c_str(), O_RDONLY | O_CLOEXEC));
  OutputPart part;
  if (!fd) return part;
  part.bytes = run.output_bytes;
  part.from = std::min(from.value_or(part.bytes > kMaxOutputPart ? part.bytes - kMaxOutputPart : 0), part.bytes);
  part.text.resize(std::min(part.bytes - part.from, kMaxOutputPart));
  const ssize_t n = pread(fd.get(), part.text.data(), part.text.size(), static_cast<off_t>(part.from));
  if (n < 0) return ErrnoError("reading the output");
  part.text.resize(static_cast<size_t>(n));
  const bool is_end = run.stage != RunStage::kRuns && part.from + part.text.size() == part.bytes;
  if (!is_end) CutPartOfCharacter(part.text);
  part.next = part.from + part.text.size();
  return part;
}

Status RunFolder::Stop(uint64_t number, bool kill) const {
  ATTUNE_TRY(const RunFacts run, Find(number));
  if (!run.is_here)
    return Error{Errc::kUnavailable, fmt::format("run {} is on {}", number, run.state.host), "stop it there"};
  if (!run.program)
    return Error{Errc::kUnavailable, fmt::format("run {} has not started its program", number), "try again"};
  // Said of no run that has ended: how that ended is its own.
  if (!Lives(*run.program)) return HasEnded();
  ATTUNE_CHECK_OK(WriteFile(PathOf(number, "stopped"), ""));
  if (!kill) return Signal(*run.program, SIGTERM);
  // Parents first, so that none sees its child end and starts another one.
  Status first;
  for (const ProcessId& process : ProcessesOf(run)) {
    const Status status = Signal(process, SIGKILL);
    if (process.pid == run.program->pid) first = status;
  }
  return first;
}

}  // namespace attune::console
