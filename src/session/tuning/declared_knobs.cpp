#include "session/tuning/declared_knobs.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "session/core/control.h"
#include "session/core/job.h"
#include "session/tuning/undo.h"

namespace attune::session {
namespace {

using Json = nlohmann::json;

/// @return false: it is none
bool ReadDeclared(const Json& row, track::RingKnob& knob) {
  const auto integer = [&](const char* key, auto& into) {
    if (!row.contains(key) || !row[key].is_number_integer()) return false;
    into = row[key].get<std::remove_reference_t<decltype(into)>>();
    return true;
  };
  const auto text = [&](const char* key, std::string& into) {
    if (!row.contains(key) || !row[key].is_string()) return false;
    into = row[key].get<std::string>();
    return true;
  };
  if (!row.is_object() || !row.contains("at_safe_points") || !row["at_safe_points"].is_boolean()) return false;
  knob.only_at_safe_points = row["at_safe_points"].get<bool>();
  return integer("pid", knob.pid) && integer("address", knob.address) && integer("low", knob.low) &&
         integer("high", knob.high) && text("name", knob.name) && text("unit", knob.unit) &&
         model::IsKnobName(knob.name) && knob.low <= knob.high;
}

}  // namespace

std::vector<model::Knob> ToKnobs(const std::vector<track::RingKnob>& declared) {
  constexpr int64_t kSettleNs = 20'000'000;
  std::vector<model::Knob> knobs;
  for (const track::RingKnob& each : declared) {
    if (std::ranges::find(knobs, each.name, &model::Knob::name) != knobs.end()) continue;
    knobs.push_back(
        {.name = each.name,
         .about = "a knob of the program's own",
         .low = each.low,
         .high = each.high,
         .unit = each.unit,
         .actuator = std::string(kProgramActuator),
         .settle_ns = kSettleNs,
         .safe_point = each.only_at_safe_points ? "a safe point that the program declares" : "the next safe point",
         .permanent = "the value of the program's variable",
         .file = "the program"});
  }
  return knobs;
}

std::string ToJson(const std::vector<track::RingKnob>& declared) {
  Json rows = Json::array();
  for (const track::RingKnob& knob : declared)
    rows.push_back({{"pid", knob.pid},
                    {"name", knob.name},
                    {"low", knob.low},
                    {"high", knob.high},
                    {"unit", knob.unit},
                    {"at_safe_points", knob.only_at_safe_points},
                    {"address", knob.address}});
  return Json{{"ok", true}, {"knobs", std::move(rows)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<track::RingKnob> DeclaredFromJson(std::string_view answer, pid_t pid) {
  const Json document = Json::parse(answer, nullptr, false);
  std::vector<track::RingKnob> declared;
  if (!document.is_object() || !document.contains("knobs") || !document["knobs"].is_array()) return declared;
  for (const Json& row : document["knobs"]) {
    track::RingKnob knob;
    if (ReadDeclared(row, knob) && (pid == 0 || knob.pid == pid)) declared.push_back(std::move(knob));
  }
  return declared;
}

std::vector<track::RingKnob> DeclaredBy(pid_t pid) {
  const auto sessions = LiveSessions();
  if (!sessions.ok()) return {};
  for (const SessionInfo& session : *sessions) {
    auto client = ControlClient::Connect(session.folder + "/ctl");
    if (!client.ok()) continue;
    const auto answer = client->Ask("knobs");
    if (!answer.ok()) continue;
    std::vector<track::RingKnob> declared = DeclaredFromJson(*answer, pid);
    if (!declared.empty()) return declared;
  }
  return {};
}

Status OpenProbe(pid_t pid, RingChannel& rings) {
  ATTUNE_TRY(track::RingControl ring, track::RingControl::OpenOf(HostRoot(), pid));
  rings.Add(std::make_shared<track::RingControl>(std::move(ring)));
  for (const track::RingKnob& knob : DeclaredBy(pid)) rings.Declare(knob);
  return {};
}

}  // namespace attune::session
