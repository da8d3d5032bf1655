/// Kernels of a dataflow graph or another task runtime (include/attune/work.h), and what they hand to each other.

#include <algorithm>

#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::WorkData;
using analysis::WorkKernel;

void PrintData(const ReportPage& page) {
  TextTable table = NumbersBeforeName({{"bytes"}, {"data"}});
  std::vector<WorkData> data = page.summary.work.data;
  std::ranges::stable_sort(data, std::greater(), &WorkData::bytes);
  const size_t shown = std::min(data.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [kernel, field, is_store, bytes] = data[i];
    const auto [from, to] = is_store ? std::pair(kernel, field) : std::pair(field, kernel);
    table.AddRow({FormatBytes(static_cast<uint64_t>(bytes)), Printable(from + " -> " + to)});
  }
  page.Table(table);
  if (shown < data.size()) page.More(Plural(static_cast<int64_t>(data.size() - shown), "edge") + " more");
}

}  // namespace

void PrintWork(const ReportPage& page) {
  const std::vector<WorkKernel>& kernels = page.summary.work.kernels;
  if (kernels.empty()) return;
  page.Heading("Kernels", "of a dataflow graph or task runtime; times are CPU time of all instances");
  double all_ns = 0;
  for (const WorkKernel& kernel : kernels) all_ns += kernel.all_ns();
  TextTable table = NumbersBeforeName({{"instances"},
                                       {"share"},
                                       {"body"},
                                       {"dispatch"},
                                       {"body each", true},
                                       {"dispatch each", true},
                                       {"ages", true},
                                       {"grain", true},
                                       {"kernel"}});
  const size_t shown = std::min(kernels.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const WorkKernel& row = kernels[i];
    const auto each = [&](double ns) {
      return row.instances == 0 ? "-" : Duration(static_cast<int64_t>(ns / static_cast<double>(row.instances)));
    };
    const auto known = [](int64_t value) { return value == 0 ? "" : FormatCount(static_cast<double>(value)); };
    table.AddRow({FormatCount(static_cast<double>(row.instances)), all_ns > 0 ? Percent(row.all_ns() / all_ns) : "-",
                  Duration(static_cast<int64_t>(row.body_ns)), Duration(static_cast<int64_t>(row.dispatch_ns)),
                  each(row.body_ns), each(row.dispatch_ns), known(row.ages), known(row.grain),
                  Printable(row.name + (row.runs_behind.empty() ? "" : " (right behind " + row.runs_behind + ")"))});
  }
  page.Table(table);
  if (shown < kernels.size()) page.More(Plural(static_cast<int64_t>(kernels.size() - shown), "kernel") + " more");
  PrintData(page);
}

}  // namespace attune::cli
