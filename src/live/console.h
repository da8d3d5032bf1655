#pragma once
/// Running programs from the page (docs/console.md). The server knows nothing of how: it is given an object that does
/// it (ServerOptions::console), and answers a client only after that has shown the token itself: who has stolen a
/// cookie starts nothing.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "live/analyses.h"
#include "live/message.h"
#include "model/source.h"

namespace attune::live {

class Console {
 public:
  virtual ~Console() = default;
  /// Does it. @return JSON, as docs/console.md describes it for the verb @param request not kShow or kCompare; of
  /// kUnlock without the token: the client has shown it
  /// @thread any
  virtual Result<std::string> Answer(const ConsoleRequest& request) = 0;

  struct Opened {
    std::unique_ptr<model::Source> source;
    std::string title;
  };
  /// The recording of a run, which may still grow. @thread any
  virtual Result<Opened> Open(uint64_t run) = 0;
  /// As ServerOptions::analyse, of what Open() gave. @thread any
  virtual std::unique_ptr<Analyses> Analyse(model::Source& source) = 0;
};

/// A `console` message. @param answer JSON
std::string ConsoleMessage(ConsoleVerb verb, const Result<std::string>& answer);

}  // namespace attune::live
