#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "analysis/folded_samples.h"
#include "analysis/folded_waits.h"
#include "analysis/hardware_view.h"
#include "analysis/message_match.h"
#include "analysis/otf2_trace.h"
#include "analysis/placement.h"
#include "analysis/sync_graph.h"
#include "analysis/task_graph.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "session/sink_replay.h"
#include "sink/found_sinks.h"
#include "store/export.h"
#include "store/output_file.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

struct Options {
  std::string file;
  std::string to;
  std::string sensor;
  std::string output;
  bool force = false;
};

/// Writes a recording in one format.
using Produce = std::function<Status(model::Source&, const store::ExportWriter&, const store::ExportProgress&)>;

Produce Rows(store::ExportFormat format, const std::string& sensor) {
  return [=](model::Source& source, const store::ExportWriter& write, const store::ExportProgress& progress) {
    return store::Export(source, format, write, progress, sensor, analysis::VisitMessagePairs);
  };
}

Produce Graph(std::string (*to_text)(const analysis::SyncGraph&)) {
  return [=](model::Source& source, const store::ExportWriter& write, const store::ExportProgress&) -> Status {
    ATTUNE_TRY(const analysis::SyncGraph graph, analysis::BuildSyncGraph(source));
    return write(to_text(graph));
  };
}

Produce Tasks(std::string (*to_text)(const analysis::TaskGraph&)) {
  return [=](model::Source& source, const store::ExportWriter& write, const store::ExportProgress&) -> Status {
    ATTUNE_TRY(const analysis::TaskGraph graph, analysis::BuildTaskGraph(source));
    if (graph.ranks.empty())
      return Error{Errc::kUnavailable, "the recording has no messages",
                   "record a program that uses MPI: attune run -- mpirun -n 4 PROGRAM"};
    return write(to_text(graph));
  };
}

Status RankFile(model::Source& source, const store::ExportWriter& write, const store::ExportProgress& /*progress*/) {
  ATTUNE_TRY(const analysis::TaskGraph graph, analysis::BuildTaskGraph(source));
  const analysis::PlacementPlan plan = analysis::PlanPlacement(*source.Meta(), graph);
  if (plan.ranks.empty())
    return Error{Errc::kUnavailable, "there is nothing to choose: no ranks on several hosts, NUMA nodes or packages",
                 "record a program that uses MPI on such a machine: attune run -- mpirun -n 4 PROGRAM"};
  return write(analysis::ToRankFile(plan));
}

Status Folded(model::Source& source, const store::ExportWriter& write, const store::ExportProgress& /*progress*/) {
  const auto meta = source.Meta();
  ATTUNE_TRY(const analysis::FoldedStacks stacks, analysis::FoldWaits(source, *meta, analysis::SiteNames(*meta, {})));
  return write(analysis::ToText(stacks));
}

Status Hardware(model::Source& source, const store::ExportWriter& write, const store::ExportProgress& /*progress*/) {
  analysis::HardwareViewBuilder builder;
  ATTUNE_CHECK_OK(builder.Read(source));
  if (builder.IsEmpty())
    return Error{Errc::kUnavailable, "the recording has no hardware counters",
                 "record with -s hardware; attune report says why there are none"};
  return write(analysis::ToXml(builder.Build(*source.Meta())));
}

Status FoldedCpu(model::Source& source, const store::ExportWriter& write, const store::ExportProgress& /*progress*/) {
  ATTUNE_TRY(const analysis::CpuSamples samples, analysis::ReadCpuSamples(source));
  if (samples.samples == 0)
    return Error{Errc::kUnavailable, "the recording has no CPU samples",
                 "record with --cpu-samples 4ms; attune report says why there are none"};
  const auto meta = source.Meta();
  return write(analysis::ToText(analysis::FoldSamples(samples, *meta, analysis::SiteNames(*meta, {}))));
}

Error NoSuchFormat(const std::string& name) {
  constexpr std::string_view kAll =
      "json, csv, perfetto, numascope, sync-xml, sync-graphml, sync-json, task-graph-xml, task-graph-graphml, "
      "task-graph-json, task-graph-csv, rankfile, hardware-xml, folded, folded-cpu, otf2";
  if (name.empty())
    return {Errc::kInvalidArgument, "the format is missing", fmt::format("give --to {} or sink:NAME=ARGUMENT", kAll)};
  std::vector<std::string> names;
  for (size_t at = 0; at < kAll.size(); at = names.back().size() + at + 2)
    names.emplace_back(kAll.substr(at, kAll.find(',', at) - at));
  const std::string nearest = DidYouMean(name, names);
  return {Errc::kInvalidArgument, fmt::format("--to: there is no format '{}'", name),
          nearest.empty() ? fmt::format("give {} or sink:NAME=ARGUMENT", kAll) : nearest};
}

