/// Threads of Python that wait for each other: interpreter-lock (docs/findings.md).

#include <fmt/format.h>

#include "analysis/findings/cpu_loss.h"
#include "analysis/findings/interpreter_lock.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kInterpreterLock{"interpreter-lock", "Threads of Python wait for the interpreter's lock"};
constexpr std::string_view kAdvice =
    "Only one thread of a Python process executes Python at a time: use processes (multiprocessing, "
    "concurrent.futures.ProcessPoolExecutor), or let the work be done by libraries that release the lock (numpy, "
    "zlib).";

}  // namespace

void FindInterpreter(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, concurrency] : input.concurrency) {
    const ObjectSums waits = WaitsForInterpreter(input, process);
    if (!input.IsEnough(waits.total.wait_ns)) continue;
    const auto by_thread = waits.ByThread();
    Finding finding{.kind = kInterpreterLock, .lost_ns = waits.total.wait_ns};
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    std::vector<FindingThread> threads;
    for (const auto& [thread, counts] : by_thread) threads.push_back(input.Thread(thread, counts.wait_ns));
    FindingInput::SetThreads(std::move(threads), finding);
    finding.waiters = WaitingSites(waits, input.names);
    // Their places when they have the lock.
    if (const auto computing = ComputingFinding(input, kInterpreterLock, by_thread)) finding.site = computing->site;
    finding.confidence = Confidence::kHigh;
    finding.evidence.push_back(
        fmt::format("{} thread{} waited {} times for the lock, {} on average", finding.thread_count,
                    finding.thread_count == 1 ? "" : "s", waits.total.waits,
                    FormatDuration(waits.total.wait_ns / std::max<int64_t>(1, waits.total.waits))));
    finding.advice = kAdvice;
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
