#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/host/check_list.h"
#include "cli/host/host_checks.h"
#include "cli/host/host_status.h"
#include "cli/host/machine_text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "machine/drawing.h"
#include "machine/gpus.h"
#include "machine/host_facts.h"
#include "machine/measured_json.h"
#include "machine/topology_json.h"
#include "sensor/registry.h"

namespace attune::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDrawingLines = 34;
constexpr size_t kDrawingWidth = 110;

constexpr int64_t kStatusLookNs = 1'000'000'000;

struct InfoOptions {
  bool json = false;
  bool full = false;
  bool status = false;
  std::string every;
  std::string measure = "latency,clocks";
};

/// Measurements that the user asks for.
struct Wanted {
  bool latency = false;
  bool clocks = false;
};

/// All that `attune info` knows.
struct Info {
  machine::HostFacts facts;
  std::vector<machine::Gpu> gpus;
  Result<machine::Topology> topology = Error{};
  std::optional<machine::Latencies> latencies;
  std::optional<machine::Clocks> clocks;
  std::string not_measured;  ///< why, where it was asked for
  std::vector<Check> checks;
};

Result<Wanted> ParseMeasure(std::string_view text) {
  Wanted wanted;
  if (text == "none") return wanted;
  if (text == "all") return Wanted{true, true};
  for (const std::string_view word : Split(text, ",")) {
    if (word == "latency") {
      wanted.latency = true;
    } else if (word == "clocks") {
      wanted.clocks = true;
    } else {
      const std::string meant = DidYouMean(word, {"latency", "clocks", "all", "none"});
      return Error{Errc::kInvalidArgument, fmt::format("--measure: there is nothing called '{}'", word),
                   meant.empty() ? "it is latency, clocks, both with a comma between them, all or none" : meant};
    }
  }
  return wanted;
}

/// One line on a terminal's stderr that says how far a measurement is.
class ProgressLine {
 public:
  explicit ProgressLine(const char* what) : what_(what), shown_(UseColour(stderr)) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  void operator()(size_t done, size_t of) const {
    if (shown_) std::fprintf(stderr, "\rmeasuring %s: %zu of %zu\x1b[K", what_, done, of);
  }

 private:
  const char* what_;
  const bool shown_;
};

machine::Latencies MeasureLatencies(const HostRoot& host, const machine::Topology& topology, const CpuSet& allowed,
                                    bool full) {
  machine::LatencyOptions options;
  options.allowed = allowed;
  options.max_cpus = full ? 64 : 16;
  options.batches = full ? 101 : 31;
  options.cpu_budget_ns = full ? 60 * kSecondNs : 6 * kSecondNs / 10;
  options.node_budget_ns = full ? 60 * kSecondNs : 6 * kSecondNs / 10;
  const ProgressLine progress("latencies");
  return machine::MeasureLatencies(host, topology, options, std::cref(progress));
}

machine::Clocks MeasureClocks(const machine::Topology& topology, const CpuSet& allowed, bool full) {
  machine::ClockOptions options;
  options.allowed = allowed;
  options.max_cpus = full ? 16 : 4;
  options.rounds = full ? 4000 : 400;
  options.compare_budget_ns = full ? 60 * kSecondNs : kSecondNs / 2;
  options.step_budget_ns = full ? 11 * kSecondNs / 10 : kSecondNs / 100;
  options.pair_budget_ns = full ? 3 * kSecondNs : kSecondNs / 30;
  options.most_iterations = full ? 10'000'000 : 10'000;
  const ProgressLine progress("clocks");
  return machine::MeasureClocks(topology, options, std::cref(progress));
}

std::string CpuModel(const machine::HostFacts& facts) {
  return facts.capabilities.cpus.empty() ? "" : facts.capabilities.cpus.front().model;
}

