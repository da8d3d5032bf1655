#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "analysis/messages/message_match.h"
#include "analysis/messages/placement.h"
#include "analysis/messages/task_graph.h"
#include "analysis/profile/folded_samples.h"
#include "analysis/profile/folded_waits.h"
#include "analysis/timeline/hardware_view.h"
#include "analysis/waits/sync_graph.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "export/export.h"
#include "export/otf2_trace.h"
#include "live/exported_page.h"
#include "model/ranged_source.h"
#include "session/host/page_analyses.h"
#include "session/host/sink_replay.h"
#include "sink/found_sinks.h"
#include "store/output_file.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

struct Options {
  std::string file;
  std::string to;
  std::string sensor;
  std::string output;
  std::string from;     ///< after the start of the recording; "": its start
  std::string to_time;  ///< likewise; "": its end
  bool force = false;

  bool IsPart() const { return !from.empty() || !to_time.empty(); }
};

/// A recording, or the part of it that was asked for.
struct Chosen {
  std::unique_ptr<model::Source> recording;
  std::unique_ptr<model::RangedSource> part;  ///< nullptr: all

  model::Source& source() const { return part != nullptr ? static_cast<model::Source&>(*part) : *recording; }
};

/// One export to a file: source, choice and destination.
struct Export {
  model::Source& source;
  const std::string& name;  ///< of what is exported
  const std::string& sensor;
  const exports::ExportWriter& write;
  const exports::ExportProgress& progress;
};

template <const exports::ExportFormat& kFormat>
Status Rows(const Export& job) {
  return exports::Export(job.source, kFormat, job.write, job.progress, job.sensor, analysis::VisitMessagePairs);
}

/// A graph in one format.
using ToText = std::string (*)(const analysis::GraphDocument&);

template <ToText kToText>
Status Waits(const Export& job) {
  ATTUNE_TRY(const analysis::SyncGraph graph, analysis::BuildSyncGraph(job.source));
  return job.write(kToText(DocumentOf(graph)));
}

template <ToText kToText>
Status Tasks(const Export& job) {
  ATTUNE_TRY(const analysis::TaskGraph graph, analysis::BuildTaskGraph(job.source));
  if (graph.ranks.empty())
    return Error{Errc::kUnavailable, "the recording has no messages",
                 "record a program that uses MPI: attune run -- mpirun -n 4 PROGRAM"};
  return job.write(kToText(DocumentOf(graph)));
}

Status RankFile(const Export& job) {
  ATTUNE_TRY(const analysis::TaskGraph graph, analysis::BuildTaskGraph(job.source));
  const analysis::PlacementPlan plan = analysis::PlanPlacement(*job.source.Meta(), graph);
  if (plan.ranks.empty())
    return Error{Errc::kUnavailable, "there is nothing to choose: no ranks on several hosts, NUMA nodes or packages",
                 "record a program that uses MPI on such a machine: attune run -- mpirun -n 4 PROGRAM"};
  return job.write(analysis::ToRankFile(plan));
}

Status Hardware(const Export& job) {
  analysis::HardwareViewBuilder builder;
  ATTUNE_CHECK_OK(builder.Read(job.source));
  if (builder.IsEmpty())
    return Error{Errc::kUnavailable, "the recording has no hardware counters",
                 "record with -s hardware; attune report says why there are none"};
  return job.write(analysis::ToXml(DocumentOf(builder.Build(*job.source.Meta()))));
}

Status Folded(const Export& job) {
  const auto meta = job.source.Meta();
  const analysis::SiteNames names(*meta, {});
  ATTUNE_TRY(const analysis::FoldedStacks stacks, analysis::FoldWaits(job.source, *meta, names));
  return job.write(analysis::ToText(stacks));
}

Status FoldedCpu(const Export& job) {
  ATTUNE_TRY(const analysis::SampleSums samples, analysis::ReadCpuSamples(job.source));
  if (samples.samples == 0)
    return Error{Errc::kUnavailable, "the recording has no CPU samples",
                 "record with --cpu-samples 4ms; attune report says why there are none"};
  const auto meta = job.source.Meta();
  return job.write(analysis::ToText(analysis::FoldSamples(samples, *meta, analysis::SiteNames(*meta, {}))));
}

