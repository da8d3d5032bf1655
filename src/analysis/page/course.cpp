#include <algorithm>
#include <cmath>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"

namespace attune::analysis {
namespace {

/// Parts of the time, at most.
constexpr size_t kMaxParts = 400;
/// Samples a part on average: with fewer, some parts would have none.
constexpr size_t kSamplesOfPart = 2;
/// Decimals of a share.
constexpr double kPrecision = 1000;

/// Idle time of the CPUs; where it is not recorded by CPU, the machine's.
std::vector<const model::Series*> IdleSeries(const model::Metadata& meta) {
  std::vector<const model::Series*> of_cpus, of_machine;
  for (const model::Series& series : meta.series) {
    if (series.sensor != "cpu" || series.signal != "idle" || series.LargestRate() <= 0) continue;
    const model::Element* element = meta.FindElement(series.element);
    if (element == nullptr) continue;
    if (element->kind == model::ElementKind::kCpu) of_cpus.push_back(&series);
    if (element->kind == model::ElementKind::kMachine) of_machine.push_back(&series);
  }
  return of_cpus.empty() ? of_machine : of_cpus;
}

struct CoursePart {
  double idle = 0;
  double most = 0;  ///< that `idle` could be
};

/// `course`: how busy the CPUs were all the time long, in kMaxParts parts at most. @cost a view of a series a CPU
Result<std::string> Course(const PageRequest& request) {
  const auto meta = request.source.Meta();
  const model::TimeRange extent = request.source.Extent();
  model::ViewRequest wanted{.series = {}, .range = extent, .pixels = kMaxParts};
  for (const model::Series* series : IdleSeries(*meta)) wanted.series.push_back(series->id);
  std::vector<model::SeriesView> views;
  if (!wanted.series.empty() && extent.t1_ns > extent.t0_ns) {
    ATTUNE_TRY(views, request.source.View(wanted));
  }
  size_t points = 0;
  for (const model::SeriesView& view : views) points = std::max(points, view.t_ns.size());
  std::vector<CoursePart> parts(std::min(kMaxParts, points / kSamplesOfPart));
  const double part_ns =
      static_cast<double>(extent.t1_ns - extent.t0_ns) / static_cast<double>(std::max<size_t>(1, parts.size()));
  for (const model::SeriesView& view : views) {
    const double most = meta->FindSeries(view.series)->LargestRate();
    for (size_t i = 0; i < view.t_ns.size() && !parts.empty(); ++i) {
      if (std::isnan(view.mean[i])) continue;
      const double after_ns = static_cast<double>(std::max(view.t_ns[i], extent.t0_ns) - extent.t0_ns);
      CoursePart& part = parts[std::min(parts.size() - 1, static_cast<size_t>(after_ns / part_ns))];
      part.idle += view.mean[i] * static_cast<double>(view.count[i]);
      part.most += most * static_cast<double>(view.count[i]);
    }
  }
  const auto busy = [](const CoursePart& part) {
    if (part.most <= 0) return Json(nullptr);
    return Json(std::round(std::clamp(1 - part.idle / part.most, 0.0, 1.0) * kPrecision) / kPrecision);
  };
  return JsonText({{"t0_ns", extent.t0_ns}, {"t1_ns", extent.t1_ns}, {"busy", JsonRows(parts, busy)}});
}

}  // namespace

PageDocument MakeCourseDocument() { return {.name = "course", .make = Course}; }

}  // namespace attune::analysis