Json InfoJson(const Info& info) {
  const machine::HostFacts& facts = info.facts;
  Json json{{"attune", kVersion},
            {"host", facts.name},
            {"kernel", facts.kernel},
            {"cpu_model", CpuModel(facts)},
            {"cpus_online", facts.online.ToString()},
            {"cpus_allowed", facts.allowed.ToString()},
            {"clock_source", facts.clock_source},
            {"tsc_usable", facts.tsc_usable},
            {"clock_read_ns", facts.clock_read_ns},
            {"tsc_read_ns", facts.tsc_read_ns},
            {"perf_event_paranoid", facts.perf_event_paranoid},
            {"vm_stat_interval_s", facts.vm_stat_interval_s}};
  const machine::Capabilities& capabilities = facts.capabilities;
  if (capabilities.memory_bytes) json["memory_bytes"] = *capabilities.memory_bytes;
  if (capabilities.memory_available_bytes) json["memory_available_bytes"] = *capabilities.memory_available_bytes;
  json["capabilities"] = machine::ToJson(capabilities);
  json["gpus"] = Json::array();
  for (const machine::Gpu& gpu : info.gpus) {
    json["gpus"].push_back({{"name", gpu.name}});
    if (gpu.memory_bytes) json["gpus"].back()["memory_bytes"] = *gpu.memory_bytes;
  }
  if (info.topology.ok()) {
    json["topology"] = machine::ToJson(*info.topology);
  } else {
    json["no_topology"] = info.topology.error().message;
  }
  if (info.latencies) json["latency"] = machine::ToJson(*info.latencies);
  if (info.clocks) json["clocks"] = machine::ToJson(*info.clocks);
  if (!info.not_measured.empty()) json["not_measured"] = info.not_measured;
  return json;
}

void PrintFacts(const Info& info) {
  const machine::HostFacts& facts = info.facts;
  std::printf("%s\n", Styled(stdout, Style::kBold, Printable(facts.name)).c_str());
  PrintField("kernel", facts.kernel);
  PrintField("CPUs", CpuModel(facts));
  PrintField("", fmt::format("online {}, allowed {}", facts.online.ToString(), facts.allowed.ToString()));
  std::fputs(CapabilitiesText(facts.capabilities).c_str(), stdout);
  for (const machine::Gpu& gpu : info.gpus)
    PrintField("GPU", gpu.name + (gpu.memory_bytes ? ", " + FormatBytes(*gpu.memory_bytes) : ""));
  PrintField("clock", fmt::format("{}; the cycle counter is {}", facts.clock_source,
                                  facts.tsc_usable ? "used by the markers" : "not trustworthy here"));
  PrintField("perf events", facts.perf_event_paranoid.empty()
                                ? "not in this kernel"
                                : "kernel.perf_event_paranoid is " + facts.perf_event_paranoid);
  if (!facts.vm_stat_interval_s.empty())
    PrintField("vmstat", "the kernel refreshes levels every " + facts.vm_stat_interval_s + " s");
}

void PrintMachine(const Info& info) {
  const size_t terminal = TerminalWidth(stdout);
  std::printf("\n");
  if (info.topology.ok()) {
    machine::DrawingOptions drawing;
    drawing.width = terminal == 0 ? kDrawingWidth : std::min(terminal, kDrawingWidth);
    drawing.max_lines = kDrawingLines;
    drawing.unicode = UseUnicode();
    drawing.allowed = info.topology->is_this_machine ? info.facts.allowed : info.topology->machine.cpus;
    std::fputs(machine::Draw(*info.topology, drawing).c_str(), stdout);
    if (!info.topology->is_this_machine) std::printf("  from %s\n", Printable(info.topology->from).c_str());
  } else {
    std::printf("  %s\n", Printable(info.topology.error().message).c_str());
  }
  if (info.latencies) std::fputs(LatencyText(*info.latencies, terminal).c_str(), stdout);
  if (info.clocks) std::fputs(ClocksText(*info.clocks, terminal).c_str(), stdout);
  if (!info.not_measured.empty())
    std::printf("\n%s\n", Styled(stdout, Style::kYellow, Printable(info.not_measured)).c_str());
}

