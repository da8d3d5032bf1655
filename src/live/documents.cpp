#include "live/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "live/meta_log.h"
#include "model/codec.h"

namespace attune::live {
namespace {

using std::chrono::steady_clock;

/// Shortest pause after a document, as a multiple of the time that it took to compute.
constexpr int kLeastPause = 3;

std::string ErrorText(const Error& error) {
  return error.hint.empty() ? error.message : error.message + " (" + error.hint + ")";
}

}  // namespace

Status Documents::Check(const DocumentRequest& request) const {
  const auto refused = [&request](fmt::format_string<const std::string&> why) {
    return Error{Errc::kInvalidArgument, "client message: " + fmt::format(why, request.name), ""};
  };
  const auto kind = std::ranges::find(kinds_, request.name, &DocumentKind::name);
  if (kind == kinds_.end()) return refused("there is no document \"{:.40}\"");
  if (request.range && !kind->may_have_range) return refused("the document \"{}\" is of all the time");
  return {};
}

Documents::Kept& Documents::KeptOf(const DocumentRequest& request) {
  if (!request.range) return kept_[request.name];
  const auto found = std::ranges::find_if(parts_, [&request](const Part& part) {
    return part.name == request.name && part.range.t0_ns == request.range->t0_ns &&
           part.range.t1_ns == request.range->t1_ns;
  });
  if (found != parts_.end()) {
    parts_.splice(parts_.begin(), parts_, found);
  } else {
    if (parts_.size() == kMaxParts) parts_.pop_back();
    parts_.push_front({request.name, *request.range, {}});
  }
  return parts_.front().kept;
}

void Documents::Refresh(const DocumentRequest& request, Kept& kept) {
  // Asked before: what comes meanwhile is in the next one.
  const bool growing = source_.Growing();
  const uint64_t source_version = source_.Version();
  const bool is_current = kept.version > 0 && kept.source_version == source_version && kept.growing == growing;
  const auto begin = steady_clock::now();
  // A source that no longer grows needs no pause before its last document.
  if (is_current || (kept.version > 0 && begin < kept.next && growing)) return;
  auto text = analyses_->Document(request.name, request.range);
  const auto end = steady_clock::now();
  kept.next = end + std::max<steady_clock::duration>(least_interval_, kLeastPause * (end - begin));
  kept.source_version = source_version;
  kept.growing = growing;
  std::string error = text.ok() ? "" : ErrorText(text.error());
  if (kept.version > 0 && text.ok() && *text == kept.text && error == kept.error) return;
  kept.version = ++last_version_;
  kept.error = std::move(error);
  kept.text = text.ok() ? *std::move(text) : "";
}

std::string Documents::DocumentMessage(const DocumentRequest& asked, int64_t origin_ns) {
  DocumentRequest request = asked;
  if (request.range) request.range = model::TimeRange{asked.range->t0_ns + origin_ns, asked.range->t1_ns + origin_ns};
  Kept& kept = KeptOf(request);
  Refresh(request, kept);
  InfoRows rows{{"message", "document"},
                {"name", request.name},
                {"version", std::to_string(kept.version)},
                {"growing", kept.growing ? "1" : "0"}};
  if (request.range) {
    rows.emplace_back("t0_ns", std::to_string(request.range->t0_ns));
    rows.emplace_back("t1_ns", std::to_string(request.range->t1_ns));
  }
  if (!kept.error.empty()) rows.emplace_back("error", kept.error);
  if (kept.error.empty() && request.version != kept.version) rows.emplace_back("text", kept.text);
  return InfoFrame(rows);
}

std::string Documents::SourceMessage(const SourceRequest& request) {
  InfoRows rows{{"message", "source"}, {"site", std::to_string(request.site)}};
  auto text = analyses_->SourceText(request.site);
  if (text.ok()) {
    rows.emplace_back("text", *std::move(text));
  } else {
    rows.emplace_back("error", ErrorText(text.error()));
  }
  return InfoFrame(rows);
}

std::string Documents::TimelineMessage(TimelineRequest request, int64_t origin_ns) {
  InfoRows rows{{"message", "timeline"}, {"id", std::to_string(request.id)}};
  request.range.t0_ns += origin_ns;
  request.range.t1_ns += origin_ns;
  rows.emplace_back("t0_ns", std::to_string(request.range.t0_ns));
  rows.emplace_back("t1_ns", std::to_string(request.range.t1_ns));
  const auto timeline = analyses_->ThreadTimeline(request);
  if (!timeline.ok()) {
    rows.emplace_back("error", ErrorText(timeline.error()));
    return InfoFrame(rows);
  }
  rows.emplace_back("width_ns", std::to_string(timeline->width_ns));
  rows.emplace_back("single", timeline->single ? "1" : "0");
  rows.emplace_back("holds_left_out", timeline->holds_left_out ? "1" : "0");
  std::string message = InfoFrame(rows);
  message += model::EncodeFrame(timeline->single ? timeline->events : timeline->states, model::Compression::kNone);
  if (timeline->single) message += model::EncodeFrame(timeline->holds, model::Compression::kNone);
  return message;
}

std::string Documents::RanksMessage(TimelineRequest request, int64_t origin_ns) {
  request.range.t0_ns += origin_ns;
  request.range.t1_ns += origin_ns;
  InfoRows rows{{"message", "ranks"},
                {"id", std::to_string(request.id)},
                {"t0_ns", std::to_string(request.range.t0_ns)},
                {"t1_ns", std::to_string(request.range.t1_ns)}};
  const auto timeline = analyses_->RankStates(request);
  if (!timeline.ok()) {
    rows.emplace_back("error", ErrorText(timeline.error()));
    return InfoFrame(rows);
  }
  rows.emplace_back("width_ns", std::to_string(timeline->width_ns));
  rows.emplace_back("single", timeline->single ? "1" : "0");
  rows.emplace_back("messages", std::to_string(timeline->messages));
  return InfoFrame(rows) +
         model::EncodeFrame(timeline->single ? timeline->calls : timeline->states, model::Compression::kNone) +
         model::EncodeFrame(timeline->arrows, model::Compression::kNone);
}

}  // namespace attune::live
