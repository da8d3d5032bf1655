// What a live client sends: ParseClientMessage must refuse or give a message within the limits that it states.

#include <cstdlib>

#include "live/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto message = attune::live::ParseClientMessage({reinterpret_cast<const char*>(data), size});
  if (!message.ok()) return 0;
  if (message->credits > attune::live::kMaxCredits) std::abort();
  if (message->label && (message->label->text.empty() || message->label->text.size() > attune::live::kMaxLabelBytes))
    std::abort();
  if (message->control && message->control->paused.has_value() == message->control->interval_ns.has_value())
    std::abort();
  if (message->load && (message->load->bytes == 0 || message->load->name.size() > attune::live::kMaxNameBytes))
    std::abort();
  if (const auto& view = message->view) {
    if (view->series.size() > attune::live::kMaxViewSeries || view->pixels == 0) std::abort();
    if (!view->have.empty() && view->have.size() != view->series.size()) std::abort();
    if (view->follow_ns <= 0 && view->range.t0_ns >= view->range.t1_ns) std::abort();
  }
  if (const auto& timeline = message->timeline) {
    if (timeline->threads.size() > attune::live::kMaxTimelineThreads) std::abort();
    if (timeline->buckets == 0 || timeline->buckets > attune::live::kMaxTimelineBuckets) std::abort();
    if (timeline->range.t0_ns >= timeline->range.t1_ns) std::abort();
  }
  if (const auto& document = message->document; document && document->range) {
    if (document->range->t0_ns >= document->range->t1_ns) std::abort();
  }
  if (message->source && message->source->site == 0) std::abort();
  return 0;
}
