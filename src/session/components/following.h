#pragma once
/// Following the programs' processes: the watcher, and what becomes of its events.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "model/process_watcher.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/core/modules.h"

namespace attune::session {

Result<std::string> EnvironmentOf(const HostRoot& host, pid_t pid);

class FollowingComponent : public Component {
 public:
  FollowingComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts)
      : context_(context), recording_(recording), facts_(facts) {}

  ~FollowingComponent() override;

  /// Loading eBPF programs takes as long as everything else of a start: it goes on beside that, until AwaitStart().
  Status Start() override;
  /// Waits for what Start() began. Once, before anything else of this class is used.
  Status AwaitStart();
  void Totals(InfoRows& rows) override;
  void Describe(nlohmann::json& status) const override;
  void AddPollFds(std::vector<int>& fds) const override { fds.push_back(watcher_->fd()); }
  /// Takes the watcher's events.
  void Serve() override;

  /// From now on, with what it has started already.
  Status Follow(pid_t pid);
  /// @pre AwaitStart()
  model::ProcessWatcher& watcher() { return *watcher_; }

  /// An event for which this gives true is left out.
  void Ignore(std::function<bool(const model::ProcessEvent&)> is_ignored) { is_ignored_ = std::move(is_ignored); }
  /// There may be threads that were not there before.
  void OnThreads(std::function<void()> on_threads) { on_threads_ = std::move(on_threads); }

 private:
  void OnEvent(const model::ProcessEvent& event);
  void Choose();

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  std::optional<Result<WatcherChoice>> choice_;  ///< result of choosing_, which is joined before it is read
  std::thread choosing_;
  std::unique_ptr<model::ProcessWatcher> watcher_;
  std::function<bool(const model::ProcessEvent&)> is_ignored_ = [](const auto&) { return false; };
  std::function<void()> on_threads_ = [] {};
  std::string error_;  ///< the first; empty: none
};

}  // namespace attune::session
