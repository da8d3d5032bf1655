#include "analysis/operators/operator.h"

#include <algorithm>
#include <map>

namespace attune::analysis {
namespace {

using model::Batch;
using model::Table;

/// So many events stay in a core's cache while one operator after the other looks at them.
constexpr size_t kEventsAtOnce = 2048;

/// Those who take rows of each table; tables in the order in which operators name them.
std::vector<TableTakers> TakersOf(std::span<Operator* const> operators) {
  std::vector<TableTakers> tables;
  for (Operator* each : operators) {
    for (const Table table : each->Tables()) {
      auto known = std::ranges::find(tables, table, &TableTakers::table);
      if (known == tables.end()) known = tables.insert(known, {table, {}});
      known->operators.push_back(each);
    }
  }
  return tables;
}

/// Reads each column once and gives every operator those that it wants.
Status FeedStream(model::Source& source, const model::Metadata& meta, const model::Stream& stream,
                  std::span<Operator* const> operators) {
  std::vector<uint32_t> read;                                     // of the stream
  std::vector<std::pair<Operator*, std::vector<size_t>>> wanted;  // places in `read`
  for (Operator* each : operators) {
    const std::vector<uint32_t> columns = each->Columns(meta, stream);
    if (columns.empty()) continue;
    std::vector<size_t> places;
    for (const uint32_t column : columns) {
      const auto known = std::ranges::find(read, column);
      places.push_back(static_cast<size_t>(known - read.begin()));
      if (known == read.end()) read.push_back(column);
    }
    wanted.emplace_back(each, std::move(places));
  }
  if (wanted.empty()) return {};
  return source.ReadSamples(stream.id, read, {INT64_MIN, INT64_MAX}, [&](const model::SampleBlock& block) {
    for (const auto& [each, places] : wanted) {
      if (places.size() == read.size() && std::ranges::is_sorted(places)) {
        each->AddSamples(stream, block);
        continue;
      }
      std::vector<std::vector<int64_t>> columns;
      for (const size_t place : places) columns.push_back(block.columns[place]);
      each->AddSamples(stream, {block.t_ns, columns});
    }
    return true;
  });
}

}  // namespace

Status FeedRows(model::Source& source, std::span<Operator* const> operators) {
  const auto meta = source.Meta();
  for (Operator* each : operators) each->Learn(meta);
  for (const TableTakers& takers : TakersOf(operators)) {
    ATTUNE_CHECK_OK(source.ReadTable(takers.table, [&](const Batch& batch) {
      for (Operator* each : takers.operators) each->AddRows(batch);
      return true;
    }));
  }
  for (const model::Stream& stream : meta->streams) ATTUNE_CHECK_OK(FeedStream(source, *meta, stream, operators));
  return {};
}

Status FeedEvents(model::Source& source, std::span<Operator* const> operators) {
  std::vector<Operator*> takers;
  std::ranges::copy_if(operators, std::back_inserter(takers), [](const Operator* one) { return one->TakesEvents(); });
  if (takers.empty()) return {};
  return source.ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
    for (size_t from = 0; from < block.t_ns.size(); from += kEventsAtOnce) {
      const size_t rows = std::min(kEventsAtOnce, block.t_ns.size() - from);
      const model::EventBlock part{block.t_ns.subspan(from, rows), block.thread.subspan(from, rows),
                                   block.kind.subspan(from, rows), block.object.subspan(from, rows),
                                   block.site.subspan(from, rows), block.a.subspan(from, rows),
                                   block.b.subspan(from, rows)};
      for (Operator* each : takers) each->AddEvents(part);
    }
    return true;
  });
}

LiveFeed::LiveFeed(model::Source& source, std::vector<Operator*> operators)
    : source_(source), operators_(std::move(operators)), takers_(TakersOf(operators_)) {
  takes_events_ = std::ranges::any_of(operators_, [](const Operator* one) { return one->TakesEvents(); });
}

bool LiveFeed::Takes(Table table) const {
  if (table == model::Event::kTable) return takes_events_;
  return table == model::Sample::kTable || FindTakers(table) != nullptr;
}

const TableTakers* LiveFeed::FindTakers(Table table) const {
  const auto found = std::ranges::find(takers_, table, &TableTakers::table);
  return found == takers_.end() ? nullptr : &*found;
}

const std::set<model::StreamId>& LiveFeed::Learn() {
  auto meta = source_.Meta();
  if (meta == meta_) return unwanted_;
  meta_ = std::move(meta);
  for (Operator* each : operators_) each->Learn(meta_);
  unwanted_.clear();
  for (const model::Stream& stream : meta_->streams) {
    if (WantedOf(stream).empty()) unwanted_.insert(stream.id);
  }
  return unwanted_;
}

const std::vector<LiveFeed::Wanted>& LiveFeed::WantedOf(const model::Stream& stream) {
  auto& [series, wanted] = wanted_[stream.id];
  if (series == stream.series.size()) return wanted;
  series = stream.series.size();
  wanted.clear();
  for (Operator* each : operators_) {
    std::vector<uint32_t> columns = each->Columns(*meta_, stream);
    if (!columns.empty()) wanted.push_back({each, std::move(columns)});
  }
  return wanted;
}

void LiveFeed::AddSamples(const Batch& batch) {
  const auto stream = std::ranges::find(meta_->streams, batch.stream, &model::Stream::id);
  // A stream that has got further series since: its rows of before lack them.
  if (stream == meta_->streams.end() || batch.ints.size() != stream->series.size() + 1) return;
  for (const Wanted& wanted : WantedOf(*stream)) {
    std::vector<std::vector<int64_t>> columns;
    for (const uint32_t column : wanted.columns) columns.push_back(batch.ints[column + 1]);
    wanted.by->AddSamples(*stream, {batch.ints[0], columns});
  }
}

void LiveFeed::Add(const Batch& batch) {
  if (meta_ == nullptr) Learn();
  if (batch.table == model::Sample::kTable) return AddSamples(batch);
  if (batch.table == model::Event::kTable) {
    const auto& c = batch.ints;
    if (c.size() < 7) return;
    const model::EventBlock block{c[0], c[1], c[2], c[3], c[4], c[5], c[6]};
    for (Operator* each : operators_) {
      if (each->TakesEvents()) each->AddEvents(block);
    }
    return;
  }
  if (const TableTakers* takers = FindTakers(batch.table); takers != nullptr) {
    for (Operator* each : takers->operators) each->AddRows(batch);
  }
}

}  // namespace attune::analysis
