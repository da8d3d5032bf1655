#pragma once
/// What programs that ran with the probe preloaded have counted.

#include <map>

#include "probe_run.h"

namespace attune {

struct Sum {
  uint64_t count = 0, contended = 0, wait = 0, hold = 0, holds = 0;
};

inline bool ExitedWell(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// What all rings of a folder say, when the programs are gone.
inline std::map<wire::SyncKind, Sum> Sums(Collected* collected, int pid = 0) {
  std::map<wire::SyncKind, Sum> sums;
  for (auto& [name, reader] : collected->Readers()) {
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      EXPECT_NE(delta.object, 0u);
      EXPECT_NE(delta.site, 0u);
      EXPECT_GT(delta.tid, 0);
      if (pid != 0 && delta.pid != pid) continue;
      Sum& sum = sums[delta.kind];
      sum.count += delta.count;
      sum.contended += delta.contended;
      sum.wait += delta.wait;
      sum.hold += delta.hold;
      sum.holds += delta.holds;
    }
  }
  return sums;
}

}  // namespace attune
