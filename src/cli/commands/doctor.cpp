#include <cstdio>

#include "base/host_root.h"
#include "cli/command.h"
#include "cli/host/check_list.h"
#include "cli/host/host_checks.h"
#include "cli/terminal/output.h"
#include "sensor/registry.h"

namespace attune::cli {
namespace {

Result<int> RunDoctor(bool json) {
  const HostRoot host;
  const std::vector<Check> checks = CheckHost(host, machine::ReadHostFacts(host), ExecutablePath());
  size_t counts[kCheckStatuses] = {};
  const auto of = [&counts](CheckStatus status) -> size_t& { return counts[static_cast<size_t>(status)]; };
  for (const Check& check : checks) ++of(check.status);
  if (json) {
    ATTUNE_CHECK_OK(PrintJson({{"checks", ChecksJson(checks)}}));
  } else {
    PrintChecks(checks, true);
    std::printf("\n%zu ok, %zu warnings, %zu not on this machine, %zu missing\n", of(CheckStatus::kOk),
                of(CheckStatus::kWarning), of(CheckStatus::kAbsent), of(CheckStatus::kMissing));
    ATTUNE_CHECK_OK(FinishOutput());
  }
  return of(CheckStatus::kMissing) > 0 ? ExitCode(Errc::kUnavailable) : 0;
}

}  // namespace

Command MakeDoctorCommand() {
  auto json = std::make_shared<bool>(false);
  Command command;
  command.name = "doctor";
  command.rank = 150;
  command.summary = "check what attune can use here; print the command that fixes each problem";
  command.description =
      "ok: it works. warning: attune works without it; the row says what is worse then. absent: this machine does not "
      "have it. missing: attune cannot do its work.\n\nThe exit code is 0 if nothing is missing, else 3.";
  command.options = {{"--json", "", "As one JSON document", json.get()}};
  command.examples = {{"attune doctor", "before the first run on a new machine"}};
  command.run = [json] { return RunDoctor(*json); };
  return command;
}

}  // namespace attune::cli
