/// Threads that wait for what is initialised once: initialisation-wait (docs/findings.md).

#include <fmt/format.h>

#include "analysis/findings/process_sums.h"

namespace attune::analysis {
namespace {

constexpr FindingClass kInitialisation{.name = "initialisation-wait",
                                       .about = "Threads wait for another one to initialise what all of them need"};
constexpr std::string_view kAdvice =
    "Initialise it before the threads are started, or while they have other things to do; make the part that they need "
    "first available first, or let several threads build it.";

}  // namespace

void FindInitialisation(const FindingInput& input, std::vector<Finding>& findings) {
  const auto is_once = [](wire::SyncKind kind) { return kind == wire::SyncKind::kOnce; };
  for (const auto& [process, group] : MergeByProcess(input, input.waits.sums.objects, is_once)) {
    if (!input.IsEnough(group.sums.total.wait_ns)) continue;
    Finding finding = AboutBusiest(input, kInitialisation, group);
    finding.advice = kAdvice;
    finding.confidence = Confidence::kHigh;
    finding.evidence.push_back(fmt::format("{} thread{} waited {}, until another one had initialised it",
                                           finding.thread_count, finding.thread_count == 1 ? "" : "s",
                                           TimesText(group.sums.total.waits, group.sums.total.wait_ns)));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
