#include "analysis/waits/critical_path_json.h"

#include "analysis/documents/json_rows.h"

namespace attune::analysis {

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
