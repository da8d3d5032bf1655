/// The hosts of a merged recording, and how far their clocks can be compared.

#include "cli/report/report_hosts.h"

#include <cstdlib>

#include "cli/host/host_clocks.h"
#include "model/job_keys.h"

namespace attune::cli {

void PrintHosts(const ReportPage& page) {
  const std::vector<HostClockRow> rows = HostClocksOf(page.summary.info);
  if (rows.empty()) return;
  page.Heading("Hosts", "times are those of the first one's clock");
  page.Table(HostClockTable(rows));
  const std::string backward =
      page.Info(std::string(model::info::kMergedPrefix) + std::string(model::info::kMergedBackward));
  if (!backward.empty() && backward != "0")
    page.Line("  " + Printable(backward) + " messages between them still arrive before they left");
}

}  // namespace attune::cli
