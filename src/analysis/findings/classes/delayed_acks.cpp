/// Small pieces that wait for acknowledgements of those before them: delayed-ack (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/account/socket_times.h"
#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

constexpr FindingClass kDelayedAck{"delayed-ack", "Small pieces wait for acknowledgements before they are sent"};

constexpr std::string_view kAdvice =
    "Set TCP_NODELAY on the socket; or hand over each message in one piece (writev, or MSG_MORE on all but the last "
    "part): "
    "the other side acknowledges a part alone only after 40 ms.";

/// Part of the time in which its sockets had something to send or to be acknowledged that samples see at least, where
/// nearly all of that time is such waiting: those that come in the first 5 ms of a wait see none.
constexpr double kMostly = 0.3;

/// The kernel adds it up where it is nearly all that the sockets are busy with; else samples tell, of which each stands
/// for an interval, up to what the kernel knows.
int64_t LostNs(const SocketTime& time) {
  const int64_t unacknowledged_ns = time.busy_ns - time.receiver_limited_ns - time.sender_limited_ns;
  const bool is_most = PartOf(time.ack_wait_ns, unacknowledged_ns) >= kMostly;
  return is_most ? unacknowledged_ns : std::min(time.ack_wait_ns, unacknowledged_ns);
}

/// The call by which the process sends most often.
const TaskLink* MostSent(const FindingInput& input, model::ElementId process) {
  const TaskLink* most = nullptr;
  for (const TaskLink& link : input.messages.graph.links) {
    if (!link.is_sender || link.source != process) continue;
    if (most == nullptr || link.side.count > most->side.count) most = &link;
  }
  return most;
}

}  // namespace

void FindDelayedAcks(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, time] : input.Of<SocketTimesOperator>().Snapshot()) {
    Finding finding{.kind = kDelayedAck, .lost_ns = LostNs(time), .object = process, .advice = std::string(kAdvice)};
    if (!input.IsEnough(finding.lost_ns)) continue;
    if (const model::Element* element = input.meta.FindElement(process); element != nullptr)
      finding.object_name = element->name;
    if (const TaskLink* sent = MostSent(input, process); sent != nullptr) finding.site = sent->place;
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.confidence = Confidence::kMedium;
    finding.figures["ack_wait_seconds"] = static_cast<double>(time.ack_wait_ns) * 1e-9;
    finding.figures["busy_seconds"] = static_cast<double>(time.busy_ns) * 1e-9;
    finding.evidence.push_back(
        fmt::format("for {} a piece smaller than a segment was held back while an earlier one was not acknowledged",
                    FormatDuration(finding.lost_ns)));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
