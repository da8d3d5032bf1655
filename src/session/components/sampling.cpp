#include "session/components/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sensor/registry.h"
#include "sensor/summed/summed.h"

namespace attune::session {
namespace {

/// The observed program waits so long for sensors that others described or wrote.
constexpr int64_t kStartPatienceNs = 100'000'000;

}  // namespace

Status SamplingComponent::Start() {
  const SessionOptions& options = context_.options;
  std::vector<SensorRequest> requests;
  SamplerOptions sampling;
  const auto observed = [this] {
    const std::vector<pid_t> pids = facts_.processes().Running();
    return std::vector<int64_t>(pids.begin(), pids.end());
  };
  const auto report = [this](const std::string& text) {
    // Beside its gap the recording has a label that says why.
    [[maybe_unused]] const Status added = recording_.AddLabel(model::kAbsent, text);
  };
  const sensor::SensorContext context{sampling.meter, observed, report};
  for (const SensorChoice& choice : options.sensors) {
    auto made = sensor::MakeSensor(choice.name, context);
    // The launcher could make it: its file is gone since, and the program is not held up for that.
    auto sensor = made.ok() ? *std::move(made) : sensor::MakeUnusable(choice.name, choice.name, made.error());
    if (choice.summed) sensor = std::make_unique<sensor::SummedSensor>(std::move(sensor));
    requests.push_back({std::move(sensor), choice.interval_ns, choice.only_if_here});
  }
  if (options.follows) sampling.patience_ns = kStartPatienceNs;
  sampling.cpus = context_.place;
  sampling.keep_awake = options.keep_awake;
  sampling.at_both_ends = !context_.info.temporary;
  sensing_ = std::make_unique<Sensing>(context_.host, facts_.registry(), facts_.processes(), recording_.pipeline());
  ATTUNE_CHECK_OK(sensing_->Start(std::move(requests), sampling));
  SetWatched(false);
  following_.OnThreads([this] { sensing_->LookSoon(); });
  for (const SkippedSensor& skipped : sensing_->Skipped()) {
    if (skipped.late) {
      context_.notes.push_back(
          fmt::format("sensor {} is slow: {}; {}", skipped.name, skipped.why.message, skipped.why.hint));
    } else if (options.sensors[skipped.request].named) {  // else the report says it
      context_.notes.push_back(fmt::format("sensor {} is not available: {}", skipped.name, skipped.why.message));
    }
  }
  return {};
}

std::vector<Verb> SamplingComponent::Verbs() {
  return {
      {.name = "interval",
       .rank = 50,
       .roles = {Role::kOwner, Role::kPage},
       .arguments = {{"SENSOR", ArgumentKind::kSensor, true}, {"TIME", ArgumentKind::kInterval}},
       .help = "sample one sensor, or all, at another interval",
       .example = "interval vmstat 1ms",
       .example_meaning = "sample one sensor faster from now on",
       .run = Plainly([this](const VerbCall& call) { return sensing_->SetInterval(call.Text(0), call.Number(1)); })},
      {.name = "pause",
       .rank = 60,
       .roles = {Role::kOwner, Role::kPage},
       .help = "stop the sampling, not the program",
       .run = Plainly([this](const VerbCall& /*call*/) {
         sensing_->Pause();
         return Status();
       })},
      {.name = "resume",
       .rank = 70,
       .roles = {Role::kOwner, Role::kPage},
       .help = "sample again",
       .run = Plainly([this](const VerbCall& /*call*/) {
         sensing_->Resume();
         return Status();
       })}};
}

void SamplingComponent::Describe(nlohmann::json& status) const { status["paused"] = sensing_->paused(); }

void SamplingComponent::SetWatched(bool watched) {
  sensing_->SetDelivery(watched ? kPromptDeliveryNs
                                : std::clamp(context_.options.flush_ns, kPromptDeliveryNs, kLongestDeliveryNs));
}

}  // namespace attune::session
