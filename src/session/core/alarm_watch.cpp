#include "session/core/alarm_watch.h"

#include <algorithm>

#include "model/info_keys.h"

namespace attune::session {

AlarmWatch::AlarmWatch(Pipeline& pipeline, const analysis::AlarmSettings& settings)
    : pipeline_(pipeline), settings_(settings), evaluator_(settings), feed_({&evaluator_}) {
  PublishRules();
}

void AlarmWatch::Consume(const model::BatchPtr& batch) {
  std::vector<model::Alarm> news;
  {
    const MutexLock lock(mutex_);
    feed_.Add(*batch);
    news = evaluator_.Take();
  }
  // The pipeline takes batches while a sink works; this one comes back here, and is ignored.
  if (!news.empty()) pipeline_.Publish(model::ToBatch(news));
}

void AlarmWatch::Set(const analysis::AlarmSettings& more) {
  {
    const MutexLock lock(mutex_);
    analysis::MergeAlarmSettings(more, settings_);
    evaluator_.Apply(settings_);
  }
  PublishRules();
}

void AlarmWatch::PublishRules() {
  std::string text;
  {
    const MutexLock lock(mutex_);
    text = analysis::ToText(evaluator_.rules());
  }
  const std::vector<std::pair<std::string, std::string>> rows{{std::string(model::info::kAlarms), std::move(text)}};
  pipeline_.Publish(model::InfoBatch(rows));
}

std::vector<analysis::AlarmStatus> AlarmWatch::Status() const {
  const MutexLock lock(mutex_);
  return evaluator_.Status();
}

size_t AlarmWatch::Raised() const {
  size_t raised = 0;
  for (const analysis::AlarmStatus& status : Status()) {
    raised += static_cast<size_t>(std::count_if(status.readings.begin(), status.readings.end(),
                                                [](const auto& reading) { return reading.raised; }));
  }
  return raised;
}

}  // namespace attune::session
