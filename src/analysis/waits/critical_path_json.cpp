#include "analysis/waits/critical_path_json.h"

#include <nlohmann/json.hpp>

namespace attune::analysis {

using Json = nlohmann::ordered_json;

Json ToJson(const CriticalPath& path) {
  if (path.process == 0) return nullptr;
  Json threads = Json::array(), objects = Json::array(), what_ifs = Json::array();
  for (const PathThread& thread : path.threads)
    threads.push_back({{"thread", thread.thread},
                       {"tid", thread.tid == model::kAbsent ? Json(nullptr) : Json(thread.tid)},
                       {"name", thread.name},
                       {"ns", thread.ns}});
  for (const PathObject& object : path.objects)
    objects.push_back({{"object", object.object}, {"name", object.name}, {"times", object.times}, {"ns", object.ns}});
  for (const WhatIf& what_if : path.what_ifs)
    what_ifs.push_back({{"object", what_if.object}, {"name", what_if.name}, {"saved_ns", what_if.saved_ns}});
  return {{"process", path.process},
          {"length_ns", path.length_ns},
          {"threads", std::move(threads)},
          {"objects", std::move(objects)},
          {"handing_over_ns", path.handing_over_ns},
          {"unknown_ns", path.unknown_ns},
          {"what_if", std::move(what_ifs)}};
}

}  // namespace attune::analysis
