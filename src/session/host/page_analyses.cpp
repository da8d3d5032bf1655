#include "session/host/page_analyses.h"

#include <algorithm>

#include "analysis/messages/message_match.h"
#include "analysis/page/page_document.h"
#include "analysis/places/site_names.h"
#include "analysis/places/source_text.h"
#include "analysis/timeline/rank_timeline.h"
#include "analysis/timeline/thread_timeline.h"
#include "base/base64.h"
#include "export/export.h"
#include "live/exported_page.h"
#include "model/ranged_source.h"
#include "symbols/symbolizer.h"

namespace attune::session {
namespace {

/// For looking up names before a document; what is not done then is not named in it.
constexpr std::chrono::milliseconds kPageNamingLimit{2000};

/// Files of the recording, as a page saves them.
constexpr std::string_view kTraceDocument = "perfetto";
constexpr std::string_view kHtmlDocument = "html";
/// They are in memory as a whole, and kept for all clients.
constexpr size_t kMaxTraceBytes = size_t{32} << 20;

std::string FileText(std::string_view bytes) { return R"({"base64":")" + Base64(bytes) + R"("})"; }

/// {"base64": ...}: what `attune export --to perfetto` writes.
Result<std::string> TraceText(model::Source& source) {
  std::string trace;
  const auto write = [&trace](std::string_view bytes) -> Status {
    if (trace.size() + bytes.size() > kMaxTraceBytes)
      return Error{Errc::kUnavailable, "the trace is larger than the 32 MiB that a page saves",
                   "attune export FILE --to perfetto -o FILE.pftrace"};
    trace += bytes;
    return {};
  };
  ATTUNE_CHECK_OK(
      exports::Export(source, exports::ExportFormat::kPerfetto, write, {}, {}, analysis::VisitMessagePairs));
  return FileText(trace);
}

/// {"base64": ...}: what `attune export --to html` writes.
Result<std::string> HtmlText(model::Source& source, SourceIs what, const std::string& title) {
  std::string page;
  const auto write = [&page](std::string_view bytes) -> Status {
    page += bytes;
    return {};
  };
  ATTUNE_CHECK_OK(live::WriteExportedPage(source, MakePageAnalyses(source, what, title), title, write));
  return FileText(page);
}

/// A client's file has no name here: the first program's.
std::string TitleOf(const model::Metadata& meta, const std::string& title) {
  if (!title.empty() || meta.processes.empty()) return title;
  return meta.processes.front().command;
}

class PageAnalyses final : public live::Analyses {
 public:
  PageAnalyses(model::Source& source, SourceIs what, std::string title)
      : source_(source), what_(what), title_(std::move(title)), namer_(Trust()), timeline_(source), ranks_(source) {}

  std::vector<live::DocumentKind> Documents() const override {
    std::vector<live::DocumentKind> kinds;
    for (const analysis::PageDocument& document : documents_) kinds.push_back({document.name, document.may_have_range});
    kinds.push_back({.name = std::string(kTraceDocument), .is_file = true});
    kinds.push_back({.name = std::string(kHtmlDocument), .may_have_range = true, .is_file = true});
    return kinds;
  }

  Result<std::string> Document(std::string_view name, const std::optional<model::TimeRange>& range) override {
    if (name == kTraceDocument) return TraceText(source_);
    if (name == kHtmlDocument) return Html(range);
    ATTUNE_CHECK_OK(namer_.Update(source_, kPageNamingLimit));
    const auto found = std::ranges::find(documents_, name, &analysis::PageDocument::name);
    if (found == documents_.end()) return Error{Errc::kInvalidArgument, "there is no such document", ""};
    return found->make({source_, namer_.names(), range});
  }

  Result<live::Timeline> ThreadTimeline(const live::TimelineRequest& request) override {
    ATTUNE_TRY(analysis::TimelineView view, timeline_.View(request.range, request.buckets, request.threads));
    view.states.table = model::StateRow::kTable;
    view.holds.table = model::HoldRow::kTable;
    return live::Timeline{.single = view.is_single,
                          .states = std::move(view.states),
                          .events = std::move(view.events),
                          .holds = std::move(view.holds),
                          .holds_left_out = view.holds_left_out,
                          .width_ns = view.width_ns};
  }

  Result<live::RankTimeline> RankStates(const live::TimelineRequest& request) override {
    ATTUNE_TRY(analysis::RankTimelineView view, ranks_.View(request.range, request.buckets, request.threads));
    view.states.table = model::StateRow::kTable;
    view.calls.table = model::CallRow::kTable;
    view.arrows.table = model::ArrowRow::kTable;
    return live::RankTimeline{.single = view.is_single,
                              .states = std::move(view.states),
                              .calls = std::move(view.calls),
                              .arrows = std::move(view.arrows),
                              .messages = view.rows,
                              .width_ns = view.width_ns};
  }

  Result<std::string> SourceText(model::ElementId site) override {
    if (what_ == SourceIs::kForeign)
      return Error{Errc::kPermission,
                   "source code is shown only beside the session or recording that attune was started on",
                   "attune view FILE"};
    ATTUNE_TRY(const analysis::SourceText text, analysis::ReadSourceText(*source_.Meta(), symbolizer_, Trust(), site));
    return analysis::ToJson(text);
  }

 private:
  analysis::TrustPaths Trust() const {
    return what_ == SourceIs::kThisSession ? analysis::TrustPaths::kYes : analysis::TrustPaths::kNo;
  }

  Result<std::string> Html(const std::optional<model::TimeRange>& range) {
    const std::string title = TitleOf(*source_.Meta(), title_);
    if (!range) return HtmlText(source_, what_, title);
    model::RangedSource part(source_, *range);
    return HtmlText(part, what_, live::TitleOfPart(title, source_.Extent(), part.Extent()));
  }

  model::Source& source_;
  const SourceIs what_;
  const std::string title_;
  const std::vector<analysis::PageDocument> documents_ = analysis::MakeAllPageDocuments();
  analysis::SiteNamer namer_;  // with the next one on the thread of documents
  symbols::Symbolizer symbolizer_;
  analysis::ThreadTimeline timeline_;  // with the next one on that of timelines
  analysis::RankTimeline ranks_;
};

}  // namespace

std::unique_ptr<live::Analyses> MakePageAnalyses(model::Source& source, SourceIs what, std::string title) {
  return std::make_unique<PageAnalyses>(source, what, std::move(title));
}

}  // namespace attune::session
