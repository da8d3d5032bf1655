#include "cli/terminal/recording_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/report/summary.h"
#include "base/timer.h"
#include "base/units.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

constexpr int64_t kEveryNs = 2'000'000'000;

}  // namespace

RecordingWatch::RecordingWatch(session::ControlClient client, UniqueFd timer)
    : client_(std::move(client)), timer_(std::move(timer)) {}

Result<RecordingWatch> RecordingWatch::Start(const std::string& folder) {
  ATTUNE_TRY(session::ControlClient client, session::ControlClient::Connect(folder + "/ctl"));
  ATTUNE_TRY(UniqueFd timer, MakeTimer(kEveryNs, kEveryNs));
  return RecordingWatch(std::move(client), std::move(timer));
}

session::Watch RecordingWatch::Watch() {
  return {timer_.get(), [this] { return Look(); }};
}

bool RecordingWatch::Look() {
  uint64_t ticks = 0;
  if (read(timer_.get(), &ticks, sizeof ticks) != sizeof ticks) return true;
  const auto reply = client_.Ask("status");
  const nlohmann::json status = nlohmann::json::parse(reply.value_or(""), nullptr, false);
  if (!status.is_object() || !status.contains("sinks")) return true;  // it has ended, which others notice
  if (const std::string problem = status.value("recording_problem", ""); problem != recording_) {
    recording_ = problem;
    Say(problem);
  }
  for (const auto& sink : status["sinks"]) {
    const std::string name = sink.value("name", "");
    const std::string problem = sink.value("problem", "");
    if (problem.empty()) {
      said_.erase(name);
    } else if (said_.insert(name).second) {
      Say(fmt::format("sink {}: {}; the recording goes on", name, problem));
    }
  }
  return true;
}

Status CheckSinks(model::Source& source) {
  std::string nothing;
  for (const analysis::SinkSummary& sink : analysis::FindSinks(source.Meta()->info)) {
    if (sink.dropped == 0) continue;
    const std::string why = sink.problem.empty() ? "" : " (" + sink.problem + ")";
    if (sink.written == 0) {
      nothing += fmt::format("{}sink {} took none of {} values{}", nothing.empty() ? "" : "; ", sink.name,
                             FormatCount(static_cast<double>(sink.dropped)), why);
    } else {
      Say(fmt::format("sink {} did not take {} of {} values{}", sink.name,
                      FormatCount(static_cast<double>(sink.dropped)),
                      FormatCount(static_cast<double>(sink.dropped) + static_cast<double>(sink.written)), why));
    }
  }
  if (nothing.empty()) return {};
  return Error{Errc::kIo, nothing, "is its argument right? a recording can be handed to it later: attune export"};
}

}  // namespace attune::cli
