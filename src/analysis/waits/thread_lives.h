#pragma once
/// When each thread of the program was there.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// A thread that was active for a smaller part of its life is an idle helper and takes no part in the work.
inline constexpr double kLeastActive = 0.02;

struct ThreadLife {
  model::ElementId thread = 0;  ///< 0: a process of whose threads none was seen has one
  model::ElementId process = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  int64_t LengthNs() const { return end_ns - start_ns; }
};

/// A life is at least as long as the thread's waits, also if start or end was not seen. A running thread lives until
/// `now_ns`. Times are between 0 and INT64_MAX / 4, whatever a file says.
std::vector<ThreadLife> FindThreadLives(const model::Metadata& meta, int64_t now_ns,
                                        const std::unordered_map<model::ElementId, int64_t>& waited_by_thread);

/// All lives added up: what shares of waiting are shares of.
int64_t TotalNs(const std::vector<ThreadLife>& lives);

}  // namespace attune::analysis
