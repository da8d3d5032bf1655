#include "live/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "live/view_frame.h"
#include "model/codec.h"

namespace attune::live {
namespace {

constexpr uint32_t kProtocolVersion = 0;
/// Slow streams arrive behind fast ones: a fixed range is final when the data has gone this far beyond it.
constexpr int64_t kSettledNs = 5'000'000'000;

/// Gaps of the wanted streams within the range, as coarse as the pixels: neighbours in one pixel become one.
std::vector<model::Gap> VisibleGaps(const model::Metadata& meta, const std::set<model::StreamId>& streams,
                                    model::TimeRange range, uint32_t pixels) {
  std::vector<model::Gap> visible;
  for (const model::Gap& gap : meta.gaps) {
    if (gap.t1_ns < range.t0_ns || gap.t0_ns >= range.t1_ns) continue;
    if (gap.stream == 0 || streams.contains(gap.stream)) visible.push_back(gap);
  }
  const auto key = [](const model::Gap& gap) { return std::tuple(gap.stream, gap.reason, gap.t0_ns); };
  std::sort(visible.begin(), visible.end(), [&](const model::Gap& a, const model::Gap& b) { return key(a) < key(b); });
  const int64_t pixel_ns = std::max<int64_t>(1, (range.t1_ns - range.t0_ns) / pixels);
  std::vector<model::Gap> merged;
  for (const model::Gap& gap : visible) {
    if (!merged.empty() && merged.back().stream == gap.stream && merged.back().reason == gap.reason &&
        gap.t0_ns < merged.back().t1_ns + pixel_ns) {
      merged.back().t1_ns = std::max(merged.back().t1_ns, gap.t1_ns);
      merged.back().count += gap.count;
    } else {
      merged.push_back(gap);
    }
  }
  return merged;
}

}  // namespace

std::string Feed::Hello(const FeedContext& context) {
  return InfoFrame({{"message", "hello"},
                    {"protocol", std::to_string(kProtocolVersion)},
                    {"session", context.session},
                    {"origin_ns", std::to_string(context.origin_ns)},
                    {"title", context.title},
                    {"reopen", context.reopen},
                    {"can_label", context.can_label ? "1" : "0"},
                    {"can_control", context.can_control ? "1" : "0"},
                    {"can_load", context.can_load ? "1" : "0"},
                    {"can_compare", context.can_compare ? "1" : "0"},
                    {"can_run", context.can_run ? "1" : "0"},
                    {"can_tune", context.can_tune ? "1" : "0"},
                    {"can_analyse", context.documents != nullptr ? "1" : "0"},
                    {"compare_with", context.compare_with},
                    {"exported", context.exported ? "1" : "0"},
                    {"loaded", context.loaded ? "1" : "0"}});
}

std::string Feed::Notice(std::string_view level, std::string_view text) {
  return InfoFrame({{"message", "notice"}, {"level", std::string(level)}, {"text", std::string(text)}});
}

void Feed::SetView(ViewSpec view) {
  sent_.assign(view.series.size(), {});
  for (size_t i = 0; i < view.have.size(); ++i) {
    if (view.have[i] != model::kAbsent) sent_[i].final_ns = context_.origin_ns + view.have[i];
  }
  view_ = std::move(view);
  places_.clear();
  for (size_t i = 0; i < view_->series.size(); ++i) places_.emplace(view_->series[i], i);
  view_is_new_ = true;
  view_is_complete_ = false;
  gaps_sent_.clear();
}

model::TimeRange Feed::Range(model::TimeRange extent) const {
  if (view_->follow_ns > 0) {
    const int64_t end = extent.t1_ns > extent.t0_ns ? extent.t1_ns : context_.origin_ns;
    return {end - view_->follow_ns, end};
  }
  return {context_.origin_ns + view_->range.t0_ns, context_.origin_ns + view_->range.t1_ns};
}

std::map<int64_t, std::vector<size_t>> Feed::Groups(model::TimeRange range) const {
  const int64_t length = range.t1_ns - range.t0_ns;
  std::map<int64_t, std::vector<size_t>> groups;
  for (size_t i = 0; i < sent_.size(); ++i) {
    const int64_t start = sent_[i].final_ns;
    // A client that is a whole window behind has nothing that could be continued.
    const bool continues = start != model::kAbsent && start < range.t1_ns && start > range.t0_ns - length;
    groups[continues ? start : model::kAbsent].push_back(i);
  }
  return groups;
}

bool Feed::AppendSeries(const model::SeriesView& series, size_t at, int64_t from_ns, int64_t pixel_ns, uint64_t version,
                        std::string& frames) {
  Sent& sent = sent_[at];
  // An empty answer to a whole series still says "there is nothing"; to a continuation it says nothing, as does one
  // that ends as the one before.
  const int64_t last_ns = series.t_ns.empty() ? model::kAbsent : series.t_ns.back();
  const int64_t count = series.count.empty() ? 0 : series.count.back();
  if (from_ns != model::kAbsent && (series.t_ns.empty() || (last_ns == sent.last_ns && count == sent.count)))
    return false;
  frames += ViewFrame(series, from_ns, version);
  sent.last_ns = last_ns;
  sent.count = count;
  // Moving on by less than a pixel would leave the client with a point an update instead of two a pixel.
  if (series.t_ns.empty() || from_ns == model::kAbsent || last_ns - from_ns >= pixel_ns) sent.final_ns = last_ns;
  return true;
}

bool Feed::AppendView(const model::Metadata& meta, model::TimeRange range, int64_t newest_ns, uint64_t version,
                      InfoRows& envelope, std::string& frames) {
  const auto pixels = static_cast<uint32_t>(
      std::clamp<uint64_t>(kMaxPointsAMessage / std::max<size_t>(1, view_->series.size()) / 2, 1, view_->pixels));
  const int64_t pixel_ns = std::max<int64_t>(1, (range.t1_ns - range.t0_ns) / pixels);
  bool any = false;
  for (const auto& [from_ns, members] : Groups(range)) {
    model::ViewRequest request;
    request.range = range;
    if (from_ns != model::kAbsent) {
      // The time ahead of the data is cut off: its pixels must not go to the short part that is new.
      request.range = {from_ns, std::clamp(newest_ns, from_ns + 1, std::max(range.t1_ns, from_ns + 1))};
    }
    const double share =
        static_cast<double>(request.range.t1_ns - request.range.t0_ns) / static_cast<double>(range.t1_ns - range.t0_ns);
    // The part that is new gets its share of the pixels, so that its points are as wide as those before it.
    request.pixels = static_cast<uint32_t>(std::clamp(std::ceil(pixels * share), 1.0, 2.0 * kMaxPixels));
    for (const size_t at : members) {
      if (meta.FindSeries(view_->series[at]) != nullptr) request.series.push_back(view_->series[at]);
    }
    if (request.series.empty()) continue;
    auto answer = context_.source.View(request);
    if (!answer.ok()) {
      envelope.emplace_back("error", answer.error().message);
      return true;
    }
    for (model::SeriesView& series : *answer) {
      // A bucket that begins before the range has only what lies in it: with what came before it the counts add up.
      if (!series.t_ns.empty()) series.t_ns.front() = std::max(series.t_ns.front(), request.range.t0_ns);
      const auto at = places_.find(series.series);
      if (at != places_.end()) any = AppendSeries(series, at->second, from_ns, pixel_ns, version, frames) || any;
    }
  }
  return AppendGaps(meta, range, frames) || any;
}

bool Feed::AppendGaps(const model::Metadata& meta, model::TimeRange range, std::string& frames) {
  std::set<model::StreamId> streams;
  for (const model::Stream& stream : meta.streams) {
    if (std::any_of(stream.series.begin(), stream.series.end(),
                    [this](model::SeriesId id) { return places_.contains(id); }))
      streams.insert(stream.id);
  }
  std::vector<model::Gap> gaps = VisibleGaps(meta, streams, range, view_->pixels);
  if (!view_is_new_ && gaps == gaps_sent_) return false;
  frames += model::EncodeFrame(model::ToBatch(std::span<const model::Gap>(gaps)), model::Compression::kNone);
  gaps_sent_ = std::move(gaps);
  return true;
}

std::optional<std::string> Feed::Next() {
  // Read before the data: what comes in between is then sent twice rather than never.
  const uint64_t version = context_.source.Version();
  const bool growing = context_.source.Growing();
  const bool paused = growing && context_.paused && context_.paused();
  const auto meta = context_.source.Meta();
  const model::TimeRange extent = context_.source.Extent();
  context_.meta_log.Update(meta);
  MetaLog::Changes changes = context_.meta_log.Since(revision_);

  InfoRows envelope{{"message", "update"},
                    {"version", std::to_string(version)},
                    {"revision", std::to_string(changes.revision)},
                    {"growing", growing ? "1" : "0"},
                    {"paused", paused ? "1" : "0"},
                    {"extent_t0_ns", std::to_string(extent.t0_ns)},
                    {"extent_t1_ns", std::to_string(extent.t1_ns)},
                    {"real_minus_monotonic_ns", std::to_string(meta->real_minus_monotonic_ns)}};
  envelope.insert(envelope.end(), changes.info.begin(), changes.info.end());
  std::string frames = std::move(changes.frames);
  bool any = !frames.empty() || !changes.info.empty() || !anything_sent_ || growing != growing_sent_ ||
             paused != paused_sent_ || extent.t0_ns != extent_sent_.t0_ns || extent.t1_ns != extent_sent_.t1_ns;
  if (view_ && !view_is_complete_ && (view_is_new_ || version != version_sent_)) {
    const model::TimeRange range = Range(extent);
    envelope.emplace_back("view", std::to_string(view_->id));
    envelope.emplace_back("view_t0_ns", std::to_string(range.t0_ns));
    envelope.emplace_back("view_t1_ns", std::to_string(range.t1_ns));
    any = AppendView(*meta, range, extent.t1_ns, version, envelope, frames) || any || view_is_new_;
    view_is_new_ = false;
    view_is_complete_ = !growing || (view_->follow_ns == 0 && range.t1_ns <= extent.t1_ns - kSettledNs);
  }
  revision_ = changes.revision;
  version_sent_ = version;
  if (!any) return std::nullopt;
  anything_sent_ = true;
  growing_sent_ = growing;
  paused_sent_ = paused;
  extent_sent_ = extent;
  return InfoFrame(envelope) + frames;
}

}  // namespace attune::live
