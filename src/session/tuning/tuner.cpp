#include "session/tuning/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/clock.h"
#include "session/tuning/settings_file.h"
#include "session/tuning/undo.h"
#include "wire/ring.h"

namespace attune::session {
namespace {

constexpr int64_t kFirstWindowNs = 250'000'000;
constexpr int64_t kLongestWindowNs = 2 * kSecondNs;
/// Windows without a change before a trial: they say how the objective changes by itself.
constexpr size_t kOwnWindows = 10;
constexpr int64_t kBeginNs = 5'000'000'000;
constexpr int64_t kBeginPauseNs = 20'000'000;
/// Noise above which windows are made longer.
constexpr double kNoisy = 0.10;
/// Values of knobs are asked for again after this, since a program's thread has to come by for some.
constexpr int64_t kValuesHoldNs = 30 * kSecondNs;
/// Tolerated loss of the witness.
constexpr double kWitnessLoss = 0.05;

int64_t Ppm(double part) { return std::llround(std::clamp(part, -1e6, 1e6) * 1e6); }

double MedianOf(std::vector<double> values) {
  return values.empty() ? 0 : MedianWithInterval(std::move(values)).median;
}

}  // namespace

/// One proposal on trial.
struct Tuner::Trial {
  const model::Knob& knob;
  const tunlet::Proposal& proposal;
  Objective objective;
  std::optional<Objective> witness;
  Experiment experiment;
  std::vector<double> witness_before, witness_on_trial;
  model::Decision row;
  attune::Status failed;  ///< error of turning the knob
  bool is_on = false;
  std::vector<pid_t> pids;  ///< that have the value on trial
};

Tuner::Tuner(TuningChoice choice, TuningHost host, std::unique_ptr<KnobBoard> board)
    : choice_(std::move(choice)), host_(std::move(host)), board_(std::move(board)), window_ns_(kFirstWindowNs) {
  for (const auto& make : tunlet::AllTunlets()) tunlets_.push_back(make());
}

void Tuner::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  stop_.NotifyAll();
}

TuningStatus Tuner::Status() const {
  const MutexLock lock(mutex_);
  return status_;
}

/// @return false: it is to end
bool Tuner::Sleep(int64_t ns) {
  MutexLock lock(mutex_);
  return !stop_.WaitFor(lock, std::chrono::nanoseconds(ns), [this]() ATTUNE_REQUIRES(mutex_) { return stopping_; });
}

bool Tuner::IsOver() {
  const MutexLock lock(mutex_);
  return stopping_;
}

void Tuner::Run() {
  begin_ns_ = MonotonicNs();
  // A program gets its settings as soon as it can take them: its libraries and sockets come a while after its begin.
  while (!ApplySettings() && MonotonicNs() - begin_ns_ < kBeginNs && Sleep(kBeginPauseNs)) {
  }
  while (!IsOver()) {
    if (!Observe()) break;
    board_->KeepGuarded();
    ApplySettings();
    DoWhatWasAsked();
    // A dry run can name its trials before it is known how the program gets on.
    if (choice_.on && (choice_.dry_run || own_.size() > kOwnWindows)) TryNext();
  }
  board_->End();
}

/// Also to processes, threads and sockets that came since the last time. @return each has been set once
bool Tuner::ApplySettings() {
  bool is_complete = true;
  for (const KnobChoice& choice : choice_.settings) {
    const model::Knob* knob = FindKnob(choice.knob);
    if (knob == nullptr) continue;
    const bool is_first = !tried_.contains({choice.knob, choice.value});
    const attune::Status set = board_->Set(*knob, choice.value, host_.running());
    // A program that has just begun has no such library or socket yet.
    const bool is_missing = !set.ok() && set.error().code == Errc::kNotFound;
    if (is_first && is_missing) is_complete = false;
    if (!is_first || is_missing) continue;
    tried_.insert({choice.knob, choice.value});
    Publish({.id = ++decisions_,
             .state = set.ok() ? model::DecisionState::kKept : model::DecisionState::kRefused,
             .tunlet = "settings",
             .knob = choice.knob,
             .before = board_->BeforeText(*knob),
             .after = choice.value,
             .reason = set.ok() ? "it was asked for" : set.error().message});
  }
  return is_complete;
}

