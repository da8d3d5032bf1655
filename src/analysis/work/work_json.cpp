#include "analysis/work/work_json.h"

#include "analysis/work/work_model.h"

namespace attune::analysis {
namespace {

Json KernelJson(const WorkKernel& row) {
  return {{"kernel", row.name},
          {"instances", row.instances},
          {"ages", row.ages},
          {"ranges", row.ranges},
          {"grain", row.grain},
          {"ordered", row.is_ordered},
          {"at_once", row.at_once},
          {"body_ns", row.body_ns},
          {"dispatch_ns", row.dispatch_ns},
          {"longest_ns", row.longest_ns},
          {"runs_behind", row.runs_behind}};
}

Json DataJson(const WorkData& row) {
  return {{"kernel", row.kernel},
          {"field", row.field},
          {"stores", row.is_store},
          {"bytes", row.bytes},
          {"age", row.has_age ? Json(row.age) : Json(nullptr)},
          {"fixed", row.is_fixed},
          {"streams", row.is_streamed}};
}

Json ForecastJson(const WorkForecast& forecast) {
  const auto kernel = [](const WorkForecast::Kernel& row) -> Json {
    return {{"kernel", row.name}, {"gain_ns", row.gain_ns}};
  };
  return {{"measured_ns", forecast.measured_ns},
          {"modelled_ns", forecast.modelled_ns},
          {"fits", forecast.Fits()},
          {"idle", forecast.idle},
          {"halved", JsonRows(forecast.kernels, kernel)},
          {"threads_gain_ns", forecast.threads_gain_ns},
          {"dispatch_gain_ns", forecast.dispatch_gain_ns},
          {"imbalance_gain_ns", forecast.imbalance_gain_ns}};
}

}  // namespace

Json WorkJson(const WorkGraph& graph) {
  const std::optional<WorkForecast> forecast = Forecast(graph);
  return {{"threads", graph.threads},
          {"wall_ns", graph.wall_ns},
          {"kernels", JsonRows(graph.kernels, KernelJson)},
          {"data", JsonRows(graph.data, DataJson)},
          {"forecast", forecast ? ForecastJson(*forecast) : Json(nullptr)}};
}

}  // namespace attune::analysis
