// The sinks of a session that are plug-ins (docs/sinks.md).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "base/units.h"
#include "model/info_keys.h"
#include "session/components/factories.h"
#include "sink/plugin_sink.h"

namespace attune::session {
namespace {

void AddTo(sink::SinkTotals& sum, sink::SinkTotals more) {
  sum.written += more.written;
  sum.pending += more.pending;
  sum.dropped += more.dropped;
  sum.restarts += more.restarts;
  sum.problem = std::move(more.problem);
}

class SinkComponent : public Component {
 public:
  SinkComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}
  ~SinkComponent() override { static_cast<void>(End("")); }

  Status Start() override {
    // A sink asks for what the recording says of itself when it is opened.
    recording_.pipeline().Drain();
    for (const sink::SinkChoice& choice : context_.options.sinks) ATTUNE_CHECK_OK(Begin(choice));
    return {};
  }
  bool IsChosen() const override { return true; }
  Phase StopPhase() const override { return Phase::kWriting; }
  void Stop() override {
    static_cast<void>(End(""));
    PublishTotals();
    recording_.pipeline().Drain();
  }

  std::vector<Verb> Verbs() override {
    return {{.name = "sink",
             .rank = 90,
             .roles = {Role::kOwner},
             .arguments = {{"NAME[=ARGUMENT]|off [NAME]", ArgumentKind::kSink}},
             .help = "hand what is observed to a sink, or end that",
             .run = Plainly([this](const VerbCall& call) { return Change(call); })}};
  }

  void Describe(nlohmann::json& status) const override {
    nlohmann::json sinks = nlohmann::json::array();
    for (const auto& [name, totals] : Totals()) {
      sinks.push_back({{"name", name},
                       {"written", totals.written},
                       {"pending", totals.pending},
                       {"dropped", totals.dropped},
                       {"restarts", totals.restarts},
                       {"problem", totals.problem}});
    }
    status["sinks"] = std::move(sinks);
  }

  void EverySecond() override {
    if (Drops() != drops_told_) PublishTotals();
  }

 private:
  using Sinks = std::vector<std::unique_ptr<sink::PluginSink>>;
  using SinkTotals = std::map<std::string, sink::SinkTotals>;

  Status Change(const VerbCall& call) {
    if (const Off* off = call.IfOff(0); off != nullptr) return End(off->name);
    ATTUNE_TRY(const sink::SinkChoice choice, sink::FindSink(call.Text(0), "sink"));
    return Begin(choice);
  }

  Status Begin(const sink::SinkChoice& choice);
  Status End(const std::string& name);
  void FinishAll(Sinks sinks);
  /// By name, over all of that name.
  SinkTotals Totals() const;
  uint64_t Drops() const;
  void PublishTotals();

  SessionContext& context_;
  RecordingComponent& recording_;
  Sinks sinks_;
  SinkTotals ended_;
  uint64_t drops_told_ = 0;  ///< drops of all sinks, as the recording says
};

/// One that has the same name is finished first. Errors: those of the sink; then the one before goes on.
Status SinkComponent::Begin(const sink::SinkChoice& choice) {
  sink::SinkOptions options;
  options.choice = choice;
  options.folder = context_.options.folder;
  options.metadata = [this] { return recording_.writer().Meta(); };
  options.report = [this](const std::string& text) {
    [[maybe_unused]] const Status added = recording_.AddLabel(model::kAbsent, text);
  };
  ATTUNE_TRY(std::unique_ptr<sink::PluginSink> sink, sink::PluginSink::Start(std::move(options)));
  static_cast<void>(End(choice.name));  // there may be none
  recording_.pipeline().Exchange([&](std::vector<model::Sink*>& sinks) { sinks.push_back(sink.get()); });
  sinks_.push_back(std::move(sink));
  return {};
}

/// Finishes one, or all (""). Errors: there is none of that name.
Status SinkComponent::End(const std::string& name) {
  Sinks ending;
  std::vector<std::string> names;
  for (auto& sink : sinks_) {
    names.push_back(sink->name());
    if (name.empty() || sink->name() == name) ending.push_back(std::move(sink));
  }
  std::erase(sinks_, nullptr);
  if (ending.empty() && !name.empty())
    return Error{Errc::kNotFound, fmt::format("no sink '{}' is in use", name), DidYouMean(name, names)};
  FinishAll(std::move(ending));
  return {};
}

/// All at the same time, since each may take some seconds.
void SinkComponent::FinishAll(Sinks sinks) {
  if (sinks.empty()) return;
  recording_.pipeline().Exchange([&](std::vector<model::Sink*>& known) {
    for (const auto& sink : sinks) std::erase(known, sink.get());
  });
  std::vector<std::thread> threads;
  for (const auto& sink : sinks) threads.emplace_back([&sink] { sink->Finish(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& sink : sinks) AddTo(ended_[sink->name()], sink->Totals());
}

SinkComponent::SinkTotals SinkComponent::Totals() const {
  SinkTotals totals = ended_;
  for (const auto& sink : sinks_) AddTo(totals[sink->name()], sink->Totals());
  return totals;
}

uint64_t SinkComponent::Drops() const {
  uint64_t drops = 0;
  for (const auto& [name, totals] : Totals()) drops += totals.dropped;
  return drops;
}

/// Publishes what became of the values that the sinks were given; no sinks, no rows.
void SinkComponent::PublishTotals() {
  drops_told_ = Drops();
  InfoRows rows;
  for (const auto& entry : Totals()) {
    const sink::SinkTotals& totals = entry.second;
    const auto add = [&](std::string_view key, std::string value) {
      rows.emplace_back(fmt::format("{}{}.{}", model::info::kSinkPrefix, entry.first, key), std::move(value));
    };
    add(model::info::kSinkWritten, std::to_string(totals.written));
    add(model::info::kSinkDropped, std::to_string(totals.dropped));
    add(model::info::kSinkRestarts, std::to_string(totals.restarts));
    add(model::info::kSinkProblem, totals.problem);
  }
  recording_.Publish(rows);
}

}  // namespace

std::unique_ptr<Component> MakeSinks(SessionContext& context, RecordingComponent& recording) {
  return std::make_unique<SinkComponent>(context, recording);
}

}  // namespace attune::session
