#pragma once
/// One client's view of the source: what it asked for, what it already holds, and the next message for it. Knows
/// nothing of sockets. A feed never queues: a client that was away for long is brought up to date by one message.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "live/message.h"
#include "live/meta_log.h"
#include "model/source.h"

namespace attune::live {

class Documents;

/// Context that all clients of one server share.
struct FeedContext {
  model::Source& source;
  MetaLog meta_log;
  std::string session;    ///< random: another server, or another run, has another one
  int64_t origin_ns = 0;  ///< client times count from here
  std::string title;
  std::string reopen;  ///< command that shows the same once the server is gone; empty: there is none
  bool can_label = false;
  bool can_control = false;
  bool can_load = false;
  bool can_compare = false;
  bool can_run = false;                            ///< there is a console
  bool can_tune = false;                           ///< knobs can be turned
  std::string compare_with;                        ///< the recording that everybody compares with at first; empty: none
  bool exported = false;                           ///< answers go to a file (exported_page.h)
  bool loaded = false;                             ///< a recording from a client's file, for that client only
  std::function<bool()> paused;                    ///< whether sampling is paused now; empty: never
  std::shared_ptr<Documents> documents = nullptr;  ///< results computed from all of the data; nullptr: none
};

/// A message is one or more frames, the first an info frame with the key "message".
class Feed {
 public:
  explicit Feed(FeedContext& context) : context_(context) {}

  /// The first message of a connection. @thread any
  static std::string Hello(const FeedContext& context);
  /// A line for the person at the page. @param level "error" or "ok"
  static std::string Notice(std::string_view level, std::string_view text);

  /// Continues from the metadata that the client says it holds.
  void Resume(uint64_t revision) { revision_ = revision; }
  void SetView(ViewSpec view);

  /// The next message, or nullopt when the client already has everything. @thread one at a time
  /// @cost a Source::View of the part that is new, and encoding
  std::optional<std::string> Next();

 private:
  model::TimeRange Range(model::TimeRange extent) const;
  /// Series that continue from the same moment are read together; the others whole.
  std::map<int64_t, std::vector<size_t>> Groups(model::TimeRange range) const;
  bool AppendView(const model::Metadata& meta, model::TimeRange range, int64_t newest_ns, uint64_t version,
                  InfoRows& envelope, std::string& frames);
  /// @return whether anything was appended
  bool AppendSeries(const model::SeriesView& series, size_t at, int64_t from_ns, int64_t pixel_ns, uint64_t version,
                    std::string& frames);
  bool AppendGaps(const model::Metadata& meta, model::TimeRange range, std::string& frames);

  FeedContext& context_;
  uint64_t revision_ = 0;
  std::optional<ViewSpec> view_;
  std::unordered_map<model::SeriesId, size_t> places_;  ///< indices into view_->series
  bool view_is_new_ = false;
  bool view_is_complete_ = false;  ///< the range ends before the newest data: nothing more comes
  /// Part of a series that the client holds.
  struct Sent {
    int64_t final_ns = model::kAbsent;  ///< its points are final before this; kAbsent: none sent
    int64_t last_ns = model::kAbsent;   ///< its last point, and
    int64_t count = 0;                  ///< how many samples that is of
  };
  std::vector<Sent> sent_;  ///< parallel to view_->series
  std::vector<model::Gap> gaps_sent_;
  uint64_t version_sent_ = 0;
  model::TimeRange extent_sent_;
  bool growing_sent_ = false;
  bool paused_sent_ = false;
  bool anything_sent_ = false;
};

}  // namespace attune::live
