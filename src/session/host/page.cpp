// The page of a session (docs/live.md). What people at the page ask for goes through the same verbs as everybody else's
// commands.

#include <fmt/format.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "analysis/report/comparison.h"
#include "base/listen_address.h"
#include "base/units.h"
#include "live/console.h"
#include "live/server.h"
#include "session/host/components.h"
#include "session/host/page_analyses.h"
#include "store/recording.h"

namespace attune::session {
namespace {

class PageComponent : public Component {
 public:
  PageComponent(SessionContext& context, RecordingComponent& recording, SamplingComponent& sampling)
      : context_(context), recording_(recording), sampling_(sampling) {}

  Status Start() override {
    const SessionOptions& options = context_.options;
    if (!options.serve_page) return {};
    ATTUNE_TRY(const ListenAddress listen, ParseListenAddress(options.listen, "--listen"));
    live::ServerOptions server;
    server.address = listen.address;
    server.port = listen.port;
    server.title = options.program;
    if (!context_.info.temporary) server.reopen = "attune view " + context_.info.recording;
    server.tls_cert = options.tls_cert;
    server.tls_key = options.tls_key;
    server.on_label = [this](int64_t t_ns, const std::string& text) { return Do("label", {text}, t_ns); };
    server.on_control = [this](const live::ControlRequest& request) { return Steer(request); };
    if (options.tuning.from_page)
      server.on_tune = [this](const live::TuneRequest& request) {
        if (request.value.empty()) return Do("take-back", {request.knob});
        return Do("try", {fmt::format("{}={}", request.knob, request.value)});
      };
    server.is_paused = [this] { return sampling_.sensing().paused(); };
    server.on_watched = [this](bool watched) {
      watched_ = watched;
      sampling_.SetWatched(watched);
    };
    server.open_recording = [](const std::string& path) { return store::OpenRecording(path); };
    server.compare = analysis::CompareToJson;
    server.analyse = [title = server.title](model::Source& source, bool trusted) {
      return MakePageAnalyses(source, trusted ? SourceIs::kThisSession : SourceIs::kForeign, trusted ? title : "");
    };
    if (options.make_console) server.console = options.make_console();
    ATTUNE_TRY(server_, live::Server::Start(recording_.writer(), server));
    context_.info.url = server_->Url();
    return {};
  }

  bool IsChosen() const override { return true; }
  /// It shows what is published to the last.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override { server_.reset(); }
  void Describe(nlohmann::json& status) const override {
    if (server_ != nullptr) status["page"] = {{"url", server_->Url()}, {"watched", watched_.load()}};
  }

 private:
  /// Carries out what somebody at the page asks for. @thread one of the page's
  Status Steer(const live::ControlRequest& request) const {
    if (!request.interval_ns) return Do(*request.paused ? "pause" : "resume", {});
    if (*request.interval_ns < kMinIntervalNs || *request.interval_ns > kMaxIntervalNs)
      return Error{Errc::kInvalidArgument, "an interval must be from 0.1 ms to an hour", ""};
    return Do("interval", {request.sensor, *request.interval_ns});
  }

  Status Do(std::string_view verb, std::vector<Value> values, int64_t t_ns = model::kAbsent) const {
    ATTUNE_CHECK_OK(context_.verbs.Do(Role::kPage, verb, std::move(values), t_ns));
    return {};
  }

  SessionContext& context_;
  RecordingComponent& recording_;
  SamplingComponent& sampling_;
  std::unique_ptr<live::Server> server_;  ///< nullptr: none is asked for
  std::atomic<bool> watched_{false};      ///< somebody looks
};

}  // namespace

std::unique_ptr<Component> MakePage(SessionContext& context, RecordingComponent& recording,
                                    SamplingComponent& sampling) {
  return std::make_unique<PageComponent>(context, recording, sampling);
}

}  // namespace attune::session
