#pragma once
/// Judgement of a program's waits beyond sums: what holds it back, how well it uses its threads, and its critical
/// path. They are made of the same rows, which are read once.

#include <span>
#include <vector>

#include "analysis/account/account.h"
#include "analysis/findings/finding.h"
#include "analysis/messages/task_graph.h"
#include "analysis/operators/operator.h"
#include "analysis/profile/cpu_profile.h"
#include "analysis/waits/critical_path.h"
#include "analysis/waits/efficiency.h"
#include "analysis/waits/wait_summary.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct Judgement {
  WaitTables waits;
  Account account;
  std::vector<Finding> findings;         ///< most to gain first
  std::vector<Efficiency> efficiencies;  ///< processes of several threads, largest first
  CriticalPath critical_path;            ///< path of the process with most thread time
  SampleSums cpu_samples;
  TaskGraph task_graph;  ///< without ranks: nothing was sent or received
};

/// @param names of sites that the source itself does not name (NameSites)
/// @param also operators that are given the same rows
/// @cost one pass over the events (0.15 us a wait, hardly anything for others), the tables of waits and samples, and
/// three columns of each thread's samples
Result<Judgement> JudgeProgram(model::Source& source, std::span<const model::Site> names = {},
                               std::span<Operator* const> also = {});

}  // namespace attune::analysis
