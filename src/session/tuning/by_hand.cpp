#include "session/tuning/by_hand.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include "actuator/actuators.h"
#include "actuator/remote/remote_caller.h"
#include "base/clock.h"
#include "model/knob_file.h"
#include "session/tuning/declared_knobs.h"
#include "symbols/process_code.h"

namespace attune::session {
namespace {

/// Surroundings of an actuator, for one process.
struct HandHost {
  RingChannel rings;  ///< of knobs that programs declare
  actuator::ActuatorHost Of(const model::Knob& knob) {
    return {.host = HostRoot(),
            .probe = knob.actuator == kProgramActuator ? &rings : nullptr,
            .find_function = FunctionFinder(HostRoot())};
  }
};

Result<std::unique_ptr<model::Actuator>> ActuatorOf(const model::Knob& knob, pid_t pid, HandHost& host) {
  if (knob.actuator == kProgramActuator) ATTUNE_CHECK_OK(OpenProbe(pid, host.rings));
  return actuator::MakeActuator(knob.actuator, host.Of(knob));
}

Result<model::KnobTarget> CheckedTarget(const model::Knob& knob, pid_t pid) {
  if (pid == 0 && knob.scope == model::KnobScope::kMachine) return model::KnobTarget();
  if (pid == 0)
    return Error{Errc::kInvalidArgument, fmt::format("{} is a knob of a process", knob.name), "say which one: -p PID"};
  const model::KnobTarget target = TargetOf(pid);
  if (target.start_ticks == 0)
    return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  return target;
}

template <class Number>
std::optional<Number> Parse(std::string_view text, auto... form) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, form...);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Status ReadArguments(const std::vector<std::string>& texts, actuator::RemoteCall& call) {
  constexpr size_t kMost = 6;
  auto& [integers, numbers] = call.arguments;
  for (const std::string& text : texts) {
    if (const auto integer = Parse<int64_t>(text)) {
      integers.push_back(*integer);
    } else if (const auto address = text.starts_with("0x") ? Parse<uint64_t>(text.substr(2), 16) : std::nullopt) {
      integers.push_back(static_cast<int64_t>(*address));
    } else if (const auto number = Parse<double>(text)) {
      numbers.push_back(*number);
    } else {
      call.texts.emplace_back(integers.size(), text);
      integers.push_back(0);
    }
  }
  if (integers.size() <= kMost && numbers.size() <= kMost) return {};
  return Error{Errc::kInvalidArgument, "too many arguments", fmt::format("at most {} of a kind", kMost)};
}

/// A text of a process, up to its zero.
Result<std::string> TextAt(pid_t pid, uint64_t address) {
  constexpr size_t kMost = 4096, kPiece = 64;
  std::string text;
  while (address != 0 && text.size() < kMost) {
    std::array<std::byte, kPiece> piece{};
    // Not beyond the page: the next one may not be there.
    const size_t bytes = kPiece - (address + text.size()) % kPiece;
    if (!actuator::ReadRemote(pid, address + text.size(), std::span(piece).first(bytes)))
      return Error{Errc::kNotFound, fmt::format("the function returned {:#x}, which is no text", address),
                   "--returns long prints it as a number"};
    const auto end = std::find(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(bytes), std::byte{0});
    text.append(reinterpret_cast<const char*>(piece.data()), static_cast<size_t>(end - piece.begin()));
    if (end != piece.begin() + static_cast<std::ptrdiff_t>(bytes)) return text;
  }
  return text;
}

}  // namespace

Result<pid_t> ParseProcess(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (text.empty() || (error == std::errc() && end == text.data() + text.size() && pid > 0)) return pid;
  return Error{Errc::kInvalidArgument, fmt::format("--pid: '{}' is not a process id", text), "ps -e lists them"};
}

Result<std::vector<model::KnobSetting>> GetByHand(const model::Knob& knob, pid_t pid) {
  ATTUNE_TRY(const model::KnobTarget target, CheckedTarget(knob, pid));
  HandHost host;
  ATTUNE_TRY(const auto actuator, ActuatorOf(knob, pid, host));
  return actuator->Read(knob, target);
}

Result<std::vector<model::KnobSetting>> PeekByHand(const model::Knob& knob, pid_t pid) {
  ATTUNE_TRY(const model::KnobTarget target, CheckedTarget(knob, pid));
  HandHost host;
  ATTUNE_TRY(const auto actuator, ActuatorOf(knob, pid, host));
  if (actuator->WaitsForProgram())
    return Error{Errc::kUnavailable, fmt::format("{}: a thread of the program has to be stopped to ask", knob.name),
                 fmt::format("attune get {} -p {}", knob.name, pid)};
  return actuator->Read(knob, target);
}

