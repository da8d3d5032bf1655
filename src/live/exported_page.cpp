#include "live/exported_page.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/base64.h"
#include "base/units.h"
#include "live/assets.h"
#include "live/documents.h"
#include "live/feed.h"
#include "live/view_frame.h"
#include "model/codec.h"

namespace attune::live {
namespace {

/// Coarsest view: points of each series over all of the time. A finer one has kFiner times as many parts of the time.
constexpr uint32_t kPixels = 1024;
constexpr int kFiner = 4;
/// A part of a finer view: of so much of the time.
constexpr uint32_t kPixelsOfPart = 2048;
/// Parts of the time in an answer of a timeline: as many as there is room for.
constexpr uint32_t kMostBuckets = 4096;
constexpr uint32_t kFewestBuckets = 256;
/// The rest of the room is for finer views of the charts.
constexpr double kRoomOfTimelines = 2.0 / 3;
constexpr int kMaxLevels = 12;
/// Answers of more than this many times the room cannot be compressed into it.
constexpr size_t kMostCompression = 30;

/// As a browser's DecompressionStream("deflate") takes it.
Result<std::string> Deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), Z_BEST_COMPRESSION) != Z_OK)
    return Error{Errc::kIo, "the page's data could not be compressed", ""};
  packed.resize(size);
  return packed;
}

/// Value of a key of a message's first frame; "": it has none.
Result<std::string> InfoOf(const std::string& message, std::string_view key) {
  ATTUNE_TRY(const wire::FrameHeader header, model::ParseHeader(message));
  ATTUNE_TRY(const model::Batch info,
             model::DecodeFrame(std::span(message).first(sizeof(wire::FrameHeader) + header.payload_bytes)));
  const auto found = std::ranges::find(info.texts[0], key);
  return found == info.texts[0].end() ? "" : info.texts[1][static_cast<size_t>(found - info.texts[0].begin())];
}

/// Answers of one kind and resolution, which a page takes or lacks together.
class Part {
 public:
  /// @param t0_ns, t1_ns that the answer is of, after the origin
  void Add(std::string_view kind, int64_t t0_ns, int64_t t1_ns, std::string_view message) {
    index_.push_back({{"kind", kind}, {"t0", t0_ns}, {"t1", t1_ns}, {"bytes", message.size()}});
    messages_ += message;
  }
  bool empty() const { return messages_.empty(); }
  size_t bytes() const { return messages_.size(); }
  /// A `script` element, which browsers do not run: length of the index, index, answers.
  Result<std::string> Html() const {
    const std::string index = index_.dump();
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(index.size() >> shift & 0xff);
    ATTUNE_TRY(const std::string packed, Deflated(bytes + index + messages_));
    return fmt::format("<script type=\"text/plain\" class=\"answers\">{}</script>\n", Base64(packed));
  }

 private:
  nlohmann::json index_ = nlohmann::json::array();
  std::string messages_;
};

/// The answers of one source, level by level.
class Answers {
 public:
  Answers(model::Source& source, std::unique_ptr<Analyses> analyses, const std::string& title)
      : source_(source),
        meta_(source.Meta()),
        extent_(source.Extent()),
        kinds_(analyses->Documents()),
        documents_(std::make_shared<Documents>(source, std::move(analyses), std::chrono::milliseconds(0))),
        context_{.source = source, .meta_log = {}, .title = title, .paused = {}} {
    context_.session = "exported";
    context_.origin_ns = extent_.t0_ns;
    context_.exported = true;
    context_.documents = documents_;
    for (const model::Element& element : meta_->elements) {
      if (element.kind == model::ElementKind::kThread) threads_.push_back(element.id);
      if (element.kind == model::ElementKind::kRank) ranks_.push_back(element.id);
    }
  }

  /// Answers that every page needs: metadata, all documents, and the charts of all of the time at a coarse resolution.
  Result<Part> Whole() {
    Part part;
    part.Add("hello", 0, 0, Feed::Hello(context_));
    for (const DocumentKind& kind : kinds_) {
      if (!kind.is_file)
        part.Add("document", 0, 0, documents_->DocumentMessage({.name = kind.name}, context_.origin_ns));
    }
    ATTUNE_CHECK_OK(AddWholeView(part));
    return part;
  }

