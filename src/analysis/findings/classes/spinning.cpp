/// Threads that wait without sleeping: busy-wait (docs/findings.md).

#include <fmt/format.h>

#include <tuple>

#include "analysis/findings/busy_wait.h"
#include "analysis/findings/cpu_loss.h"
#include "analysis/places/own_place.h"

namespace attune::analysis {
namespace {

using model::ElementId;

/// Threads that want a CPU, by CPUs: with more of them, spinning takes the CPUs from those with work, and too many
/// threads are what to mend (oversubscription).
constexpr double kCrowd = 1.75;
constexpr double kWantsToRun = 0.1;  ///< part of a thread's life
/// Part of a function's time at which all of it is a loop around the calls.
constexpr double kMostlyAsking = 0.5;
bool IsCrowded(const FindingInput& input, ElementId process) {
  double wanting = 0;
  for (const auto& [thread, times] : input.times.by_thread) {
    const model::Element* element = input.meta.FindElement(thread);
    if (element == nullptr || element->parent != process) continue;
    if (times.run_ns + times.queue_ns >= kWantsToRun * times.life_ns) ++wanting;
  }
  return input.Cpus() > 0 && wanting >= kCrowd * static_cast<double>(input.Cpus());
}

enum class Doing : uint8_t {
  kOther,
  kLoops,     ///< in a loop that nothing but another thread can end
  kAsks,      ///< in a call that does not wait
  kReads,     ///< in a call that reads
  kChannels,  ///< the same, of a pipe, a socket or the like, and nothing is copied
  kReceives,  ///< something was there, or it was waited for
};

Doing WhatIsDone(const PathFacts& facts) {
  if (facts.Has(PathPart::kParallel)) return Doing::kOther;
  if (facts.Has(PathPart::kSpinning)) return facts.Has(PathPart::kLibc) ? Doing::kOther : Doing::kLoops;
  if (facts.Has(PathPart::kYield) || facts.Has(PathPart::kNoWait)) return Doing::kAsks;
  if (!facts.Has(PathPart::kRead) && !facts.Has(PathPart::kIoCall)) return Doing::kOther;
  if (facts.Has(PathPart::kTransfer) || facts.Has(PathPart::kSwitch)) return Doing::kReceives;
  return facts.Has(PathPart::kChannel) ? Doing::kChannels : Doing::kReads;
}

/// The samples of one function of a process.
struct Function {
  struct Path {
    ElementId thread = 0;
    int64_t stack = 0;
    int64_t ns = 0;
    Doing doing = Doing::kOther;
  };
  std::vector<Path> paths;

  int64_t NsOf(Doing doing) const {
    int64_t sum_ns = 0;
    for (const Path& path : paths) AddTo(sum_ns, path.doing == doing ? path.ns : 0);
    return sum_ns;
  }
};
using Functions = std::map<std::tuple<ElementId, std::string, std::string>, Function>;

Functions AddUp(const FindingInput& input) {
  Functions functions;
  PathReader reader(*input.cpu_samples, input.names);
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    const auto& [thread, stack] = key;
    const model::Element* element = input.meta.FindElement(thread);
    if (element == nullptr) continue;
    const CodePlace own = input.names.PlaceOf(OwnPlaceOf(input.cpu_samples->PathOf(stack), input.names));
    Function& function = functions[{element->parent, own.module, own.function.empty() ? own.name : own.function}];
    function.paths.push_back({thread, stack, ns, WhatIsDone(reader.Of(stack))});
  }
  return functions;
}

void AddWaiting(const Function& function, CpuLoss& loss) {
  const bool is_polling = FindNothing(function.NsOf(Doing::kChannels), function.NsOf(Doing::kReceives));
  const auto is_asking = [is_polling](Doing doing) {
    return doing == Doing::kAsks || (is_polling && (doing == Doing::kReads || doing == Doing::kChannels));
  };
  int64_t asks_ns = 0, all_ns = 0;
  for (const Function::Path& path : function.paths) {
    AddTo(all_ns, path.ns);
    if (is_asking(path.doing)) AddTo(asks_ns, path.ns);
  }
  const bool is_all = PartOf(asks_ns, all_ns) >= kMostlyAsking;
  for (const Function::Path& path : function.paths) {
    if (is_all || is_asking(path.doing) || path.doing == Doing::kLoops) loss.Add(path.thread, path.stack, path.ns);
  }
}

}  // namespace

void FindSpinning(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.cpu_samples == nullptr) return;
  CpuLoss loss(input);
  for (const auto& [name, function] : AddUp(input)) AddWaiting(function, loss);
  for (const auto& [process, of_process] : loss.by_process()) {
    Finding finding = CpuFinding(input, kBusyWait, of_process);
    if (!input.IsEnough(finding.lost_ns) || IsCrowded(input, process)) continue;
    finding.evidence.push_back(
        fmt::format("{} thread{} spent {:.0f} % of {} CPU time in loops that wait for something without sleeping",
                    finding.thread_count, finding.thread_count == 1 ? "" : "s",
                    100 * finding.figures["part_of_cpu_time"], finding.thread_count == 1 ? "its" : "their"));
    finding.advice = kBusyWaitAdvice;
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