Result<Produce> ParseFormat(const std::string& name, const std::string& sensor) {
  if (name == "json") return Rows(store::ExportFormat::kJson, sensor);
  if (name == "csv") return Rows(store::ExportFormat::kCsv, sensor);
  if (name == "perfetto") return Rows(store::ExportFormat::kPerfetto, sensor);
  if (name == "numascope") return Rows(store::ExportFormat::kNumascope, sensor);
  if ((name.starts_with("sync-") || name.starts_with("task-graph-") || name.starts_with("folded")) && !sensor.empty())
    return Error{Errc::kInvalidArgument, fmt::format("--sensor is not for {}: it has no samples", name), ""};
  if (name == "hardware-xml" && !sensor.empty())
    return Error{Errc::kInvalidArgument, "--sensor is not for hardware-xml: it is of the sensor hardware", ""};
  if (name == "hardware-xml") return Produce(Hardware);
  if (name == "folded") return Produce(Folded);
  if (name == "folded-cpu") return Produce(FoldedCpu);
  if (name == "sync-xml") return Graph(analysis::ToXml);
  if (name == "sync-graphml") return Graph(analysis::ToGraphMl);
  if (name == "sync-json") return Graph(analysis::ToJson);
  if (name == "task-graph-xml") return Tasks(analysis::ToXml);
  if (name == "task-graph-graphml") return Tasks(analysis::ToGraphMl);
  if (name == "task-graph-json") return Tasks(analysis::ToJson);
  if (name == "task-graph-csv") return Tasks(analysis::ToCsvMatrix);
  if (name == "rankfile") return Produce(RankFile);
  return NoSuchFormat(name);
}

/// A line that is rewritten on a terminal and gone at the end.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() {
    if (percent_ >= 0) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(double done) {
    const int percent = static_cast<int>(done * 100);
    if (!shown_ || percent == percent_) return;
    percent_ = percent;
    std::fprintf(stderr, "\rexporting: %d %%", percent);
  }

 private:
  const bool shown_;
  int percent_ = -1;
};

Status ExportToFile(model::Source& source, const Produce& produce, const Options& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.file, options.output, ignored))
    return Error{Errc::kInvalidArgument, fmt::format("-o {} is the recording itself", options.output),
                 "choose another name"};
  ATTUNE_TRY(store::OutputFile output,
             store::OutputFile::Create(options.output,
                                       options.force ? store::IfThere::kReplace : store::IfThere::kRefuse, ""));
  ProgressLine progress(isatty(STDERR_FILENO) == 1);
  uint64_t offset = 0;
  const auto write = [&](std::string_view bytes) -> Status {
    ATTUNE_CHECK_OK(store::WriteWhole(output.fd(), options.output, offset, bytes));
    offset += bytes.size();
    return {};
  };
  Status status = produce(source, write, [&](double done) { progress.Show(done); });
  if (status.ok()) status = output.TakePlace();
  if (!status.ok()) output.Discard();  // a part of it would look like all of it
  return status;
}

Status ExportToStdout(model::Source& source, const Produce& produce, const Options& options) {
  const bool to_terminal = isatty(STDOUT_FILENO) == 1;
  if (to_terminal && options.to == "perfetto")
    return Error{Errc::kInvalidArgument, "a Perfetto trace is not for a terminal",
                 "give -o job.perfetto-trace, then open that file on https://ui.perfetto.dev"};
  ProgressLine progress(!to_terminal && isatty(STDERR_FILENO) == 1);
  const auto write = [](std::string_view bytes) -> Status {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
    return ErrnoError("writing to standard output");
  };
  const Status status = produce(source, write, [&](double done) { progress.Show(done); });
  if (std::ferror(stdout) != 0) return FinishStream(stdout);
  ATTUNE_CHECK_OK(status);
  return FinishStream(stdout);
}

/// "sink:NAME=ARGUMENT"
Result<int> ExportToSink(const Options& options, const std::string& name) {
  if (options.force || !options.output.empty())
    return Error{Errc::kInvalidArgument, "-o and --force are not for sinks",
                 "what a sink takes stands behind its name"};
  if (!options.sensor.empty()) return Error{Errc::kInvalidArgument, "--sensor is not for sinks: they take all", ""};
  sink::SinkOptions sink;
  ATTUNE_TRY(sink.choice, sink::FindSink(name, "--to sink"));
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  sink.report = [](const std::string& text) {
    std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kYellow, "attune:").c_str(), Printable(text).c_str());
  };
  ProgressLine progress(isatty(STDERR_FILENO) == 1);
  ATTUNE_TRY([[maybe_unused]] const sink::SinkTotals totals,
             session::ReplayInto(*source, std::move(sink), [&](double done) { progress.Show(done); }));
  PrintDamage(*source);
  return 0;
}

