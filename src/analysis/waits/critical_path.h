#pragma once
/// Critical path of a program's run time, and the most that it would gain without waiting for one object
/// (docs/critical-path.md).

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/waits/wait_graph.h"
#include "model/source.h"

namespace attune::analysis {

/// A thread's part of the critical path.
struct PathThread {
  model::ElementId thread = 0;
  int64_t tid = model::kAbsent;
  std::string name;
  int64_t ns = 0;
};
/// An object that hands the critical path over from thread to thread.
struct PathObject {
  model::ElementId object = 0;
  std::string name;  ///< "mutex 0x5581c0a01040"
  int64_t times = 0;
  int64_t ns = 0;  ///< from the release until the other one went on
};

/// The program, had nobody waited for an object.
struct WhatIf {
  model::ElementId object = 0;
  std::string name;
  int64_t saved_ns = 0;  ///< at best
};

/// The chain of what had to happen one after the other, from the end of a process back to its start.
struct CriticalPath {
  model::ElementId process = 0;     ///< 0: there is nothing to say
  int64_t length_ns = 0;            ///< all of the process's time
  std::vector<PathThread> threads;  ///< time of each on it, most first
  std::vector<PathObject> objects;  ///< most time first
  int64_t handing_over_ns = 0;      ///< between a release and the moment at which the other one went on
  int64_t unknown_ns = 0;           ///< waits of which it is not known what ended them
  std::vector<WhatIf> what_ifs;     ///< most saved first
};

/// @cost linear in the waits
CriticalPath FindCriticalPath(const WaitGraph& graph);
/// When the process would have ended had the waits for this object taken no time. Each other wait ends when what ended
/// it happens, as long after that as it did; what is not known to be ended by another thread takes as long as it took.
/// @return nanoseconds less @cost linear in the waits
int64_t SavedWithout(const WaitGraph& graph, model::ElementId object);

/// The path with names and what-ifs. @param least_waited_ns of an object, to be worth a what-if
CriticalPath JudgeCriticalPath(const model::Metadata& meta, const WaitGraph& graph, int64_t least_waited_ns);

}  // namespace attune::analysis
