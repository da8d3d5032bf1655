#include "session/components/sinks.h"

#include <nlohmann/json.hpp>

namespace attune::session {

Status SinkComponent::Start() {
  const auto report = [this](const std::string& text) {
    [[maybe_unused]] const Status added = recording_.AddLabel(model::kAbsent, text);
  };
  sinks_ = std::make_unique<SinkSet>(recording_.pipeline(), recording_.writer(), context_.options.folder, report);
  // A sink asks for what the recording says of itself when it is opened.
  recording_.pipeline().Drain();
  for (const sink::SinkChoice& choice : context_.options.sinks) ATTUNE_CHECK_OK(sinks_->Start(choice));
  return {};
}

void SinkComponent::Stop() {
  static_cast<void>(sinks_->Stop(""));
  PublishTotals();
  recording_.pipeline().Drain();
}

std::vector<Verb> SinkComponent::Verbs() {
  return {{.name = "sink",
           .rank = 90,
           .roles = {Role::kOwner},
           .arguments = {{"NAME[=ARGUMENT]|off [NAME]", ArgumentKind::kSink}},
           .help = "hand what is observed to a sink, or end that",
           .run = Plainly([this](const VerbCall& call) { return Change(call); })}};
}

Status SinkComponent::Change(const VerbCall& call) {
  if (const Off* off = call.IfOff(0); off != nullptr) return sinks_->Stop(off->name);
  ATTUNE_TRY(const sink::SinkChoice choice, sink::FindSink(call.Text(0), "sink"));
  return sinks_->Start(choice);
}

void SinkComponent::Describe(nlohmann::json& status) const {
  nlohmann::json sinks = nlohmann::json::array();
  for (const auto& [name, totals] : sinks_->Totals()) {
    sinks.push_back({{"name", name},
                     {"written", totals.written},
                     {"pending", totals.pending},
                     {"dropped", totals.dropped},
                     {"restarts", totals.restarts},
                     {"problem", totals.problem}});
  }
  status["sinks"] = std::move(sinks);
}

void SinkComponent::EverySecond() {
  if (Drops() != drops_told_) PublishTotals();
}

uint64_t SinkComponent::Drops() const {
  uint64_t drops = 0;
  for (const auto& [name, totals] : sinks_->Totals()) drops += totals.dropped;
  return drops;
}

/// Publishes what became of the values that the sinks were given; no sinks, no rows.
void SinkComponent::PublishTotals() {
  drops_told_ = Drops();
  recording_.Publish(sinks_->InfoRows());
}

}  // namespace attune::session
