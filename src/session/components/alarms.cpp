#include "session/components/alarms.h"

#include <nlohmann/json.hpp>

#include "analysis/alarms/alarm_json.h"

namespace attune::session {

Status AlarmComponent::Start() {
  watch_ = std::make_unique<AlarmWatch>(recording_.pipeline(), context_.options.alarms);
  in_pipeline_.emplace(recording_.pipeline(), *watch_);
  return {};
}

std::vector<Verb> AlarmComponent::Verbs() {
  return {{.name = "alarm",
           .rank = 100,
           .roles = {Role::kOwner},
           .arguments = {{"NAME=VALUE|on|off", ArgumentKind::kAlarm}},
           .help = "change the threshold of an alarm",
           .run = Plainly([this](const VerbCall& call) {
             watch_->Set(std::get<analysis::AlarmSettings>(call.values[0]));
             return Status();
           })},
          {.name = "alarms",
           .rank = 110,
           .roles = {Role::kOwner},
           .help = "what each alarm finds now, as JSON",
           .run = [this](const VerbCall& /*call*/) -> Result<Reply> {
             return Reply(nlohmann::json{{"ok", true}, {"alarms", analysis::ToJson(Now())}}.dump(
                 -1, ' ', false, nlohmann::json::error_handler_t::replace));
           }}};
}

void AlarmComponent::Describe(nlohmann::json& status) const { status["alarms_raised"] = watch_->Raised(); }

}  // namespace attune::session
