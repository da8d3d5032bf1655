#include "session/components/time_account.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/info_keys.h"

namespace attune::session {
namespace {

/// Of more threads the wakers are not told, until they are seen again.
constexpr size_t kMaxWakers = 65'536;

}  // namespace

Status TimeAccountComponent::Start() {
  if (!context_.options.follows) return {};
  const auto account = following_.watcher().AccountForTime();
  if (account.ok()) {
    account_ = *account;
    recording_.Publish({{std::string(model::info::kTimeAccount), std::string(account_->Method())}});
  } else {
    recording_.Publish({{std::string(model::info::kTimeAccount),
                         fmt::format("none ({}: {})", account.error().message, account.error().hint)}});
  }
  return {};
}

void TimeAccountComponent::EverySecond() {
  if (account_ == nullptr) return;
  following_.Serve();  // threads that it does not know yet would start now
  const int64_t t_ns = MonotonicNs();
  std::vector<model::StateTime> rows;
  std::vector<int64_t> wakers;
  const Status read = account_->Read([&](const model::ScheduledObject& object, std::span<const model::StateSum> sums) {
    const model::ElementId element = ElementOf(object);
    for (const model::StateSum& sum : sums) {
      rows.push_back({.t_ns = t_ns,
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

}  // namespace attune::session
