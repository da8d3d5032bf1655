// Tuning the programs while they run (docs/tuning.md).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "model/info_keys.h"
#include "model/knob_file.h"
#include "model/rows.h"
#include "session/components/factories.h"
#include "session/tuning/declared_knobs.h"
#include "session/tuning/tuner.h"

namespace attune::session {
namespace {

namespace info = model::info;

/// The last revision of each finding.
class FindingList : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    if (batch->table != model::Finding::kTable) return;
    const MutexLock lock(mutex_);
    for (model::Finding& finding : model::RowsFrom<model::Finding>(*batch)) last_[finding.id] = std::move(finding);
  }
  std::vector<model::Finding> Open() const {
    const MutexLock lock(mutex_);
    std::vector<model::Finding> open;
    for (const auto& [id, finding] : last_) {
      if (finding.state == model::FindingState::kOpen) open.push_back(finding);
    }
    return open;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, model::Finding> last_ ATTUNE_GUARDED_BY(mutex_);
};

class TunerComponent : public Component {
 public:
  TunerComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                 ProbeComponent& probes)
      : context_(context), recording_(recording), facts_(facts), probes_(probes) {}
  ~TunerComponent() override { TunerComponent::Stop(); }

  bool IsChosen() const override { return IsWanted(); }

  Status Start() override {
    if (!IsWanted()) return {};
    ATTUNE_TRY(std::vector<model::Knob> knobs, model::AllKnobs());
    std::optional<analysis::Formula> formula;
    if (const std::string& objective = context_.options.tuning.objective; analysis::LooksLikeFormula(objective)) {
      ATTUNE_TRY(formula, analysis::Formula::Parse(objective));
    }
    watch_ = std::make_unique<ProgressWatch>(
        context_.host, [this] { return facts_.processes().Running(); }, std::move(formula));
    watch_in_.emplace(recording_.pipeline(), *watch_);
    findings_in_.emplace(recording_.pipeline(), findings_);
    auto board = std::make_unique<KnobBoard>(
        fmt::format("session-{}-{}", context_.info.id, MonotonicNs()), std::move(knobs), probes_.rings(),
        context_.options.tuning.placebo ? KnobBoard::Writes::kNothing : KnobBoard::Writes::kYes, context_.host);
    tuner_ = std::make_unique<Tuner>(context_.options.tuning, MakeHost(), std::move(board));
    thread_ = std::thread([this] { tuner_->Run(); });
    pthread_setname_np(thread_.native_handle(), "attune-tune");
    return {};
  }

  void Stop() override {
    if (tuner_ != nullptr) tuner_->Stop();
    if (thread_.joinable()) thread_.join();
  }

  std::vector<Verb> Verbs() override {
    return {{.name = "try",
             .rank = 112,
             .roles = {Role::kOwner, Role::kPage},
             .arguments = {{"KNOB=VALUE", ArgumentKind::kText}},
             .help = "try a value of a knob of the programs, and keep it if it helps (attune tune)",
             .example = "try openmp.team=2",
             .example_meaning = "a trial of teams of two threads",
             .run = Plainly([this](const VerbCall& call) { return AskFor(call.Text(0)); })},
            {.name = "take-back",
             .rank = 114,
             .roles = {Role::kOwner, Role::kPage},
             .arguments = {{"KNOB", ArgumentKind::kText}},
             .help = "set a knob back to what was there before (attune tune)",
             .run = Plainly([this](const VerbCall& call) { return AskFor(call.Text(0) + "="); })}};
  }

  void Totals(InfoRows& rows) override {
    if (tuner_ == nullptr || !context_.options.tuning.on) return;
    const TuningStatus status = tuner_->Status();
    const auto add = [&rows](std::string_view key, std::string value) {
      rows.emplace_back(fmt::format("{}{}", info::kTuningPrefix, key), std::move(value));
    };
    add(info::kTuningObjective, status.objective);
    add(info::kTuningUnit, status.unit);
    add(info::kTuningNoise, fmt::format("{:.4f}", status.noise));
    add(info::kTuningRateBefore, fmt::format("{:.6g}", status.rate_before));
    add(info::kTuningRateAfter, fmt::format("{:.6g}", status.rate_now));
    add(info::kTuningTrialNs, std::to_string(status.trials_ns));
  }

