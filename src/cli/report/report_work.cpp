/// Kernels of a dataflow graph or another task runtime (include/attune/work.h), and what they hand to each other.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/work/work_model.h"
#include "base/units.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::WorkData;
using analysis::WorkForecast;
using analysis::WorkKernel;

void PrintData(const ReportPage& page) {
  TextTable table = NumbersBeforeName({{"bytes"}, {"data"}});
  std::vector<WorkData> data = page.summary.work.data;
  std::ranges::stable_sort(data, std::greater(), &WorkData::bytes);
  const size_t shown = std::min(data.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const WorkData& row = data[i];
    const auto [from, to] = row.is_store ? std::pair(row.kernel, row.field) : std::pair(row.field, row.kernel);
    table.AddRow({FormatBytes(static_cast<uint64_t>(row.bytes)), Printable(from + " -> " + to)});
  }
  page.Table(table);
  if (shown < data.size()) page.More(Plural(static_cast<int64_t>(data.size() - shown), "edge") + " more");
}

/// Time of an instance, which may be less than a nanosecond.
std::string ShortDuration(double ns) {
  return ns < 100 ? fmt::format("{:.1f} ns", ns) : Duration(static_cast<int64_t>(ns));
}

/// "31.0 %" of the run; empty: nothing that could be noticed.
std::string SavedText(const WorkForecast& forecast, double gain_ns) {
  constexpr double kNoticeable = 0.005;
  const double part = gain_ns / forecast.measured_ns;
  return part < kNoticeable ? "" : Percent(part);
}

/// Saved if an instance of this kernel took half as long.
std::string IfHalved(const std::optional<WorkForecast>& forecast, const std::string& kernel) {
  if (!forecast || !forecast->Fits()) return "";
  const auto found = std::ranges::find(forecast->kernels, kernel, &WorkForecast::Kernel::name);
  return found == forecast->kernels.end() ? "" : SavedText(*forecast, found->gain_ns);
}

/// Prints what bounds the run.
void PrintForecast(const ReportPage& page, int64_t threads, const WorkForecast& forecast) {
  page.Line(fmt::format("{} of run on {}, which have no work for {} of it; by the model {}",
                        Duration(static_cast<int64_t>(forecast.measured_ns)), Plural(threads, "thread"),
                        Percent(forecast.idle), Duration(static_cast<int64_t>(forecast.modelled_ns))));
  if (!forecast.Fits()) return page.Line("The model does not explain the time, so that nothing is forecast");
  std::string text;
  const auto add = [&](const char* what, double gain_ns) {
    const std::string saved = SavedText(forecast, gain_ns);
    if (!saved.empty()) text += fmt::format("{}{} {}", text.empty() ? "Saved of the run: " : ", ", saved, what);
  };
  add("with twice as many threads", forecast.threads_gain_ns);
  add("without dispatch", forecast.dispatch_gain_ns);
  add("if all ranges of an age were equally long", forecast.imbalance_gain_ns);
  if (!text.empty()) page.Line(text);
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
                                       {"saved if halved", true},
                                       {"kernel"}});
  const std::optional<WorkForecast> forecast = analysis::Forecast(page.summary.work);
  const size_t shown = std::min(kernels.size(), page.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const WorkKernel& row = kernels[i];
    const auto each = [&](double ns) {
      return row.instances == 0 ? "-" : ShortDuration(ns / static_cast<double>(row.instances));
    };
    const auto known = [](int64_t value) { return value == 0 ? "" : FormatCount(static_cast<double>(value)); };
    table.AddRow({FormatCount(static_cast<double>(row.instances)), all_ns > 0 ? Percent(row.all_ns() / all_ns) : "-",
                  Duration(static_cast<int64_t>(row.body_ns)), Duration(static_cast<int64_t>(row.dispatch_ns)),
                  each(row.body_ns), each(row.dispatch_ns), known(row.ages), known(row.grain),
                  IfHalved(forecast, row.name),
                  Printable(row.name + (row.runs_behind.empty() ? "" : " (right behind " + row.runs_behind + ")"))});
  }
  page.Table(table);
  if (shown < kernels.size()) page.More(Plural(static_cast<int64_t>(kernels.size() - shown), "kernel") + " more");
  if (forecast) PrintForecast(page, page.summary.work.threads, *forecast);
  PrintData(page);
}

}  // namespace attune::cli
