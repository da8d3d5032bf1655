#include "cli/host/machine_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "base/units.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

constexpr size_t kWidthOfAFile = 120;
constexpr size_t kIndent = 2;

std::string Heading(const std::string& text) { return "\n" + Styled(stdout, Style::kBold, text) + "\n"; }

std::string Notes(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes)
    text += std::string(kIndent, ' ') + Styled(stdout, Style::kYellow, Printable(note)) + "\n";
  return text;
}

/// "92", "1.2k": three digits say all that is certain.
std::string Ns(double ns) {
  if (ns < 10) return fmt::format("{:.1f}", ns);
  return ns < 10'000 ? fmt::format("{:.0f}", ns) : FormatDuration(std::llround(ns));
}

/// A background from green to red.
std::string Shaded(double share, const std::string& text) {
  constexpr int kRamp[] = {22, 28, 64, 100, 136, 130, 124};
  if (!UseColour(stdout)) return text;
  const auto last = static_cast<double>(std::size(kRamp) - 1);
  const auto step = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * last));
  return fmt::format("\x1b[48;5;{}m{}\x1b[0m", kRamp[step], text);
}

/// A matrix of times; cells without one are empty.
struct Matrix {
  std::vector<std::string> rows, columns;
  std::vector<std::optional<double>> cells;  // row by row

  std::string Text(size_t width) const {
    size_t cell_width = 4, name_width = 0;
    for (const std::string& name : columns) cell_width = std::max(cell_width, name.size() + 1);
    for (const auto& cell : cells) cell_width = std::max(cell_width, cell ? Ns(*cell).size() + 2 : 0);
    for (const std::string& name : rows) name_width = std::max(name_width, name.size());
    if (kIndent + name_width + columns.size() * cell_width > width) return "";
    double low = 1e18, high = 0;
    for (const auto& cell : cells) {
      if (!cell) continue;
      low = std::min(low, *cell);
      high = std::max(high, *cell);
    }
    std::string text = std::string(kIndent + name_width, ' ');
    for (const std::string& name : columns) text += fmt::format("{:>{}}", name, cell_width);
    text += "\n";
    for (size_t row = 0; row < rows.size(); ++row) {
      text += std::string(kIndent, ' ') + fmt::format("{:<{}}", rows[row], name_width);
      for (size_t column = 0; column < columns.size(); ++column) {
        const auto& cell = cells[row * columns.size() + column];
        const std::string value = fmt::format("{:>{}}", cell ? Ns(*cell) : "-", cell_width);
        text += cell ? Shaded(high > low ? (*cell - low) / (high - low) : 0, value) : value;
      }
      text += "\n";
    }
    return text;
  }
};

Matrix MatrixOf(const std::vector<CpuId>& cpus, const std::vector<machine::CpuLatency>& pairs) {
  Matrix matrix;
  for (const CpuId cpu : cpus) matrix.columns.push_back(std::to_string(cpu));
  for (const CpuId cpu : cpus) matrix.rows.push_back(fmt::format("CPU {}", cpu));
  matrix.cells.resize(cpus.size() * cpus.size());
  const auto index = [&](CpuId cpu) {
    return static_cast<size_t>(std::lower_bound(cpus.begin(), cpus.end(), cpu) - cpus.begin());
  };
  for (const machine::CpuLatency& pair : pairs) {
    if (!pair.ns) continue;
    const size_t from = index(pair.from), to = index(pair.to);
    matrix.cells[from * cpus.size() + to] = matrix.cells[to * cpus.size() + from] = pair.ns->median_ns;
  }
  return matrix;
}

Matrix MatrixOf(const machine::Latencies& latencies) {
  Matrix matrix;
  for (const int64_t node : latencies.memory_nodes) matrix.columns.push_back(fmt::format("node{}", node));
  for (const int64_t node : latencies.cpu_nodes) matrix.rows.push_back(fmt::format("CPUs of node{}", node));
  for (const machine::NodeLatency& cell : latencies.nodes)
    matrix.cells.push_back(cell.ns ? std::optional(cell.ns->median_ns) : std::nullopt);
  return matrix;
}

