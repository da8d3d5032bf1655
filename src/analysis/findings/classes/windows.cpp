/// TCP sockets whose buffers are too small for what is sent: socket-window (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/account/socket_times.h"
#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

constexpr FindingClass kSocketWindow{"socket-window", "Sockets have data to send and no room for it"};

/// Part of the time in which something was to be sent.
constexpr double kMuch = 0.2;
constexpr std::string_view kSlowPeer = "slow-peer";

constexpr std::string_view kAdvice =
    "Give its sockets larger buffers: SO_RCVBUF of the receiver, SO_SNDBUF of the sender; or set none, and the kernel "
    "sizes them by itself (net.ipv4.tcp_rmem, tcp_wmem). Where the receiver reads too slowly, larger buffers help "
    "little: let it read more at a time, or in a thread of its own.";

/// Whether most of it is a slow receiver's, which larger buffers do not make faster: slow-peer, found before, says so.
bool IsOfSlowPeer(const FindingInput& input, model::ElementId process, int64_t lost_ns,
                  const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [&](const Finding& other) {
    const auto is_of_process = [&](const FindingThread& thread) {
      const model::Element* element = input.meta.FindElement(thread.id);
      return element != nullptr && element->parent == process;
    };
    return other.kind.name == kSlowPeer && other.lost_ns > lost_ns / 2 &&
           std::ranges::any_of(other.threads, is_of_process);
  });
}

}  // namespace

void FindWindows(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, time] : input.Of<SocketTimesOperator>().Snapshot()) {
    Finding finding{.kind = kSocketWindow,
                    .lost_ns = time.receiver_limited_ns + time.sender_limited_ns,
                    .object = process,
                    .advice = std::string(kAdvice)};
    if (!input.IsEnough(finding.lost_ns) || PartOf(finding.lost_ns, time.busy_ns) < kMuch ||
        IsOfSlowPeer(input, process, finding.lost_ns, findings))
      continue;
    if (const model::Element* element = input.meta.FindElement(process); element != nullptr)
      finding.object_name = element->name;
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.confidence = Confidence::kHigh;
    finding.figures["busy_seconds"] = static_cast<double>(time.busy_ns) * 1e-9;
    finding.figures["receiver_limited_seconds"] = static_cast<double>(time.receiver_limited_ns) * 1e-9;
    finding.figures["sender_limited_seconds"] = static_cast<double>(time.sender_limited_ns) * 1e-9;
    finding.evidence.push_back(
        fmt::format("its sockets had something to send for {}; for {} of that the receive buffer of the other side was "
                    "full, and for "
                    "{} their own send buffer",
                    FormatDuration(time.busy_ns), FormatDuration(time.receiver_limited_ns),
                    FormatDuration(time.sender_limited_ns)));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