Result<std::vector<model::KnobSetting>> SetByHand(const model::Knob& knob, pid_t pid, const std::string& value) {
  ATTUNE_TRY(const model::KnobTarget target, CheckedTarget(knob, pid));
  HandHost host;
  ATTUNE_TRY(const auto actuator, ActuatorOf(knob, pid, host));
  if (actuator->EndsWithUs())
    return Error{Errc::kInvalidArgument, fmt::format("{} holds only as long as who sets it", knob.name),
                 "have it for a program: attune run --settings FILE, with it in the file (docs/knobs.md)"};
  ATTUNE_TRY(std::vector<model::KnobSetting> before, actuator->Read(knob, target));
  const model::KnobTarget owner = model::OwnerOf(knob, target);
  const std::string name = fmt::format("hand-{}-{}", getpid(), MonotonicNs());
  ATTUNE_CHECK_OK(CheckUnowned(knob.name, owner, name, Journal::By::kHand));
  ATTUNE_TRY(const std::vector<Change> held, HeldChanges());
  ATTUNE_TRY(Journal journal, Journal::Create(name, Journal::By::kHand));
  for (const model::KnobSetting& setting : before) {
    // A setting that was set by hand already goes back to what was there first.
    const auto earlier = std::ranges::find_if(held, [&](const Change& change) {
      return change.knob == knob.name && change.target.pid == owner.pid &&
             change.target.start_ticks == owner.start_ticks && change.place == setting.place;
    });
    const std::string& first = earlier == held.end() ? setting.value : earlier->before;
    ATTUNE_TRY(const int64_t number, journal.Note({.knob = knob.name,
                                                   .actuator = knob.actuator,
                                                   .target = owner,
                                                   .place = setting.place,
                                                   .before = first,
                                                   .after = value}));
    static_cast<void>(number);
    if (earlier != held.end()) ATTUNE_CHECK_OK(NoteUndone(*earlier));
    const auto written = actuator->Write(knob, target, {setting.place, value});
    if (written.ok() || written.error().code == Errc::kNotFound) continue;
    // Undoes the settings that were written so far.
    auto changes = HeldChanges(journal.path());
    if (changes.ok()) static_cast<void>(UndoChanges(*std::move(changes), {knob}, host.Of(knob)));
    journal.Remove();
    return written.error();
  }
  return before;
}

Result<std::vector<model::Knob>> KnobsOf(pid_t pid) {
  ATTUNE_TRY(std::vector<model::Knob> knobs, model::AllKnobs());
  if (pid != 0) std::ranges::move(ToKnobs(DeclaredBy(pid)), std::back_inserter(knobs));
  return knobs;
}

Result<const model::Knob*> KnobOrVariable(std::span<const model::Knob> knobs, const std::string& name,
                                          model::Knob& into) {
  auto variable = VariableKnob(name);
  if (!variable) return model::FindKnob(knobs, name);
  into = *std::move(variable);
  return &into;
}

Result<std::string> CallByHand(pid_t pid, const std::string& function, const std::vector<std::string>& arguments,
                               CallReturns returns, int64_t limit_ns, bool anywhere) {
  if (TargetOf(pid).start_ticks == 0)
    return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  actuator::RemoteCall call;
  ATTUNE_CHECK_OK(ReadArguments(arguments, call));
  {
    ATTUNE_TRY(const symbols::ProcessCode code, symbols::ProcessCode::Open(pid));
    ATTUNE_TRY(const symbols::ProcessFunction found, code.FindFunction(function));
    call.function = found.address;
    // The program's own code is where its threads come from.
    if (found.is_in_library && !anywhere) {
      call.not_from = found.file_from;
      call.not_to = found.file_to;
    }
  }
  ATTUNE_TRY(const actuator::RemoteResult result, actuator::CallByThread(pid, call, limit_ns));
  switch (returns) {
    case CallReturns::kInt: return std::to_string(static_cast<int32_t>(result.integer));
    case CallReturns::kLong: return std::to_string(result.integer);
    case CallReturns::kBool: return std::string((result.integer & 0xff) != 0 ? "true" : "false");
    case CallReturns::kDouble: return fmt::format("{}", result.number);
    case CallReturns::kText: return TextAt(pid, static_cast<uint64_t>(result.integer));
    case CallReturns::kNothing: break;
  }
  return std::string();
}

Result<Undone> RestoreChanges(pid_t pid) {
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  ATTUNE_TRY(std::vector<Change> changes, HeldChanges());
  // A session that was killed right now holds its journal until it is gone.
  for (int tries = 0; tries < 10 && std::ranges::any_of(changes, &Change::is_held); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ATTUNE_TRY(changes, HeldChanges());
  }
  std::erase_if(changes,
                [&](const Change& change) { return change.is_held || (pid != 0 && change.target.pid != pid); });
  Undone undone = UndoUnheld(std::move(changes), knobs);
  static_cast<void>(HeldChanges());  // removes journals that hold nothing any more
  return undone;
}

}  // namespace attune::session
