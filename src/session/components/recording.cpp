#include "session/components/recording.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "model/info_keys.h"
#include "model/schema.h"

namespace attune::session {
namespace {

/// Bound of a recording that is kept without -o.
constexpr uint64_t kTemporaryMaxBytes = 256u << 20;

}  // namespace

RecordingComponent::~RecordingComponent() {
  extra_.reset();
  pipeline_.reset();
  // A recording of nothing is not left lying about, and nothing is given up for it.
  if (writer_ != nullptr && !anything_ran_) writer_->Discard();
}

Result<std::unique_ptr<store::LogWriter>> RecordingComponent::Create() {
  const SessionOptions& options = context_.options;
  const SessionInfo& info = context_.info;
  store::LogOptions log;
  log.path = info.recording;
  log.if_there = options.if_there;
  log.max_bytes = info.temporary && options.max_bytes == 0 ? kTemporaryMaxBytes : options.max_bytes;
  // With the delivery before it, at the worst: less than a second.
  log.flush_ns = options.flush_ns * 4 / 5;
  return store::LogWriter::Create(log);
}

Status RecordingComponent::Start() {
  SessionInfo& info = context_.info;
  auto created = Create();
  if (!created.ok() && context_.options.if_there == store::IfThere::kNumber && context_.options.follows) {
    // The program is not held up by a folder in which nothing can be kept.
    context_.notes.push_back(
        fmt::format("no recording is kept: {}; -o FILE puts it elsewhere", created.error().message));
    info.temporary = true;
    info.recording = info.folder + "/recording.attune";
    created = Create();
  }
  ATTUNE_TRY(writer_, std::move(created));
  info.recording = writer_->path();
  pipeline_ = std::make_unique<Pipeline>(std::vector<model::Sink*>{writer_.get()});
  extra_ = std::make_unique<ExtraRecording>(*pipeline_, *writer_);
  return {};
}

void RecordingComponent::Stop() {
  const Status extra_closed = extra_->Stop();
  if (!anything_ran_) writer_->Discard();  // the program could not be started
  closed_ = writer_->Close();
  if (closed_.ok()) closed_ = extra_closed;
}

std::vector<Verb> RecordingComponent::Verbs() {
  return {{.name = "label",
           .rank = 20,
           .roles = {Role::kOwner, Role::kPage},
           .arguments = {{"TEXT", ArgumentKind::kText}},
           .help = "a label in the recording, at this moment",
           .example = "label \"second phase\"",
           .example_meaning = "a label in the recording, at this moment",
           .run = Plainly([this](const VerbCall& call) { return AddLabel(call.t_ns, call.Text(0)); })},
          {.name = "record",
           .rank = 80,
           .roles = {Role::kOwner},
           .arguments = {{"FILE|off", ArgumentKind::kFile}},
           .help = "begin a second recording, or end it",
           .example = "record phase2.attune",
           .example_meaning = "from now on also into a file; `record off` ends it",
           .run = Plainly([this](const VerbCall& call) {
             return call.IfOff(0) != nullptr ? extra_->Stop() : extra_->Start(call.Text(0));
           })},
          {.name = "unseen",
           .rank = 160,
           .roles = {Role::kLauncher},
           .arguments = {{"TEXT", ArgumentKind::kText}},
           .help = "what of the program cannot be seen",
           .run = Plainly([this](const VerbCall& call) {
             AddUnseen(call.Text(0));
             return Status();
           })}};
}

void RecordingComponent::Describe(nlohmann::json& status) const {
  status["recording"] = context_.info.recording;
  status["recording_problem"] = trouble_;
  status["extra_recording"] = extra_->path();
  status["dropped_rows"] = pipeline_->DroppedRows();
}

/// The recording says why it has a gap.
void RecordingComponent::EverySecond() {
  const std::string text = writer_->Trouble();
  if (text != trouble_) static_cast<void>(AddLabel(model::kAbsent, text));
  trouble_ = text;
}

Status RecordingComponent::AddLabel(int64_t t_ns, const std::string& text) {
  if (text.empty()) return Error{Errc::kInvalidArgument, "a label needs a text", ""};
  const model::Label label{t_ns == model::kAbsent ? MonotonicNs() : t_ns, text};
  pipeline_->Publish(model::ToBatch(std::span(&label, 1)));
  return {};
}

void RecordingComponent::AddUnseen(const std::string& what) {
  constexpr size_t kMost = 100;
  if (unseen_.size() >= kMost || !unseen_.insert(what).second) return;
  Publish({{fmt::format("{}{}", model::info::kUnseenPrefix, unseen_.size()), what}});
}

void RecordingComponent::Publish(const InfoRows& rows) { pipeline_->Publish(model::InfoBatch(rows)); }

Status RecordingComponent::Keep() {
  anything_ran_ = true;
  return writer_->TakePlace();
}

Status RecordingSizeCheck::Start() {
  recording_.pipeline().Drain();
  return recording_.writer().CheckMaxBytes();
}

}  // namespace attune::session
