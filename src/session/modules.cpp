#include "session/modules.h"

#include <cstdlib>
#include <functional>
#include <string_view>

#include "track/polling.h"

namespace attune::session {

WatcherChoice MakeWatcher(const HostRoot& host) {
  WatcherChoice choice;
  choice.watcher = *track::MakePollingWatcher(host);
  return choice;
}

}  // namespace attune::session