Status FoldedEvents(const Export& job) {
  ATTUNE_TRY(const auto events, analysis::ReadEventSamples(job.source));
  if (events.empty())
    return Error{Errc::kUnavailable, "the recording has no samples of events",
                 "record with --event-samples page-faults; attune report says why there are none"};
  const auto meta = job.source.Meta();
  const analysis::SiteNames names(*meta, {});
  for (const auto& [event, samples] : events)
    ATTUNE_CHECK_OK(job.write(analysis::ToText(analysis::FoldSamples(samples, *meta, names), 1, event)));
  return {};
}

/// Without the text of sources: the file may be given to others.
Status Page(const Export& job) {
  return live::WriteExportedPage(job.source, session::MakePageAnalyses(job.source, session::SourceIs::kRecording),
                                 job.name, job.write, job.progress);
}

Result<int> ExportToOtf2(const Options& options);

struct Format {
  std::string_view name;
  std::string_view about;                                ///< for --help; "": as the one before
  bool has_samples;                                      ///< --sensor chooses of them
  Status (*produce)(const Export& job);                  ///< into a file
  Result<int> (*run)(const Options& options) = nullptr;  ///< for a result that is no file
  std::string_view instead_of_terminal = "";             ///< where it is for: it is no text to read
};
constexpr std::array kFormats{
    Format{"json", "all tables", true, Rows<exports::ExportFormat::kJson>},
    Format{"csv", "the samples with their names, a value a row", true, Rows<exports::ExportFormat::kCsv>},
    Format{"perfetto",
           "a trace for https://ui.perfetto.dev: processes, threads, regions, instants, messages, labels, and the "
           "samples as counters",
           true, Rows<exports::ExportFormat::kPerfetto>, nullptr,
           "give -o job.perfetto-trace, then open that file on https://ui.perfetto.dev"},
    Format{"html", "one file with the page and the recording, for a browser without attune and without a network",
           false, Page, nullptr, "give -o job.html, then open that file in a browser"},
    Format{"numascope", "the rates of one sensor and the labels, for NUMAscope's page", true,
           Rows<exports::ExportFormat::kNumascope>},
    Format{"sync-xml",
           "the synchronisation graph: threads, what they waited for, and who made them wait (docs/sync-graph.md)",
           false, Waits<analysis::ToXml>},
    Format{"sync-graphml", "", false, Waits<analysis::ToGraphMl>},
    Format{"sync-json", "", false, Waits<analysis::ToJson>},
    Format{"task-graph-xml", "which rank of an MPI job sends to which (docs/task-graph.md)", false,
           Tasks<analysis::ToXml>},
    Format{"task-graph-graphml", "", false, Tasks<analysis::ToGraphMl>},
    Format{"task-graph-json", "", false, Tasks<analysis::ToJson>},
    Format{"task-graph-csv", "the same as a matrix of bytes", false, Tasks<analysis::ToCsvMatrix>},
    Format{"rankfile", "where the ranks should be, for mpirun", false, RankFile},
    Format{"hardware-xml", "what each core's counters counted (docs/hardware.md)", false, Hardware},
    Format{"folded", "what threads waited for as folded stacks, for flame graphs", false, Folded},
    Format{"folded-cpu", "where threads used CPU time as folded stacks", false, FoldedCpu},
    Format{"folded-events", "where sampled events occurred (--event-samples), how often, below each one's name", false,
           FoldedEvents},
    Format{"otf2", "a folder for Vampir and Scalasca: locks, waits, regions and MPI's calls and messages", false,
           nullptr, ExportToOtf2},
};

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

/// A line each; those that are alike share one.
std::string AboutFormats() {
  std::string text, names;
  for (size_t i = 0; i < kFormats.size(); ++i) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kFormats[i].name);
    const bool is_shared = i + 1 < kFormats.size() && kFormats[i + 1].about.empty();
    if (is_shared) continue;
    size_t first = i;
    while (kFormats[first].about.empty()) --first;
    text += fmt::format("{}: {}\n", names, kFormats[first].about);
    names.clear();
  }
  return text;
}