std::string SharedText(const machine::Latencies& latencies) {
  TextTable table({{"CPUs share"},
                   {"pairs", TextTable::Align::kRight},
                   {"median", TextTable::Align::kRight},
                   {"p5", TextTable::Align::kRight},
                   {"p95", TextTable::Align::kRight}});
  for (const machine::SharedLatency& shared : latencies.shared) {
    // A single pair's spread is that of its batches.
    const machine::Spread& ns =
        shared.pairs == 1 ? *std::find_if(latencies.pairs.begin(), latencies.pairs.end(),
                                          [&](const auto& pair) { return pair.ns && pair.shares == shared.shares; })
                                 ->ns
                          : shared.ns;
    table.AddRow({shared.shares, std::to_string(shared.pairs), Ns(ns.median_ns), Ns(ns.low_ns), Ns(ns.high_ns)});
  }
  return table.ToString(kIndent, 0);
}

/// "0 of 800", "12 of 800, 20 ns"
std::string AgreementText(const machine::Clock& clock) {
  if (!clock.agreement) return clock.no_agreement;
  const machine::Agreement& agreement = *clock.agreement;
  const std::string count =
      fmt::format("{} of {}", agreement.violations, FormatCount(static_cast<double>(agreement.readings)));
  return agreement.violations == 0 ? count : fmt::format("{}, {} ns", count, Ns(agreement.largest_step_back_ns));
}

/// Short enough for a terminal: the kernel's clocks without what all of them begin with.
std::string ShortName(const machine::Clock& clock) {
  constexpr std::string_view kPrefix = "CLOCK_";
  return clock.name.starts_with(kPrefix) ? clock.name.substr(kPrefix.size()) : clock.name;
}

std::string OffsetText(const machine::Clock& clock) {
  if (!clock.agreement || !clock.agreement->offset_ns) return "";
  return fmt::format("{} +- {}", Ns(std::abs(*clock.agreement->offset_ns)), Ns(*clock.agreement->offset_error_ns));
}

std::string StepText(const std::optional<double>& ns) { return ns ? FormatDuration(std::llround(*ns)) : ""; }

std::string PairsText(const machine::Clocks& clocks, size_t width) {
  std::set<int64_t> iterations;
  for (const machine::Clock& clock : clocks.clocks) {
    for (const machine::PairCost& pair : clock.pairs) iterations.insert(pair.iterations);
  }
  std::vector<TextTable::Column> columns{{"start and stop"}};
  for (const int64_t count : iterations)
    columns.push_back({FormatCount(static_cast<double>(count)), TextTable::Align::kRight});
  columns.push_back({"measured", TextTable::Align::kRight});
  columns.push_back({"rest", TextTable::Align::kRight});
  TextTable table(columns);
  for (const machine::Clock& clock : clocks.clocks) {
    if (clock.pairs.empty()) continue;
    std::vector<std::string> cells{ShortName(clock)};
    for (const int64_t count : iterations) {
      const auto found = std::find_if(clock.pairs.begin(), clock.pairs.end(),
                                      [&](const auto& pair) { return pair.iterations == count; });
      cells.push_back(found == clock.pairs.end() ? "" : Ns(found->execution_ns));
    }
    const machine::PairCost& last = clock.pairs.back();
    cells.push_back(Ns(last.measured_ns));
    cells.push_back(Ns(last.execution_ns - last.measured_ns));
    table.AddRow(std::move(cells));
  }
  return table.ToString(kIndent, width);
}

}  // namespace

