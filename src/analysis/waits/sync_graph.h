#pragma once
/// The synchronisation graph: which thread used which lock, barrier, condition, ... how often and how long it waited
/// for it, and which thread made which other one wait (docs/sync-graph.md). The figures are those of RTM's sync graph
/// (Park et al., "RTM: Run-Time Monitor", Figure 13): occurrences, longest, shortest and average time a thread and
/// event, and the average time between events.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/documents/graph_document.h"
#include "analysis/waits/blame.h"
#include "analysis/waits/tsc_rate.h"
#include "base/result.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

struct SyncFigures {
  int64_t occurrences = 0;              ///< acquisitions, waits, wake-ups
  int64_t waits = 0;                    ///< calls that had to wait
  int64_t wait_ns = 0;                  ///< by these
  int64_t min_ns = model::kAbsent;      ///< the shortest wait; kAbsent: no single one is known
  int64_t max_ns = model::kAbsent;      ///< the longest
  int64_t between_ns = model::kAbsent;  ///< average from the end of a wait to the begin of the thread's next one there
  int64_t hold_ns = 0;                  ///< hold time of `holds` acquisitions (one in wire::kHoldSampling)
  int64_t holds = 0;

  int64_t AverageNs() const { return waits == 0 ? model::kAbsent : wait_ns / waits; }
};

struct SyncThread {
  model::ElementId id = 0;
  std::string name;  ///< the thread's; of a main thread also the process's
  int64_t pid = model::kAbsent;
  int64_t tid = model::kAbsent;
  int64_t rank = model::kAbsent;  ///< in an MPI job
  SyncFigures all;
};

struct SyncObject {
  model::ElementId id = 0;
  std::string name;  ///< "mutex 0x5581c0a01040"
  std::string kind;  ///< "mutex", "rwlock", "condition", ...
  int64_t pid = model::kAbsent;
  int64_t threads = 0;
  SyncFigures all;
};

/// Use of an object by a thread at one place in the code.
struct SyncLink {
  model::ElementId thread = 0;
  model::ElementId object = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  model::ElementId site_id = 0;
  std::string site;  ///< "solver+0x1234"
  std::string function;
  std::string file;
  int64_t line = model::kAbsent;
  SyncFigures figures;
};

/// One thread made another one wait for an object (level blame).
struct SyncHandOver {
  model::ElementId holder = 0;
  model::ElementId waiter = 0;
  model::ElementId object = 0;
  int64_t waits = 0;
  int64_t wait_ns = 0;
};

struct SyncGraph {
  model::TimeRange range;
  int64_t tsc_hz = model::kAbsent;  ///< to turn times into cycles of the time stamp counter; kAbsent: not known
  std::vector<SyncThread> threads;  ///< most waiting first, as all of these
  std::vector<SyncObject> objects;
  std::vector<SyncLink> links;
  std::vector<SyncHandOver> hand_overs;
};

/// Takes what is recorded, in any portions, and gives the graph of what came by now. Bounded: at most kMaxLinks links;
/// further ones are added to one link of each thread and kind ("further objects"). @thread one at a time
class SyncGraphBuilder {
 public:
  static constexpr size_t kMaxLinks = 1u << 20;

  void Add(const model::Sync& row);
  /// An event of kind wait or hand_over; in order of time.
  void Add(const model::Event& event);
  void AddClock(int64_t tsc, int64_t monotonic_ns) { tsc_.Add(tsc, monotonic_ns); }
  void AddClock(const model::Batch& batch) { tsc_.Add(batch); }

  /// @param names of sites that `meta` does not name (SiteNamer)
  SyncGraph Build(const model::Metadata& meta, model::TimeRange range, std::span<const model::Site> names = {}) const;

 private:
  using Key = std::tuple<model::ElementId, model::ElementId, model::ElementId, wire::SyncKind>;  // thread, object, site
  struct Link {
    SyncFigures figures;
    int64_t last_end_ns = model::kAbsent;
    int64_t between_sum_ns = 0;
    int64_t betweens = 0;
  };

  Link& LinkOf(const Key& key);

  std::map<Key, Link> links_;
  BlameCounter blame_;
  TscRate tsc_;
};

/// Graph of a whole recording, or of what a session has recorded by now.
Result<SyncGraph> BuildSyncGraph(model::Source& source, std::span<const model::Site> names = {});

/// docs/schema/sync-graph.xsd
GraphDocument DocumentOf(const SyncGraph& graph);

}  // namespace attune::analysis
