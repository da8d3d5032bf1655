#include "cli/report/tuning_report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "analysis/report/decisions.h"
#include "base/units.h"
#include "cli/terminal/terminal.h"
#include "model/info_keys.h"
#include "model/knob_file.h"

namespace attune::cli {
namespace {

namespace info = model::info;
using Json = nlohmann::ordered_json;
using model::Decision;
using model::DecisionState;

std::string Info(const model::Metadata& meta, std::string_view key) {
  const auto found = meta.info.find(fmt::format("{}{}", info::kTuningPrefix, key));
  return found == meta.info.end() ? std::string() : found->second;
}
double Number(const model::Metadata& meta, std::string_view key) { return std::atof(Info(meta, key).c_str()); }

Json PartOrNull(int64_t ppm) { return ppm == model::kAbsent ? Json(nullptr) : Json(PartOfPpm(ppm)); }

/// "+8.1 %", "4.2 times as fast"
std::string GainText(double gain) {
  return gain >= 1 ? fmt::format("{:.1f} times as fast", 1 + gain) : fmt::format("{:+.1f} %", 100 * gain);
}

/// Instructions for setting the value from the start; "": not known.
std::string Permanent(const std::vector<model::Knob>& knobs, const Decision& decision) {
  const auto knob = model::FindKnob(knobs, decision.knob);
  return knob.ok() ? model::PermanentText(**knob, decision.after) : std::string();
}

std::vector<model::Knob> KnownKnobs() {
  const auto knobs = model::AllKnobs();
  return knobs.ok() ? *knobs : std::vector<model::Knob>();
}

std::string RateText(double rate, const std::string& unit) {
  if (unit == "bytes/s") return FormatBytes(static_cast<uint64_t>(std::max(0.0, rate))) + "/s";
  return fmt::format("{} {}", FormatCount(rate), unit);
}

}  // namespace

std::string DecisionLine(const Decision& decision) {
  std::string line =
      fmt::format("{} {} -> {}: {}", decision.knob, decision.before, decision.after, model::ToString(decision.state));
  if (decision.gain_ppm != model::kAbsent) {
    line += fmt::format(", {} (95 %: {:+.1f} to {:+.1f} %)", GainText(PartOfPpm(decision.gain_ppm)),
                        100 * PartOfPpm(decision.gain_low_ppm), 100 * PartOfPpm(decision.gain_high_ppm));
  }
  return line;
}

Json DecisionsJson(std::span<const Decision> decisions) {
  const std::vector<model::Knob> knobs = KnownKnobs();
  Json rows = Json::array();
  for (const Decision& decision : decisions) {
    const auto knob = model::FindKnob(knobs, decision.knob);
    rows.push_back({{"knob", decision.knob},
                    {"scope", knob.ok() ? Json(model::ToString((*knob)->scope)) : Json(nullptr)},
                    {"tunlet", decision.tunlet},
                    {"before", decision.before},
                    {"after", decision.after},
                    {"state", model::ToString(decision.state)},
                    {"expected_gain", PartOrNull(decision.expected_gain_ppm)},
                    {"gain", PartOrNull(decision.gain_ppm)},
                    {"low", PartOrNull(decision.gain_low_ppm)},
                    {"high", PartOrNull(decision.gain_high_ppm)},
                    {"reason", decision.reason},
                    {"finding", decision.finding},
                    {"permanent", Permanent(knobs, decision)}});
  }
  return rows;
}

Result<Json> TuningJson(model::Source& source) {
  ATTUNE_TRY(const std::vector<Decision> decisions, analysis::LastDecisions(source));
  const auto meta = source.Meta();
  const model::TimeRange extent = source.Extent();
  return Json{{"objective",
               {{"name", Info(*meta, info::kTuningObjective)},
                {"unit", Info(*meta, info::kTuningUnit)},
                {"noise", Number(*meta, info::kTuningNoise)}}},
              {"decisions", DecisionsJson(decisions)},
              {"whole_run",
               {{"seconds", static_cast<double>(extent.t1_ns - extent.t0_ns) * 1e-9},
                {"trial_seconds", Number(*meta, info::kTuningTrialNs) * 1e-9},
                {"rate_before", Number(*meta, info::kTuningRateBefore)},
                {"rate_after", Number(*meta, info::kTuningRateAfter)}}}};
}

Status PrintTuning(model::Source& source, FILE* stream) {
  ATTUNE_TRY(const std::vector<Decision> decisions, analysis::LastDecisions(source));
  const auto meta = source.Meta();
  const std::string objective = Info(*meta, info::kTuningObjective);
  const std::string unit = Info(*meta, info::kTuningUnit);
  const double before = Number(*meta, info::kTuningRateBefore), after = Number(*meta, info::kTuningRateAfter);
  std::fprintf(stream, "%s\n", Styled(stream, Style::kBold, "Tuning").c_str());
  if (objective.empty()) {
    std::fprintf(stream, "  Nothing was found that tells how fast the program gets on.\n");
  } else {
    std::fprintf(stream, "  Objective  %s, changes by %.1f %% by itself\n", Printable(objective).c_str(),
                 100 * Number(*meta, info::kTuningNoise));
    std::fprintf(stream, "  Before     %s\n", RateText(before, unit).c_str());
    if (before > 0)
      std::fprintf(stream, "  After      %s (%s)\n", RateText(after, unit).c_str(),
                   GainText(after / before - 1).c_str());
  }
  PrintDecisions(decisions, stream);
  return {};
}

void PrintDecisions(std::span<const Decision> decisions, FILE* stream) {
  if (decisions.empty())
    std::fprintf(stream,
                 "  Nothing was tried: no finding that a knob answers, or too short a run (--runs 30 repeats short "
                 "programs).\n");
  const std::vector<model::Knob> knobs = KnownKnobs();
  for (const Decision& decision : decisions) {
    const bool kept = decision.state == DecisionState::kKept;
    std::fprintf(stream, "\n  %s\n",
                 Styled(stream, kept ? Style::kGreen : Style::kNone, Printable(DecisionLine(decision))).c_str());
    std::fprintf(stream, "    why        %s\n", Printable(decision.reason).c_str());
    if (!decision.finding.empty()) std::fprintf(stream, "    finding    %s\n", Printable(decision.finding).c_str());
    const std::string permanent = Permanent(knobs, decision);
    if (!permanent.empty() && (kept || decision.state == DecisionState::kAdvised))
      std::fprintf(stream, "    for good   %s\n", Printable(permanent).c_str());
  }
}

}  // namespace attune::cli
