#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "analysis/report/decisions.h"
#include "base/child_process.h"
#include "base/timer.h"
#include "base/whole_file.h"
#include "cli/command.h"
#include "cli/options/observe.h"
#include "cli/options/option_files.h"
#include "cli/report/tuning_report.h"
#include "cli/terminal/terminal.h"
#include "cli/tuning/repeated_runs.h"
#include "session/tuning/remembered.h"
#include "session/tuning/settings_file.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

constexpr int64_t kLookNs = 500'000'000;

/// Says each step as it is done.
class StepWatch {
 public:
  explicit StepWatch(std::string recording) : recording_(std::move(recording)) {}

  bool Look() {
    if (source_ == nullptr) {
      auto opened = store::OpenRecording(recording_, {.verify_bytes = 0});
      if (!opened.ok()) return true;  // not begun yet
      source_ = *std::move(opened);
    }
    const auto decisions = analysis::LastDecisions(*source_);
    if (!decisions.ok()) return true;
    for (const model::Decision& decision : *decisions) {
      if (!said_.insert({decision.id, decision.state}).second) continue;
      Say(DecisionLine(decision));
    }
    return true;
  }

 private:
  const std::string recording_;
  std::shared_ptr<model::Source> source_;
  std::set<std::pair<int64_t, model::DecisionState>> said_;
};

/// Settings that were kept, the last value of each knob.
Result<std::vector<session::KnobChoice>> KeptSettings(model::Source& source) {
  ATTUNE_TRY(const std::vector<model::Decision> decisions, analysis::KeptDecisions(source));
  std::vector<session::KnobChoice> kept;
  for (const model::Decision& decision : decisions) {
    std::erase_if(kept, [&](const session::KnobChoice& choice) { return choice.knob == decision.knob; });
    kept.push_back({decision.knob, decision.after, session::FindingClassOf(decision.finding)});
  }
  return kept;
}

/// @param program its file; empty: nothing is remembered of it
Status Finish(const session::SessionInfo& info, const std::string& program, const std::string& save, bool json,
              bool quiet) {
  ATTUNE_TRY(const auto source, store::OpenRecording(info.recording));
  ATTUNE_TRY(const std::vector<session::KnobChoice> kept, KeptSettings(*source));
  if (!save.empty()) ATTUNE_CHECK_OK(WriteFile(save, session::SettingsText(kept, info.program)));
  // That it cannot be remembered is no failure of this run.
  if (!kept.empty() && !program.empty()) static_cast<void>(session::Remember(program, kept));
  if (!json) return quiet ? Status() : PrintTuning(*source, stderr);
  ATTUNE_TRY(const nlohmann::ordered_json document, TuningJson(*source));
  std::fprintf(stderr, "%s\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  return {};
}

/// @param runs the number, as it was given
Result<int> TuneAcrossRuns(const ObserveOptions& options, const std::string& runs) {
  RepeatedRuns repeated{.program = options.program,
                        .find_options = {},
                        .save = options.given.Text("save"),
                        .output = options.given.Text("output"),
                        .json = options.given.Is("json"),
                        .quiet = options.given.Is("quiet")};
  const auto [end, error] = std::from_chars(runs.data(), runs.data() + runs.size(), repeated.runs);
  if (error != std::errc() || end != runs.data() + runs.size())
    return Error{Errc::kInvalidArgument, fmt::format("--runs: '{}' is no number", runs), "as in --runs 30"};
  const auto pass_on = [&repeated](const char* name, const std::string& value) {
    if (!value.empty()) repeated.find_options.insert(repeated.find_options.end(), {name, value});
  };
  for (const std::string& value : options.given.Texts("only")) pass_on("--only", value);
  for (const std::string& value : options.given.Texts("never")) pass_on("--never", value);
  pass_on("--allow", options.given.Text("allow"));
  pass_on("--level", options.given.Text("level"));
  if (!options.given.Text("pid").empty())
    return Error{Errc::kInvalidArgument, "--pid and --runs exclude each other", "a process runs once"};
  std::error_code error_of_file;
  if (!repeated.output.empty() && !options.given.Is("force") && std::filesystem::exists(repeated.output, error_of_file))
    return Error{Errc::kExists, repeated.output + " is there already", "--force replaces it"};
  return TuneAcrossRuns(repeated);
}

}  // namespace

Command MakeTuneCommand() {
  auto options = std::make_shared<ObserveOptions>(session::kInTune);
  Command command;
  command.name = "tune";
  command.rank = 15;
  command.summary = "run a program, and make it faster while it runs";
  command.description =
      "Runs PROGRAM as attune run does, finds what holds it back, and turns the knobs that may mend it (attune list "
      "knobs): each on trial, back and forth, against what the program does without. What is better than noise is "
      "kept until the program ends, all else is turned back. At the end it says what was changed, what it gained and "
      "how to have it for good.\n\n"
      "A program that runs for less than ten seconds or so is over before anything can be said of it; --runs repeats "
      "it.";
  command.options = OptionsOf(*options);
  auto runs = std::make_shared<std::string>();
  command.options.push_back(
      {"--runs", "N",
       "For programs of some seconds: run the program up to N times, and try settings from one run to "
       "the next",
       runs.get()});
  command.program = &options->program;
  command.examples = {
      {"attune tune -- tesseract pages.tif out", "find what holds it back, and mend it"},
      {"attune tune --dry-run -- ./solver input.dat", "only say what would be tried"},
      {"attune tune -p 4711 --for 1m", "a process that runs already: what the kernel can change of it"},
      {"attune tune --runs 30 --save fast.toml -- ./convert page.png", "a short program: learn from run to run"},
      {"attune tune --json --quiet -- ./solver 2>tuning.json", "for scripts"},
  };
  command.run = [options, runs]() -> Result<int> {
    ATTUNE_CHECK_OK(ApplyFiles(*options));
    if (!runs->empty()) return TuneAcrossRuns(*options, *runs);
    const bool json = options->given.Is("json"), quiet = options->given.Is("quiet");
    ObserveMode mode;
    mode.name = "tune";
    mode.needs_target = true;
    mode.keeps_recording = true;
    mode.reports = true;
    mode.tunes = true;
    mode.watches = [json, quiet](const session::SessionInfo& info) -> Result<std::vector<session::Watch>> {
      std::vector<session::Watch> watches;
      if (json || quiet) return watches;
      ATTUNE_TRY(UniqueFd made, MakeTimer(kLookNs, kLookNs));
      auto timer = std::make_shared<UniqueFd>(std::move(made));
      auto steps = std::make_shared<StepWatch>(info.recording);
      watches.push_back({timer->get(), [timer, steps] {
                           uint64_t ticks = 0;
                           (void)!read(timer->get(), &ticks, sizeof ticks);
                           return steps->Look();
                         }});
      return watches;
    };
    // The launcher works where the program does.
    const std::string& given = options->given.Text("save");
    std::error_code error;
    const std::string save = given.empty() ? given : std::filesystem::absolute(given, error).string();
    std::string program;
    if (!options->program.empty() && !options->given.Is("placebo"))
      program = std::filesystem::absolute(FindProgram(options->program.front(), std::getenv("PATH")), error).string();
    mode.finished = [program, save, json, quiet](const session::SessionInfo& info) {
      return Finish(info, program, save, json, quiet);
    };
    return Observe(*options, mode);
  };
  return command;
}

}  // namespace attune::cli
