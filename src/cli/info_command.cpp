#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/host_facts.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace attune::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string ExecutablePath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "$(command -v attune)";
}

Json FactsJson(const HostFacts& facts) {
  return {{"attune", kVersion},
          {"host", facts.name},
          {"kernel", facts.kernel},
          {"cpu_model", facts.cpu_model},
          {"cpus_online", facts.online.ToString()},
          {"cpus_allowed", facts.allowed.ToString()},
          {"memory_bytes", facts.memory_bytes},
          {"memory_available_bytes", facts.memory_available_bytes},
          {"clock_source", facts.clock_source},
          {"tsc_usable", facts.tsc_usable},
          {"clock_read_ns", facts.clock_read_ns},
          {"tsc_read_ns", facts.tsc_read_ns},
          {"perf_event_paranoid", facts.perf_event_paranoid},
          {"vm_stat_interval_s", facts.vm_stat_interval_s}};
}

Json ChecksJson(const std::vector<Check>& checks) {
  Json rows = Json::array();
  for (const Check& check : checks) {
    rows.push_back({{"id", check.id},
                    {"status", ToString(check.status)},
                    {"what", check.what},
                    {"detail", check.detail},
                    {"effect", check.effect},
                    {"fix", check.fix}});
  }
  return rows;
}

Style StyleOf(CheckStatus status) {
  return status == CheckStatus::kOk ? Style::kGreen : status == CheckStatus::kWarning ? Style::kYellow : Style::kRed;
}

void PrintField(const char* name, const std::string& value) {
  if (value.empty()) return;
  std::printf("  %s %s\n", Styled(stdout, Style::kDim, fmt::format("{:<12}", name)).c_str(), Printable(value).c_str());
}

void PrintFacts(const HostFacts& facts) {
  std::printf("%s\n", Styled(stdout, Style::kBold, Printable(facts.name)).c_str());
  PrintField("kernel", facts.kernel);
  PrintField("CPUs", facts.cpu_model);
  PrintField("", fmt::format("online {}, allowed {}", facts.online.ToString(), facts.allowed.ToString()));
  PrintField("memory", fmt::format("{}, {} of it available", FormatBytes(facts.memory_bytes),
                                   FormatBytes(facts.memory_available_bytes)));
  PrintField("clock", fmt::format("{}; CLOCK_MONOTONIC {:.0f} ns a reading, cycle counter {:.0f} ns ({})",
                                  facts.clock_source, facts.clock_read_ns, facts.tsc_read_ns,
                                  facts.tsc_usable ? "used by the markers" : "not trustworthy here"));
  PrintField("perf events", facts.perf_event_paranoid.empty()
                                ? "not in this kernel"
                                : "kernel.perf_event_paranoid is " + facts.perf_event_paranoid);
  if (!facts.vm_stat_interval_s.empty())
    PrintField("vmstat", "the kernel refreshes levels every " + facts.vm_stat_interval_s + " s");
}

/// The wide part of a check's line: what was found, and what goes without it.
void PrintChecks(const std::vector<Check>& checks, bool with_fix) {
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.what.size());
  for (const Check& check : checks) {
    std::printf("  %s  %-*s  %s\n",
                Styled(stdout, StyleOf(check.status), fmt::format("{:<7}", ToString(check.status))).c_str(),
                static_cast<int>(width), check.what.c_str(), Printable(check.detail).c_str());
    const std::string indent(width + 13, ' ');
    if (!check.effect.empty()) std::printf("%s%s\n", indent.c_str(), Printable(check.effect).c_str());
    if (with_fix && !check.fix.empty())
      std::printf("%s%s\n", indent.c_str(), Styled(stdout, Style::kBold, Printable(check.fix)).c_str());
  }
}

Result<int> RunInfo(bool json) {
  const HostRoot host;
  const HostFacts facts = ReadHostFacts(host);
  const std::vector<Check> checks = CheckHost(host, ExecutablePath());
  if (json) {
    Json document = FactsJson(facts);
    document["available"] = ChecksJson(checks);
    return PrintJson(document);
  }
  PrintFacts(facts);
  std::printf("\n%s\n", Styled(stdout, Style::kBold, "What attune can use here").c_str());
  PrintChecks(checks, false);
  return FinishOutput();
}

Result<int> RunDoctor(bool json) {
  const std::vector<Check> checks = CheckHost(HostRoot(), ExecutablePath());
  int counts[3] = {};
  for (const Check& check : checks) ++counts[static_cast<size_t>(check.status)];
  if (json) {
    ATTUNE_CHECK_OK(PrintJson({{"checks", ChecksJson(checks)}}));
  } else {
    PrintChecks(checks, true);
    std::printf("\n%d ok, %d warnings, %d missing\n", counts[0], counts[1], counts[2]);
    ATTUNE_CHECK_OK(FinishOutput());
  }
  return counts[static_cast<size_t>(CheckStatus::kMissing)] > 0 ? ExitCode(Errc::kUnavailable) : 0;
}

}  // namespace

Command MakeInfoCommand() {
  auto json = std::make_shared<bool>(false);
  Command command;
  command.name = "info";
  command.summary = "show this host, and what attune can use here and what not";
  command.description =
      "Kernel, CPUs, memory and clocks with the measured cost of a reading; then each sensor and each privilege that "
      "attune can use, tried for real. attune doctor shows the commands that mend what is missing.";
  command.options = {{"--json", "", "As one JSON document", json.get()}};
  command.examples = {{"attune info --json | jq .cpus_online", "one fact, for a script"}};
  command.run = [json] { return RunInfo(*json); };
  return command;
}

Command MakeDoctorCommand() {
  auto json = std::make_shared<bool>(false);
  Command command;
  command.name = "doctor";
  command.summary = "check what attune can use here, with the command that mends each lack";
  command.description =
      "ok: it works. warning: attune works without it, and what is worse then is said. missing: something cannot be "
      "observed.\n\nThe exit code is 0 if nothing is missing, else 3.";
  command.options = {{"--json", "", "As one JSON document", json.get()}};
  command.examples = {{"attune doctor", "before the first run on a new machine"}};
  command.run = [json] { return RunDoctor(*json); };
  return command;
}

}  // namespace attune::cli
