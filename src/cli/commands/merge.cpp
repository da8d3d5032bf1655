#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/command.h"
#include "cli/host/host_clocks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "merge/merge.h"

namespace attune::cli {
namespace {

struct Options {
  merge::MergeOptions merge;
  bool json = false;
};

nlohmann::ordered_json ToJson(const merge::MergeResult& result, const std::string& output) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const merge::MergedHost& host : result.hosts) {
    hosts.push_back({{"host", host.host},
                     {"file", host.file},
                     {"ranks", host.ranks},
                     {"offset_ns", host.offset_ns},
                     {"drift_ppb", host.clock.DriftPpb()},
                     {"bound_ns", host.clock.bound_ns},
                     {"messages", host.clock.messages},
                     {"evidence", ToString(host.clock.evidence)}});
  }
  return {{"recording", output},
          {"hosts", std::move(hosts)},
          {"messages", result.messages},
          {"backward", result.backward},
          {"contradiction_ns", result.contradiction_ns},
          {"damage", result.damage}};
}

void Print(const merge::MergeResult& result, const std::string& output) {
  std::vector<HostClockRow> rows;
  for (const merge::MergedHost& host : result.hosts) {
    rows.push_back({.host = host.host,
                    .ranks = static_cast<int64_t>(host.ranks),
                    .offset_ns = host.offset_ns,
                    .drift_ppb = host.clock.DriftPpb(),
                    .bound_ns = host.clock.bound_ns,
                    .evidence = ToString(host.clock.evidence)});
  }
  std::fputs(HostClockTable(rows).ToString(0, TerminalWidth(stdout)).c_str(), stdout);
  std::printf("%s\n", fmt::format("{}: {} hosts, {} messages between them, {}", Printable(output), rows.size(),
                                  result.messages, BackwardText(result.backward))
                          .c_str());
}

void Warn(const std::string& text) {
  std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kYellow, "attune:").c_str(), Printable(text).c_str());
}

Result<int> Run(const Options& options) {
  if (options.merge.output.empty()) return Error{Errc::kInvalidArgument, "where to is missing", "give -o job.attune"};
  if (options.merge.output == "-")
    return Error{Errc::kInvalidArgument, "a recording cannot go to standard output", "give -o job.attune"};
  ATTUNE_TRY(const merge::MergeResult result, merge::MergeRecordings(options.merge));
  for (const std::string& damage : result.damage) Warn(damage);
  if (result.contradiction_ns > 0)
    Warn(fmt::format("messages contradict each other by {}: some were taken for others, or a clock was set meanwhile",
                     FormatDuration(result.contradiction_ns)));
  if (options.json) return PrintJson(ToJson(result, options.merge.output));
  Print(result, options.merge.output);
  return FinishOutput();
}

}  // namespace

Command MakeMergeCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "merge";
  command.rank = 110;
  command.summary = "join the recordings of the hosts of an MPI job into one";
  command.description =
      "Each host of a job has a recording of its own, with times of its own clock. The messages between the hosts tell "
      "how these clocks differ, and within which bound: none arrives before it left. The result has all processes, "
      "samples, waits and messages by the clock of the first recording; report, view, export and query take it like "
      "any other. docs/merge.md says how far the times can be trusted.";
  command.positionals = {
      {"FILE", "The recordings, one of each host", &options->merge.inputs, true, Complete::kRecording}};
  command.options = {
      {"-o,--output", "FILE", "The recording to make", &options->merge.output, Complete::kRecording},
      {"-f,--force", "", "Replace an existing file", &options->merge.overwrite},
      {"--json", "", "Print the offsets of the clocks, and their bounds, as JSON", &options->json},
  };
  command.examples = {
      {"attune merge node1.attune node2.attune -o job.attune", "two hosts"},
      {"attune merge job-*.attune -o job.attune && attune report job.attune",
       "all that are there, and what held the job back"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