Result<const Format*> FindFormat(const std::string& name) {
  const auto found = std::ranges::find(kFormats, name, &Format::name);
  if (found != kFormats.end()) return &*found;
  const std::string all = fmt::format("{} or sink:NAME=ARGUMENT", fmt::join(FormatNames(), ", "));
  if (name.empty()) return Error{Errc::kInvalidArgument, "the format is missing", "give --to " + all};
  const std::string nearest = DidYouMean(name, FormatNames());
  return Error{Errc::kInvalidArgument, fmt::format("--to: there is no format '{}'", name),
               nearest.empty() ? "give " + all : nearest};
}

/// A time after the start of the recording, within it. @param otherwise where none is given
Result<int64_t> ParseTime(const std::string& text, const char* option, model::TimeRange extent, int64_t otherwise) {
  if (text.empty()) return otherwise;
  constexpr int64_t kLongest = INT64_MAX / 4;
  ATTUNE_TRY(const int64_t after_ns, ParseDurationNs(text, option, 0, kLongest));
  if (after_ns > extent.t1_ns - extent.t0_ns)
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{} {}: the recording is {} long", option, text, FormatDuration(extent.t1_ns - extent.t0_ns)),
        "give a time after its start, as in 1.5s"};
  return extent.t0_ns + after_ns;
}

Result<Chosen> Open(const Options& options) {
  Chosen chosen;
  ATTUNE_TRY(chosen.recording, store::OpenRecording(options.file));
  if (!options.IsPart()) return chosen;
  const model::TimeRange extent = chosen.recording->Extent();
  model::TimeRange range;
  ATTUNE_TRY(range.t0_ns, ParseTime(options.from, "--from", extent, extent.t0_ns));
  ATTUNE_TRY(range.t1_ns, ParseTime(options.to_time, "--to-time", extent, extent.t1_ns));
  if (range.t1_ns <= range.t0_ns)
    return Error{Errc::kInvalidArgument, "--to-time is not behind --from", "as in --from 10s --to-time 12s"};
  chosen.part = std::make_unique<model::RangedSource>(*chosen.recording, range);
  return chosen;
}

