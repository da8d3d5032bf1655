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

/// The rows of a table that says what rows of other tables refer to; nullptr: it is none.
std::shared_ptr<const model::Metadata> PartOf(const Batch& batch) {
  model::Metadata part;
  if (batch.table == model::InfoRow::kTable && batch.texts.size() >= 2) {
    for (size_t row = 0; row < batch.rows; ++row) part.info[batch.texts[0][row]] = batch.texts[1][row];
  } else if (batch.table == model::Element::kTable) {
    part.elements = model::RowsFrom<model::Element>(batch);
  } else if (batch.table == model::Series::kTable) {
    part.series = model::RowsFrom<model::Series>(batch);
  } else if (batch.table == model::StreamColumn::kTable) {
    part.streams = model::RowsFrom<model::Stream>(batch);
  } else {
    return nullptr;
  }
  return std::make_shared<const model::Metadata>(std::move(part));
}

/// Reads each column once and gives every operator those that it wants.
Status FeedStream(model::Source& source, const model::Metadata& meta, const model::Stream& stream,
                  std::span<Operator* const> operators) {
  std::vector<uint32_t> read;                                     // columns of the stream
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

EventFeed::EventFeed(std::span<Operator* const> operators) {
  std::ranges::copy_if(operators, std::back_inserter(takers_),
                       [](const Operator* one) { return !one->Kinds().empty(); });
}

void EventFeed::Add(const model::EventBlock& block) {
  EventKinds wanted;
  for (Operator* each : takers_) {
    if (each->Kinds() == EventKinds::All()) {
      each->AddEvents(block);
    } else {
      wanted.Add(each->Kinds());
    }
  }
  EventKinds present;
  for (const int64_t kind : block.kind) present.Add(kind);
  if (!wanted.Meets(present)) return;
  const model::EventBlock picked = Pick(block, wanted);
  for (Operator* each : takers_) {
    if (each->Kinds() != EventKinds::All() && each->Kinds().Meets(present)) each->AddEvents(picked);
  }
}

/// The whole block, where most rows are of these kinds.
model::EventBlock EventFeed::Pick(const model::EventBlock& block, EventKinds kinds) {
  const auto rows = std::ranges::count_if(block.kind, [kinds](int64_t kind) { return kinds.Has(kind); });
  if (static_cast<size_t>(rows) > block.kind.size() / 2) return block;
  const std::array<std::span<const int64_t>, 7> columns{block.t_ns, block.thread, block.kind, block.object,
                                                        block.site, block.a,      block.b};
  for (std::vector<int64_t>& column : picked_) column.clear();
  for (size_t row = 0; row < block.kind.size(); ++row) {
    if (!kinds.Has(block.kind[row])) continue;
    for (size_t column = 0; column < columns.size(); ++column) picked_[column].push_back(columns[column][row]);
  }
  const auto& c = picked_;
  return {c[0], c[1], c[2], c[3], c[4], c[5], c[6]};
}

Status FeedEvents(model::Source& source, std::span<Operator* const> operators) {
  EventFeed feed(operators);
  if (feed.empty()) return {};
  return source.ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
    for (size_t from = 0; from < block.t_ns.size(); from += kEventsAtOnce) {
      const size_t rows = std::min(kEventsAtOnce, block.t_ns.size() - from);
      feed.Add({block.t_ns.subspan(from, rows), block.thread.subspan(from, rows), block.kind.subspan(from, rows),
                block.object.subspan(from, rows), block.site.subspan(from, rows), block.a.subspan(from, rows),
                block.b.subspan(from, rows)});
    }
    return true;
  });
}

LiveFeed::LiveFeed(model::Source& source, std::vector<Operator*> operators) : LiveFeed(&source, std::move(operators)) {}

LiveFeed::LiveFeed(std::vector<Operator*> operators) : LiveFeed(nullptr, std::move(operators)) {}

LiveFeed::LiveFeed(model::Source* source, std::vector<Operator*> operators)
    : source_(source), operators_(std::move(operators)), takers_(TakersOf(operators_)), events_(operators_) {}

bool LiveFeed::Takes(Table table) const {
  if (table == model::Event::kTable) return !events_.empty();
  return table == model::Sample::kTable || FindTakers(table) != nullptr;
}

const TableTakers* LiveFeed::FindTakers(Table table) const {
  const auto found = std::ranges::find(takers_, table, &TableTakers::table);
  return found == takers_.end() ? nullptr : &*found;
}

const std::set<model::StreamId>& LiveFeed::Learn() {
  auto meta = source_->Meta();
  if (meta == meta_) return unwanted_;
  meta_ = std::move(meta);
  LearnFrom(meta_);
  return unwanted_;
}

void LiveFeed::LearnFrom(const std::shared_ptr<const model::Metadata>& meta) {
  for (Operator* each : operators_) each->Learn(meta);
  for (const model::Stream& stream : meta->streams) {
    KnownStream& known = streams_[stream.id];
    if (known.stream.series.size() == stream.series.size() && known.stream.id == stream.id) continue;
    known = {stream, {}};
    for (Operator* each : operators_) {
      std::vector<uint32_t> columns = each->Columns(*meta, stream);
      if (!columns.empty()) known.wanted.push_back({each, std::move(columns)});
    }
    if (known.wanted.empty()) {
      unwanted_.insert(stream.id);
    } else {
      unwanted_.erase(stream.id);
    }
  }
}

void LiveFeed::AddSamples(const Batch& batch) {
  const auto found = streams_.find(batch.stream);
  if (found == streams_.end()) return;
  const auto& [stream, wanted] = found->second;
  // A stream that has got further series since: its rows of before lack them.
  if (batch.ints.size() != stream.series.size() + 1) return;
  for (const Wanted& one : wanted) {
    std::vector<std::vector<int64_t>> columns;
    for (const uint32_t column : one.columns) columns.push_back(batch.ints[column + 1]);
    one.by->AddSamples(stream, {batch.ints[0], columns});
  }
}

void LiveFeed::Add(const Batch& batch) {
  if (source_ == nullptr) {
    if (const auto part = PartOf(batch)) LearnFrom(part);
  } else if (meta_ == nullptr) {
    Learn();
  }
  if (batch.table == model::Sample::kTable) return AddSamples(batch);
  if (batch.table == model::Event::kTable) {
    const auto& c = batch.ints;
    if (c.size() < 7) return;
    return events_.Add({c[0], c[1], c[2], c[3], c[4], c[5], c[6]});
  }
  if (const TableTakers* takers = FindTakers(batch.table); takers != nullptr) {
    for (Operator* each : takers->operators) each->AddRows(batch);
  }
}

}  // namespace attune::analysis
