#pragma once
/// A second recording, begun and ended while a session runs (`attune ctl record FILE`): from `stat` and `live`, which
/// keep nothing by themselves, or beside the recording of the session.

#include <memory>
#include <string>

#include "base/result.h"
#include "model/source.h"
#include "session/core/pipeline.h"
#include "store/log_writer.h"

namespace attune::session {

/// @thread one at a time
class ExtraRecording {
 public:
  /// @param source what the session has so far: the new recording starts with its metadata
  ExtraRecording(Pipeline& pipeline, model::Source& source) : pipeline_(pipeline), source_(source) {}
  ~ExtraRecording() { static_cast<void>(Stop()); }
  ExtraRecording(const ExtraRecording&) = delete;
  ExtraRecording& operator=(const ExtraRecording&) = delete;

  /// Records into the file from now on; a recording that was begun before is finished first.
  /// Errors: those of store::LogWriter::Create; then the one before goes on.
  Status Start(const std::string& path);
  /// Finishes it; nothing to do if there is none.
  Status Stop();
  /// Empty: none.
  const std::string& path() const { return path_; }

 private:
  Pipeline& pipeline_;
  model::Source& source_;
  std::string path_;
  std::unique_ptr<store::LogWriter> writer_;
};

}  // namespace attune::session
