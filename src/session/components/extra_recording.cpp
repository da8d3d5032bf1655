#include "session/components/extra_recording.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/backlog.h"

namespace attune::session {

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
  ATTUNE_CHECK_OK(source_.ReadTable(model::ClockReading::kTable, [&](const model::Batch& batch) {
    clock.assign(1, std::make_shared<const model::Batch>(batch));
    return true;
  }));
  pipeline_.Exchange([&](std::vector<model::Sink*>& sinks) {
    for (const model::BatchPtr& batch : model::BacklogOf(*source_.Meta())) writer->Consume(batch);
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
