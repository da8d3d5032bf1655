#include "session/components/following.h"

#include <fmt/format.h>
#include <pthread.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/privilege.h"
#include "model/info_keys.h"

namespace attune::session {

namespace info = model::info;

Result<std::string> EnvironmentOf(const HostRoot& host, pid_t pid) {
  const KernelFileRights rights;
  return host.ReadFile(fmt::format("/proc/{}/environ", pid));
}

FollowingComponent::~FollowingComponent() {
  if (choosing_.joinable()) choosing_.join();
}

void FollowingComponent::Choose() {
  try {
    choice_ = MakeWatcher(context_.host, context_.options.check_influence ? kernel::FutexCounting::kAnyway
                                                                          : kernel::FutexCounting::kWhereItIsCheap);
  } catch (const std::exception& error) {  // no memory
    choice_ = Error{Errc::kNoSpace, fmt::format("following processes: {}", error.what()), ""};
  }
}

Status FollowingComponent::Start() {
  try {
    choosing_ = std::thread([this] { Choose(); });
    pthread_setname_np(choosing_.native_handle(), "attune-follow");
  } catch (const std::system_error&) {  // no thread is to be had
    Choose();
  }
  return {};
}

Status FollowingComponent::AwaitStart() {
  if (choosing_.joinable()) choosing_.join();
  ATTUNE_TRY(WatcherChoice choice, *std::exchange(choice_, std::nullopt));
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
