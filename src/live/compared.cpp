#include "live/compared.h"

#include <algorithm>

#include "live/meta_log.h"
#include "live/view_frame.h"

namespace attune::live {
namespace {

struct Lines {
  size_t count = 0;
  std::string frames;
};

Result<Lines> ReadLines(model::Source& source, const std::vector<model::SeriesId>& series, const PairRequest& request) {
  const auto meta = source.Meta();
  const int64_t start_ns = source.Extent().t0_ns;
  model::ViewRequest view;
  view.range = {start_ns + request.range.t0_ns, start_ns + request.range.t1_ns};
  const uint64_t most = kMaxPointsAMessage / 4 / std::max<size_t>(1, series.size());
  view.pixels = static_cast<uint32_t>(std::clamp<uint64_t>(request.pixels, 1, most));
  for (const model::SeriesId id : series) {
    if (meta->FindSeries(id) != nullptr) view.series.push_back(id);
  }
  Lines lines;
  if (view.series.empty()) return lines;
  ATTUNE_TRY(std::vector<model::SeriesView> answer, source.View(view));
  for (model::SeriesView& one : answer) {
    for (int64_t& t_ns : one.t_ns) t_ns -= start_ns;
    lines.frames += ViewFrame(one, model::kAbsent, 0);
    ++lines.count;
  }
  return lines;
}

}  // namespace

Result<std::string> Compared::ComparisonMessage(model::Source& before, const CompareFunction& compare, bool discrete) {
  ATTUNE_TRY(std::string result, compare(before, source_, discrete));
  MetaLog meta;
  meta.Update(source_.Meta());
  MetaLog::Changes changes = meta.Since(0);
  const auto length = [](model::Source& source) {
    const model::TimeRange extent = source.Extent();
    return std::to_string(extent.t1_ns - extent.t0_ns);
  };
  InfoRows envelope{{"message", "comparison"},
                    {"title", title_},
                    {"before_ns", length(before)},
                    {"after_ns", length(source_)},
                    {"result", std::move(result)}};
  envelope.insert(envelope.end(), changes.info.begin(), changes.info.end());
  return InfoFrame(envelope) + changes.frames;
}

std::string Compared::PairMessage(model::Source& before, const PairRequest& request) {
  InfoRows envelope{{"message", "pair"}, {"id", std::to_string(request.id)}};
  const auto first = ReadLines(before, request.before, request);
  const auto second = ReadLines(source_, request.after, request);
  for (const auto* lines : {&first, &second}) {
    if (lines->ok()) continue;
    envelope.emplace_back("error", lines->error().message);
    return InfoFrame(envelope);
  }
  envelope.emplace_back("before", std::to_string(first->count));
  return InfoFrame(envelope) + first->frames + second->frames;
}

}  // namespace attune::live
