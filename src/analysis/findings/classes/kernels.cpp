/// Dataflow graphs whose threads have no work, or none that pays: serial-kernel, uneven-ranges, kernel-dispatch
/// (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/finding_input.h"
#include "analysis/work/work_model.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

constexpr FindingClass kSerialKernel{.name = "serial-kernel",
                                     .about = "Threads of a dataflow graph have no work, as one kernel holds it up",
                                     .explains_turns = true};
constexpr FindingClass kUnevenRanges{.name = "uneven-ranges",
                                     .about = "Threads of a dataflow graph wait for the longest part of an age",
                                     .explains_turns = true};
constexpr FindingClass kKernelDispatch{
    .name = "kernel-dispatch",
    .about = "Instances of a kernel are so short that handing them out costs as much",
    .cost = Cost::kCpuTime};

constexpr std::string_view kSerialAdvice =
    "Give it more instances that can run at once (an index variable over parts of the data), leave out kOrdered where "
    "no order is needed, or do less in it and more in kernels that others can run.";
constexpr std::string_view kUnevenAdvice =
    "Divide what takes long into several instances, give each about the same amount of data, or take fewer of them "
    "together (RunOptions::scheduler).";
constexpr std::string_view kDispatchAdvice =
    "Take more of them together (the scheduler \"guided\" does), or let an instance do a whole row or block.";

constexpr double kLeastIdle = 0.1;      ///< part of the threads' time; the end of each run has some
constexpr double kLeastDispatch = 0.1;  ///< part of the run
constexpr double kNoticeable = 0.01;    ///< part of the run

class Graph {
 public:
  Graph(const FindingInput& input, const WorkGraph& graph, const WorkForecast& forecast)
      : input_(input), graph_(graph), forecast_(forecast), threads_(static_cast<double>(graph.threads)) {}

  void Find(std::vector<Finding>& findings) const {
    const double uneven_ns = forecast_.imbalance_gain_ns * threads_;
    const double idle_ns = forecast_.idle * forecast_.measured_ns * threads_;
    const bool is_idle = forecast_.idle >= kLeastIdle;
    if (is_idle) AddSerial(idle_ns - uneven_ns, findings);
    if (is_idle) AddUneven(std::min(idle_ns, uneven_ns), findings);
    if (forecast_.dispatch_gain_ns >= kLeastDispatch * forecast_.measured_ns) AddDispatch(findings);
  }

 private:
  Finding About(const FindingClass& kind, const WorkKernel& kernel, double lost_ns, double gain_ns) const {
    Finding finding{.kind = kind};
    finding.lost_ns = static_cast<int64_t>(lost_ns);
    finding.share = PartOf(finding.lost_ns, input_.waits.thread_ns);
    finding.gain_ns = static_cast<int64_t>(gain_ns);
    finding.object_name = "kernel " + kernel.name;
    finding.thread_count = graph_.threads;
    finding.confidence = Confidence::kHigh;
    finding.figures["idle"] = forecast_.idle;
    finding.figures["threads"] = threads_;
    return finding;
  }

  void AddSerial(double lost_ns, std::vector<Finding>& findings) const {
    const WorkForecast::Kernel& first = forecast_.kernels.front();
    const auto kernel = std::ranges::find(graph_.kernels, first.name, &WorkKernel::name);
    Finding finding = About(kSerialKernel, *kernel, lost_ns, first.gain_ns);
    if (!input_.IsEnough(finding.lost_ns)) return;
    finding.advice = kSerialAdvice;
    finding.evidence.push_back(fmt::format("{} have no work for {:.0f} % of their time",
                                           Plural(graph_.threads, "thread"), 100 * forecast_.idle));
    const bool threads_help = forecast_.threads_gain_ns >= kNoticeable * forecast_.measured_ns;
    finding.evidence.push_back(fmt::format(
        "if an instance of {} took half as long, the run of {} would be {} shorter; twice as many threads {}",
        kernel->name, Duration(forecast_.measured_ns), Duration(first.gain_ns),
        threads_help ? fmt::format("would save {}", Duration(forecast_.threads_gain_ns)) : "would not help"));
    const auto ages = static_cast<double>(std::max<int64_t>(1, kernel->ages));
    const int64_t instances = std::max<int64_t>(1, kernel->instances / std::max<int64_t>(1, kernel->ages));
    finding.evidence.push_back(fmt::format("an age of it has {} and takes {}{}", Plural(instances, "instance"),
                                           Duration(kernel->all_ns() / ages),
                                           kernel->is_ordered ? ", one after the other" : ""));
    findings.push_back(std::move(finding));
  }

  /// The kernel whose longest ranges are farthest above the mean.
  void AddUneven(double lost_ns, std::vector<Finding>& findings) const {
    const auto above = [](const WorkKernel& kernel) {
      return kernel.ranges <= kernel.ages ? 0
                                          : kernel.longest_ns - kernel.all_ns() * static_cast<double>(kernel.ages) /
                                                                    static_cast<double>(kernel.ranges);
    };
    const WorkKernel& kernel = *std::ranges::max_element(graph_.kernels, {}, above);
    Finding finding = About(kUnevenRanges, kernel, lost_ns, forecast_.imbalance_gain_ns);
    if (!input_.IsEnough(finding.lost_ns) || above(kernel) <= 0) return;
    finding.advice = kUnevenAdvice;
    const double range_ns = kernel.all_ns() / static_cast<double>(kernel.ranges);
    const double longest_ns = kernel.longest_ns / static_cast<double>(kernel.ages);
    finding.figures["longest_of_mean"] = longest_ns / range_ns;
    finding.evidence.push_back(fmt::format("the longest range of an age takes {}, {:.1f} times the mean",
                                           Duration(longest_ns), longest_ns / range_ns));
    findings.push_back(std::move(finding));
  }

  void AddDispatch(std::vector<Finding>& findings) const {
    const WorkKernel& kernel = *std::ranges::max_element(graph_.kernels, {}, &WorkKernel::dispatch_ns);
    Finding finding = About(kKernelDispatch, kernel, kernel.dispatch_ns, forecast_.dispatch_gain_ns);
    if (!input_.IsEnough(finding.lost_ns)) return;
    finding.advice = kDispatchAdvice;
    const auto instances = static_cast<double>(std::max<int64_t>(1, kernel.instances));
    finding.figures["dispatch_ns"] = kernel.dispatch_ns / instances;
    finding.figures["body_ns"] = kernel.body_ns / instances;
    finding.evidence.push_back(fmt::format("an instance takes {:.1f} ns, and to hand it out {:.1f} ns",
                                           kernel.body_ns / instances, kernel.dispatch_ns / instances));
    findings.push_back(std::move(finding));
  }

  static std::string Plural(int64_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
  }
  static std::string Duration(double ns) { return FormatDuration(static_cast<int64_t>(ns)); }

  const FindingInput& input_;
  const WorkGraph& graph_;
  const WorkForecast& forecast_;
  double threads_;
};

}  // namespace

void FindKernels(const FindingInput& input, std::vector<Finding>& findings) {
  const WorkGraph graph = input.Of<WorkSums>().Graph();
  const std::optional<WorkForecast> forecast = Forecast(graph);
  if (forecast && forecast->Fits()) Graph(input, graph, *forecast).Find(findings);
}

}  // namespace attune::analysis
