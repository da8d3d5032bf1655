// What other processes hand to a session as text: control lines, answers, info.json, a process's environment.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/core/verb.h"

namespace {

using namespace attune;
using session::ArgumentKind;

/// A verb for each kind of argument; those of a session need the page's server, which takes minutes to compile.
session::VerbRegistry MakeVerbs() {
  session::VerbRegistry verbs;
  const std::vector<session::Role> roles{session::Role::kOwner};
  verbs.Add(
      {{.name = "status", .roles = roles},
       {.name = "label", .roles = roles, .arguments = {{"TEXT", ArgumentKind::kText}}},
       {.name = "level", .roles = roles, .arguments = {{"LEVEL", ArgumentKind::kLevel}}},
       {.name = "interval",
        .roles = roles,
        .arguments = {{"SENSOR", ArgumentKind::kSensor, true}, {"TIME", ArgumentKind::kInterval}}},
       {.name = "record", .roles = roles, .arguments = {{"FILE|off", ArgumentKind::kFile}}},
       {.name = "sink", .roles = roles, .arguments = {{"NAME|off", ArgumentKind::kSink}}},
       {.name = "alarm", .roles = roles, .arguments = {{"NAME=VALUE", ArgumentKind::kAlarm}}},
       {.name = "join", .roles = roles, .arguments = {{"PID", ArgumentKind::kNumber}}},
       {.name = "started",
        .roles = roles,
        .arguments = {
            {"PID", ArgumentKind::kNumber}, {"START_NS", ArgumentKind::kNumber}, {"COMMAND", ArgumentKind::kText}}}});
  return verbs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const session::VerbRegistry verbs = MakeVerbs();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto call = verbs.Parse(text); call.ok()) {
    if (call->values.size() != call->verb->arguments.size()) __builtin_trap();
    if (call->verb->name == "interval" && (call->Number(1) < kMinIntervalNs || call->Number(1) > kMaxIntervalNs))
      __builtin_trap();
  }
  (void)session::ErrorFromReply(text);
  if (auto info = session::SessionInfoFromJson(text); info.ok()) (void)session::ToJson(*info);
  if (session::RankFromEnvironment(text) < -1) __builtin_trap();
  return 0;
}