  /// Both timelines over all of the time, as fine as the room allows. "": there is neither.
  Result<std::string> WholeTimelines(size_t room) {
    for (buckets_ = kMostBuckets;; buckets_ /= 2) {
      Part part;
      for (Timelines* timelines : {&timelines_, &rank_timelines_}) {
        timelines->complete.clear();
        ATTUNE_CHECK_OK(timelines->AddLevel(*this, 0, part));
      }
      if (part.empty()) return std::string();
      ATTUNE_TRY(std::string html, part.Html());
      if (html.size() <= room || buckets_ <= kFewestBuckets) return html;
    }
  }

  /// The kinds of answers that have finer resolutions, each in turn.
  using Finer = Status (Answers::*)(int level, size_t most_bytes, Part& part);
  static std::vector<Finer> Kinds() { return {&Answers::AddViews, &Answers::AddTimelines, &Answers::AddRanks}; }

 private:
  /// Times after the origin.
  struct Tile {
    int64_t t0_ns, t1_ns;
    bool Contains(const Tile& other) const { return t0_ns <= other.t0_ns && other.t1_ns <= t1_ns; }
  };

  /// Timelines over parts of the time, of which neighbours overlap by half: what is on screen lies within one of them.
  struct Timelines {
    std::string_view kind;
    std::vector<model::ElementId> Answers::* rows;
    std::string (Documents::*message)(TimelineRequest request, int64_t origin_ns);
    std::vector<Tile> complete = {};  ///< have everything there is to know

    Status AddLevel(Answers& all, int level, Part& part, size_t most_bytes = SIZE_MAX) {
      if ((all.*rows).empty()) return {};
      const int64_t parts = int64_t{1} << level;
      const int64_t width = std::max<int64_t>(1, all.Length() / parts);
      for (int64_t i = 0; i < 2 * parts - 1 && part.bytes() < most_bytes; ++i) {
        const Tile tile{i * width / 2, i + 2 == 2 * parts ? all.Length() : i * width / 2 + width};
        if (std::ranges::any_of(complete, [&tile](const Tile& known) { return known.Contains(tile); })) continue;
        const std::string answer = ((*all.documents_).*message)(
            {.range = {tile.t0_ns, tile.t1_ns}, .buckets = all.buckets_, .threads = all.*rows}, all.context_.origin_ns);
        part.Add(kind, tile.t0_ns, tile.t1_ns, answer);
        ATTUNE_TRY(const std::string single, InfoOf(answer, "single"));
        if (single == "1") complete.push_back(tile);
      }
      return {};
    }
  };

  int64_t Length() const { return std::max<int64_t>(1, extent_.t1_ns - extent_.t0_ns); }

  /// The answer to a client that looks at everything, with all metadata. It says which series there is more of.
  Status AddWholeView(Part& part) {
    Feed feed(context_);
    ViewSpec spec;
    for (const model::Series& series : meta_->series) spec.series.push_back(series.id);
    spec.range = {0, Length()};
    spec.pixels = kPixels;
    feed.SetView(std::move(spec));
    const std::string message = feed.Next().value_or("");
    part.Add("update", 0, Length(), message);
    for (size_t at = 0; at < message.size();) {
      ATTUNE_TRY(const wire::FrameHeader header, model::ParseHeader(std::span(message).subspan(at)));
      if (header.table == static_cast<uint16_t>(model::ViewRow::kTable) && header.columns > kColumnsOfSamples)
        coarse_.push_back(header.stream);
      at += sizeof(header) + header.payload_bytes;
    }
    return {};
  }

