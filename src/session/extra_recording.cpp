#include "session/extra_recording.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace attune::session {
namespace {

template <class Row>
void Hand(model::Sink& sink, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  sink.Consume(std::make_shared<const model::Batch>(model::ToBatch(rows)));
}

/// Alarms that are on.
std::vector<model::Alarm> Raised(const std::vector<model::Alarm>& alarms) {
  std::map<int64_t, model::Alarm> raised;
  for (const model::Alarm& alarm : alarms) {
    if (alarm.state == model::AlarmState::kRaised) {
      raised.emplace(alarm.id, alarm);
    } else {
      raised.erase(alarm.id);
    }
  }
  std::vector<model::Alarm> rows;
  for (const auto& [id, alarm] : raised) rows.push_back(alarm);
  return rows;
}

/// What rows to come refer to. Labels and gaps of the time before are not repeated.
void HandMetadata(model::Sink& sink, const model::Metadata& metadata) {
  const std::vector<std::pair<std::string, std::string>> info(metadata.info.begin(), metadata.info.end());
  sink.Consume(std::make_shared<const model::Batch>(model::InfoBatch(info)));
  Hand(sink, metadata.elements);
  Hand(sink, metadata.series);
  Hand(sink, metadata.streams);
  Hand(sink, metadata.processes);
  Hand(sink, Raised(metadata.alarms));
}

}  // namespace

Status ExtraRecording::Start(const std::string& path) {
  auto created = store::LogWriter::Create({.path = path});
  if (!created.ok()) {
    Error error = created.error();
    if (error.code == Errc::kExists) error.hint = "choose another name";  // --force is for the session's own
    return error;
  }
  std::unique_ptr<store::LogWriter> writer = *std::move(created);
  ATTUNE_CHECK_OK(Stop());
  // The clock's rows come each second; the recording must not have to wait for the first.
  std::vector<model::BatchPtr> clock;
  ATTUNE_CHECK_OK(source_.ReadTable(model::Table::kClock, [&](const model::Batch& batch) {
    clock.assign(1, std::make_shared<const model::Batch>(batch));
    return true;
  }));
  pipeline_.Exchange([&](std::vector<model::Sink*>& sinks) {
    HandMetadata(*writer, *source_.Meta());
    for (const model::BatchPtr& batch : clock) writer->Consume(batch);
    sinks.push_back(writer.get());
  });
  writer_ = std::move(writer);
  path_ = path;
  return {};
}

Status ExtraRecording::Stop() {
  if (!writer_) return {};
  pipeline_.Exchange([&](std::vector<model::Sink*>& sinks) { std::erase(sinks, writer_.get()); });
  const Status closed = writer_->Close();
  writer_.reset();
  path_.clear();
  return closed;
}

}  // namespace attune::session
