#pragma once
/// Activity of each rank of an MPI job over time, at any resolution: data for a timeline of ranks with the messages
/// between them.
///
/// Long ranges come from an index (wait_grid.h), which has a lane for each rank and state. Ranges with few rows are
/// read from the source and matched anew. So that this gives the same matches as reading everything, what had another
/// row to come is kept for some moments (Checkpoint); a range is read from the last of them before it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/timeline/rank_activity.h"
#include "analysis/timeline/wait_grid.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct RankTimelineView {
  bool is_single = false;  ///< `calls` has every span, `arrows` every message; else `states` has sums
  model::Batch states;     ///< t_ns, rank, state, length_ns: by part of the time; those without are left out. Of
                           ///< kMessages and kCollective what is not waiting
  model::Batch calls;      ///< t_ns, rank, state, length_ns, function, site, communicator, sequence: spans that overlap
                           ///< the range, by rank and time
  /// t_ns, rank, peer, received_ns, bytes, tag, communicator, site, waited_ns: messages that overlap the range; of many
  /// those that were waited for longest.
  model::Batch arrows;
  int64_t rows = 0;      ///< approximate number of table rows in the range
  int64_t width_ns = 0;  ///< width of a part; the first one begins with the range
};

/// @thread one at a time
class RankTimeline {
 public:
  static constexpr size_t kMaxSpans = 12'000;          ///< that are given one by one
  static constexpr size_t kMaxArrows = 6000;           ///< likewise
  static constexpr size_t kMaxLongest = 150;           ///< messages that are given where there are more
  static constexpr int64_t kFewRows = 150'000;         ///< are always read
  static constexpr int64_t kMaxRead = 500'000;         ///< rows that are read where the index is too coarse
  static constexpr int64_t kSettleNs = 2'000'000'000;  ///< rows that are younger may still be joined by older ones
  static constexpr size_t kMaxAnswerCells = 80'000;    ///< ranks by parts; beyond it the parts are longer
  static constexpr size_t kMaxLong = size_t{1} << 16;  ///< spans, and messages, that are kept for being long
  static constexpr size_t kMaxOpen = size_t{1} << 16;  ///< rows in all checkpoints
  static constexpr size_t kMaxCheckpoints = 256;

  /// @param source must outlive this
  explicit RankTimeline(model::Source& source) : source_(source) {}
  RankTimeline(const RankTimeline&) = delete;
  RankTimeline& operator=(const RankTimeline&) = delete;

  /// @param range at least 1 ns long @param buckets at least 1: as many parts as the range is divided into
  /// @cost what came since the last call (about 0.5 us a row), and as much for each of at most kMaxRead rows
  Result<RankTimelineView> View(model::TimeRange range, uint32_t buckets, std::span<const model::ElementId> ranks);

 private:
  struct Reading;
  /// Takes all that is settled.
  struct Index final : RankSink {
    explicit Index(int64_t origin_ns) : parts(origin_ns) {}
    void Take(const RankSpan& span) override;
    void Take(const RankArrow& arrow) override;

    TimelineIndex parts;
    std::vector<RankSpan> spans;    ///< longer than long_ns
    std::vector<RankArrow> arrows;  ///< those that took, or were waited for, longer than arrow_ns
    int64_t long_ns = 10'000'000;
    int64_t arrow_ns = 1'000'000;
  };
  /// Rows before t_ns to which others belong that are not before it.
  struct Checkpoint {
    int64_t t_ns = INT64_MIN;
    std::vector<model::Message> messages;
    std::vector<model::Collective> collectives;
    size_t rows() const { return messages.size() + collectives.size(); }
  };
  /// In order of time, the first one at the begin of everything.
  struct Checkpoints final : RankMarks {
    void Crosses(const model::Message& row, int64_t until_ns) override;
    void Crosses(const model::Collective& row, int64_t until_ns) override;
    const Checkpoint& LastBefore(int64_t t_ns) const;
    void Add(int64_t t_ns);
    void Thin();

    std::vector<Checkpoint> all{{.t_ns = INT64_MIN, .messages = {}, .collectives = {}}};
    size_t rows = 0;

   private:
    template <class Row>
    void Keep(const Row& row, int64_t until_ns, std::vector<Row> Checkpoint::* kept);
  };

  Status Update();
  Status AddSlice(model::TimeRange slice);
  Status Replay(const Checkpoint& from, int64_t t1_ns, Reading& reading) const;
  void AddFromIndex(Reading& reading) const;
  void AddLong(int64_t known_from_ns, Reading& reading) const;

  model::Source& source_;
  RankFacts facts_;
  std::optional<Index> index_;            ///< none before the first row
  std::optional<RankActivity> activity_;  ///< feeds the index
  bool is_finished_ = false;
  int64_t settled_ns_ = INT64_MIN;
  int64_t final_ns_ = INT64_MIN;  ///< until then the index has all there is to know
  Checkpoints checkpoints_;
  int64_t rows_since_checkpoint_ = 0;
};

}  // namespace attune::analysis