  /// Series that no coarser level has every sample of.
  Status AddViews(int level, size_t most_bytes, Part& part) {
    int64_t parts = 1;
    for (int i = 0; i < level; ++i) parts *= kFiner;
    std::vector<model::SeriesId> still_coarse;
    for (int64_t i = 0; i < parts && !coarse_.empty() && part.bytes() < most_bytes; ++i) {
      const Tile tile{Length() / parts * i, i + 1 == parts ? Length() : Length() / parts * (i + 1)};
      const model::TimeRange range{extent_.t0_ns + tile.t0_ns, extent_.t0_ns + tile.t1_ns};
      ATTUNE_TRY(std::vector<model::SeriesView> views, source_.View({coarse_, range, kPixelsOfPart}));
      std::string frames;
      for (model::SeriesView& view : views) {
        // A bucket that begins before the range has only what lies in it.
        if (!view.t_ns.empty()) view.t_ns.front() = std::max(view.t_ns.front(), range.t0_ns);
        frames += ViewFrame(view, model::kAbsent, source_.Version());
        if (!view.exact && std::ranges::find(still_coarse, view.series) == still_coarse.end())
          still_coarse.push_back(view.series);
      }
      part.Add("view", tile.t0_ns, tile.t1_ns, frames);
    }
    coarse_ = std::move(still_coarse);
    return {};
  }
  Status AddTimelines(int level, size_t most_bytes, Part& part) {
    return timelines_.AddLevel(*this, level, part, most_bytes);
  }
  Status AddRanks(int level, size_t most_bytes, Part& part) {
    return rank_timelines_.AddLevel(*this, level, part, most_bytes);
  }

  static constexpr uint32_t kColumnsOfSamples = 5;  ///< of a view frame without low and high

  model::Source& source_;
  const std::shared_ptr<const model::Metadata> meta_;
  const model::TimeRange extent_;
  const std::vector<DocumentKind> kinds_;
  const std::shared_ptr<Documents> documents_;
  FeedContext context_;
  std::vector<model::ElementId> threads_;
  std::vector<model::ElementId> ranks_;
  std::vector<model::SeriesId> coarse_;
  uint32_t buckets_ = kMostBuckets;
  Timelines timelines_{"timeline", &Answers::threads_, &Documents::TimelineMessage};
  Timelines rank_timelines_{"ranks", &Answers::ranks_, &Documents::RanksMessage};
};

}  // namespace

std::string TitleOfPart(const std::string& title, model::TimeRange all, model::TimeRange part) {
  return fmt::format("{}, {} to {}", title, FormatDuration(part.t0_ns - all.t0_ns),
                     FormatDuration(part.t1_ns - all.t0_ns));
}

Status WriteExportedPage(model::Source& source, std::unique_ptr<Analyses> analyses, const std::string& title,
                         const PageWriter& write, const PageProgress& progress) {
  const std::string_view page = ExportedPage();
  const size_t mark = page.find(kAnswersMark);
  if (mark == std::string_view::npos)
    return Error{Errc::kUnavailable, "this attune was built without its page",
                 "install npm and build with -DATTUNE_WEB=ON"};
  size_t written = 0;
  const auto put = [&](std::string_view bytes) {
    written += bytes.size();
    if (progress) progress(std::min(1.0, static_cast<double>(written) / kMaxExportedBytes));
    return write(bytes);
  };
  ATTUNE_CHECK_OK(put(page.substr(0, mark)));
  Answers answers(source, std::move(analyses), title);
  ATTUNE_TRY(const Part whole, answers.Whole());
  ATTUNE_TRY(const std::string html, whole.Html());
  ATTUNE_CHECK_OK(put(html));

  const std::string_view rest = page.substr(mark + kAnswersMark.size());
  const auto room_left = [&] {
    const size_t used = written + rest.size();
    return used < kMaxExportedBytes ? kMaxExportedBytes - used : 0;
  };
  const auto for_timelines = static_cast<size_t>(static_cast<double>(room_left()) * kRoomOfTimelines);
  ATTUNE_TRY(const std::string timelines, answers.WholeTimelines(for_timelines));
  ATTUNE_CHECK_OK(put(timelines));
  std::vector<Answers::Finer> kinds = Answers::Kinds();
  for (int level = 1; level <= kMaxLevels && !kinds.empty(); ++level) {
    std::vector<Answers::Finer> unfinished;
    for (const Answers::Finer kind : kinds) {
      const size_t room = room_left();
      Part part;
      ATTUNE_CHECK_OK((answers.*kind)(level, room * kMostCompression, part));
      if (part.empty() || part.bytes() >= room * kMostCompression) continue;
      ATTUNE_TRY(const std::string text, part.Html());
      if (text.size() > room) continue;
      ATTUNE_CHECK_OK(put(text));
      unfinished.push_back(kind);
    }
    kinds = std::move(unfinished);
  }
  return put(rest);
}

}  // namespace attune::live
