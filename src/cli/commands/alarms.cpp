#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "analysis/alarms/alarm_json.h"
#include "analysis/alarms/alarms.h"
#include "base/clock.h"
#include "base/thread_safety.h"
#include "base/timer.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal/control_fifo.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "model/info_keys.h"
#include "session/core/alarm_config.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/host/launch.h"
#include "session/sampling/local_sampling.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

using analysis::AlarmRule;
using analysis::AlarmSettings;
using Json = nlohmann::ordered_json;
using Align = TextTable::Align;
using Narrow = TextTable::Narrow;

/// Exit code of this subcommand alone: something is raised, or was in the recording.
constexpr int kRaisedExitCode = 7;
constexpr int64_t kMinForNs = 1'000'000'000;
constexpr int64_t kMaxForNs = 365LL * 24 * 3'600'000'000'000;
constexpr std::chrono::milliseconds kNewsLimit{200};

struct Options {
  std::string file;
  std::string session;
  std::string duration;
  std::vector<std::string> alarms;
  std::string alarm_file;
  bool json = false;
  bool follow = false;
  bool list = false;

  bool HasSettings() const { return !alarms.empty() || !alarm_file.empty(); }
};

// ---- printing

std::string Side(const Json& rule) {
  const std::string unit = rule["unit"].get<std::string>();
  return fmt::format("{} {}", rule["side"].get<std::string>(),
                     analysis::FormatAlarmValue(rule["threshold"].get<double>(), unit));
}

std::string Value(const Json& value, const Json& rule) {
  if (!value.is_number()) return "-";
  return analysis::FormatAlarmValue(value.get<double>(), rule["unit"].get<std::string>());
}

/// State of a rule's element, and the style of its word.
std::pair<std::string, Style> StateWord(const std::string& verdict, bool is_raised, const std::string& severity) {
  if (is_raised) return {"RAISED", severity == "critical" ? Style::kRed : Style::kYellow};
  if (verdict == "ok" || verdict == "raised") return {"ok", Style::kGreen};
  return {verdict == "off" ? "off" : "?", Style::kDim};
}

/// A row a rule, and one for each further element that is raised. @param now_s of what `since_s` counts from
void PrintRules(const Json& rules, double now_s) {
  TextTable table({{"state", Align::kLeft, Narrow::kWhole},
                   {"alarm", Align::kLeft, Narrow::kWhole},
                   {"value", Align::kRight},
                   {"raised", Align::kLeft, Narrow::kWhole},
                   {"since", Align::kRight, Narrow::kSpared},
                   {"", Align::kLeft, Narrow::kWrapped}});
  std::vector<Style> styles{Style::kDim};  // style of the first word of each row
  const auto add = [&](const Json& rule, const Json* reading) {
    const bool raised = reading != nullptr && (*reading)["raised"].get<bool>();
    const auto [state, style] =
        StateWord(rule["state"].get<std::string>(), raised, rule["severity"].get<std::string>());
    std::string since;
    if (raised && (*reading)["since_s"].is_number())
      since = FormatDuration(std::llround((now_s - (*reading)["since_s"].get<double>()) * 1e9));
    std::string text = rule["why"].get<std::string>();
    if (raised) {
      text = (*reading)["text"].get<std::string>() + ". " + rule["advice"].get<std::string>();
    } else if (reading != nullptr) {
      text =
          rule["of_each"].get<bool>() ? (*reading)["where"].get<std::string>() : rule["description"].get<std::string>();
    }
    styles.push_back(style);
    table.AddRow({state, rule["alarm"].get<std::string>(), reading == nullptr ? "-" : Value((*reading)["value"], rule),
                  Side(rule), since, Printable(text)});
  };
  for (const Json& rule : rules) {
    const Json& readings = rule["readings"];
    add(rule, readings.empty() ? nullptr : &readings[0]);
    for (size_t i = 1; i < readings.size() && readings[i]["raised"].get<bool>(); ++i) add(rule, &readings[i]);
  }
  const std::string text = table.ToString(0, TerminalWidth(stdout));
  size_t row = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const bool goes_on = text[at] == ' ';  // the row before
    const size_t word = goes_on ? at : std::min(text.find(' ', at), end);
    const std::string shown = goes_on ? "" : Styled(stdout, styles[row++], text.substr(at, word - at));
    std::printf("%s%s\n", shown.c_str(), text.substr(word, end - word).c_str());
    at = end + 1;
  }
}