/// An OTF2 archive is a folder with several files.
Result<int> ExportToOtf2(const Options& options) {
  if (!options.sensor.empty()) return Error{Errc::kInvalidArgument, "--sensor is not for otf2: it has no samples", ""};
  if (options.output.empty())
    return Error{Errc::kInvalidArgument, "an OTF2 archive is a folder", "give its name: -o job.otf2"};
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  std::error_code ignored;
  const bool is_archive = std::filesystem::exists(options.output + "/traces.otf2", ignored);
  if (options.force && is_archive) std::filesystem::remove_all(options.output, ignored);
  ATTUNE_TRY(const analysis::Otf2Counts counts, analysis::WriteOtf2(*source, options.output));
  std::string text = fmt::format("{}/traces.otf2: {} acquisitions, {} releases, {} waits, calls and regions",
                                 Printable(options.output), counts.acquired, counts.released, counts.entered);
  if (counts.messages + counts.collectives > 0)
    text += fmt::format(", {} messages sent or received, {} parts in collective operations", counts.messages,
                        counts.collectives);
  std::fprintf(stderr, "%s %s of %lu threads\n", Styled(stderr, Style::kCyan, "attune:").c_str(), text.c_str(),
               static_cast<unsigned long>(counts.locations));
  PrintDamage(*source);
  return 0;
}

Result<int> Run(const Options& options) {
  constexpr std::string_view kSink = "sink:";
  if (options.to == "otf2") return ExportToOtf2(options);
  if (options.to.starts_with(kSink)) return ExportToSink(options, options.to.substr(kSink.size()));
  ATTUNE_TRY(const Produce produce, ParseFormat(options.to, options.sensor));
  if (options.force && options.output.empty())
    return Error{Errc::kInvalidArgument, "--force without -o", "give the file that may be replaced"};
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  const bool to_stdout = options.output.empty() || options.output == "-";
  ATTUNE_CHECK_OK(to_stdout ? ExportToStdout(*source, produce, options) : ExportToFile(*source, produce, options));
  PrintDamage(*source);
  return 0;
}

}  // namespace

Command MakeExportCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "export";
  command.summary = "write a recording as JSON, CSV, a Perfetto trace or for NUMAscope";
  command.description =
      "JSON has all tables, CSV the samples with their names, a value a row. A Perfetto trace has processes, threads, "
      "regions, instants, messages and labels, and the samples as counters; open it on https://ui.perfetto.dev. "
      "NUMAscope's JSON has the rates of one sensor and the labels, for its page. A sink (attune list sinks) takes "
      "what it "
      "would have been given while it was recorded. sync-xml, sync-graphml and sync-json are the synchronisation "
      "graph: "
      "threads, what they waited for, and who made them wait (docs/sync-graph.md). task-graph-xml, -graphml, -json "
      "and -csv (a matrix of bytes) are which rank of an MPI job sends to which (docs/task-graph.md); rankfile is "
      "where the ranks should be, for mpirun. OTF2, for Vampir "
      "and Scalasca, has locks, waits, regions and MPI's calls and messages. folded is what threads waited for as "
      "folded stacks, for flame graphs, "
      "folded-cpu where they used CPU time. hardware-xml is what each core's counters counted (docs/hardware.md). "
      "Of a recording that still grows, what is there by now is written. docs/export.md describes the formats.";
  command.positionals = {{"FILE", "The recording", &options->file, true, Complete::kRecording}};
  command.options = {
      {"--to", "FORMAT",
       "json, csv, perfetto, numascope, sync-xml, sync-graphml, sync-json, task-graph-xml, task-graph-graphml, "
       "task-graph-json, task-graph-csv, rankfile, hardware-xml, folded, folded-cpu, otf2 (a folder), or "
       "sink:NAME=ARGUMENT",
       &options->to, Complete::kFormat},
      {"-s,--sensor", "NAME", "Only the samples of this sensor. NUMAscope's layout holds one", &options->sensor,
       Complete::kSensor},
      {"-o,--output", "FILE", "Where to. Default, and -: standard output", &options->output, Complete::kFile},
      {"-f,--force", "", "Replace an existing file", &options->force},
  };
  command.examples = {
      {"attune export job.attune --to perfetto -o job.perfetto-trace", "to look at on https://ui.perfetto.dev"},
      {"attune export job.attune --to csv | gzip > job.csv.gz", "for a spreadsheet or a data frame"},
      {"attune export job.attune --to numascope --sensor vmstat -o vmstat.json", "for NUMAscope's page"},
      {"attune export job.attune --to sink:influxdb=job.lp", "as InfluxDB's line protocol"},
      {"attune export job.attune --to sync-graphml -o job.graphml", "who waits for whom, for Gephi, yEd or networkx"},
      {"attune export job.attune --to task-graph-csv", "bytes from each rank of an MPI job to each"},
      {"attune export job.attune --to rankfile -o ranks && mpirun --rankfile ranks -n 4 PROGRAM",
       "ranks that send each other much next to each other"},
      {"attune export job.attune --to otf2 -o job.otf2", "acquisitions, releases and waits, for otf2-print and Vampir"},
      {"attune export job.attune --to folded | flamegraph.pl --countname us > job.svg",
       "where threads wait, as a flame graph"},
      {"attune export job.attune --to folded-cpu | flamegraph.pl --countname us > job.svg", "where threads compute"},
      {"attune export job.attune --to json | jq .processes", "what ran"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
