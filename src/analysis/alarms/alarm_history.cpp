#include <algorithm>
#include <map>

#include "analysis/alarms/alarms.h"

namespace attune::analysis {
namespace {

/// Streams are read side by side, so much of each at a time. Of what is longer than some days, more at a time, so that
/// a damaged file with a time of another age does not keep us for ever.
constexpr int64_t kSliceNs = 60'000'000'000;
constexpr int64_t kMostSlices = 4096;

/// Damaged files may have times that are none.
constexpr int64_t kLatestNs = INT64_MAX / 4;

/// A stream with the columns that are judged.
struct JudgedStream {
  model::Stream stream;
  std::vector<uint32_t> columns;
  int64_t looked_ns = model::kAbsent;
};

struct Row {
  int64_t t_ns = 0;
  model::StreamId stream = 0;
  std::vector<int64_t> values;
};

template <class Rows>
void Feed(AlarmEvaluator& evaluator, const Rows& rows) {
  if (!rows.empty()) evaluator.Consume(model::ToBatch(rows));
}

std::vector<JudgedStream> FeedMetadata(AlarmEvaluator& evaluator, const model::Metadata& meta) {
  const std::vector<std::pair<std::string, std::string>> info(meta.info.begin(), meta.info.end());
  evaluator.Consume(model::InfoBatch(info));
  Feed(evaluator, meta.elements);
  Feed(evaluator, meta.series);
  std::vector<JudgedStream> judged;
  std::vector<model::Stream> reduced;
  for (const model::Stream& stream : meta.streams) {
    JudgedStream found{{stream.id, stream.interval_ns, {}}, {}};
    for (size_t i = 0; i < stream.series.size(); ++i) {
      if (!evaluator.JudgesSeries(stream.series[i])) continue;
      found.columns.push_back(static_cast<uint32_t>(i));
      found.stream.series.push_back(stream.series[i]);
    }
    if (found.columns.empty()) continue;
    reduced.push_back(found.stream);
    judged.push_back(std::move(found));
  }
  Feed(evaluator, reduced);
  return judged;
}

/// Those rows that the evaluator will look at.
Status ReadRows(model::Source& source, JudgedStream& judged, model::TimeRange range, std::vector<Row>& rows) {
  return source.ReadSamples(judged.stream.id, judged.columns, range, [&](const model::SampleBlock& block) {
    auto at = block.t_ns.begin();
    while (true) {
      if (judged.looked_ns != model::kAbsent)
        at = std::lower_bound(at, block.t_ns.end(), NextLookNs(judged.looked_ns, judged.stream.interval_ns));
      if (at == block.t_ns.end()) return true;
      judged.looked_ns = *at;
      Row& row = rows.emplace_back(Row{*at, judged.stream.id, {}});
      const auto index = static_cast<size_t>(at - block.t_ns.begin());
      for (const std::vector<int64_t>& column : block.columns) row.values.push_back(column[index]);
      ++at;
    }
  });
}

model::Batch BatchOf(const Row& row) {
  model::Batch batch;
  batch.table = model::Sample::kTable;
  batch.stream = row.stream;
  batch.rows = 1;
  batch.ints.push_back({row.t_ns});
  for (const int64_t value : row.values) batch.ints.push_back({value});
  return batch;
}

}  // namespace

std::vector<AlarmSpan> PairAlarms(std::span<const model::Alarm> rows) {
  std::vector<AlarmSpan> spans;
  std::map<int64_t, size_t> open;
  for (const model::Alarm& row : rows) {
    if (row.state == model::AlarmState::kRaised) {
      open[row.id] = spans.size();
      spans.push_back({row});
    } else if (const auto found = open.find(row.id); found != open.end()) {
      spans[found->second].cleared_ns = row.t_ns;
      open.erase(found);
    }
  }
  return spans;
}

Result<AlarmHistory> JudgeRecording(model::Source& source, const AlarmSettings& settings) {
  AlarmEvaluator evaluator(settings);
  const auto meta = source.Meta();
  std::vector<JudgedStream> streams = FeedMetadata(evaluator, *meta);
  model::TimeRange extent = source.Extent();
  extent.t0_ns = std::clamp(extent.t0_ns, -kLatestNs, kLatestNs);
  extent.t1_ns = std::clamp(extent.t1_ns, -kLatestNs, kLatestNs);
  const int64_t slice_ns = std::max(kSliceNs, (extent.t1_ns - extent.t0_ns) / kMostSlices);
  AlarmHistory history;
  std::vector<Row> rows;
  for (int64_t from_ns = extent.t0_ns; from_ns < extent.t1_ns && !streams.empty();) {
    const int64_t until_ns = extent.t1_ns - from_ns > slice_ns ? from_ns + slice_ns : extent.t1_ns;
    rows.clear();
    for (JudgedStream& stream : streams) ATTUNE_CHECK_OK(ReadRows(source, stream, {from_ns, until_ns}, rows));
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.t_ns < b.t_ns; });
    for (const Row& row : rows) evaluator.Consume(BatchOf(row));
    for (model::Alarm& alarm : evaluator.Take()) history.alarms.push_back(std::move(alarm));
    from_ns = until_ns;
  }
  history.status = evaluator.Status();
  return history;
}

}  // namespace attune::analysis