size_t CountRaised(const Json& rules) {
  return static_cast<size_t>(
      std::count_if(rules.begin(), rules.end(), [](const Json& rule) { return rule["state"] == "raised"; }));
}

/// One line of --follow.
Status PrintEvent(const model::Alarm& alarm, const std::string& when, bool json) {
  std::string line;
  if (json) {
    line = analysis::ToJson(std::span(&alarm, 1))[0].dump(-1, ' ', false, Json::error_handler_t::replace);
  } else {
    const bool raised = alarm.state == model::AlarmState::kRaised;
    const Style style = !raised                                             ? Style::kGreen
                        : alarm.severity == model::AlarmSeverity::kCritical ? Style::kRed
                                                                            : Style::kYellow;
    line = fmt::format("{}  {}  {}: {}{}", Styled(stdout, Style::kDim, when),
                       Styled(stdout, style, fmt::format("{:<8}", raised ? ToString(alarm.severity) : "cleared")),
                       alarm.alarm, Printable(alarm.text), raised && !alarm.advice.empty() ? ". " + alarm.advice : "");
  }
  std::printf("%s\n", line.c_str());
  return FinishStream(stdout);
}

// ---- this machine

/// Judges what comes, and says when there are alarms to print.
class Judge : public model::Sink {
 public:
  explicit Judge(const AlarmSettings& settings) : evaluator_(settings), feed_({&evaluator_}) {}

  void LimitFor(int64_t limit_ns) {
    const MutexLock lock(mutex_);
    evaluator_.LimitFor(limit_ns);
  }

  void Consume(const model::BatchPtr& batch) override {
    const MutexLock lock(mutex_);
    feed_.Add(*batch);
    const std::vector<model::Alarm> news = evaluator_.Take();
    alarms_.insert(alarms_.end(), news.begin(), news.end());
    if (!news.empty()) eventfd_write(news_.get(), news.size());
  }

  /// Readable when there are alarms that TakeNews() has not given.
  int fd() const { return news_.get(); }
  std::vector<model::Alarm> TakeNews() {
    const MutexLock lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(news_.get(), &ignored);
    std::vector<model::Alarm> news(alarms_.begin() + static_cast<ptrdiff_t>(taken_), alarms_.end());
    taken_ = alarms_.size();
    return news;
  }

  std::vector<analysis::AlarmStatus> Status() const {
    const MutexLock lock(mutex_);
    return evaluator_.Status();
  }
  std::vector<model::Alarm> Alarms() const {
    const MutexLock lock(mutex_);
    return alarms_;
  }

