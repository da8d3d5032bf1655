#pragma once
/// Makes a real recording out of the rows of a FakeSource.

#include <string>

#include "store/log_writer.h"
#include "tests/analysis/fake_source.h"

namespace attune::cli {

inline Status WriteRecording(const std::string& path, const analysis::FakeSource& source) {
  ATTUNE_TRY(const auto writer, store::LogWriter::Create({.path = path}));
  const auto write = [&](model::Batch batch) {
    writer->Consume(std::make_shared<const model::Batch>(std::move(batch)));
  };
  const std::vector<std::pair<std::string, std::string>> info(source.meta.info.begin(), source.meta.info.end());
  write(model::InfoBatch(info));
  write(model::ToBatch(source.meta.elements));
  write(model::ToBatch(source.meta.series));
  write(model::ToBatch(source.meta.streams));
  for (const auto& [stream, rows] : source.samples) {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = stream;
    batch.rows = rows.size();
    batch.ints.resize(1 + rows.front().second.size());
    for (const auto& [t_ns, values] : rows) {
      batch.ints[0].push_back(t_ns);
      for (size_t i = 0; i < values.size(); ++i) batch.ints[i + 1].push_back(values[i]);
    }
    write(std::move(batch));
  }
  model::Batch events;
  events.table = model::Event::kTable;
  events.rows = source.events.size();
  events.ints.resize(7);
  for (const analysis::FakeSource::EventRow& row : source.events) {
    const int64_t cells[] = {row.t_ns, row.thread, static_cast<int64_t>(row.kind), row.object, 0, row.a, 0};
    for (size_t i = 0; i < 7; ++i) events.ints[i].push_back(cells[i]);
  }
  write(std::move(events));
  write(model::ToBatch(source.meta.processes));
  write(model::ToBatch(source.meta.gaps));
  return writer->Close();
}

}  // namespace attune::cli
