#include "session/core/modules.h"

#include <cstdlib>
#include <functional>
#include <string_view>

#include "kernel/process_bpf.h"
#include "track/connector.h"
#include "track/polling.h"
#include "track/process_usage.h"

namespace attune::session {

Result<WatcherChoice> MakeWatcher(const HostRoot& host, kernel::FutexCounting counting) {
  struct Way {
    std::string_view name;
    std::function<Result<std::unique_ptr<model::ProcessWatcher>>()> make;
  };
  const Way ways[] = {
      {"ebpf",
       [&] {
         return kernel::MakeBpfWatcher([host](int64_t pid) { return track::DescribeTree(host, pid); }, counting);
       }},
      {"connector", [&] { return track::MakeConnectorWatcher(host); }},
  };
  const char* wanted = std::getenv("ATTUNE_TRACKING");
  WatcherChoice choice;
  for (const Way& way : ways) {
    if (wanted != nullptr && way.name != wanted) continue;
    auto made = way.make();
    if (made.ok()) {
      choice.watcher = *std::move(made);
      return choice;
    }
    choice.refused.push_back(std::string(way.name) + ": " + made.error().message);
  }
  auto polling = track::MakePollingWatcher(host);
  if (!polling.ok()) return polling.error();
  choice.watcher = *std::move(polling);
  return choice;
}

}  // namespace attune::session
