/// The machine meanwhile.

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using Align = TextTable::Align;

/// All of them if they fit, else the busiest and the least busy.
std::vector<const analysis::CpuSummary*> CpusToShow(const ReportPage& page) {
  std::vector<const analysis::CpuSummary*> cpus;
  for (const analysis::CpuSummary& cpu : page.summary.machine.cpus) cpus.push_back(&cpu);
  if (cpus.size() <= page.options.top) return cpus;
  std::stable_sort(cpus.begin(), cpus.end(), [](auto* a, auto* b) { return a->shares.Busy() > b->shares.Busy(); });
  const size_t half = std::max<size_t>(page.options.top / 2, 1);
  cpus.erase(cpus.begin() + static_cast<long>(half), cpus.end() - static_cast<long>(half));
  return cpus;
}

std::string Amount(double value, const std::string& unit) {
  // The kernel's page is 4 KiB where it is not said otherwise; only levels of memory are shown in bytes.
  if (unit == "KiB") return FormatBytes(static_cast<uint64_t>(std::max(value, 0.0) * 1024));
  if (unit == "bytes") return FormatBytes(static_cast<uint64_t>(std::max(value, 0.0)));
  return FormatCount(value);
}

void Signals(const ReportPage& page) {
  // Only these are worth a line if nothing happened.
  const auto always = [](const std::string& name) {
    return name == "cpu.context_switches" || name == "vmstat.pgfault" || name == "vmstat.pgmajfault";
  };
  TextTable rates(
      {{"total", Align::kRight}, {"a second", Align::kRight}, {"at most", Align::kRight}, {"", Align::kLeft}});
  TextTable levels(
      {{"lowest", Align::kRight}, {"mean", Align::kRight}, {"highest", Align::kRight}, {"", Align::kLeft}});
  bool any_rate = false;
  bool any_level = false;
  for (const analysis::MachineSignal& signal : page.summary.machine.signals) {
    const std::string label = signal.label + (signal.unit == "pages" ? " (pages)" : "") +
                              (signal.resets > 0 ? fmt::format(" ({} resets left out)", signal.resets) : "");
    if (signal.is_rate) {
      if (signal.total == 0 && !always(signal.name)) continue;
      any_rate = true;
      rates.AddRow({Amount(signal.total, signal.unit), Amount(signal.mean, signal.unit),
                    Amount(signal.high, signal.unit), label});
    } else {
      if (signal.high == 0) continue;
      any_level = true;
      levels.AddRow(
          {Amount(signal.low, signal.unit), Amount(signal.mean, signal.unit), Amount(signal.high, signal.unit), label});
    }
  }
  if (any_rate) page.Table(rates);
  if (any_rate && any_level) page.Line("");
  if (any_level) page.Table(levels);
}

}  // namespace

void PrintMachine(const ReportPage& page) {
  const analysis::MachineSummary& machine = page.summary.machine;
  if (machine.cpus.empty() && machine.signals.empty()) return;
  page.Heading("The machine meanwhile", "everything that ran on it");
  if (!machine.cpus.empty()) {
    TextTable table({{"CPU", Align::kRight},
                     {"busy", Align::kRight},
                     {"user", Align::kRight},
                     {"system", Align::kRight},
                     {"iowait", Align::kRight},
                     {"steal", Align::kRight},
                     {"idle", Align::kRight},
                     {"idle, another busy", Align::kRight}});
    const auto add = [&](const std::string& name, const analysis::CpuShares& shares, const std::string& alone) {
      table.AddRow({name, Percent(shares.Busy()), Percent(shares.user), Percent(shares.system), Percent(shares.iowait),
                    Percent(shares.steal), Percent(shares.idle), alone});
    };
    add("all", machine.all, "");
    for (const analysis::CpuSummary* cpu : CpusToShow(page))
      add(std::to_string(cpu->cpu), cpu->shares, Percent(cpu->idle_while_others_busy));
    page.Table(table);
    if (machine.cpus.size() > page.options.top)
      page.More(fmt::format("{} CPUs more, between these", machine.cpus.size() - CpusToShow(page).size()));
    page.Line("");
  }
  Signals(page);
}

}  // namespace attune::cli