void Tuner::Ask(KnobChoice wanted) {
  const MutexLock lock(mutex_);
  asked_.push_back(std::move(wanted));
}

/// One order a window, as soon as it is known how the program gets on.
void Tuner::DoWhatWasAsked() {
  KnobChoice wanted;
  {
    const MutexLock lock(mutex_);
    if (asked_.empty() || (!asked_.front().value.empty() && own_.size() <= kOwnWindows)) return;
    wanted = std::move(asked_.front());
    asked_.pop_front();
  }
  const model::Knob* knob = FindKnob(wanted.knob);
  if (knob == nullptr) return;
  if (wanted.value.empty()) return TakeBack(*knob);
  auto& [read_ns, values] = values_[knob->name];
  values.clear();
  if (const auto settings = board_->Read(*knob, host_.running()); settings.ok()) {
    for (const model::KnobSetting& setting : *settings) {
      if (std::ranges::find(values, setting.value) == values.end()) values.push_back(setting.value);
    }
  }
  read_ns = MonotonicNs();
  tried_.insert({wanted.knob, wanted.value});
  Try(*knob, {.knob = wanted.knob, .value = wanted.value, .reason = "it was asked for", .finding = {}}, "by hand",
      RankObjectives({own_.begin(), own_.end()}));
}

void Tuner::TakeBack(const model::Knob& knob) {
  if (!board_->Holds(knob)) return;
  const attune::Status released = board_->GiveUp(knob);
  values_.erase(knob.name);
  own_.clear();
  Publish({.id = ++decisions_,
           .state = released.ok() ? model::DecisionState::kUndone : model::DecisionState::kRefused,
           .tunlet = "by hand",
           .knob = knob.name,
           .after = "what it was before",
           .reason = released.ok() ? "it was asked for" : released.error().message});
}

/// One more window without a change. @return false: it is to end
bool Tuner::Observe() {
  if (own_.empty()) own_.push_back(host_.read());
  if (!Sleep(window_ns_)) return false;
  own_.push_back(host_.read());
  if (window_ns_ < host_.least_window_ns()) {
    window_ns_ *= 2;
    own_.clear();
    return true;
  }
  if (own_.size() > kOwnWindows + 1) own_.pop_front();
  if (own_.size() < kOwnWindows + 1) return true;
  const std::vector<Objective> ranked = RankObjectives({own_.begin(), own_.end()});
  // CPU time is steady, and seldom an objective.
  const auto best_of_work =
      std::ranges::find_if(ranked, [](const Objective& o) { return o.candidate.kind != ProgressKind::kCpu; });
  if ((best_of_work == ranked.end() || best_of_work->noise > kNoisy) && Lengthen()) return true;
  Show(ranked);
  return true;
}

/// Updates the shown objective and its rate; before the first trial it is the best candidate.
void Tuner::Show(const std::vector<Objective>& ranked) {
  const auto shown = std::ranges::find_if(ranked, [this](const Objective& objective) {
    return objective_ ? objective.candidate == *objective_ : IsWantedObjective(objective.candidate);
  });
  if (shown == ranked.end()) return;
  ShowRate(shown->candidate, own_[own_.size() - 2], own_.back());
  const MutexLock lock(mutex_);
  status_.objective = NameOf(shown->candidate);
  status_.unit = UnitOf(shown->candidate.kind);
  status_.noise = shown->noise;
  status_.rate_now = shown->rate;
  if (!objective_) status_.rate_before = shown->rate;
  status_.window_ns = window_ns_;
}

/// Longer windows: two are one of twice the length. @return false: they are as long as they get
bool Tuner::Lengthen() {
  if (window_ns_ >= kLongestWindowNs) return false;
  window_ns_ *= 2;
  std::deque<ProgressReading> every_second;
  for (size_t i = 0; i < own_.size(); i += 2) every_second.push_back(std::move(own_[i]));
  own_ = std::move(every_second);
  return true;
}

