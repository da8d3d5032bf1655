#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/report/decisions.h"
#include "model/info_keys.h"

namespace attune::analysis {
namespace {

/// `tuning`: what was tried of knobs, and what became of it; the last step of each decision. @cost a row a step
Result<std::string> Tuning(const PageRequest& request) {
  ATTUNE_TRY(std::vector<model::Decision> rows, LastDecisions(request.source));
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
