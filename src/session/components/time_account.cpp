// The table state_times: what the scheduler did with each observed thread (docs/account.md).

#include <fmt/format.h>

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/timer.h"
#include "base/unique_fd.h"
#include "model/info_keys.h"
#include "model/schedule.h"
#include "session/components/factories.h"

namespace attune::session {
namespace {

/// Limit of known wakers. Beyond it all are forgotten, and a waker is not told until its thread is seen again.
constexpr size_t kMaxWakers = 65'536;
/// A switch with its wake-up costs so much more where it is accounted for.
constexpr double kSwitchSeconds = 0.3e-6;
/// Part of one CPU that the account may cost, over a second; and over the first moments, when a program may only begin.
constexpr double kMostCost = 0.02;
constexpr double kMostCostEarly = 0.06;
/// The first looks at what it costs.
constexpr int64_t kEarlyLookNs = 150'000'000;
constexpr int kEarlyLooks = 6;

class TimeAccountComponent : public Component {
 public:
  TimeAccountComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                       FollowingComponent& following)
      : context_(context), recording_(recording), facts_(facts), following_(following) {}

  /// Without it everything else is observed all the same, and the recording says why there is none.
  Status Start() override;
  void Stop() override { EverySecond(); }
  void Totals(InfoRows& rows) override;
  void EverySecond() override { Read(kMostCost); }
  void AddPollFds(std::vector<int>& fds) const override {
    if (early_look_) fds.push_back(early_look_.get());
  }
  void Serve() override;

 private:
  /// @param most part of a CPU that it may have cost since the last reading
  void Read(double most);
  model::ElementId ElementOf(const model::ScheduledObject& object);
  /// Ends the account of programs that switch so often that it is not cheap.
  void StopIfDear(int64_t now_ns, int64_t switches, double most);

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  model::ScheduleAccount* account_ = nullptr;  ///< nullptr: there is none
  bool is_stopped_ = false;
  UniqueFd early_look_;  ///< a timer; not open: the first moments are over
  int early_looks_ = 0;
  int64_t read_ns_ = 0;                                    ///< when it was read last
  std::unordered_map<int64_t, model::ElementId> threads_;  ///< by tid: for wakers
};

Status TimeAccountComponent::Start() {
  ATTUNE_CHECK_OK(following_.AwaitStart());
  if (!context_.options.follows) return {};
  const auto account = following_.watcher().AccountForTime();
  if (account.ok()) {
    account_ = *account;
    read_ns_ = MonotonicNs();
    if (auto timer = MakeTimer(kEarlyLookNs, kEarlyLookNs); timer.ok()) early_look_ = *std::move(timer);
    recording_.Publish({{std::string(model::info::kTimeAccount), std::string(account_->Method())}});
  } else {
    recording_.Publish({{std::string(model::info::kTimeAccount),
                         fmt::format("none ({}: {})", account.error().message, account.error().hint)}});
  }
  return {};
}

/// A program that switches very often would pay for all of its first second.
void TimeAccountComponent::Serve() {
  if (!HasExpired(early_look_)) return;
  Read(kMostCostEarly);
  if (++early_looks_ >= kEarlyLooks || is_stopped_) early_look_.reset();
}

void TimeAccountComponent::Read(double most) {
  if (account_ == nullptr || is_stopped_) return;
  following_.Serve();  // threads that it does not know yet would start now
  const int64_t t_ns = MonotonicNs();
  int64_t switches = 0;
  std::vector<model::StateTime> rows;
  std::vector<int64_t> wakers;
  const Status read = account_->Read([&](const model::ScheduledObject& object, std::span<const model::StateSum> sums) {
    const model::ElementId element = ElementOf(object);
    for (const model::StateSum& sum : sums) {
      if (sum.state == model::TimeState::kRunning) switches += sum.count;
      rows.push_back({.t_ns = sum.end_ns != 0 ? sum.end_ns : t_ns,
                      .element = element,
                      .state = sum.state,
                      .ns = sum.ns,
                      .count = sum.count,
                      .alone_ns = sum.alone_ns,
                      .idle_cpus_ns = sum.idle_cpus_ns});
      wakers.push_back(sum.waker_tid);
    }
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto waker = threads_.find(wakers[i]);
    if (waker != threads_.end()) rows[i].waker = waker->second;
  }
  if (!rows.empty()) recording_.pipeline().Publish(model::ToBatch(std::span<const model::StateTime>(rows)));
  StopIfDear(t_ns, switches, most);
}

void TimeAccountComponent::StopIfDear(int64_t now_ns, int64_t switches, double most) {
  constexpr double kLeastSeconds = 0.1;
  const double seconds = static_cast<double>(now_ns - std::exchange(read_ns_, now_ns)) * 1e-9;
  if (seconds < kLeastSeconds || static_cast<double>(switches) * kSwitchSeconds <= most * seconds) return;
  account_->Stop();
  is_stopped_ = true;
  recording_.Publish({{std::string(model::info::kTimeAccountStopped), std::to_string(now_ns)}});
  recording_.AddUnseen(
      fmt::format("where time went, after a while: {:.0f} switches of threads a second cost too much to see",
                  static_cast<double>(switches) / seconds));
}

model::ElementId TimeAccountComponent::ElementOf(const model::ScheduledObject& object) {
  if (object.cpu != model::kAbsent)
    return facts_.registry().FindOrAdd({model::ElementKind::kCpu, object.cpu, fmt::format("cpu{}", object.cpu)});
  if (object.tid == 0) return facts_.registry().Machine();
  if (threads_.size() > kMaxWakers) threads_.clear();
  return threads_[object.tid] =
             facts_.processes().Thread(static_cast<pid_t>(object.pid), static_cast<pid_t>(object.tid));
}

void TimeAccountComponent::Totals(InfoRows& rows) {
  if (account_ != nullptr && account_->LeftOut() > 0)
    rows.emplace_back(model::info::kTimeAccountLeftOut, std::to_string(account_->LeftOut()));
}

}  // namespace

std::unique_ptr<Component> MakeTimeAccount(SessionContext& context, RecordingComponent& recording,
                                           HostFactsComponent& facts, FollowingComponent& following) {
  return std::make_unique<TimeAccountComponent>(context, recording, facts, following);
}

}  // namespace attune::session
