#include <unordered_set>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/places/code_place.h"

namespace attune::analysis {
namespace {

constexpr size_t kMaxSites = 20'000;

/// `sites`: what the places in the code are called, by id. @cost a row a site
Result<std::string> Sites(const PageRequest& request) {
  const auto meta = request.source.Meta();
  const SiteNames site_names(*meta, request.names);
  Json sites = Json::array();
  std::unordered_set<model::ElementId> seen;
  for (const model::Site& site : meta->sites) {
    if (seen.size() == kMaxSites || !seen.insert(site.id).second) continue;
    const CodePlace place = site_names.PlaceOf(site.id);
    sites.push_back({{"id", place.id},
                     {"name", place.name},
                     {"function", place.function},
                     {"file", place.file},
                     {"line", Known(place.line)}});
  }
  return JsonText({{"sites", std::move(sites)}});
}

}  // namespace

PageDocument MakeSitesDocument() { return {.name = "sites", .make = Sites}; }

}  // namespace attune::analysis
