#include "console/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/child_process.h"
#include "base/host_root.h"
#include "base/privilege.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "console/console_file.h"
#include "console/console_runs.h"
#include "session/core/run_options.h"
#include "session/host/page_analyses.h"
#include "store/recording.h"

namespace attune::console {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using live::ConsoleRequest;
using live::ConsoleVerb;

/// How errors call the text that the page sends.
constexpr const char* kFormName = "run.toml";

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json FactsJson(const RunFacts& run) {
  return {{"run", run.number},
          {"stage", ToString(run.stage)},
          {"title", run.title},
          {"host", run.is_here ? "" : run.state.host},
          {"pid", run.program ? run.program->pid : 0},
          {"start_ns", run.state.start_real_ns},
          {"end_ns", run.state.end_real_ns},
          {"exit_code", run.state.exit_code},
          {"exit_signal", run.state.exit_signal},
          {"stop_asked", run.stop_asked},
          {"output_bytes", run.output_bytes},
          {"recording_bytes", run.recording_bytes}};
}

/// The options that have a field in the page's form.
Json FieldsJson() {
  Json fields = Json::array();
  for (const session::OptionRow& row : session::kRunOptions) {
    if (row.field.empty()) continue;
    const bool is_switch = row.type == session::OptionType::kSwitch;
    fields.push_back({{"name", row.name},
                      {"title", row.field},
                      {"hint", row.field_hint},
                      {"help", row.help},
                      {"kind", is_switch  ? "switch"
                               : row.many ? "texts"
                                          : "text"},
                      {"words", session::WordsOf(row)}});
  }
  return fields;
}

/// Standard error of a process of attune, without the name that it begins with.
std::string Said(int pipe) {
  constexpr std::string_view kName = "attune: ";
  constexpr size_t kEnough = 4096;
  std::string said;
  std::array<char, 512> part;
  while (true) {
    const ssize_t n = read(pipe, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (said.size() < kEnough) said.append(part.data(), static_cast<size_t>(n));
  }
  if (said.starts_with(kName)) said.erase(0, kName.size());
  while (said.ends_with('\n')) said.pop_back();
  return said;
}

class RunConsole final : public live::Console {
 public:
  RunConsole(std::string runs, std::string folder, const Inherited& inherited)
      : runs_(std::move(runs)), folder_(std::move(folder)), inherited_(inherited.ToText()) {}

  Result<std::string> Answer(const ConsoleRequest& request) override {
    switch (request.verb) {
      case ConsoleVerb::kUnlock: return Dump({{"options", FieldsJson()}});
      case ConsoleVerb::kRuns: return List();
      case ConsoleVerb::kCheck: return Check(request);
      case ConsoleVerb::kStart: return Start(request.text);
      case ConsoleVerb::kStop:
      case ConsoleVerb::kKill: return Stop(request);
      case ConsoleVerb::kOutput: return Output(request);
      case ConsoleVerb::kShow:
      case ConsoleVerb::kCompare: break;
    }
    return Error{Errc::kInternal, "the console was asked for what the server does", ""};
  }

  Result<Opened> Open(uint64_t number) override {
    ATTUNE_TRY(const RunFacts run, runs_.Find(number));
    if (run.recording_bytes == 0)
      return Error{Errc::kNotFound, fmt::format("run {} has no recording", number), "its output may say why"};
    ATTUNE_TRY(auto source, store::OpenRecording(runs_.PathOf(number, "run.attune")));
    return Opened{std::move(source), fmt::format("run {} · {}", number, run.title)};
  }

  std::unique_ptr<live::Analyses> Analyse(model::Source& source) override {
    return session::MakePageAnalyses(source, session::SourceIs::kRecording);
  }

 private:
  Result<std::string> List() const {
    ATTUNE_TRY(const std::vector<RunFacts> runs, runs_.List());
    Json list = Json::array();
    for (const RunFacts& run : runs) list.push_back(FactsJson(run));
    return Dump({{"runs", std::move(list)}, {"folder", folder_}});
  }

  /// Checks a text, or the file of an earlier run.
  Result<std::string> Check(const ConsoleRequest& request) const {
    std::string text = request.text;
    if (request.run != 0) {
      ATTUNE_TRY(text, HostRoot().ReadFile(runs_.PathOf(request.run, "run.toml"), kMaxConsoleFileBytes + 1));
    }
    ATTUNE_TRY(const RunDescription run, ParseConsoleFile(text, kFormName));
    return ToJson(run);
  }

  Result<std::string> Start(const std::string& text) const {
    ATTUNE_TRY(RunDescription run, ParseConsoleFile(text, kFormName));
    run.folder = (fs::path(folder_) / run.folder).lexically_normal().string();
    if (!fs::is_directory(run.folder))
      return Error{Errc::kNotFound, "there is no folder " + run.folder, "where shall the program work?"};
    ATTUNE_CHECK_OK(CommandOf(run));
    ATTUNE_TRY(const uint64_t number, runs_.Make(run));
    ATTUNE_CHECK_OK(Keep(number));
    return Dump({{"run", number}});
  }

  Status Keep(uint64_t number) const {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("pipe");
    const UniqueFd reading = MovedUp(UniqueFd(ends[0]));
    UniqueFd writing = MovedUp(UniqueFd(ends[1]));
    SpawnOptions spawn;
    spawn.program = "/proc/self/exe";
    spawn.arguments = {"attune", "console-run", runs_.PathOf(number), inherited_};
    spawn.folder = folder_;
    spawn.descriptors = {{writing.get(), STDERR_FILENO}};
    const HandedDownCapabilities rights;  // its attune observes as this one does
    ATTUNE_TRY(const pid_t pid, SpawnApart(spawn));
    writing.reset();
    const std::string said = Said(reading.get());
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
      if (errno != EINTR) return ErrnoError("starting the run");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    constexpr std::string_view kHint = "\n  hint: ";
    const size_t hint = said.find(kHint);
    return Error{Errc::kTargetFailed,
                 fmt::format("run {} could not be started: {}", number, CleanText(said.substr(0, hint))),
                 hint == std::string::npos ? "" : CleanText(said.substr(hint + kHint.size()))};
  }

  Result<std::string> Stop(const ConsoleRequest& request) const {
    ATTUNE_CHECK_OK(runs_.Stop(request.run, request.verb == ConsoleVerb::kKill));
    return Dump({{"run", request.run}});
  }

  Result<std::string> Output(const ConsoleRequest& request) const {
    ATTUNE_TRY(const OutputPart part, runs_.Output(request.run, request.from));
    return Dump(
        {{"run", request.run}, {"from", part.from}, {"next", part.next}, {"bytes", part.bytes}, {"text", part.text}});
  }

  const RunFolder runs_;
  const std::string folder_;
  const std::string inherited_;
};

}  // namespace

std::shared_ptr<live::Console> MakeConsole(std::string runs, std::string folder, const Inherited& inherited) {
  return std::make_shared<RunConsole>(std::move(runs), std::move(folder), inherited);
}

}  // namespace attune::console
