/// Files that are read or written by few bytes a call: small-io (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/cpu_loss.h"
#include "analysis/places/own_place.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kSmallIo{
    .name = "small-io", .about = "Files are read or written by few bytes a call", .cost = Cost::kCpuTime};
constexpr std::string_view kAdvice =
    "Read and write through a buffer of some KiB (stdio, std::fstream with its buffer, io.BufferedReader), or many "
    "pieces "
    "in one call (readv, writev): each call of the kernel costs as much as to copy some KiB.";

/// Part of a function's time in reads and writes. Above it, samples without a size are small, too: they are entering or
/// leaving the kernel.
constexpr double kMostlySmall = 0.5;

/// A function's samples in reads and writes.
struct Calls {
  struct Path {
    ElementId thread = 0;
    int64_t stack = 0;
    int64_t ns = 0;
    bool is_small = false;
  };
  std::vector<Path> paths;
  int64_t all_ns = 0;
  int64_t small_ns = 0;
  int64_t channels_ns = 0;  ///< pipes and the like, without anything copied
  int64_t receives_ns = 0;
  double bytes_ns = 0;  ///< time of small ones, multiplied by their bytes
};

/// By process and function. What is sent to another thread is left out: it is as small as it is, and costs what waking
/// that one costs.
std::map<std::pair<ElementId, std::string>, Calls> AddUp(const FindingInput& input) {
  std::map<std::pair<ElementId, std::string>, Calls> functions;
  PathReader reader(*input.cpu_samples, input.names);
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    const auto& [thread, stack] = key;
    const PathFacts& facts = reader.Of(stack);
    const model::Element* element = input.meta.FindElement(thread);
    if (!(facts.Has(PathPart::kSmall) || facts.Has(PathPart::kIoCall)) || facts.Has(PathPart::kMessage) ||
        facts.Has(PathPart::kSwitch) || element == nullptr)
      continue;
    const CodePlace own = input.names.PlaceOf(OwnPlaceOf(input.cpu_samples->PathOf(stack), input.names));
    Calls& calls = functions[{element->parent, own.function.empty() ? own.name : own.function}];
    calls.paths.push_back({thread, stack, ns, facts.Has(PathPart::kSmall)});
    AddTo(calls.all_ns, ns);
    if (facts.Has(PathPart::kTransfer))
      AddTo(calls.receives_ns, ns);
    else if (facts.Has(PathPart::kChannel))
      AddTo(calls.channels_ns, ns);
    if (!facts.Has(PathPart::kSmall)) continue;
    AddTo(calls.small_ns, ns);
    calls.bytes_ns += static_cast<double>(ns) * static_cast<double>(facts.most_bytes);
  }
  return functions;
}

}  // namespace

void FindSmallIo(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.cpu_samples == nullptr) return;
  CpuLoss loss(input);
  std::map<ElementId, Calls> processes;
  for (const auto& [name, calls] : AddUp(input)) {
    if (FindNothing(calls.channels_ns, calls.receives_ns)) continue;  // it polls: busy-wait
    const bool is_all = PartOf(calls.small_ns, calls.all_ns) >= kMostlySmall;
    for (const Calls::Path& path : calls.paths) {
      if (is_all || path.is_small) loss.Add(path.thread, path.stack, path.ns);
    }
    AddTo(processes[name.first].small_ns, calls.small_ns);
    processes[name.first].bytes_ns += calls.bytes_ns;
  }
  for (const auto& [process, of_process] : loss.by_process()) {
    Finding finding = CpuFinding(input, kSmallIo, of_process);
    if (!input.IsEnough(finding.lost_ns)) continue;
    const Calls& small = processes[process];
    if (small.small_ns == 0) continue;
    finding.figures["bytes_a_call"] = small.bytes_ns / static_cast<double>(small.small_ns);
    finding.evidence.push_back(
        fmt::format("{:.0f} % of the CPU time of {} thread{} goes to reads and writes of about {:.0f} bytes",
                    100 * finding.figures["part_of_cpu_time"], finding.thread_count,
                    finding.thread_count == 1 ? "" : "s", finding.figures["bytes_a_call"]));
    finding.advice = kAdvice;
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
