#include "session/components/following.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/privilege.h"
#include "model/info_keys.h"
#include "session/core/modules.h"

namespace attune::session {

namespace info = model::info;

Result<std::string> EnvironmentOf(const HostRoot& host, pid_t pid) {
  const KernelFileRights rights;
  return host.ReadFile(fmt::format("/proc/{}/environ", pid));
}

Status FollowingComponent::Start() {
  ATTUNE_TRY(WatcherChoice choice,
             MakeWatcher(context_.host, context_.options.check_influence ? kernel::FutexCounting::kAnyway
                                                                         : kernel::FutexCounting::kWhereItIsCheap));
  watcher_ = std::move(choice.watcher);
  std::string tracking(watcher_->Method());
  if (!watcher_->Limits().empty()) {
    tracking += fmt::format(" ({})", watcher_->Limits());
    if (context_.options.follows)
      context_.notes.push_back(fmt::format("following processes by {}: {}", watcher_->Method(), watcher_->Limits()));
  }
  recording_.Publish({{std::string(info::kTracking), tracking}});
  return {};
}

void FollowingComponent::Totals(InfoRows& rows) {
  if (watcher_->Lost() > 0) rows.emplace_back(info::kLostProcessEvents, std::to_string(watcher_->Lost()));
  if (!error_.empty()) rows.emplace_back(info::kTrackingError, error_);
}

void FollowingComponent::Describe(nlohmann::json& status) const { status["tracking"] = watcher_->Method(); }

void FollowingComponent::Serve() {
  const auto events = watcher_->Poll([this](const model::ProcessEvent& event) { OnEvent(event); });
  if (!events.ok() && error_.empty()) error_ = events.error().message;
}

Status FollowingComponent::Follow(pid_t pid) {
  ATTUNE_CHECK_OK(watcher_->Follow(pid));
  Serve();
  return {};
}

void FollowingComponent::OnEvent(const model::ProcessEvent& event) {
  if (is_ignored_(event)) return;
  facts_.processes().Apply(event);
  if (event.kind == model::ProcessEventKind::kFork || event.kind == model::ProcessEventKind::kThreadStart)
    on_threads_();
  if (event.kind != model::ProcessEventKind::kExec) return;
  const auto environment = EnvironmentOf(context_.host, event.pid);
  if (!environment.ok()) return;
  if (const int64_t rank = RankFromEnvironment(*environment); rank >= 0) facts_.processes().SetRank(event.pid, rank);
}

}  // namespace attune::session