Info Gather(const Wanted& wanted, bool full) {
  const HostRoot host;
  Info info;
  info.facts = machine::ReadHostFacts(host);
  if (const auto sensor = sensor::MakeSensor("gpu", sensor::ShownContext()); sensor.ok())
    info.gpus = machine::FindGpus(host, **sensor);
  info.topology = machine::ReadTopology(host, {.name = info.facts.name});
  if (wanted.latency || wanted.clocks) {
    if (!info.topology.ok()) info.not_measured = "Nothing was measured: it is not known which CPUs there are.";
    if (info.topology.ok() && !info.topology->is_this_machine)
      info.not_measured =
          fmt::format("Nothing was measured: the topology is not this machine's ({}).", info.topology->from);
  }
  const bool measures = info.topology.ok() && info.not_measured.empty();
  if (measures && wanted.latency) info.latencies = MeasureLatencies(host, *info.topology, info.facts.allowed, full);
  if (measures && wanted.clocks) info.clocks = MeasureClocks(*info.topology, info.facts.allowed, full);
  info.checks = CheckHost(host, info.facts, ExecutablePath());
  return info;
}

Result<int> RunInfo(const InfoOptions& options) {
  if (options.status || !options.every.empty()) return ShowStatus(options.every, options.json);
  ATTUNE_TRY(const Wanted wanted, ParseMeasure(options.measure));
  // Before the measurements, which keep CPUs busy.
  ATTUNE_TRY(const Json status, LookAtStatus(kStatusLookNs));
  const Info info = Gather(wanted, options.full);
  if (options.json) {
    Json document = InfoJson(info);
    document.update(status);
    document["available"] = ChecksJson(info.checks);
    return PrintJson(document);
  }
  PrintFacts(info);
  PrintMachine(info);
  std::printf("\n");
  PrintStatus(status);
  std::printf("\n%s\n", Styled(stdout, Style::kBold, "What attune can use here").c_str());
  PrintChecks(info.checks, false);
  return FinishOutput();
}

}  // namespace

Command MakeInfoCommand() {
  auto options = std::make_shared<InfoOptions>();
  Command command;
  command.name = "info";
  command.rank = 140;
  command.summary = "show this machine, measure it, and say what attune can use here and what not";
  command.description =
      "Kernel, CPUs, memory, limits and protections; a drawing of the machine (parts that are alike are drawn once "
      "where "
      "there are many); the time that a cache line takes between CPUs and a read of memory takes from each NUMA node; "
      "cost, resolution and agreement of the clocks; then each sensor and each privilege that attune can use, tried "
      "for "
      "real. attune doctor shows the commands that mend what is missing.\n\n"
      "Measuring keeps up to two CPUs busy for less than three seconds, with --full for some minutes on large "
      "machines. "
      "Only CPUs that this process may use are measured; of many, representative ones. The environment variables "
      "HWLOC_XMLFILE and HWLOC_FSROOT show another machine in place of this one.";
  command.options = {
      {"--json", "", "As one JSON document, with every flag, cache, pair of CPUs and clock", &options->json},
      {"--measure",
       "WHAT",
       "What is measured: latency, clocks, both with a comma (the default), all or none",
       &options->measure,
       Complete::kNothing,
       {"latency", "clocks", "all", "none"}},
      {"--full", "", "Measure for longer: more CPUs, and starts and stops of clocks up to 10 million times",
       &options->full},
      {"--status", "", "Only what the machine does now, its health and what is wrong with it", &options->status},
      {"--every", "TIME", "Print the status as a JSON line at this interval (1s), until Ctrl-C", &options->every}};
  command.examples = {
      {"attune info --measure none", "the machine, without measuring it"},
      {"attune info --status", "how busy and how well it is"},
      {"attune info --every 1s | jq -c '.status.cpu.busy_percent'", "the same each second, for a program"},
      {"attune info --json | jq .cpus_online", "one fact, for a script"},
      {"attune info --json --full --measure latency | jq .latency.pairs", "all pairs of up to 64 CPUs"},
      {"HWLOC_XMLFILE=cluster.xml attune info", "the drawing of a machine that lstopo has saved"}};
  command.run = [options] { return RunInfo(*options); };
  return command;
}

}  // namespace attune::cli
