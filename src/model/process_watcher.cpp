#include "model/process_watcher.h"

namespace attune::model {

std::string_view ToString(ProcessEventKind kind) {
  switch (kind) {
    case ProcessEventKind::kFork: return "fork";
    case ProcessEventKind::kExec: return "exec";
    case ProcessEventKind::kExit: return "exit";
    case ProcessEventKind::kThreadStart: return "thread start";
    case ProcessEventKind::kThreadExit: return "thread exit";
    case ProcessEventKind::kName: return "name";
  }
  return "unknown";
}

}  // namespace attune::model
