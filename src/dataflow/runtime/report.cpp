#include "attune/flow/report.h"

#include <algorithm>
#include <cstdio>

namespace attune::flow {
namespace {

/// Columns as wide as what is in them: the first one to the left, the others to the right.
class TextTable {
 public:
  void Row(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  std::string Text() const {
    std::string text;
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string space(widths_[i] - row[i].size(), ' ');
        text += i == 0 ? row[i] + (row.size() > 1 ? space : "") : "  " + space + row[i];
      }
      text += '\n';
    }
    return text;
  }

 private:
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

template <typename... Values>
std::string Text(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string Nanoseconds(double ns) {
  if (ns < 1e3) return Text("%.1f ns", ns);
  if (ns < 1e6) return Text("%.2f us", ns / 1e3);
  if (ns < 1e9) return Text("%.2f ms", ns / 1e6);
  return Text("%.2f s", ns / 1e9);
}

/// Microseconds as in P2G's tables, with digits for what takes less than they show.
std::string Microseconds(double ns) { return Text(ns < 100 ? "%.4f us" : "%.2f us", ns / 1e3); }

std::string Bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return Text(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

}  // namespace

double KernelCost::Quantile(double share) const {
  int64_t all = 0;
  for (const int64_t count : histogram) all += count;
  int64_t until_here = 0;
  for (size_t bucket = 0; bucket < histogram.size(); ++bucket) {
    until_here += histogram[bucket];
    if (all > 0 && static_cast<double>(until_here) >= share * static_cast<double>(all))
      return static_cast<double>(int64_t{2} << bucket);
  }
  return 0;
}

const KernelCost* Report::Find(const std::string& kernel) const {
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelCost& each) { return each.kernel == kernel; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string Report::ThesisTable() const {
  TextTable table;
  table.Row({"Kernel", "Instances", "Dispatch Time", "Kernel Time"});
  for (const KernelCost& cost : kernels) {
    table.Row({cost.kernel, std::to_string(cost.instances), Microseconds(cost.dispatch_ns_each()),
               Microseconds(cost.kernel_ns_each())});
  }
  return table.Text();
}

std::string Report::Table() const {
  double all = 0;
  for (const KernelCost& cost : kernels) all += cost.kernel_ns + cost.dispatch_ns;
  const bool several =
      std::any_of(kernels.begin(), kernels.end(), [](const KernelCost& cost) { return !cost.implementation.empty(); });
  TextTable table;
  const auto row = [&](std::vector<std::string> cells, const std::string& implementation) {
    if (several) cells.insert(cells.begin() + 1, implementation);
    table.Row(std::move(cells));
  };
  row({"kernel", "instances", "ages", "ranges", "grain", "dispatch each", "body each", "body p50", "body p99", "time",
       "share", "in", "out", "missed", "behind"},
      "code");
  for (const KernelCost& cost : kernels) {
    const double own = cost.kernel_ns + cost.dispatch_ns;
    row({cost.kernel, std::to_string(cost.instances), std::to_string(cost.ages), std::to_string(cost.ranges),
         std::to_string(cost.grain), Nanoseconds(cost.dispatch_ns_each()), Nanoseconds(cost.kernel_ns_each()),
         Nanoseconds(cost.Quantile(0.5)), Nanoseconds(cost.Quantile(0.99)), Nanoseconds(own),
         Text("%.1f %%", all > 0 ? 100 * own / all : 0.0), Bytes(cost.bytes_in()), Bytes(cost.bytes_out()),
         std::to_string(cost.deadlines_missed), cost.fused_into},
        cost.implementation.empty() ? "cpu" : cost.implementation);
  }
  return table.Text();
}

std::string Report::Describe() const {
  std::string text;
  switch (outcome) {
    case Outcome::kDone: text = "done"; break;
    case Outcome::kFailed: text = "failed: " + error.what; break;
    case Outcome::kCancelled: text = "cancelled"; break;
    case Outcome::kTimedOut: text = "timed out: " + error.what; break;
    case Outcome::kStarved: text = "starved: instances wait for what nobody stores"; break;
  }
  for (const std::string& each : waiting) text += "\n  " + each;
  return text;
}

}  // namespace attune::flow
