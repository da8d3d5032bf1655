#include "analysis/waits/wait_json.h"

#include <nlohmann/json.hpp>

namespace attune::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json Known(int64_t value) { return value == model::kAbsent ? Json(nullptr) : Json(value); }

Json WaitPlaceJson(const WaitSite& site) {
  return {{"id", site.id},           {"name", site.name},        {"function", site.function},
          {"file", site.file},       {"line", Known(site.line)}, {"module", site.module},
          {"threads", site.threads}, {"waits", site.waits},      {"wait_ns", site.wait_ns}};
}

Json WaitObjectsJson(const std::vector<WaitObject>& objects) {
  Json rows = Json::array();
  for (const WaitObject& object : objects) {
    Json sites = Json::array();
    for (const WaitSite& site : object.sites) {
      Json place = WaitPlaceJson(site);
      place["kind"] = model::ToString(site.kind);
      place["count"] = site.count;
      sites.push_back(std::move(place));
    }
    Json holders = Json::array();
    for (const WaitSite& site : object.holders) holders.push_back(WaitPlaceJson(site));
    rows.push_back({{"object", object.id},
                    {"name", object.name},
                    {"kind", object.kind},
                    {"pid", Known(object.pid)},
                    {"threads", object.threads},
                    {"count", object.count},
                    {"waits", object.waits},
                    {"wait_ns", object.wait_ns},
                    {"share", object.share},
                    {"contended", object.contended},
                    {"hold_ns", Known(object.held_ns)},
                    {"holds_sampled", object.holds},
                    {"sites", std::move(sites)},
                    {"holders", std::move(holders)}});
  }
  return rows;
}

}  // namespace

Json ToJson(const WaitSummary& waits) {
  return {{"thread_ns", waits.thread_ns},
          {"wait_ns", waits.wait_ns},
          {"acquisitions", waits.acquisitions},
          {"locks", WaitObjectsJson(waits.locks)},
          {"others", WaitObjectsJson(waits.others)}};
}

}  // namespace attune::analysis
