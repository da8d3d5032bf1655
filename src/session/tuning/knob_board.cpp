#include "session/tuning/knob_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>

#include "model/knob_file.h"
#include "session/tuning/declared_knobs.h"
#include "session/tuning/undo.h"

namespace attune::session {

KnobBoard::KnobBoard(std::string session, std::vector<model::Knob> knobs, RingChannel& rings, Writes writes,
                     const HostRoot& host)
    : session_(std::move(session)),
      knobs_(knobs.begin(), knobs.end()),
      rings_(rings),
      writes_(writes),
      host_{.host = host, .probe = &rings_, .find_function = FunctionFinder(host)} {}

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory, which ends the process
KnobBoard::~KnobBoard() { End(); }

const std::deque<model::Knob>& KnobBoard::knobs() {
  for (model::Knob& declared : ToKnobs(rings_.Declared())) {
    if (std::ranges::find(knobs_, declared.name, &model::Knob::name) == knobs_.end())
      knobs_.push_back(std::move(declared));
  }
  return knobs_;
}

Result<model::Actuator*> KnobBoard::ActuatorOf(const model::Knob& knob) {
  std::unique_ptr<model::Actuator>& made = actuators_[knob.actuator];
  if (made == nullptr) {
    ATTUNE_TRY(made, actuator::MakeActuator(knob.actuator, host_));
  }
  return made.get();
}

Result<std::vector<model::KnobSetting>> KnobBoard::Read(const model::Knob& knob, const std::vector<pid_t>& pids) {
  ATTUNE_TRY(model::Actuator * actuator, ActuatorOf(knob));
  std::vector<model::KnobSetting> settings;
  Error why{Errc::kNotFound, knob.name + ": no process runs", ""};
  for (const pid_t pid : pids) {
    const auto of_process = actuator->Read(knob, TargetOf(pid));
    if (!of_process.ok()) {
      why = of_process.error();
      continue;
    }
    settings.insert(settings.end(), of_process->begin(), of_process->end());
    if (knob.scope == model::KnobScope::kMachine) break;
  }
  if (settings.empty()) return why;
  return settings;
}

/// Before the first change: what an earlier session left behind is undone, then this one is guarded.
Status KnobBoard::Begin() {
  if (journal_) return {};
  if (auto left = HeldChanges(); left.ok()) {
    std::erase_if(*left, [](const Change& change) { return change.is_held || change.by_hand; });
    if (!left->empty()) static_cast<void>(UndoUnheld(*std::move(left), {knobs_.begin(), knobs_.end()}));
  }
  ATTUNE_TRY(journal_, Journal::Create(session_));
  ATTUNE_TRY(guardian_, Guardian::Start(*journal_));
  rings_given_ = 0;
  KeepGuarded();
  return {};
}

void KnobBoard::KeepGuarded() {
  if (!journal_) return;
  if (!guardian_ || !guardian_->IsAlive()) {
    auto another = Guardian::Start(*journal_);
    if (!another.ok()) return;
    guardian_ = *std::move(another);
    rings_given_ = 0;
  }
  const auto rings = rings_.All();
  for (; rings_given_ < rings.size(); ++rings_given_) {
    if (!guardian_->GiveRing(rings[rings_given_]->fd()).ok()) return;
  }
}

Status KnobBoard::Set(const model::Knob& knob, const std::string& value, const std::vector<pid_t>& pids) {
  if (writes_ == Writes::kNothing) {
    const auto read = Read(knob, pids);
    return read.ok() ? Status() : read.error();
  }
  const bool is_new = !held_.contains(knob.name);
  ATTUNE_CHECK_OK(Begin());
  Held& held = held_[knob.name];
  if (is_new) held.order = ++orders_;
  held.pids = pids;
  bool has_any = false;
  Status result;
  Error why{Errc::kNotFound, knob.name + ": no process runs", ""};
  for (const pid_t pid : pids) {
    const model::KnobTarget target = TargetOf(pid);
    if (target.start_ticks == 0) continue;
    const Status set = SetOne(knob, target, value, held, has_any);
    if (!set.ok() && set.error().code == Errc::kNotFound) {
      why = set.error();
    } else if (!set.ok() && result.ok()) {
      result = set;
    }
  }
  if (result.ok() && !has_any) result = why;
  if (!result.ok() && is_new) {
    static_cast<void>(WriteBefore(knob, held, true));
    held_.erase(knob.name);
  }
  return result;
}

Status KnobBoard::SetOne(const model::Knob& knob, const model::KnobTarget& target, const std::string& value, Held& held,
                         bool& has_any) {
  ATTUNE_TRY(model::Actuator * actuator, ActuatorOf(knob));
  ATTUNE_TRY(const std::vector<model::KnobSetting> settings, actuator->Read(knob, target));
  const model::KnobTarget owner = model::OwnerOf(knob, target);
  const auto of_target = [&](const Change& change) {
    return change.target.pid == owner.pid && change.target.start_ticks == owner.start_ticks;
  };
  if (std::ranges::none_of(held.changes, of_target)) ATTUNE_CHECK_OK(CheckUnowned(knob.name, owner, session_));
  for (const model::KnobSetting& setting : settings) {
    has_any = true;
    auto known = std::ranges::find_if(
        held.changes, [&](const Change& change) { return of_target(change) && change.place == setting.place; });
    if (known == held.changes.end()) {
      if (setting.value == value && knob.scope != model::KnobScope::kThread) continue;
      Change change{.knob = knob.name,
                    .actuator = knob.actuator,
                    .target = owner,
                    .place = setting.place,
                    .before = setting.value,
                    .after = value};
      // A new thread has inherited it.
      const auto first = std::ranges::find_if(held.changes, of_target);
      if (setting.value == value) {
        if (first == held.changes.end()) continue;
        change.before = first->before;
      }
      ATTUNE_TRY(change.number, journal_->Note(change));
      held.changes.push_back(std::move(change));
      known = std::prev(held.changes.end());
    } else if (setting.value != known->before && setting.value != known->after && setting.value != held.kept) {
      const std::string place = setting.place.empty() ? "" : " of " + setting.place;
      static_cast<void>(journal_->NoteUndone(known->number));
      held.changes.erase(known);
      return Error{
          Errc::kUnavailable,
          fmt::format("somebody else has set {}{} of process {} to {}", knob.name, place, target.pid, setting.value),
          "it stays as they want it"};
    }
    const auto written = actuator->Write(knob, target, {setting.place, value});
    if (!written.ok() && written.error().code != Errc::kNotFound) return written.error();
    // The kernel may make another value of it: what is compared later is what holds.
    known->after = written.ok() ? *written : value;
  }
  return {};
}

Status KnobBoard::WriteBefore(const model::Knob& knob, Held& held, bool gives_up) {
  ATTUNE_TRY(model::Actuator * actuator, ActuatorOf(knob));
  Status result;
  std::set<pid_t> pids;
  for (const Change& change : held.changes | std::views::reverse) {
    pids.insert(change.target.pid);
    const auto written = actuator->Write(knob, change.target, {change.place, change.before});
    const bool is_over = written.ok() || written.error().code == Errc::kNotFound;
    if (!is_over && result.ok()) result = written.error();
    if (gives_up && is_over) static_cast<void>(journal_->NoteUndone(change.number));
  }
  if (knob.scope != model::KnobScope::kThread) return result;
  for (const pid_t pid : pids) {
    std::vector<Change> of_process;
    std::ranges::copy_if(held.changes, std::back_inserter(of_process),
                         [pid](const Change& change) { return change.target.pid == pid; });
    UndoInherited(*actuator, knob, of_process);
  }
  return result;
}

Status KnobBoard::Reset(const model::Knob& knob) {
  const auto held = held_.find(knob.name);
  if (held == held_.end()) return {};
  if (!held->second.kept) return WriteBefore(knob, held->second, false);
  return Set(knob, std::string(*held->second.kept), std::vector<pid_t>(held->second.pids));
}

void KnobBoard::Keep(const model::Knob& knob, const std::string& value) {
  if (const auto held = held_.find(knob.name); held != held_.end()) held->second.kept = value;
}

Status KnobBoard::Withdraw(const model::Knob& knob) {
  const auto held = held_.find(knob.name);
  if (held == held_.end()) return {};
  return held->second.kept ? Reset(knob) : GiveUp(knob);
}

Status KnobBoard::GiveUp(const model::Knob& knob) {
  const auto held = held_.find(knob.name);
  if (held == held_.end()) return {};
  const Status written = WriteBefore(knob, held->second, true);
  if (written.ok()) held_.erase(held);
  return written;
}

void KnobBoard::End() {
  std::vector<std::pair<int, std::string>> names;
  for (const auto& [name, held] : held_) names.emplace_back(held.order, name);
  std::ranges::sort(names, std::greater<>());
  bool is_all_back = true;
  for (const auto& [order, name] : names) {
    const auto knob = std::ranges::find(knobs_, name, &model::Knob::name);
    const auto actuator = knob == knobs_.end() ? Result<model::Actuator*>(nullptr) : ActuatorOf(*knob);
    if (!actuator.ok() || *actuator == nullptr || (*actuator)->WaitsForProgram() || !GiveUp(*knob).ok())
      is_all_back = false;
  }
  held_.clear();
  if (guardian_ && is_all_back) guardian_->Dismiss();
  if (journal_ && is_all_back) journal_->Remove();
  // Without a word the guardian undoes what the journal still holds.
  guardian_.reset();
  journal_.reset();
}

std::string KnobBoard::BeforeText(const model::Knob& knob) const {
  const auto held = held_.find(knob.name);
  if (held == held_.end()) return "";
  constexpr size_t kMost = 3;
  std::vector<std::string> values;
  for (const Change& change : held->second.changes) {
    if (std::ranges::find(values, change.before) == values.end()) values.push_back(change.before);
  }
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + values[i];
  return values.size() > kMost ? text + ", ..." : text;
}

}  // namespace attune::session
