#include <map>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "model/info_keys.h"
#include "model/rows.h"

namespace attune::analysis {
namespace {

Json Part(int64_t ppm) { return ppm == model::kAbsent ? Json(nullptr) : Json(static_cast<double>(ppm) * 1e-6); }

Json DecisionJson(const model::Decision& decision) {
  return {{"id", decision.id},
          {"t0", Known(decision.t0_ns)},
          {"t1", Known(decision.t1_ns)},
          {"state", model::ToString(decision.state)},
          {"tunlet", decision.tunlet},
          {"knob", decision.knob},
          {"before", decision.before},
          {"after", decision.after},
          {"objective", decision.objective},
          {"expected_gain", Part(decision.expected_gain_ppm)},
          {"gain", Part(decision.gain_ppm)},
          {"low", Part(decision.gain_low_ppm)},
          {"high", Part(decision.gain_high_ppm)},
          {"finding", decision.finding},
          {"reason", decision.reason}};
}

/// `tuning`: what was tried of knobs, and what became of it; the last step of each decision. @cost a row a step
Result<std::string> Tuning(const PageRequest& request) {
  std::map<int64_t, model::Decision> last;
  ATTUNE_CHECK_OK(model::ReadRows(request.source, model::Decision::kTable, [&](const model::Batch& batch) {
    for (model::Decision& decision : model::RowsFrom<model::Decision>(batch)) last[decision.id] = std::move(decision);
    return true;
  }));
  std::vector<model::Decision> rows;
  for (auto& [id, decision] : last) rows.push_back(std::move(decision));
  const size_t all = CutRows(rows, kMaxPageObjects);
  Json decisions = Json::array();
  for (const model::Decision& decision : rows) decisions.push_back(DecisionJson(decision));
  const auto meta = request.source.Meta();
  const auto info = [&](std::string_view key) {
    const auto found = meta->info.find(std::string(model::info::kTuningPrefix) + std::string(key));
    return found == meta->info.end() ? std::string() : found->second;
  };
  return JsonText({{"objective", info(model::info::kTuningObjective)},
                   {"unit", info(model::info::kTuningUnit)},
                   {"decisions", std::move(decisions)},
                   {"decisions_in_all", all}});
}

}  // namespace

PageDocument MakeTuningDocument() { return {.name = "tuning", .make = Tuning}; }

}  // namespace attune::analysis
