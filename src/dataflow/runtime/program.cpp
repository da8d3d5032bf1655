#include "attune/flow/program.h"

#include <unistd.h>

#include "dataflow/runtime/program_options.h"
#include "dataflow/runtime/replay.h"

namespace attune::flow {
namespace {

using detail::ProgramOptions;

constexpr int kUsage = 2;

void PrintReport(const Report& report, const ProgramOptions& options) {
  if (options.costs) fprintf(stderr, "%s\n%s", report.ThesisTable().c_str(), report.Table().c_str());
  for (const FieldSum& sum : report.fields) {
    fprintf(stderr, "checksum %s %016llx, %lld elements of %lld ages\n", sum.field.c_str(),
            static_cast<unsigned long long>(sum.checksum), static_cast<long long>(sum.elements),
            static_cast<long long>(sum.ages));
  }
}

/// Ends the process, as the instance goes on. What was printed is written, unless the instance is about to print.
[[noreturn]] void EndTimedOut(const char* name, const Error& error) {
  if (ftrylockfile(stdout) == 0) fflush(stdout);
  const std::string text = std::string(name) + ": timed out: " + error.what + "\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(static_cast<int>(Outcome::kTimedOut));
}

int RunGraph(const char* name, const Graph& graph, const ProgramOptions& options) {
  const Report report = graph.Run(options.run);
  bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
  if (!report.ok()) fprintf(stderr, "%s: %s\n", name, report.Describe().c_str());
  if (report.error.kind == ErrorKind::kOptions) return kUsage;
  PrintReport(report, options);
  if (!is_written) fprintf(stderr, "%s: not all of the output could be written\n", name);
  if (!report.keep_problem.empty()) {
    fprintf(stderr, "%s: %s\n", name, report.keep_problem.c_str());
    is_written = false;
  }
  return report.ok() && !is_written ? 1 : report.ExitCode();
}

}  // namespace

int RunProgram(const char* name, int argc, char** argv, void (*define)(Graph&)) {
  std::string problem;
  std::optional<ProgramOptions> options =
      detail::ReadProgramOptions({argv + (argc > 0 ? 1 : 0), argv + argc}, &problem);
  if (!options) {
    fprintf(stderr, "%s: %s\n", name, problem.c_str());
    return kUsage;
  }
  options->run.timed_out = [name](const Error& error) { EndTimedOut(name, error); };
  Graph graph;
  define(graph);
  if (options->replay.file.empty()) return RunGraph(name, graph, *options);
  return detail::Replay(name, graph.info(), *options);
}

}  // namespace attune::flow
