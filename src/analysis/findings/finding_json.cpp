#include "analysis/findings/finding_json.h"

#include <nlohmann/json.hpp>

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json Known(int64_t value) { return value == model::kAbsent ? Json(nullptr) : Json(value); }
double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

Json ThreadsJson(const std::vector<FindingThread>& threads) {
  Json rows = Json::array();
  for (const FindingThread& thread : threads) {
    rows.push_back({{"id", thread.id},
                    {"pid", Known(thread.pid)},
                    {"tid", Known(thread.tid)},
                    {"name", thread.name},
                    {"seconds", Seconds(thread.lost_ns)}});
  }
  return rows;
}

Json WaitersJson(const std::vector<WaitSite>& waiters) {
  Json rows = Json::array();
  for (const WaitSite& waiter : waiters) {
    rows.push_back({{"site", PlaceJson(waiter)},
                    {"threads", waiter.threads},
                    {"waits", waiter.waits},
                    {"seconds", Seconds(waiter.wait_ns)}});
  }
  return rows;
}

Json PlacesJson(const std::vector<FindingPlace>& places) {
  Json rows = Json::array();
  for (const FindingPlace& place : places) rows.push_back({{"site", PlaceJson(place)}, {"what", place.what}});
  return rows;
}

}  // namespace

Json PlaceJson(const CodePlace& place) {
  if (place.name.empty() && place.function.empty()) return nullptr;
  return {{"id", place.id},     {"module", place.module},    {"function", place.function},
          {"file", place.file}, {"line", Known(place.line)}, {"name", place.name}};
}

Json ToJson(std::span<const Finding> findings) {
  Json rows = Json::array();
  for (const Finding& finding : findings) {
    // Memory has a name, and is no element.
    const Json object = {{"id", finding.object == 0 ? Json(nullptr) : Json(finding.object)},
                         {"name", finding.object_name}};
    rows.push_back({{"class", finding.kind.name},
                    {"about", finding.kind.about},
                    {"of_ranks", finding.kind.of_ranks},
                    {"seconds", Seconds(finding.lost_ns)},
                    {"share", finding.share},
                    {"site", PlaceJson(finding.site)},
                    {"object", finding.object_name.empty() ? Json(nullptr) : object},
                    {"threads", ThreadsJson(finding.threads)},
                    {"threads_in_all", finding.thread_count},
                    {"caused_by", ThreadsJson(finding.caused_by)},
                    {"waiters", WaitersJson(finding.waiters)},
                    {"places", PlacesJson(finding.places)},
                    {"evidence", finding.evidence},
                    {"figures", finding.figures},
                    {"advice", finding.advice},
                    {"confidence", ToString(finding.confidence)}});
  }
  return rows;
}

}  // namespace attune::analysis
