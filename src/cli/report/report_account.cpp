/// Use of the CPUs, and what each thread did with its time.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::Account;
using analysis::ThreadAccount;

std::string PartText(double ns, double of_ns) { return of_ns > 0 ? Percent(ns / of_ns) : "-"; }

std::string NameOf(const ThreadAccount& thread) {
  const std::string number = thread.tid == model::kAbsent ? "?" : std::to_string(thread.tid);
  return thread.name.empty() ? number : fmt::format("{} ({})", number, Printable(thread.name));
}

/// "lock 41 %, pipe 3 %": what it slept for, without what is less than a hundredth of its life.
std::string Sleeps(const ThreadAccount& thread) {
  constexpr double kLeast = 0.01;
  constexpr size_t kShown = 3;
  std::vector<std::string> parts;
  for (const analysis::AccountLine& line : thread.lines) {
    if (line.IsActive() || line.ns < kLeast * thread.life_ns || parts.size() == kShown) continue;
    parts.push_back(fmt::format("{} {}", line.name, PartText(line.ns, thread.life_ns)));
  }
  if (thread.unknown_ns >= kLeast * thread.life_ns)
    parts.push_back(fmt::format("not known {}", PartText(thread.unknown_ns, thread.life_ns)));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string Balance(const Account& account) {
  const analysis::CpuAccount& all = account.cpus;
  const double capacity_ns = all.CapacityNs();
  std::string text = fmt::format("{} for {}: ", Plural(all.cpus, "CPU"), Duration(static_cast<int64_t>(all.wall_ns)));
  text += fmt::format("the program {}", PartText(all.program_ns, capacity_ns));
  if (!all.is_divided) return text;
  text += fmt::format(", others {}, idle {}", PartText(all.others_ns, capacity_ns), PartText(all.idle_ns, capacity_ns));
  if (all.unknown_ns >= 0.01 * capacity_ns)
    text += fmt::format(", not known {}", PartText(all.unknown_ns, capacity_ns));
  return text;
}

}  // namespace

void PrintAccount(const ReportPage& page) {
  const Account& account = page.summary.account;
  if (account.threads.empty() || account.cpus.cpus == 0) return;
  page.Heading("Where the time went", Balance(account));
  std::vector<NumberColumn> columns{{"life"}, {"running"}, {"queued"}};
  if (account.is_exact) columns.push_back({"alone"});
  columns.push_back({"asleep for"});
  columns.push_back({"thread"});
  TextTable table = NumbersBeforeName(columns);
  const size_t shown = std::min(account.threads.size(), page.options.top);
  for (const ThreadAccount& thread : std::span(account.threads).first(shown)) {
    std::vector<std::string> cells{Duration(static_cast<int64_t>(thread.life_ns)),
                                   PartText(thread.running_ns, thread.life_ns),
                                   PartText(thread.queued_ns, thread.life_ns)};
    if (account.is_exact) cells.push_back(PartText(thread.alone_ns, thread.life_ns));
    cells.push_back(Sleeps(thread));
    cells.push_back(NameOf(thread));
    table.AddRow(cells);
  }
  page.Table(table);
  if (shown < account.threads.size())
    page.More(Plural(static_cast<int64_t>(account.threads.size() - shown), "thread") + " more");
}

}  // namespace attune::cli