/// "job.attune", "job.attune, 10 s to 12 s"
std::string NameOf(const Chosen& chosen, const Options& options) {
  std::string name = std::filesystem::path(options.file).filename().string();
  if (chosen.part == nullptr) return name;
  return live::TitleOfPart(name, chosen.recording->Extent(), chosen.part->Extent());
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

Status ExportToFile(const Chosen& chosen, const Format& format, const Options& options) {
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
  const auto show = [&](double done) { progress.Show(done); };
  const std::string name = NameOf(chosen, options);
  Status status = format.produce({chosen.source(), name, options.sensor, write, show});
  if (status.ok()) status = output.TakePlace();
  if (!status.ok()) output.Discard();  // a part of it would look like all of it
  return status;
}

Status ExportToStdout(const Chosen& chosen, const Format& format, const Options& options) {
  const bool to_terminal = isatty(STDOUT_FILENO) == 1;
  if (to_terminal && !format.instead_of_terminal.empty())
    return Error{Errc::kInvalidArgument, fmt::format("the format {} is not for a terminal", format.name),
                 std::string(format.instead_of_terminal)};
  ProgressLine progress(!to_terminal && isatty(STDERR_FILENO) == 1);
  const auto write = [](std::string_view bytes) -> Status {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
    return ErrnoError("writing to standard output");
  };
  const auto show = [&](double done) { progress.Show(done); };
  const std::string name = NameOf(chosen, options);
  const Status status = format.produce({chosen.source(), name, options.sensor, write, show});
  if (std::ferror(stdout) != 0) return FinishStream(stdout);
  ATTUNE_CHECK_OK(status);
  return FinishStream(stdout);
}

/// "sink:NAME=ARGUMENT"
Result<int> ExportToSink(const Options& options, const std::string& name) {
  if (options.force || !options.output.empty())
    return Error{Errc::kInvalidArgument, "-o and --force are not for sinks",
                 "what a sink takes stands behind its name"};
  if (!options.sensor.empty() || options.IsPart())
    return Error{Errc::kInvalidArgument, "--sensor, --from and --to-time are not for sinks: they take all", ""};
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
  if (options.output.empty())
    return Error{Errc::kInvalidArgument, "an OTF2 archive is a folder", "give its name: -o job.otf2"};
  ATTUNE_TRY(const Chosen chosen, Open(options));
  std::error_code ignored;
  const bool is_archive = std::filesystem::exists(options.output + "/traces.otf2", ignored);
  if (options.force && is_archive) std::filesystem::remove_all(options.output, ignored);
  ATTUNE_TRY(const exports::Otf2Counts counts, exports::WriteOtf2(chosen.source(), options.output));
  std::string text = fmt::format("{}/traces.otf2: {} acquisitions, {} releases, {} waits, calls and regions",
                                 Printable(options.output), counts.acquired, counts.released, counts.entered);
  if (counts.messages + counts.collectives > 0)
    text += fmt::format(", {} messages sent or received, {} parts in collective operations", counts.messages,
                        counts.collectives);
  std::fprintf(stderr, "%s %s of %lu threads\n", Styled(stderr, Style::kCyan, "attune:").c_str(), text.c_str(),
               static_cast<unsigned long>(counts.locations));
  PrintDamage(*chosen.recording);
  return 0;
}

Result<int> Run(const Options& options) {
  constexpr std::string_view kSink = "sink:";
  if (options.to.starts_with(kSink)) return ExportToSink(options, options.to.substr(kSink.size()));
  ATTUNE_TRY(const Format* format, FindFormat(options.to));
  if (!format->has_samples && !options.sensor.empty())
    return Error{Errc::kInvalidArgument, fmt::format("--sensor is not for {}", format->name),
                 "it chooses from formats that are samples"};
  if (format->run != nullptr) return format->run(options);
  if (options.force && options.output.empty())
    return Error{Errc::kInvalidArgument, "--force without -o", "give the file that may be replaced"};
  ATTUNE_TRY(const Chosen chosen, Open(options));
  const bool to_stdout = options.output.empty() || options.output == "-";
  ATTUNE_CHECK_OK(to_stdout ? ExportToStdout(chosen, *format, options) : ExportToFile(chosen, *format, options));
  PrintDamage(*chosen.recording);
  return 0;
}

}  // namespace

Command MakeExportCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "export";
  command.rank = 100;
  command.summary = "write a recording as a page, JSON, CSV, a Perfetto trace or for NUMAscope";
  command.description = AboutFormats() +
                        "\nA sink (attune list sinks) gets the same values as during the recording. A recording that "
                        "still grows is exported as far as it has come. docs/export.md describes the formats.";
  command.positionals = {{"FILE", "The recording", &options->file, true, Complete::kRecording}};
  command.options = {
      {"--to", "FORMAT", fmt::format("{} (a folder), or sink:NAME=ARGUMENT", fmt::join(FormatNames(), ", ")),
       &options->to, Complete::kNothing, FormatNames()},
      {"-s,--sensor", "NAME", "Only the samples of this sensor. NUMAscope's layout holds one", &options->sensor,
       Complete::kSensor},
      {"--from", "TIME", "Only from this time after the start of the recording on, as in 10s", &options->from},
      {"--to-time", "TIME", "Only until this time after the start of the recording", &options->to_time},
      {"-o,--output", "FILE", "Where to. Default, and -: standard output", &options->output, Complete::kFile},
      {"-f,--force", "", "Replace an existing file", &options->force},
  };
  command.examples = {
      {"attune export job.attune --to perfetto -o job.perfetto-trace", "to look at on https://ui.perfetto.dev"},
      {"attune export job.attune --to html -o job.html", "the page of the recording, to send to somebody"},
      {"attune export job.attune --to html --from 10s --to-time 12s -o part.html", "two seconds of it"},
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