void Tuner::ShowRate(const Candidate& candidate, const ProgressReading& begin, const ProgressReading& end) const {
  host_.show_rate(end.t_ns, RateOf(candidate, begin, end));
}

std::string Tuner::NameOf(const Candidate& candidate) const {
  if (candidate.kind == ProgressKind::kFormula) return choice_.objective;
  const std::string place = candidate.object != 0 ? host_.place(candidate.object) : "";
  return place.empty() ? std::string(ToString(candidate.kind))
                       : fmt::format("{} at {}", ToString(candidate.kind), place);
}

bool Tuner::IsWantedObjective(const Candidate& candidate) const {
  return choice_.objective.empty() || NameOf(candidate).find(choice_.objective) != std::string::npos;
}

/// The best candidate that says something about a change of this knob.
std::optional<Objective> Tuner::ObjectiveFor(const model::Knob& knob, const std::vector<Objective>& ranked) const {
  const auto library = knob.how.find("library");
  for (const Objective& objective : ranked) {
    const Candidate& candidate = objective.candidate;
    // CPU time is what placement gives; of another change it may be what is saved.
    if (candidate.kind == ProgressKind::kCpu && knob.scope != model::KnobScope::kThread) continue;
    // How often a library calls something by itself depends on its settings.
    if (candidate.kind == ProgressKind::kSync && library != knob.how.end() &&
        host_.module(candidate.object).starts_with(library->second))
      continue;
    if (!IsWantedObjective(candidate)) continue;
    return objective;
  }
  return std::nullopt;
}

