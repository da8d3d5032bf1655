#include "analysis/findings/finding_json.h"

#include "analysis/documents/json_rows.h"
#include "analysis/places/place_json.h"

namespace attune::analysis {
namespace {

Json WaiterJson(const WaitSite& waiter) {
  return {{"site", PlaceJson(waiter)},
          {"threads", waiter.threads},
          {"waits", waiter.waits},
          {"seconds", Seconds(waiter.wait_ns)}};
}

Json ThreadJson(const FindingThread& thread) {
  return {{"id", thread.id},
          {"pid", Known(thread.pid)},
          {"tid", Known(thread.tid)},
          {"name", thread.name},
          {"seconds", Seconds(thread.lost_ns)}};
}

Json FindingPlaceJson(const FindingPlace& place) { return {{"site", PlaceJson(place)}, {"what", place.what}}; }

Json FindingJson(const Finding& finding) {
  // Memory has a name, and is no element.
  const Json object = {{"id", finding.object == 0 ? Json(nullptr) : Json(finding.object)},
                       {"name", finding.object_name}};
  return {{"class", finding.kind.name},
          {"about", finding.kind.about},
          {"of_ranks", finding.kind.of_ranks},
          {"seconds", Seconds(finding.lost_ns)},
          {"share", finding.share},
          {"gain_seconds", Seconds(finding.gain_ns)},
          {"site", PlaceJson(finding.site)},
          {"object", finding.object_name.empty() ? Json(nullptr) : object},
          {"threads", JsonRows(finding.threads, ThreadJson)},
          {"threads_in_all", finding.thread_count},
          {"caused_by", JsonRows(finding.caused_by, ThreadJson)},
          {"waiters", JsonRows(finding.waiters, WaiterJson)},
          {"places", JsonRows(finding.places, FindingPlaceJson)},
          {"evidence", finding.evidence},
          {"figures", finding.figures},
          {"advice", finding.advice},
          {"confidence", ToString(finding.confidence)}};
}

}  // namespace

Json ToJson(std::span<const Finding> findings) { return JsonRows(findings, FindingJson); }

}  // namespace attune::analysis
