#pragma once
/// Results for the page that are computed from the data as a whole: findings, waits by object, the synchronisation
/// graph, the timeline of thread waits. The server does not compute them itself: it is given an object that does
/// (ServerOptions::analyse).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/message.h"
#include "model/source.h"

namespace attune::live {

/// When threads waited, over a range.
struct Timeline {
  bool single = false;          ///< `events` has every wait; else `states` has sums
  model::Batch states;          ///< StateRow rows; zero sums are left out
  model::Batch events;          ///< Event rows: waits that overlap the range, and interactions of threads within it
  model::Batch holds;           ///< HoldRow rows, if `single`: holders of locks, as far as traced
  bool holds_left_out = false;  ///< there are too many of them in the range
  int64_t width_ns = 0;         ///< length of one part of the range
};

/// Activity of ranks in MPI, over a range.
struct RankTimeline {
  bool single = false;   ///< `calls` has every call; else `states` has sums
  model::Batch states;   ///< StateRow rows of ranks; zero sums are left out
  model::Batch calls;    ///< CallRow rows, if `single`
  model::Batch arrows;   ///< ArrowRow rows: every message if `single`, else those with the longest waits
  int64_t messages = 0;  ///< sent and received ones, and parts in collective operations, in the range: about so many
  int64_t width_ns = 0;  ///< length of one part of the range
};

struct DocumentKind {
  std::string name;             ///< as a page asks for it
  bool may_have_range = false;  ///< whether it can be had of a part of the time
  bool is_file = false;         ///< a page saves it, and shows nothing of it: an exported page does without
};

/// Analyses of one source.
class Analyses {
 public:
  virtual ~Analyses() = default;
  /// All documents that there are: the same at any time.
  virtual std::vector<DocumentKind> Documents() const = 0;
  /// JSON. @param name one of Documents() @param range of this part of the time, where the document may have one; times
  /// are those of the source @thread one at a time @cost may be seconds: it is not asked for more often than that
  /// allows
  virtual Result<std::string> Document(std::string_view name, const std::optional<model::TimeRange>& range) = 0;
  /// @param request times are those of the source @thread one at a time, beside Document @cost well below a second, but
  /// for the first call
  virtual Result<Timeline> ThreadTimeline(const TimelineRequest& request) = 0;
  /// @param request is of ranks @thread one at a time, with ThreadTimeline @cost as of that
  virtual Result<RankTimeline> RankStates(const TimelineRequest& request) = 0;
  /// JSON: the text around the place, and what it is. An error says why it cannot be shown. @thread as Document
  virtual Result<std::string> SourceText(model::ElementId site) = 0;
};

/// @param trusted the source is the server's own, and not a client's file: other files may be read that it names
using AnalyseFunction = std::function<std::unique_ptr<Analyses>(model::Source& source, bool trusted)>;

}  // namespace attune::live