const model::Knob* Tuner::FindKnob(std::string_view name) const {
  const std::deque<model::Knob>& knobs = board_->knobs();
  const auto found = std::ranges::find(knobs, name, &model::Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

bool Tuner::IsWanted(std::string_view tunlet, const std::string& knob) const {
  const auto names = [&](const std::vector<std::string>& list) {
    return std::ranges::any_of(list, [&](const std::string& name) { return name == tunlet || name == knob; });
  };
  return (choice_.only.empty() || names(choice_.only)) && !names(choice_.never);
}

/// Collects the observation for the tunlets. Knobs that answer no open finding are not read.
tunlet::Observation Tuner::Look() {
  tunlet::Observation seen;
  const std::vector<pid_t> pids = host_.running();
  seen.cpus = host_.cpus.size();
  seen.cpu_list = host_.cpus.ToString();
  if (own_.size() > 1) seen.cpus_used = RateOf({ProgressKind::kCpu, 0}, own_.front(), own_.back()) * 1e-3;
  seen.processes = pids.size();
  const int64_t now_ns = MonotonicNs();
  seen.wall_ns = now_ns - begin_ns_;
  seen.findings = host_.findings();
  std::ranges::sort(seen.findings, std::greater<>(), &model::Finding::gain_ns);
  seen.widest_team = host_.widest_team();
  const uint32_t loops = host_.loops();
  seen.has_runtime_loops = (loops & wire::kRingLoopsRuntime) != 0;
  seen.has_dynamic_loops = (loops & wire::kRingLoopsDynamic) != 0;
  for (const model::Knob& knob : board_->knobs()) {
    const bool answers = std::ranges::any_of(seen.findings, [&](const model::Finding& finding) {
      return std::ranges::find(knob.answers, finding.finding_class) != knob.answers.end();
    });
    const bool is_own = knob.actuator == kProgramActuator;
    if ((!answers && !is_own) || knob.undo == model::KnobUndo::kNone) continue;
    if (knob.scope == model::KnobScope::kMachine && !choice_.allow_machine) continue;
    auto& [read_ns, values] = values_[knob.name];
    if (read_ns == 0 || now_ns - read_ns > kValuesHoldNs) {
      values.clear();
      if (const auto settings = board_->Read(knob, pids); settings.ok()) {
        for (const model::KnobSetting& setting : *settings) {
          if (std::ranges::find(values, setting.value) == values.end()) values.push_back(setting.value);
        }
      }
      read_ns = MonotonicNs();
    }
    if (!values.empty()) seen.knobs[knob.name] = {values, knob.answers};
    if (!values.empty() && is_own)
      seen.declared.push_back({knob.name, knob.low, knob.high, tunlet::NumberOf(values.front(), knob.low)});
  }
  return seen;
}

/// Tries the proposal that promises most of those that were not tried yet.
void Tuner::TryNext() {
  const tunlet::Observation seen = Look();
  const tunlet::Tunlet* by = nullptr;
  tunlet::Proposal best;
  const auto is_remembered = [this](const tunlet::Proposal& proposal) {
    return std::ranges::any_of(choice_.remembered, [&](const KnobChoice& choice) {
      return choice.knob == proposal.knob && choice.value == proposal.value &&
             choice.finding == FindingClassOf(proposal.finding);
    });
  };
  for (const auto& tunlet : tunlets_) {
    for (tunlet::Proposal& proposal : tunlet->Propose(seen)) {
      if (!IsWanted(tunlet->Name(), proposal.knob) || tried_.contains({proposal.knob, proposal.value})) continue;
      if (by == nullptr || std::pair(is_remembered(proposal), proposal.expected_gain) >
                               std::pair(is_remembered(best), best.expected_gain)) {
        by = tunlet.get();
        best = std::move(proposal);
      }
    }
  }
  const model::Knob* knob = by == nullptr ? nullptr : FindKnob(best.knob);
  if (knob == nullptr) return;
  const std::vector<Objective> ranked = RankObjectives({own_.begin(), own_.end()});
  if (!choice_.dry_run && !ObjectiveFor(*knob, ranked) && Lengthen()) return;
  tried_.insert({best.knob, best.value});
  Try(*knob, best, by->Name(), ranked);
}

void Tuner::Publish(model::Decision decision) {
  decision.t_ns = MonotonicNs();
  host_.publish(decision);
}

void Tuner::Try(const model::Knob& knob, const tunlet::Proposal& proposal, std::string_view by,
                const std::vector<Objective>& ranked) {
  const std::optional<Objective> objective = ObjectiveFor(knob, ranked);
  std::string before;
  for (const std::string& value : values_[knob.name].second) before += (before.empty() ? "" : ", ") + value;
  model::Decision row{.id = ++decisions_,
                      .t0_ns = MonotonicNs(),
                      .expected_gain_ppm = Ppm(proposal.expected_gain),
                      .window_ns = window_ns_,
                      .tunlet = std::string(by),
                      .knob = knob.name,
                      .before = before,
                      .after = proposal.value,
                      .objective = objective ? NameOf(objective->candidate) : "",
                      .finding = proposal.finding,
                      .reason = proposal.reason};
  if (choice_.dry_run || !objective) {
    row.state = model::DecisionState::kAdvised;
    if (!objective && own_.size() > kOwnWindows)
      row.reason += "; nothing was found that tells how fast the program gets on";
    return Publish(row);
  }
  if (!objective_) {
    objective_ = objective->candidate;
    Show(ranked);
    const MutexLock lock(mutex_);
    status_.rate_before = objective->rate;
  }
  std::vector<double> own;
  for (size_t i = 1; i < own_.size(); ++i) own.push_back(RateOf(objective->candidate, own_[i - 1], own_[i]));
  std::optional<Objective> witness;
  for (const Objective& other : ranked) {
    if (other.candidate.kind == objective->candidate.kind || other.candidate.kind == ProgressKind::kCpu) continue;
    if (other.candidate.kind == ProgressKind::kSync) continue;  // may follow the number of threads
    witness = other;
    break;
  }
  Trial trial{.knob = knob,
              .proposal = proposal,
              .objective = *objective,
              .witness = witness,
              .experiment = Experiment({}, own, static_cast<uint32_t>(row.t0_ns)),
              .witness_before = {},
              .witness_on_trial = {},
              .row = row,
              .failed = {}};
  trial.row.state = model::DecisionState::kOnTrial;
  Publish(trial.row);
  {
    const MutexLock lock(mutex_);
    status_.trial = fmt::format("{} = {}", knob.name, proposal.value);
  }
  while (trial.experiment.verdict() == Experiment::Verdict::kGoesOn && Measure(trial)) {
  }
  const model::Decision end = Conclude(trial);
  Publish(end);
  own_.clear();
  values_.erase(knob.name);
  const MutexLock lock(mutex_);
  // A program may end before the next windows say it.
  if (end.state == model::DecisionState::kKept && objective->candidate == *objective_)
    status_.rate_now = objective->rate * (1 + static_cast<double>(end.gain_ppm) * 1e-6);
  status_.trial.clear();
  status_.trials_ns += MonotonicNs() - row.t0_ns;
}

/// One window. @return false: the trial cannot go on
bool Tuner::Measure(Trial& trial) {
  const bool on = trial.experiment.arm() == Experiment::Arm::kOnTrial;
  const std::vector<pid_t> pids = host_.running();
  if (pids.empty()) return false;
  // Also where it is on already: there may be new threads and processes.
  const bool is_same = trial.is_on && trial.knob.scope == model::KnobScope::kProcess && trial.pids == pids;
  if (on && !is_same) trial.failed = board_->Set(trial.knob, trial.proposal.value, pids);
  if (on) trial.pids = pids;
  if (!on && trial.is_on) trial.failed = board_->Reset(trial.knob);
  if (!trial.failed.ok()) return false;
  const int64_t settle_ns = on == trial.is_on ? 0 : trial.knob.settle_ns;
  trial.is_on = on;
  if (!Sleep(settle_ns + std::llround(trial.experiment.pause() * static_cast<double>(window_ns_)))) return false;
  const ProgressReading begin = host_.read();
  if (!Sleep(window_ns_)) return false;
  const ProgressReading end = host_.read();
  if (host_.running().empty()) return false;
  if (trial.witness)
    (on ? trial.witness_on_trial : trial.witness_before).push_back(RateOf(trial.witness->candidate, begin, end));
  ShowRate(trial.objective.candidate, begin, end);
  trial.experiment.Add(RateOf(trial.objective.candidate, begin, end));
  board_->KeepGuarded();
  return true;
}

/// Keeps the change or takes it back.
model::Decision Tuner::Conclude(Trial& trial) {
  using Verdict = Experiment::Verdict;
  model::Decision row = trial.row;
  const GainEstimate figures = trial.experiment.Figures();
  if (figures.pairs > 0) {
    row.gain_ppm = Ppm(figures.gain);
    row.gain_low_ppm = Ppm(figures.low);
    row.gain_high_ppm = Ppm(figures.high);
  }
  row.t1_ns = MonotonicNs();
  const auto undo = [&](model::DecisionState state, const std::string& why) {
    const attune::Status released = board_->Withdraw(trial.knob);
    row.state = state;
    row.reason += "; " + why;
    if (!released.ok()) row.reason += "; it could not be turned back: " + released.error().message;
    return row;
  };
  if (!trial.failed.ok()) return undo(model::DecisionState::kRefused, trial.failed.error().message);
  const Verdict verdict = trial.experiment.verdict();
  if (verdict == Verdict::kGoesOn) return undo(model::DecisionState::kUndone, "the program or the session ended");
  if (verdict != Verdict::kBetter) return undo(model::DecisionState::kUndone, std::string(ToString(verdict)));
  const double witness = MedianOf(trial.witness_on_trial) / std::max(MedianOf(trial.witness_before), 1e-9);
  if (trial.witness && witness < 1 - kWitnessLoss)
    return undo(model::DecisionState::kAdvised,
                fmt::format("but {} got {:.0f} % slower", NameOf(trial.witness->candidate), 100 * (1 - witness)));
  if (const attune::Status set = board_->Set(trial.knob, trial.proposal.value, host_.running()); !set.ok())
    return undo(model::DecisionState::kRefused, set.error().message);
  board_->Keep(trial.knob, trial.proposal.value);
  row.state = model::DecisionState::kKept;
  return row;
}

}  // namespace attune::session