 private:
  mutable Mutex mutex_;
  analysis::AlarmEvaluator evaluator_ ATTUNE_GUARDED_BY(mutex_);
  analysis::LiveFeed feed_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<model::Alarm> alarms_ ATTUNE_GUARDED_BY(mutex_);
  size_t taken_ ATTUNE_GUARDED_BY(mutex_) = 0;
  const UniqueFd news_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// Prints alarms as they come. @param printed what became of that
session::Watch Follow(Judge& judge, bool json, Status& printed) {
  return {judge.fd(), [&judge, &printed, json] {
            for (const model::Alarm& alarm : judge.TakeNews()) {
              if (printed.ok())
                printed = PrintEvent(alarm, FormatRealTime(RealNs() - MonotonicNs() + alarm.t_ns), json);
            }
            return printed.ok();
          }};
}

Result<int> JudgeThisMachine(const Options& options) {
  ATTUNE_TRY(const AlarmSettings settings, session::ChooseAlarms(options.alarm_file, options.alarms));
  int64_t duration_ns = options.follow ? 0 : 2'000'000'000;
  if (!options.duration.empty()) {
    ATTUNE_TRY(duration_ns, ParseDurationNs(options.duration, "--for", kMinForNs, kMaxForNs));
  }
  Judge judge(settings);
  // Two seconds cannot show that something holds for ten. A third of them has two looks in it whenever they come.
  if (!options.follow) judge.LimitFor(duration_ns / 3);
  session::BlockLauncherSignals();
  const int64_t start_ns = MonotonicNs();
  ATTUNE_TRY(const auto sampling, session::LocalSampling::Start(HostRoot(), session::StatusSensors(), judge));
  ATTUNE_TRY(const UniqueFd timer, MakeTimer(duration_ns));  // 0: it never fires
  std::vector<session::Watch> watches{{timer.get(), [] { return false; }}};
  Status followed;
  if (options.follow) watches.push_back(Follow(judge, options.json, followed));
  ATTUNE_TRY([[maybe_unused]] const int signal, session::WaitForEnd(watches));
  sampling->Stop();
  ATTUNE_CHECK_OK(followed);
  const Json rules = analysis::ToJson(judge.Status(), start_ns);
  const int code = CountRaised(rules) > 0 ? kRaisedExitCode : 0;
  if (options.follow) return code;
  if (options.json) {
    const Json document{{"of", "this machine"},
                        {"seconds", static_cast<double>(MonotonicNs() - start_ns) / 1e9},
                        {"raised", CountRaised(rules)},
                        {"rules", rules},
                        {"alarms", analysis::ToJson(judge.Alarms(), start_ns)}};
    ATTUNE_TRY([[maybe_unused]] const int printed, PrintJson(document));
    return code;
  }
  PrintRules(rules, static_cast<double>(MonotonicNs() - start_ns) / 1e9);
  ATTUNE_TRY([[maybe_unused]] const int printed, FinishOutput());
  return code;
}

// ---- a session

Result<int> FollowRecording(const std::string& path, const Options& options) {
  ATTUNE_TRY(const auto source, store::OpenRecording(path));
  size_t printed = 0;
  while (true) {
    const uint64_t version = source->Version();
    const auto meta = source->Meta();
    for (; printed < meta->alarms.size(); ++printed) {
      const model::Alarm& alarm = meta->alarms[printed];
      ATTUNE_CHECK_OK(PrintEvent(alarm, FormatRealTime(alarm.t_ns + meta->real_minus_monotonic_ns), options.json));
    }
    if (!source->Growing()) break;
    source->WaitForNews(version, kNewsLimit);
  }
  ATTUNE_TRY([[maybe_unused]] const int finished, FinishOutput());
  return printed > 0 ? kRaisedExitCode : 0;
}

Result<int> AskSession(const Options& options) {
  ATTUNE_TRY(const session::SessionInfo info, session::FindSession(options.session));
  ATTUNE_TRY(session::ControlClient client, ConnectTo(info));
  for (const std::string& alarm : options.alarms) {
    ATTUNE_TRY([[maybe_unused]] const std::string set, client.Ask("alarm " + alarm));
  }
  if (options.follow) return FollowRecording(info.recording, options);
  ATTUNE_TRY(const std::string reply, client.Ask("alarms"));
  const Json answer = Json::parse(reply, nullptr, false);
  if (!answer.is_object() || !answer.contains("alarms"))
    return Error{Errc::kCorrupt, "the session's answer is not understood", "is it of another version of attune?"};
  const Json& rules = answer["alarms"];
  const int code = CountRaised(rules) > 0 ? kRaisedExitCode : 0;
  if (options.json) {
    ATTUNE_TRY([[maybe_unused]] const int printed,
               PrintJson({{"of", "session " + info.id}, {"raised", CountRaised(rules)}, {"rules", rules}}));
    return code;
  }
  PrintRules(rules, static_cast<double>(MonotonicNs()) / 1e9);
  ATTUNE_TRY([[maybe_unused]] const int printed, FinishOutput());
  return code;
}

// ---- a recording

void PrintSpans(const std::vector<analysis::AlarmSpan>& spans, model::TimeRange extent) {
  TextTable table({{"at", Align::kRight},
                   {"for", Align::kRight},
                   {"severity", Align::kLeft, Narrow::kWhole},
                   {"alarm", Align::kLeft, Narrow::kWhole},
                   {"", Align::kLeft, Narrow::kWrapped}});
  for (const analysis::AlarmSpan& span : spans) {
    const bool is_on = span.cleared_ns == model::kAbsent;
    const int64_t length_ns = (is_on ? extent.t1_ns : span.cleared_ns) - span.raised.t_ns;
    table.AddRow({FormatDuration(std::max<int64_t>(0, span.raised.t_ns - extent.t0_ns)),
                  FormatDuration(std::max<int64_t>(0, length_ns)) + (is_on ? " (to the end)" : ""),
                  std::string(ToString(span.raised.severity)), span.raised.alarm, Printable(span.raised.text)});
  }
  std::fputs(table.ToString(0, TerminalWidth(stdout)).c_str(), stdout);
}

void PrintWhatWasNotJudged(const std::vector<analysis::AlarmStatus>& status) {
  bool any = false;
  for (const analysis::AlarmStatus& rule : status) {
    if (rule.verdict != analysis::AlarmVerdict::kNotJudged) continue;
    if (!any) std::printf("\n%s\n", Styled(stdout, Style::kDim, "cannot be judged:").c_str());
    any = true;
    std::printf("  %s: %s\n", std::string(rule.rule.rule->name).c_str(), Printable(rule.why).c_str());
  }
}

Result<int> JudgeFile(const Options& options) {
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  if (options.follow) return FollowRecording(options.file, options);
  const auto meta = source->Meta();
  const auto recorded = meta->info.find(std::string(model::info::kAlarms));
  AlarmSettings settings;
  if (recorded != meta->info.end()) settings = analysis::AlarmSettingsFromText(recorded->second);
  if (options.HasSettings()) {
    ATTUNE_TRY(const AlarmSettings wanted, session::ChooseAlarms(options.alarm_file, options.alarms));
    analysis::MergeAlarmSettings(wanted, settings);
  }
  ATTUNE_TRY(analysis::AlarmHistory history, analysis::JudgeRecording(*source, settings));
  // The recording has the alarms that the session raised, also for a time whose samples were given up since.
  if (!options.HasSettings() && recorded != meta->info.end()) history.alarms = meta->alarms;
  const int code = history.alarms.empty() ? 0 : kRaisedExitCode;
  const model::TimeRange extent = source->Extent();
  if (options.json) {
    const Json document{{"of", options.file},
                        {"seconds", static_cast<double>(extent.t1_ns - extent.t0_ns) / 1e9},
                        {"rules", analysis::ToJson(history.status, extent.t0_ns)},
                        {"alarms", analysis::ToJson(history.alarms, extent.t0_ns)}};
    ATTUNE_TRY([[maybe_unused]] const int printed, PrintJson(document));
    return code;
  }
  if (history.alarms.empty()) {
    std::printf("no alarm was raised\n");
  } else {
    PrintSpans(analysis::PairAlarms(history.alarms), extent);
  }
  PrintWhatWasNotJudged(history.status);
  ATTUNE_TRY([[maybe_unused]] const int printed, FinishOutput());
  return code;
}

Result<int> ListRules(const Options& options) {
  ATTUNE_TRY(const AlarmSettings settings, session::ChooseAlarms(options.alarm_file, options.alarms));
  const std::vector<analysis::TunedRule> rules = analysis::TuneAll(settings);
  if (options.json) {
    std::vector<analysis::AlarmStatus> status;
    for (const analysis::TunedRule& rule : rules)
      status.push_back({rule, rule.on ? analysis::AlarmVerdict::kFine : analysis::AlarmVerdict::kOff, "", {}});
    Json rows = analysis::ToJson(status);
    for (Json& row : rows) {
      row.erase("readings");
      row.erase("why");
      row["on"] = row["state"] != "off";
      row.erase("state");
    }
    return PrintJson(rows);
  }
  TextTable table({{"alarm", Align::kLeft, Narrow::kWhole},
                   {"severity", Align::kLeft, Narrow::kSpared},
                   {"raised", Align::kLeft, Narrow::kWhole},
                   {"for", Align::kRight},
                   {"cleared", Align::kLeft, Narrow::kSpared},
                   {"", Align::kLeft, Narrow::kWrapped}});
  for (const analysis::TunedRule& rule : rules) {
    const AlarmRule& what = *rule.rule;
    const bool above = what.condition.above;
    table.AddRow(
        {std::string(what.name), std::string(ToString(what.severity)),
         rule.on
             ? fmt::format("{} {}", above ? "above" : "below", analysis::FormatAlarmValue(rule.threshold, what.unit()))
             : "off",
         rule.for_ns == 0 ? "" : FormatDuration(rule.for_ns),
         fmt::format("{} {}", above ? "at most" : "at least", analysis::FormatAlarmValue(rule.clear, what.unit())),
         std::string(what.description)});
  }
  std::fputs(table.ToString(0, TerminalWidth(stdout)).c_str(), stdout);
  return FinishOutput();
}

Result<int> Run(const Options& options) {
  if (!options.file.empty() && !options.session.empty())
    return Error{Errc::kInvalidArgument, "--session and a recording exclude each other", "give one of them"};
  if (!options.duration.empty() && (!options.file.empty() || !options.session.empty() || options.list))
    return Error{Errc::kInvalidArgument, "--for is for looking at this machine", "leave it out"};
  if (options.follow && options.list)
    return Error{Errc::kInvalidArgument, "--follow and --list exclude each other", ""};
  if (!options.session.empty() && !options.alarm_file.empty())
    return Error{Errc::kInvalidArgument, "--alarms does not go to a session that runs", "--alarm NAME=VALUE does"};
  if (options.list) return ListRules(options);
  if (!options.file.empty()) return JudgeFile(options);
  if (!options.session.empty()) return AskSession(options);
  return JudgeThisMachine(options);
}

}  // namespace

