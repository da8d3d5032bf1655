// The alarms of a session: the rules that judge what it publishes.

#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/alarms/alarm_json.h"
#include "session/components/factories.h"
#include "session/core/alarm_watch.h"

namespace attune::session {
namespace {

class AlarmComponent : public Component {
 public:
  AlarmComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}

  Status Start() override {
    watch_ = std::make_unique<AlarmWatch>(recording_.pipeline(), context_.options.alarms);
    in_pipeline_.emplace(recording_.pipeline(), *watch_);
    return {};
  }

  std::vector<Verb> Verbs() override {
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
               return Reply(nlohmann::json{{"ok", true}, {"alarms", analysis::ToJson(watch_->Status())}}.dump(
                   -1, ' ', false, nlohmann::json::error_handler_t::replace));
             }}};
  }

  void Describe(nlohmann::json& status) const override { status["alarms_raised"] = watch_->Raised(); }

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<AlarmWatch> watch_;
  std::optional<InPipeline> in_pipeline_;
};

}  // namespace

std::unique_ptr<Component> MakeAlarms(SessionContext& context, RecordingComponent& recording) {
  return std::make_unique<AlarmComponent>(context, recording);
}

}  // namespace attune::session
