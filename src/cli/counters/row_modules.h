#pragma once
/// Monitoring modules whose virtual counters are columns of the rows of threads.

#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/counters/thread_row.h"
#include "counter/core_types.h"
#include "module/module_process.h"
#include "session/counting/module_feed.h"

namespace attune::cli {

/// @thread the one that made it
class RowModules {
 public:
  /// Starts them. @param events that are counted: those that the modules need besides are added
  /// Error: one cannot work here, or has no virtual counters of threads
  static Result<std::unique_ptr<RowModules>> Start(const std::vector<PluginChoice>& choices, const HostRoot& host,
                                                   const std::vector<counter::Pmu>& pmus,
                                                   std::vector<counter::NamedEvent>& events);

  /// The virtual counters of threads, without parts.
  std::vector<counter::NamedEvent> Columns() const;
  /// Moments at which they need rows (session::BpfThreads::Create).
  unsigned Tells() const;
  /// The shortest time between two looks at threads that live.
  int64_t IntervalNs() const;
  /// @param thread with the counts of all events, since it was followed
  void Take(const counter::ThreadCounts& thread);
  /// A row behind what Take() got for it has the values of that moment, or the last ones before.
  /// @cost waits until the modules have answered, at most a second each
  void Complete(std::span<ThreadRow> rows);
  /// Modules that have failed meanwhile.
  std::vector<counter::EventNote> Notes() const;

 private:
  struct Active {
    Active(modules::ModuleProcess module, const counter::CoreTypes& core_types)
        : process(std::move(module)), hello(process.hello()), feed(core_types, hello) {}

    modules::ModuleProcess process;
    const modules::ModuleHello hello;
    session::ModuleFeed feed;
    std::vector<size_t> events;    ///< places of its events among all
    std::vector<size_t> virtuals;  ///< its virtual counters that are columns
    /// Values that came since the last rows: by thread and time.
    std::map<std::pair<pid_t, int64_t>, std::vector<double>> values;
    std::map<pid_t, std::vector<double>> last;
    int64_t ticked_ns = 0;
    std::string problem;  ///< empty: it works
  };
  /// Takes the values of all that it was told.
  static void Drain(Active& active);

  const counter::CoreTypes core_types_{HostRoot()};
  std::list<Active> modules_;  ///< their feeds refer to them
};

}  // namespace attune::cli
