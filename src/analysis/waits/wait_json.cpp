#include "analysis/waits/wait_json.h"

#include "analysis/documents/json_rows.h"

namespace attune::analysis {
namespace {

Json WaitPlaceJson(const WaitSite& site) {
  return {{"id", site.id},           {"name", site.name},        {"function", site.function},
          {"file", site.file},       {"line", Known(site.line)}, {"module", site.module},
          {"threads", site.threads}, {"waits", site.waits},      {"wait_ns", site.wait_ns}};
}

Json WaitObjectJson(const WaitObject& object) {
  const auto site_json = [](const WaitSite& site) {
    Json place = WaitPlaceJson(site);
    place["kind"] = model::ToString(site.kind);
    place["count"] = site.count;
    return place;
  };
  return {{"object", object.id},
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
          {"sites", JsonRows(object.sites, site_json)},
          {"holders", JsonRows(object.holders, WaitPlaceJson)}};
}

}  // namespace

Json ToJson(const WaitSummary& waits) {
  return {{"thread_ns", waits.thread_ns},
          {"wait_ns", waits.wait_ns},
          {"acquisitions", waits.acquisitions},
          {"locks", JsonRows(waits.locks, WaitObjectJson)},
          {"others", JsonRows(waits.others, WaitObjectJson)}};
}

Json ToJson(const CriticalPath& path) {
  if (path.process == 0) return nullptr;
  const auto thread_json = [](const PathThread& thread) -> Json {
    return {{"thread", thread.thread}, {"tid", Known(thread.tid)}, {"name", thread.name}, {"ns", thread.ns}};
  };
  const auto object_json = [](const PathObject& object) -> Json {
    return {{"object", object.object}, {"name", object.name}, {"times", object.times}, {"ns", object.ns}};
  };
  const auto what_if_json = [](const WhatIf& what_if) -> Json {
    return {{"object", what_if.object}, {"name", what_if.name}, {"saved_ns", what_if.saved_ns}};
  };
  return {{"process", path.process},
          {"length_ns", path.length_ns},
          {"threads", JsonRows(path.threads, thread_json)},
          {"objects", JsonRows(path.objects, object_json)},
          {"handing_over_ns", path.handing_over_ns},
          {"unknown_ns", path.unknown_ns},
          {"what_if", JsonRows(path.what_ifs, what_if_json)}};
}

}  // namespace attune::analysis
