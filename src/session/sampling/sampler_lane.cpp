#include "session/sampling/sampler_lane.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/clock.h"
#include "base/futex.h"

namespace attune::session {
namespace {

constexpr int kFifoPriority = 10;  // above all ordinary work, below the kernel's own threads

int64_t ThreadCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

SamplerLane::SamplerLane(const SamplerOptions& options, SampleDelivery& delivery, bool realtime, bool paused)
    : options_(options), delivery_(delivery), paused_(paused) {
  thread_ = std::thread([this, realtime] {
    SetUpThread(realtime);
    {
      const MutexLock lock(mutex_);
      ready_ = true;
    }
    done_.NotifyAll();
    Run();
  });
  MutexLock lock(mutex_);
  done_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return ready_; });
}

SamplerLane::~SamplerLane() {
  if (!thread_.joinable()) return;
  Stop();
  Join(INT64_MAX);
}

bool SamplerLane::Join(int64_t deadline_ns) {
  const bool obeyed = Await(deadline_ns);
  if (obeyed) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return obeyed;
}

bool SamplerLane::Answers() {
  MutexLock lock(mutex_);
  int64_t deadline_ns = 0;
  if (question_ <= obeyed_) {
    question_ = SendLocked({.command = Command::kAnswer});
    deadline_ns = MonotonicNs() + kStuckNs;
  }
  return WaitLocked(lock, deadline_ns, [this]() ATTUNE_REQUIRES(mutex_) { return obeyed_ >= question_; });
}

bool SamplerLane::Add(LatchGroup* group, int64_t after_ns) {
  const bool added = Post({.command = Command::kAdd, .group = group, .after_ns = after_ns});
  if (added) ++group_count_;
  return added;
}

bool SamplerLane::Replace(LatchGroup* group, LatchGroup* next) {
  return Post({.command = Command::kReplace, .group = group, .next = next});
}

bool SamplerLane::Remove(LatchGroup* group) {
  const bool removed = Post({.command = Command::kRemove, .group = group});
  if (removed) --group_count_;
  return removed;
}

uint64_t SamplerLane::Send(Mail mail) {
  const MutexLock lock(mutex_);
  return SendLocked(mail);
}

uint64_t SamplerLane::SendLocked(Mail mail) {
  mail.id = ++sent_;
  mailbox_.push_back(mail);
  mail_count_.fetch_add(1, std::memory_order_release);
  FutexWake(mail_count_);
  return mail.id;
}

template <typename Condition>
bool SamplerLane::WaitLocked(MutexLock& lock, int64_t deadline_ns, const Condition& condition) {
  if (deadline_ns != INT64_MAX) {
    const std::chrono::nanoseconds left(std::max<int64_t>(0, deadline_ns - MonotonicNs()));
    return done_.WaitFor(lock, left, condition);
  }
  done_.Wait(lock, condition);
  return true;
}

bool SamplerLane::Await(int64_t deadline_ns) {
  MutexLock lock(mutex_);
  return WaitLocked(lock, deadline_ns, [this]() ATTUNE_REQUIRES(mutex_) { return mailbox_.empty() && !obeying_; });
}

bool SamplerLane::Post(const Mail& mail) {
  MutexLock lock(mutex_);
  const uint64_t id = SendLocked(mail);
  const auto obeyed = [&]() ATTUNE_REQUIRES(mutex_) { return obeyed_ >= id; };
  if (WaitLocked(lock, MonotonicNs() + kStuckNs, obeyed)) return true;
  if (std::erase_if(mailbox_, [&](const Mail& each) { return each.id == id; }) > 0) return false;
  // It is being obeyed. Only adding reads the sensor, which may not return: then the lane has the group all the same.
  return mail.command == Command::kAdd || WaitLocked(lock, INT64_MAX, obeyed);
}

void SamplerLane::SetUpThread(bool realtime) {
  ::pthread_setname_np(::pthread_self(), "attune-sampler");
  std::vector<std::string> got;
  const sched_param parameters{kFifoPriority};
  if (!realtime) {
    got.emplace_back("ordinary priority");
  } else if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
    has_priority_ = true;
    got.emplace_back("SCHED_FIFO");
  } else {
    got.push_back(fmt::format("no SCHED_FIFO ({}; needs CAP_SYS_NICE or RLIMIT_RTPRIO)", std::strerror(errno)));
  }
  if (::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0) got.emplace_back("timer slack 1 ns");
  if (!options_.cpus.empty()) {
    const Status pinned = options_.cpus.PinThisThread();
    got.push_back(pinned.ok() ? fmt::format("on CPUs {}", options_.cpus.ToString())
                              : fmt::format("not on CPUs {} ({})", options_.cpus.ToString(), pinned.error().message));
  }
  conditions_ = fmt::format("{}", fmt::join(got, ", "));
}

