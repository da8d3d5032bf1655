#pragma once
/// Common parts of findings about waits for messages: who waited where, and what the late ones did meanwhile.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/findings/finding_input.h"
#include "analysis/messages/message_waits.h"

namespace attune::analysis {

/// The key with the largest sum; Key{}: there is none.
template <class Key>
Key MostOf(const std::map<Key, int64_t>& sums) {
  const auto most = std::ranges::max_element(sums, {}, [](const auto& entry) { return entry.second; });
  return most == sums.end() ? Key{} : most->first;
}

/// Most waiting first. @param kind of what is done there
std::vector<WaitSite> WaitersOfMessages(const FindingInput& input,
                                        const std::map<model::ElementId, MessageWaiter>& waiters,
                                        wire::SyncKind kind = wire::SyncKind::kMpi);

/// Waiting for those that were late because they found no CPU: that is no fault of what they do.
int64_t ExplainedByQueues(const FindingInput& input, const MessageWaitSums& sums);

/// Adds where those that were late had computed meanwhile: what made them late.
void SayWhatWasDone(const FindingInput& input, const MessageWaitSums& sums, Finding& finding);

}  // namespace attune::analysis