  void Describe(nlohmann::json& status) const override {
    if (tuner_ == nullptr) return;
    const TuningStatus now = tuner_->Status();
    status["tuning"] = {{"objective", now.objective}, {"unit", now.unit},          {"noise", now.noise},
                        {"before", now.rate_before},  {"rate", now.rate_now},      {"trial", now.trial},
                        {"window_ns", now.window_ns}, {"trials_ns", now.trials_ns}};
  }

 private:
  /// @param setting KNOB=VALUE; without a value it is taken back
  Status AskFor(const std::string& setting) {
    if (tuner_ == nullptr) return Error{Errc::kUnavailable, "this session does not tune", "attune tune -- PROGRAM"};
    const size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return Error{Errc::kInvalidArgument, fmt::format("'{}' is not KNOB=VALUE", setting), "as in openmp.team=2"};
    KnobChoice wanted{setting.substr(0, equals), setting.substr(equals + 1)};
    ATTUNE_TRY(std::vector<model::Knob> knobs, model::AllKnobs());
    std::ranges::move(ToKnobs(probes_.rings().Declared()), std::back_inserter(knobs));
    ATTUNE_TRY(const model::Knob* knob, model::FindKnob(knobs, wanted.knob));
    if (!wanted.value.empty()) {
      ATTUNE_TRY(wanted.value, model::CheckValue(*knob, wanted.value));
    }
    if (knob->scope == model::KnobScope::kMachine && !context_.options.tuning.allow_machine)
      return Error{Errc::kInvalidArgument, fmt::format("{} also changes what other programs get", knob->name),
                   "attune tune --allow machine"};
    tuner_->Ask(std::move(wanted));
    return {};
  }

  bool IsWanted() const { return context_.options.tuning.on || !context_.options.tuning.settings.empty(); }

  TuningHost MakeHost() {
    return {.running = [this] { return facts_.processes().Running(); },
            .read =
                [this] {
                  probes_.collector().ReadTablesNow();
                  recording_.pipeline().Drain();
                  return watch_->Read();
                },
            .least_window_ns = [this] { return watch_->LeastWindowNs(); },
            .findings = [this] { return findings_.Open(); },
            .widest_team =
                [this] {
                  uint32_t widest = 0;
                  for (const auto& ring : probes_.rings().All())
                    widest = std::max(widest, ring->ReadWord("openmp_widest").value_or(0));
                  return widest;
                },
            .loops =
                [this] {
                  uint32_t loops = 0;
                  for (const auto& ring : probes_.rings().All()) loops |= ring->ReadWord("openmp_loops").value_or(0);
                  return loops;
                },
            .place = [this](int64_t object) { return recording_.writer().Meta()->NameOf(object); },
            .module =
                [this](int64_t object) {
                  const auto meta = recording_.writer().Meta();
                  const auto site = std::ranges::find(meta->sites, object, &model::Site::id);
                  const std::string path = site == meta->sites.end() ? std::string() : site->module;
                  return path.substr(path.rfind('/') + 1);
                },
            .publish =
                [this](const model::Decision& row) {
                  recording_.pipeline().Publish(model::ToBatch(std::vector{row}));
                  static_cast<void>(recording_.AddLabel(
                      model::kAbsent, fmt::format("{} = {} {}", row.knob, row.after, model::ToString(row.state))));
                },
            .show_rate = [this](int64_t t_ns, double rate) { ShowRate(t_ns, rate); },
            .cpus = context_.allowed};
  }

  /// A series of its own, so that decisions can be seen on a chart of it.
  void ShowRate(int64_t t_ns, double rate) {
    if (rate_.id == 0) rate_ = facts_.registry().AddCounterStream("tuning", facts_.registry().Machine(), "objective");
    model::Batch batch{.table = model::Sample::kTable, .stream = rate_.id};
    batch.ints = {{t_ns}, {std::llround(rate)}};
    batch.rows = 1;
    recording_.pipeline().Publish(std::move(batch));
  }

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  ProbeComponent& probes_;
  model::Stream rate_;  ///< the tuner's thread
  FindingList findings_;
  std::unique_ptr<ProgressWatch> watch_;
  std::optional<InPipeline> watch_in_, findings_in_;
  std::unique_ptr<Tuner> tuner_;  ///< nullptr: nothing is tuned
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Component> MakeTuner(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                                     ProbeComponent& probes) {
  return std::make_unique<TunerComponent>(context, recording, facts, probes);
}

}  // namespace attune::session