Command MakeAlarmsCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "alarms";
  command.rank = 80;
  command.summary = "say what is wrong with the machine, a session or a recording";
  command.description =
      "Without FILE it samples this machine for the time of --for and checks memory, swap, network, CPUs, disks, heat "
      "and file systems. With FILE it lists the alarms of a recording with their times, by the recorded thresholds or "
      "by others. With --session it asks a running session; --alarm then changes the session's thresholds.\n\n"
      "A rule without its signals cannot be judged, and the list says so. In a look of a few seconds no rule waits "
      "longer than a third of that; with --follow and in sessions each rule waits for its own time.\n\n"
      "Settings come from ~/.config/attune/alarms.toml, or the FILE of --alarms, with lines like memory.low = \"10 %\" "
      "or "
      "storage.space = \"off\", or tables like [memory.low] with threshold, clear, for and on; --alarm goes before "
      "them.\n\n"
      "Exit code 0: nothing is (or was) raised; 7: something is; other codes are errors.";
  command.positionals = {
      {"FILE", "A recording; also one that still grows", &options->file, false, Complete::kRecording}};
  command.options = {
      {"--session", "ID", "Ask this session (attune list sessions)", &options->session, Complete::kSession},
      {"--for", "TIME", "How long to look at this machine, from 1s. Default: 2s; with --follow until Ctrl-C",
       &options->duration},
      {"--follow", "", "A line for each alarm as it is raised or cleared", &options->follow},
      {"--list", "", "All rules with their thresholds", &options->list},
      {"--alarm", "NAME=VALUE",
       "Threshold of an alarm, as in storage.space=10%; NAME=off and NAME=on turn it off and on, all=off all of them. "
       "May "
       "be given more than once",
       &options->alarms},
      {"--alarms", "FILE", "Settings, instead of ~/.config/attune/alarms.toml", &options->alarm_file, Complete::kFile},
      {"--json", "", "As JSON; with --follow an object a line", &options->json}};
  command.examples = {
      {"attune alarms", "what is wrong here, now"},
      {"attune alarms job.attune", "what was wrong while the job ran, and when"},
      {"attune alarms job.attune --alarm memory.low=20%", "the same, judged by another threshold"},
      {"attune alarms --follow --alarm all=off --alarm storage.space=10%", "wait for full file systems, and say so"},
      {"attune alarms --json | jq '.rules[] | select(.state == \"cannot be judged\")'",
       "what cannot be known here, and why"},
      {"attune ctl alarm cpu.overloaded=off", "turn one off in a session that runs"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
