#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/units.h"
#include "cli/command.h"
#include "cli/report/report.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

struct Options {
  std::string file;
  std::string top;
  std::vector<std::string> fail_on;
  std::vector<std::string> sections;
  bool full = false;
  bool json = false;
};

std::vector<std::string> SectionWords() {
  std::vector<std::string> words;
  for (const ReportSection& section : ReportSections()) words.emplace_back(section.name);
  return words;
}

Status CheckSections(const Options& options) {
  const std::vector<std::string> words = SectionWords();
  for (const std::string& section : options.sections) {
    if (std::ranges::find(words, section) != words.end()) continue;
    std::string hint = DidYouMean(section, words);
    std::error_code error;
    if (hint.empty()) hint = fmt::format("there are {}", fmt::join(words, ", "));
    if (section.ends_with(".attune") || std::filesystem::exists(section, error))
      hint = "two recordings are compared with: attune compare BEFORE AFTER";
    return Error{Errc::kInvalidArgument, fmt::format("the report has no section '{}'", section), hint};
  }
  return {};
}

Result<int> Run(const Options& options) {
  ATTUNE_CHECK_OK(CheckSections(options));
  ReportOptions report{
      .json = options.json, .full = options.full, .sections = options.sections, .recording = options.file};
  if (!options.top.empty()) {
    const char* end = options.top.data() + options.top.size();
    const auto [stopped, error] = std::from_chars(options.top.data(), end, report.top);
    if (error != std::errc() || stopped != end || report.top == 0 || report.top > 100'000)
      return Error{Errc::kInvalidArgument, "--top: '" + options.top + "' is not a number of rows",
                   "give one from 1 to 100000"};
  }
  for (const std::string& limit : options.fail_on) {
    ATTUNE_TRY(report.fail_on.emplace_back(), ParseFailLimit(limit));
  }
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  ATTUNE_TRY(const std::vector<std::string> exceeded, PrintReport(*source, stdout, report));
  for (const std::string& line : exceeded) std::fprintf(stderr, "attune: %s\n", line.c_str());
  return exceeded.empty() ? 0 : 1;
}

}  // namespace

Command MakeReportCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "report";
  command.rank = 60;
  command.summary = "summarize a recording on one screen";
  command.description =
      "One screen: what ran and how it ended, who had the CPUs, what holds it back, and what to type next. Sections "
      "print the rest, --full all of it. Works on recordings that still grow, that were cut short and that are "
      "damaged; "
      "the section missed names what could not be read.\n\nSections:";
  for (const ReportSection& section : ReportSections())
    command.description += fmt::format("\n  {:<14} {}", section.name, section.about);
  command.positionals = {{"FILE", "The recording", &options->file, true, Complete::kRecording},
                         {"SECTION", "Only these parts of the whole report, as below", &options->sections, false,
                          Complete::kNothing, SectionWords()}};
  command.options = {{"--full", "", "All sections", &options->full},
                     {"--json", "", "Everything as one JSON document", &options->json},
                     {"--fail-on", "CLASS>5%",
                      "Exit with 1 if a finding of that class, or any one ('any>5%'), lost more than that share of all "
                      "threads' time; without '>', if there is one. May be given more than once",
                      &options->fail_on, Complete::kNothing, FailLimitWords()},
                     {"--top", "N", "Rows a table, at most. Default: 10", &options->top}};
  command.examples = {{"attune report job.attune", "one screen"},
                      {"attune report job.attune waits profile", "two of its sections"},
                      {"attune report job.attune --fail-on 'lock-contention>5%' --fail-on deadlock",
                       "a test of a program's speed in a script"},
                      {"attune report job.attune --json | jq .totals", "sums over all processes"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
