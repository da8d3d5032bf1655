#pragma once
/// The session's recording and the pipeline to it, what people and components say in it, and the second recording.

#include <memory>
#include <set>
#include <string>

#include "session/components/extra_recording.h"
#include "session/components/session_context.h"
#include "session/core/component.h"
#include "session/core/pipeline.h"
#include "store/log_writer.h"

namespace attune::session {

class RecordingComponent : public Component {
 public:
  explicit RecordingComponent(SessionContext& context) : context_(context) {}
  ~RecordingComponent() override;

  Status Start() override;
  bool IsChosen() const override { return !context_.options.output.empty(); }
  Phase StopPhase() const override { return Phase::kWriting; }
  /// Closes both recordings. A recording of nothing is removed.
  void Stop() override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;
  void EverySecond() override;

  /// @pre Start()
  Pipeline& pipeline() { return *pipeline_; }
  store::LogWriter& writer() { return *writer_; }
  bool HasExtra() const { return !extra_->path().empty(); }
  /// The first error of closing. @pre Stop()
  const Status& closed() const { return closed_; }

  /// @param t_ns kAbsent: now @thread any
  Status AddLabel(int64_t t_ns, const std::string& text);
  /// Notes something of the programs that cannot be seen. The same is said once, also by many ranks.
  void AddUnseen(const std::string& what);
  void Publish(const InfoRows& rows);
  /// There is something to record.
  void NoteRan() { anything_ran_ = true; }
  /// There is something to record: what the recording replaces is given up.
  Status Keep();

 private:
  Result<std::unique_ptr<store::LogWriter>> Create();

  SessionContext& context_;
  std::unique_ptr<store::LogWriter> writer_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<ExtraRecording> extra_;
  Status closed_;
  std::string trouble_;           ///< problem of writing the recording, as last noted in it
  std::set<std::string> unseen_;  ///< parts of the programs that cannot be seen
  bool anything_ran_ = false;
};

/// Refuses a bound that does not hold what the components before it have published.
class RecordingSizeCheck : public Component {
 public:
  explicit RecordingSizeCheck(RecordingComponent& recording) : recording_(recording) {}
  Status Start() override;
  bool IsChosen() const override { return true; }

 private:
  RecordingComponent& recording_;
};

}  // namespace attune::session
