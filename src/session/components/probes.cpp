// Records of the probes inside the programs: the collector of their rings.

#include "session/components/probes.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "model/info_keys.h"
#include "session/tuning/declared_knobs.h"

namespace attune::session {
namespace {
namespace info = model::info;
}

Status ProbeComponent::Start() {
  const SessionOptions& options = context_.options;
  SessionInfo& session = context_.info;
  std::string& no_rings = context_.no_rings;
  collector_ = std::make_unique<Collector>(session.rings, facts_.processes(), facts_.registry(), recording_.pipeline());
  collector_->OnRing([this](UniqueFd file) {
    if (auto ring = track::RingControl::Open(std::move(file)); ring.ok())
      rings_.Add(std::make_shared<track::RingControl>(*std::move(ring)));
  });
  collector_->OnKnob([this](const track::RingKnob& knob) { rings_.Declare(knob); });
  Collector::Turns* const turns = influence_.TurnsFor(*collector_);
  constexpr uint64_t kUsualRoomBytes = 2 << 20;  // for the rings of one small program
  struct statvfs room{};
  if (options.follows && no_rings.empty() && statvfs(session.rings.c_str(), &room) == 0 &&
      room.f_bavail * room.f_frsize < kUsualRoomBytes)
    recording_.AddUnseen(fmt::format("locks and waits of some programs: {} had room for {} only", session.rings,
                                     FormatBytes(room.f_bavail * room.f_frsize)));
  if (no_rings.empty()) {
    const Status started = collector_->Start(options.level, options.trace, turns);
    if (!started.ok()) no_rings = started.error().message;
  }
  if (no_rings.empty()) return {};
  context_.rings.Remove();
  session.rings.clear();
  const std::string lost = "locks, waits, messages and the program's own events: " + no_rings;
  context_.notes.push_back("not seen: " + lost);
  recording_.AddUnseen(lost);
  return {};
}

void ProbeComponent::Totals(InfoRows& rows) {
  const Collector::Counts totals = collector_->Totals();
  const auto add = [&](std::string_view key, uint64_t count) {
    if (count > 0) rows.emplace_back(key, std::to_string(count));
  };
  add(info::kRefusedEvents, totals.refused);
  add(info::kLostAcquisitions, totals.lost_acquisitions);
  add(info::kDamagedRings, totals.damaged);
  add(info::kTraced, totals.traced);
  add(info::kTraceOverwritten, totals.trace_overwritten);
  add(info::kTraceLost, totals.trace_lost);
  for (const std::string& lost : LostMessages(totals)) recording_.AddUnseen(lost);
  for (const std::string& lost : LostThreads(totals)) recording_.AddUnseen(lost);
  for (const std::string& left : LeftAlone(totals)) recording_.AddUnseen(left);
}

std::vector<Verb> ProbeComponent::Verbs() {
  std::string levels;
  for (const std::string& level : model::LevelNames()) levels += (levels.empty() ? "" : "|") + level;
  return {{.name = "level",
           .rank = 30,
           .roles = {Role::kOwner},
           .arguments = {{levels, ArgumentKind::kLevel}},
           .help = "how much the probes record from now on",
           .run = Plainly([this](const VerbCall& call) {
             collector_->SetLevel(std::get<Level>(call.values[0]));
             return Status();
           })},
          {.name = "knobs",
           .rank = 111,
           .roles = {Role::kOwner},
           .help = "what the programs let be changed of themselves (attune/knob.h), as JSON",
           .run = [this](const VerbCall& /*call*/) -> Result<Reply> { return Reply(ToJson(rings_.Declared())); }},
          {.name = "dump",
           .rank = 40,
           .roles = {Role::kOwner},
           .help = "write what the flight recorders hold",
           .run = Plainly([this](const VerbCall& /*call*/) {
             collector_->Dump();
             return Status();
           })}};
}

void ProbeComponent::Describe(nlohmann::json& status) const {
  const Collector::Counts totals = collector_->Totals();
  status["level"] = ToString(collector_->level());
  status["events"] = totals.events;
  status["dropped_events"] = totals.dropped;
  status["traced"] = totals.traced;
  status["messages"] = totals.messages;
}

}  // namespace attune::session
