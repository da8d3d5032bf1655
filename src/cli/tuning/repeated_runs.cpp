#include "cli/tuning/repeated_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "analysis/report/decisions.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/whole_file.h"
#include "cli/report/tuning_report.h"
#include "cli/terminal/terminal.h"
#include "model/rows.h"
#include "session/tuning/experiment.h"
#include "session/tuning/remembered.h"
#include "session/tuning/settings_file.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using model::Decision;
using model::DecisionState;
using session::Experiment;

/// A folder that goes away with the object.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::string name = (fs::temp_directory_path() / "attune-runs-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return ErrnoError("a folder for the runs");
    return ScratchFolder(std::move(name));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct RunResult {
  double seconds = 0;  ///< run time of the program, without what attune does before and after
  int code = 0;
  int signal = 0;  ///< by which it ended; 0: none
};

int64_t Ppm(double part) { return static_cast<int64_t>(std::clamp(part, -1e6, 1e6) * 1e6); }

class Runs {
 public:
  Runs(const RepeatedRuns& options, ScratchFolder folder) : options_(options), folder_(std::move(folder)) {
    // Each run reads the same: a file from where it is now, anything else is empty.
    struct stat info{};
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode)) input_at_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
  }

  Result<int> Tune() {
    ATTUNE_TRY(const std::vector<Decision> proposals, Find());
    for (const Decision& proposal : proposals) {
      if (left() < 2 || last_.signal != 0) break;
      ATTUNE_CHECK_OK(Try(proposal));
    }
    if (!options_.save.empty())
      ATTUNE_CHECK_OK(WriteFile(options_.save, session::SettingsText(kept_, options_.program.front())));
    if (!kept_.empty())
      static_cast<void>(session::Remember(FindProgram(options_.program.front(), std::getenv("PATH")), kept_));
    options_.json ? PrintDocument() : PrintSummary();
    if (last_.signal != 0) raise(last_.signal);
    return last_.code;
  }

 private:
  int64_t left() const { return options_.runs - done_; }
  void SayStep(const std::string& text) const {
    if (!options_.quiet && !options_.json) Say(text);
  }

  /// The first run. @return proposals; the one that promises most first, or what helped this program before
  Result<std::vector<Decision>> Find() {
    std::vector<std::string> arguments{"tune", "--dry-run"};
    arguments.insert(arguments.end(), options_.find_options.begin(), options_.find_options.end());
    const std::string recording = options_.output.empty() ? folder_.File("run.attune") : options_.output;
    ATTUNE_TRY(first_, Run(arguments, recording));
    if (first_.code != 0 || first_.signal != 0)
      return Error{Errc::kTargetFailed,
                   first_.signal != 0
                       ? fmt::format("{} ended by signal {}", options_.program.front(), first_.signal)
                       : fmt::format("{} ended with exit code {}", options_.program.front(), first_.code),
                   "what fails is not repeated"};
    ATTUNE_TRY(const auto source, store::OpenRecording(recording));
    ATTUNE_TRY(std::vector<Decision> proposals, analysis::LastDecisions(*source));
    SayStep(fmt::format("run 1 of {}: {:.3f} s; {} to try", options_.runs, first_.seconds,
                        proposals.empty()
                            ? "nothing"
                            : fmt::format("{} setting{}", proposals.size(), proposals.size() == 1 ? "" : "s")));
    return proposals;
  }

  Status Try(const Decision& proposal) {
    Decision row = proposal;
    row.id = static_cast<int64_t>(rows_.size()) + 1;
    row.objective = "runs";
    Experiment experiment({}, {1 / first_.seconds}, static_cast<uint32_t>(MonotonicNs()));
    ATTUNE_TRY(const std::string why, RunByTurns(row, experiment));
    const session::GainEstimate figures = experiment.Figures();
    if (figures.pairs > 0) {
      row.gain_ppm = Ppm(figures.gain);
      row.gain_low_ppm = Ppm(figures.low);
      row.gain_high_ppm = Ppm(figures.high);
      noise_ = figures.same;
    }
    const bool is_better = experiment.verdict() == Experiment::Verdict::kBetter;
    row.state = is_better ? DecisionState::kKept : DecisionState::kUndone;
    if (is_better) {
      std::erase_if(kept_, [&](const session::KnobChoice& choice) { return choice.knob == row.knob; });
      kept_.push_back({row.knob, row.after, session::FindingClassOf(row.finding)});
    } else {
      row.reason += "; " + (why.empty() ? std::string(ToString(experiment.verdict())) : why);
    }
    SayStep(DecisionLine(row));
    rows_.push_back(std::move(row));
    return {};
  }

  /// Runs with and without the setting, until the guard has decided. @return why that could not go on; empty: it has
  Result<std::string> RunByTurns(const Decision& row, Experiment& experiment) {
    while (experiment.verdict() == Experiment::Verdict::kGoesOn) {
      if (left() == 0) return fmt::format("{} runs were not enough to tell", options_.runs);
      const bool on = experiment.arm() == Experiment::Arm::kOnTrial;
      std::vector<session::KnobChoice> settings = kept_;
      if (on) {
        std::erase_if(settings, [&](const session::KnobChoice& choice) { return choice.knob == row.knob; });
        settings.push_back({row.knob, row.after});
      }
      ATTUNE_TRY(last_, RunWith(settings));
      if (last_.signal == SIGINT) return std::string("it was interrupted");
      if (last_.code != 0 || last_.signal != 0) return std::string("a run failed");
      SayStep(fmt::format("run {} of {}: {:.3f} s{}", done_, options_.runs, last_.seconds,
                          on ? fmt::format(" with {} = {}", row.knob, row.after) : ""));
      experiment.Add(1 / last_.seconds);
      if (!on && kept_.empty()) before_s_.push_back(last_.seconds);
    }
    return std::string();
  }

  Result<RunResult> RunWith(const std::vector<session::KnobChoice>& settings) {
    std::vector<std::string> arguments{"run"};
    if (!settings.empty()) {
      const std::string file = folder_.File("settings.toml");
      ATTUNE_CHECK_OK(WriteFile(file, session::SettingsText(settings, options_.program.front())));
      arguments.insert(arguments.end(), {"--settings", file});
    }
    return Run(std::move(arguments), folder_.File("run.attune"));
  }

  /// One run under attune. @param arguments of attune, without the program
  Result<RunResult> Run(std::vector<std::string> arguments, const std::string& recording) {
    ++done_;
    arguments.insert(arguments.end(), {"-q", "-f", "-o", recording, "--"});
    arguments.insert(arguments.end(), options_.program.begin(), options_.program.end());
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) return ErrnoError("starting a run");
    if (pid == 0) Become(arguments);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    RunResult result{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                     .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    const auto source = store::OpenRecording(recording, {.verify_bytes = 0});
    if (!source.ok()) return source.error();
    // The first one is the program; its own begin and end are the kernel's.
    const auto meta = (*source)->Meta();
    for (const model::Process& process : meta->processes) {
      if (process.start_ns == model::kAbsent || process.end_ns == model::kAbsent) continue;
      result.seconds = static_cast<double>(process.end_ns - process.start_ns) * 1e-9;
      break;
    }
    if (result.seconds <= 0) return Error{Errc::kInternal, "a run has no length", ""};
    return result;
  }

  [[noreturn]] void Become(const std::vector<std::string>& arguments) const {
    if (input_at_) lseek(STDIN_FILENO, *input_at_, SEEK_SET);
    if (const int null = input_at_ ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) dup2(null, STDIN_FILENO);
    std::vector<char*> words{const_cast<char*>("attune")};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv("/proc/self/exe", words.data());
    _exit(127);
  }

  /// Run time without any setting: the median, or the first run's.
  double SecondsBefore() const {
    return before_s_.empty() ? first_.seconds : session::MedianWithInterval(before_s_).median;
  }
  /// By the trials: each one's runs without it have those that were kept before.
  double SecondsAfter() const {
    double seconds = SecondsBefore();
    for (const Decision& row : rows_) {
      if (row.state == DecisionState::kKept) seconds /= 1 + PartOfPpm(row.gain_ppm);
    }
    return seconds;
  }

  void PrintDocument() const {
    const nlohmann::ordered_json document{{"objective", {{"name", "runs"}, {"unit", "runs/s"}, {"noise", noise_}}},
                                          {"decisions", DecisionsJson(rows_)},
                                          {"whole_run",
                                           {{"runs", done_},
                                            {"seconds", first_.seconds},
                                            {"rate_before", 1 / SecondsBefore()},
                                            {"rate_after", 1 / SecondsAfter()}}}};
    std::fprintf(stderr, "%s\n",
                 document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  }

  void PrintSummary() const {
    if (options_.quiet) return;
    std::fprintf(stderr, "%s\n", Styled(stderr, Style::kBold, "Tuning").c_str());
    std::fprintf(stderr, "  Objective  time of a run; %d of them\n", static_cast<int>(done_));
    std::fprintf(stderr, "  Before     %.3f s\n", SecondsBefore());
    std::fprintf(stderr, "  After      %.3f s\n", SecondsAfter());
    PrintDecisions(rows_, stderr);
  }

  const RepeatedRuns& options_;
  const ScratchFolder folder_;
  std::optional<off_t> input_at_;
  int64_t done_ = 0;
  RunResult first_, last_;
  double noise_ = 0;
  std::vector<double> before_s_;
  std::vector<session::KnobChoice> kept_;
  std::vector<Decision> rows_;
};

}  // namespace

Result<int> TuneAcrossRuns(const RepeatedRuns& options) {
  constexpr int64_t kFewest = 9;  // the first one, and four pairs
  if (options.runs < kFewest)
    return Error{Errc::kInvalidArgument, fmt::format("--runs: {} are too few to tell anything", options.runs),
                 fmt::format("at least {}; 17 and more tell small gains, too", kFewest)};
  if (options.program.empty())
    return Error{Errc::kInvalidArgument, "no program given", "attune tune --runs 30 -- PROGRAM"};
  ATTUNE_TRY(ScratchFolder folder, ScratchFolder::Make());
  return Runs(options, std::move(folder)).Tune();
}

}  // namespace attune::cli