void SamplerLane::Run() {
  uint32_t seen = 0;
  while (true) {
    if (const uint32_t count = mail_count_.load(std::memory_order_acquire); count != seen) {
      seen = count;
      if (!ReadMail()) return;
    }
    int64_t next_ns = 0;
    if (!paused_ && !groups_.empty()) {
      next_ns = (*std::min_element(groups_.begin(), groups_.end(), [](auto* a, auto* b) {
                  return a->next_ns < b->next_ns;
                }))->next_ns;
    }
    int64_t now_ns = MonotonicNs();
    if (next_ns == 0 || now_ns < next_ns) {
      FutexWait(mail_count_, seen, next_ns);
      continue;
    }
    for (LatchGroup* group : groups_) {
      if (group->next_ns > now_ns) continue;
      const int64_t missed = group->Tick();
      if (missed > 0) options_.meter->missed_ticks.fetch_add(missed, std::memory_order_relaxed);
    }
    HandOverDue(MonotonicNs());
  }
}

bool SamplerLane::ReadMail() {
  bool go_on = true;
  MutexLock lock(mutex_);
  while (go_on && !mailbox_.empty()) {
    const Mail mail = mailbox_.front();
    mailbox_.erase(mailbox_.begin());
    obeying_ = true;
    lock.Unlock();  // a sensor that is read here may not return
    go_on = Obey(mail);
    lock.Lock();
    obeying_ = false;
    obeyed_ = mail.id;
    done_.NotifyAll();
  }
  return go_on;
}

bool SamplerLane::Obey(const Mail& mail) {
  const int64_t now_ns = MonotonicNs();
  switch (mail.command) {
    case Command::kAdd:
      Begin(*mail.group, mail.after_ns == 0 ? now_ns : mail.after_ns, now_ns);
      groups_.push_back(mail.group);
      if (mail.after_ns == 0) SampleBesideGrid(*mail.group);
      return true;
    case Command::kReplace:
      Close(*mail.group, now_ns);
      if (&mail.next->sensor != &mail.group->sensor) mail.next->sensor.Continue(mail.group->sensor);
      Begin(*mail.next, mail.group->closed_ns, now_ns);
      std::replace(groups_.begin(), groups_.end(), mail.group, mail.next);
      return true;
    case Command::kRemove:
      Close(*mail.group, now_ns);
      std::erase(groups_, mail.group);
      return true;
    case Command::kPause:
      paused_ = true;
      for (LatchGroup* each : groups_) {
        each->HandOver(now_ns);
        each->Pause(now_ns);
      }
      return true;
    case Command::kResume:
      paused_ = false;
      for (LatchGroup* each : groups_) {
        each->Resume(now_ns);
        each->HandOver(now_ns);
      }
      return true;
    case Command::kAnswer: return true;
    case Command::kStop:
      for (LatchGroup* each : groups_) {
        SampleBesideGrid(*each);
        Close(*each, now_ns);
      }
      AccountCpu();
      return false;
  }
  return true;
}

void SamplerLane::Begin(LatchGroup& group, int64_t after_ns, int64_t now_ns) {
  group.Align(after_ns);
  if (paused_) group.Pause(now_ns);
}

/// A sensor that may wait for another process must hold up neither start nor end.
void SamplerLane::SampleBesideGrid(LatchGroup& group) {
  if (options_.at_both_ends && !paused_ && !group.sensor.Info().own_thread) group.SampleNow();
}

void SamplerLane::Close(LatchGroup& group, int64_t now_ns) {
  options_.meter->missed_ticks.fetch_add(group.Close(now_ns), std::memory_order_relaxed);
  group.HandOver(now_ns);
}

void SamplerLane::HandOverDue(int64_t now_ns) {
  bool any = false;
  for (LatchGroup* group : groups_) {
    if (!group->WantsDelivery(now_ns)) continue;
    group->HandOver(now_ns);
    any = true;
  }
  if (!any) return;
  // With priority it must not wait for threads that have none. Without, a second thread that wakes up on its CPU would
  // cost it more ticks than it saves.
  if (has_priority_) {
    delivery_.Notify();
  } else {
    delivery_.Drain();
  }
  AccountCpu();
}

void SamplerLane::AccountCpu() {
  const int64_t cpu_ns = ThreadCpuNs();
  options_.meter->sampler_cpu_ns.fetch_add(cpu_ns - cpu_ns_, std::memory_order_relaxed);
  cpu_ns_ = cpu_ns;
}

}  // namespace attune::session