std::string CapabilitiesText(const machine::Capabilities& all) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty())
      text += fmt::format("  {} {}\n", Styled(stdout, Style::kDim, fmt::format("{:<12}", name)), Printable(value));
  };
  if (!all.cpus.empty()) {
    const machine::CpuInfo& first = all.cpus.front();
    std::string clock;
    if (first.mhz) clock = fmt::format("{:.0f} MHz now", *first.mhz);
    if (first.min_mhz && first.max_mhz)
      clock += fmt::format("{}{:.0f} to {:.0f} MHz", clock.empty() ? "" : ", ", *first.min_mhz, *first.max_mhz);
    if (!first.governor.empty()) clock += ", governor " + first.governor;
    add("frequency", clock);
    add("microcode", first.microcode);
  }
  if (all.memory_bytes) {
    const std::string available =
        all.memory_available_bytes ? fmt::format(", {} of it available", FormatBytes(*all.memory_available_bytes)) : "";
    add("memory", FormatBytes(*all.memory_bytes) + available);
  }
  if (all.swap_bytes)
    add("swap", *all.swap_bytes == 0 ? "none"
                                     : fmt::format("{}, {} of it free", FormatBytes(*all.swap_bytes),
                                                   FormatBytes(all.swap_free_bytes.value_or(0))));
  std::string pages;
  for (const machine::HugePages& size : all.huge_pages) {
    if (size.total > 0)
      pages += fmt::format("{}{} of {}, {} free", pages.empty() ? "" : "; ", size.total, FormatBytes(size.page_bytes),
                           size.free);
  }
  if (!all.transparent_huge_pages.empty())
    pages += fmt::format("{}transparent: {}", pages.empty() ? "none reserved; " : "; ", all.transparent_huge_pages);
  add("huge pages", pages);
  add("runs under", all.hypervisor);
  const machine::CgroupLimits& cgroup = all.cgroup;
  std::string limits;
  if (cgroup.cpus) limits += fmt::format("{:.3g} CPUs", *cgroup.cpus);
  if (cgroup.memory_bytes)
    limits += fmt::format("{}{} of memory", limits.empty() ? "" : ", ", FormatBytes(*cgroup.memory_bytes));
  add("cgroup", limits.empty() ? "" : "at most " + limits);
  add("isolated", all.isolated.empty() ? "" : "CPUs " + all.isolated.ToString());
  add("no tick", all.nohz_full.empty() ? "" : "CPUs " + all.nohz_full.ToString());
  std::string open;
  size_t mitigated = 0;
  for (const auto& [name, state] : all.vulnerabilities) {
    if (state.starts_with("Mitigation")) ++mitigated;
    if (state.starts_with("Vulnerable")) open += (open.empty() ? "" : ", ") + name;
  }
  if (!all.vulnerabilities.empty())
    add("mitigations", fmt::format("{} on{}", mitigated, open.empty() ? "" : "; vulnerable: " + open));
  return text;
}

std::string LatencyText(const machine::Latencies& latencies, size_t width) {
  const size_t room = width == 0 ? kWidthOfAFile : width;
  std::string text = Heading("From CPU to CPU, one way, in ns");
  if (!latencies.shared.empty()) {
    const std::string matrix = MatrixOf(latencies.cpus, latencies.pairs).Text(room);
    text += matrix.empty() ? "  (the matrix is wider than the terminal: attune info --json)\n" : matrix;
    text += SharedText(latencies);
  }
  const bool any_node =
      std::any_of(latencies.nodes.begin(), latencies.nodes.end(), [](const auto& cell) { return cell.ns.has_value(); });
  if (any_node) {
    const std::string matrix = MatrixOf(latencies).Text(room);
    text += Heading("Reads of memory that is in no cache, in ns");
    text += matrix.empty() ? "  (the matrix is wider than the terminal: attune info --json)\n" : matrix;
  }
  return text + Notes(latencies.notes);
}

std::string ClocksText(const machine::Clocks& clocks, size_t width) {
  TextTable table({{"clock"},
                   {"read", TextTable::Align::kRight},
                   {"p95", TextTable::Align::kRight},
                   {"step", TextTable::Align::kRight},
                   {"claimed", TextTable::Align::kRight},
                   {"apart", TextTable::Align::kRight},
                   {"went back"}});
  for (const machine::Clock& clock : clocks.clocks) {
    if (!clock.unavailable.empty()) {
      table.AddRow({ShortName(clock), "", "", "", "", "", Printable(clock.unavailable)});
      continue;
    }
    const auto claimed =
        clock.claimed_step_ns ? std::optional(static_cast<double>(*clock.claimed_step_ns)) : std::nullopt;
    table.AddRow({ShortName(clock), Ns(clock.read_ns.median_ns), Ns(clock.read_ns.high_ns),
                  StepText(clock.observed_step_ns), StepText(claimed), OffsetText(clock), AgreementText(clock)});
  }
  std::string text =
      Heading("Clocks: ns a reading, the smallest step, and from CPU to CPU") + table.ToString(kIndent, width) +
      Heading("The same started and stopped around nothing: ns a pair, by iterations") + PairsText(clocks, width);
  if (clocks.tsc_hz) text += fmt::format("  The cycle counter ticks at {:.1f} MHz.\n", *clocks.tsc_hz / 1e6);
  return text + Notes(clocks.notes);
}

}  // namespace attune::cli
