#include <algorithm>

#include "analysis/derived/derived_operator.h"

namespace attune::analysis {
namespace {

/// Streams are read side by side, so much of each at a time. Of what is longer than some days, more at a time, so that
/// a damaged file with a time of another age does not keep us for ever.
constexpr int64_t kSliceNs = 60'000'000'000;
constexpr int64_t kMostSlices = 4096;

/// Damaged files may have times that are none.
constexpr int64_t kLatestNs = INT64_MAX / 4;

struct WantedStream {
  const model::Stream* stream = nullptr;
  std::vector<uint32_t> columns;
  int64_t looked_ns = model::kAbsent;
};

struct Row {
  int64_t t_ns = 0;
  const model::Stream* stream = nullptr;
  std::vector<std::vector<int64_t>> values;  ///< one in each column
};

Status ReadRows(model::Source& source, WantedStream& wanted, model::TimeRange range, std::vector<Row>& rows) {
  return source.ReadSamples(wanted.stream->id, wanted.columns, range, [&](const model::SampleBlock& block) {
    for (auto at = block.t_ns.begin();; ++at) {
      if (wanted.looked_ns != model::kAbsent)
        at = std::lower_bound(at, block.t_ns.end(), NextLookNs(wanted.looked_ns, wanted.stream->interval_ns));
      if (at == block.t_ns.end()) return true;
      wanted.looked_ns = *at;
      Row& row = rows.emplace_back(Row{*at, wanted.stream, {}});
      const auto index = static_cast<size_t>(at - block.t_ns.begin());
      for (const std::vector<int64_t>& column : block.columns) row.values.push_back({column[index]});
    }
  });
}

}  // namespace

Status FeedInOrder(model::Source& source, Operator& by) {
  const auto meta = source.Meta();
  by.Learn(meta);
  std::vector<WantedStream> streams;
  for (const model::Stream& stream : meta->streams) {
    std::vector<uint32_t> columns = by.Columns(*meta, stream);
    if (!columns.empty()) streams.push_back({&stream, std::move(columns)});
  }
  if (streams.empty()) return {};
  model::TimeRange extent = source.Extent();
  extent.t0_ns = std::clamp(extent.t0_ns, -kLatestNs, kLatestNs);
  extent.t1_ns = std::clamp(extent.t1_ns, -kLatestNs, kLatestNs);
  const int64_t slice_ns = std::max(kSliceNs, (extent.t1_ns - extent.t0_ns) / kMostSlices);
  std::vector<Row> rows;
  for (int64_t from_ns = extent.t0_ns; from_ns < extent.t1_ns;) {
    const int64_t until_ns = extent.t1_ns - from_ns > slice_ns ? from_ns + slice_ns : extent.t1_ns;
    rows.clear();
    for (WantedStream& stream : streams) ATTUNE_CHECK_OK(ReadRows(source, stream, {from_ns, until_ns}, rows));
    std::ranges::stable_sort(rows, {}, &Row::t_ns);
    for (const Row& row : rows) by.AddSamples(*row.stream, {{&row.t_ns, 1}, row.values});
    from_ns = until_ns;
  }
  return {};
}

}  // namespace attune::analysis
