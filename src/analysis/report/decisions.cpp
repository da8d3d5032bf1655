#include "analysis/report/decisions.h"

#include <map>

#include "model/rows.h"

namespace attune::analysis {
namespace {

Json Part(int64_t ppm) { return ppm == model::kAbsent ? Json(nullptr) : Json(static_cast<double>(ppm) * 1e-6); }

}  // namespace

Result<std::vector<model::Decision>> LastDecisions(model::Source& source) {
  std::map<int64_t, model::Decision> last;
  ATTUNE_CHECK_OK(model::ReadRows(source, model::Decision::kTable, [&](const model::Batch& batch) {
    for (model::Decision& decision : model::RowsFrom<model::Decision>(batch)) last[decision.id] = std::move(decision);
    return true;
  }));
  std::vector<model::Decision> rows;
  for (auto& [id, decision] : last) rows.push_back(std::move(decision));
  return rows;
}

Result<std::vector<model::Decision>> KeptDecisions(model::Source& source) {
  ATTUNE_TRY(std::vector<model::Decision> rows, LastDecisions(source));
  std::erase_if(rows, [](const model::Decision& row) { return row.state != model::DecisionState::kKept; });
  return rows;
}

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

}  // namespace attune::analysis
