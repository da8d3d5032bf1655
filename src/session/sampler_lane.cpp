#include "session/sampler_lane.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"

namespace attune::session {
namespace {

constexpr int kFifoPriority = 10;      // above all ordinary work, below the kernel's own threads
constexpr size_t kMaxGapsAChunk = 64;  // of one reason; more become one row with their sum
constexpr int64_t kAwayReportNs = 1'000'000'000;
constexpr int64_t kManyRows = 25;  // a delivery's cost no longer counts beside them

int64_t ThreadCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// Sleeps until the time, or until the word is no longer `seen`. @param deadline_ns 0: no limit
void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen, int64_t deadline_ns) {
  const timespec deadline{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  // The absolute form; its clock is CLOCK_MONOTONIC. Every way to return is handled alike: the caller looks again.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, deadline_ns == 0 ? nullptr : &deadline,
            nullptr, FUTEX_BITSET_MATCH_ANY);
}

void FutexWake(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

/// Room for rows that are no longer in the CPU's cache when they are delivered would cost more than it saves.
size_t RowsOfDelivery(int64_t interval_ns) {
  const int64_t prompt = kPromptDeliveryNs / interval_ns;
  return static_cast<size_t>(std::clamp<int64_t>(kLongestDeliveryNs / interval_ns, 1, std::max(kManyRows, prompt)));
}

}  // namespace

Sampler::LatchGroup::LatchGroup(model::Sensor& its_sensor, const PreparedSensor& prepared, model::StreamId its_stream,
                                const std::atomic<int64_t>& delivery_ns)
    : sensor(its_sensor),
      cost_ns(prepared.cost_ns),
      columns(prepared.signals.size()),
      stream(its_stream),
      interval_ns(prepared.interval_ns),
      delivery_ns_(delivery_ns),
      capacity_(RowsOfDelivery(interval_ns)),
      rows_(capacity_ * columns) {
  t_ns_.reserve(capacity_);
  gaps_.reserve(2 * kMaxGapsAChunk);
}

int64_t Sampler::LatchGroup::SkipMissed(int64_t now_ns) {
  if (now_ns < next_ns + interval_ns) return 0;
  const int64_t missed = (now_ns - next_ns) / interval_ns;
  AddGap(model::GapReason::kMissed, next_ns, next_ns + missed * interval_ns, missed);
  next_ns += missed * interval_ns;
  return missed;
}

int64_t Sampler::LatchGroup::Tick() {
  const int64_t now_ns = MonotonicNs();
  const int64_t missed = SkipMissed(now_ns);
  const std::span<int64_t> row(rows_.data() + t_ns_.size() * columns, columns);
  if (sensor.Sample(row)) {
    if (away_since_ns_ != 0) AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
    away_since_ns_ = 0;
    away_count_ = 0;
    t_ns_.push_back(now_ns);
  } else {
    if (away_since_ns_ == 0) away_since_ns_ = now_ns;
    ++away_count_;
  }
  away.store(away_since_ns_ != 0, std::memory_order_relaxed);
  next_ns += interval_ns;
  return missed;
}

bool Sampler::LatchGroup::WantsDelivery(int64_t now_ns) const {
  if (t_ns_.size() == capacity_) return true;
  if (!t_ns_.empty()) return now_ns - t_ns_.front() >= delivery_ns_.load(std::memory_order_relaxed);
  return !gaps_.empty() || (away_since_ns_ != 0 && now_ns - away_since_ns_ >= kAwayReportNs);
}

void Sampler::LatchGroup::ReportAway(int64_t now_ns) {
  if (away_since_ns_ == 0 || away_count_ == 0) return;
  AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
  away_since_ns_ = now_ns;
  away_count_ = 0;
}

int64_t Sampler::LatchGroup::Close(int64_t now_ns) {
  ReportAway(now_ns);
  if (paused_since_ns_ != 0) {
    Resume(now_ns);
    closed_ns = now_ns;
    return 0;
  }
  const int64_t missed = SkipMissed(now_ns);
  closed_ns = std::min(now_ns, next_ns - 1);  // one that is due, but not missed yet, is left to whoever comes after
  return missed;
}

SampleChunk Sampler::LatchGroup::Take(int64_t now_ns) {
  // A sensor that stays away is reported a part at a time, so that a recording that is cut off has it too.
  if (now_ns - away_since_ns_ >= kAwayReportNs) ReportAway(now_ns);
  SampleChunk chunk;
  chunk.gaps.swap(gaps_);
  gaps_.reserve(2 * kMaxGapsAChunk);
  model::Batch& batch = chunk.samples;
  batch.table = model::Table::kSamples;
  batch.stream = stream;
  batch.rows = t_ns_.size();
  if (batch.rows == 0) return chunk;
  batch.ints.reserve(columns + 1);
  batch.ints.push_back(t_ns_);
  for (size_t column = 0; column < columns; ++column) {
    std::vector<int64_t>& values = batch.ints.emplace_back(batch.rows);
    for (size_t row = 0; row < batch.rows; ++row) values[row] = rows_[row * columns + column];
  }
  t_ns_.clear();
  return chunk;
}

void Sampler::LatchGroup::Pause(int64_t now_ns) {
  if (paused_since_ns_ == 0) paused_since_ns_ = now_ns;
}

void Sampler::LatchGroup::Resume(int64_t now_ns) {
  if (paused_since_ns_ == 0) return;
  const int64_t first_ns = next_ns;
  if (next_ns <= now_ns) Align(now_ns);
  AddGap(model::GapReason::kPaused, paused_since_ns_, now_ns, (next_ns - first_ns) / interval_ns);
  paused_since_ns_ = 0;
}

void Sampler::LatchGroup::AddGap(model::GapReason reason, int64_t t0_ns, int64_t t1_ns, int64_t count) {
  if (gaps_.size() >= kMaxGapsAChunk && gaps_.back().reason == reason) {
    gaps_.back().t1_ns = t1_ns;
    gaps_.back().count += count;
    return;
  }
  gaps_.push_back({stream, t0_ns, t1_ns, count, reason});
}

Sampler::Lane::Lane(const SamplerOptions& options, const ChunkCallback& callback, bool realtime, bool paused)
    : options_(options), callback_(callback), paused_(paused) {
  thread_ = std::thread([this, realtime] {
    SetUpThread(realtime);
    {
      const std::lock_guard lock(mutex_);
      ready_ = true;
    }
    done_.notify_all();
    Run();
  });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return ready_; });
}

Sampler::Lane::~Lane() {
  Post({.command = Command::kStop});
  thread_.join();
}

void Sampler::Lane::Add(LatchGroup* group, int64_t after_ns) {
  ++group_count_;
  Post({.command = Command::kAdd, .group = group, .after_ns = after_ns});
}

void Sampler::Lane::Replace(LatchGroup* group, LatchGroup* next) {
  Post({.command = Command::kReplace, .group = group, .next = next});
}

void Sampler::Lane::Remove(LatchGroup* group) {
  --group_count_;
  Post({.command = Command::kRemove, .group = group});
}

void Sampler::Lane::Pause() { Post({.command = Command::kPause}); }

void Sampler::Lane::Resume() { Post({.command = Command::kResume}); }

void Sampler::Lane::Post(const Mail& mail) {
  std::unique_lock lock(mutex_);
  mailbox_.push_back(mail);
  mail_count_.fetch_add(1, std::memory_order_release);
  FutexWake(mail_count_);
  done_.wait(lock, [this] { return mailbox_.empty(); });
}

void Sampler::Lane::SetUpThread(bool realtime) {
  ::pthread_setname_np(::pthread_self(), "attune-sampler");
  std::vector<std::string> got;
  const sched_param parameters{kFifoPriority};
  if (!realtime) {
    got.emplace_back("ordinary priority");
  } else if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
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

void Sampler::Lane::Run() {
  uint32_t seen = 0;
  while (true) {
    if (const uint32_t count = mail_count_.load(std::memory_order_acquire); count != seen) {
      seen = count;
      if (!Obey()) return;
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
    DeliverDue(MonotonicNs());
  }
}

bool Sampler::Lane::Obey() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = MonotonicNs();
  bool go_on = true;
  for (const Mail& mail : mailbox_) {
    switch (mail.command) {
      case Command::kAdd:
        Begin(*mail.group, mail.after_ns == 0 ? now_ns : mail.after_ns, now_ns);
        groups_.push_back(mail.group);
        break;
      case Command::kReplace:
        Close(*mail.group, now_ns);
        if (&mail.next->sensor != &mail.group->sensor) mail.next->sensor.Continue(mail.group->sensor);
        Begin(*mail.next, mail.group->closed_ns, now_ns);
        std::replace(groups_.begin(), groups_.end(), mail.group, mail.next);
        break;
      case Command::kRemove:
        Close(*mail.group, now_ns);
        std::erase(groups_, mail.group);
        break;
      case Command::kPause:
        paused_ = true;
        for (LatchGroup* each : groups_) {
          Deliver(*each, now_ns);
          each->Pause(now_ns);
        }
        break;
      case Command::kResume:
        paused_ = false;
        for (LatchGroup* each : groups_) {
          each->Resume(now_ns);
          Deliver(*each, now_ns);
        }
        break;
      case Command::kStop:
        for (LatchGroup* each : groups_) Close(*each, now_ns);
        AccountCpu();
        go_on = false;
        break;
    }
  }
  mailbox_.clear();
  done_.notify_all();
  return go_on;
}

void Sampler::Lane::Begin(LatchGroup& group, int64_t after_ns, int64_t now_ns) {
  group.Align(after_ns);
  if (paused_) group.Pause(now_ns);
}

void Sampler::Lane::Close(LatchGroup& group, int64_t now_ns) {
  options_.meter->missed_ticks.fetch_add(group.Close(now_ns), std::memory_order_relaxed);
  Deliver(group, now_ns);
}

void Sampler::Lane::DeliverDue(int64_t now_ns) {
  LatchGroup* last = nullptr;
  for (LatchGroup* group : groups_) {
    if (!group->WantsDelivery(now_ns)) continue;
    if (last != nullptr) Deliver(*last, now_ns, /*more=*/true);
    last = group;
  }
  if (last != nullptr) Deliver(*last, now_ns);
}

void Sampler::Lane::Deliver(LatchGroup& group, int64_t now_ns, bool more) {
  SampleChunk chunk = group.Take(now_ns);
  chunk.more = more;
  AccountCpu();
  if (chunk.samples.rows > 0 || !chunk.gaps.empty() || !more) callback_(std::move(chunk));
}

void Sampler::Lane::AccountCpu() {
  const int64_t cpu_ns = ThreadCpuNs();
  options_.meter->sampler_cpu_ns.fetch_add(cpu_ns - cpu_ns_, std::memory_order_relaxed);
  cpu_ns_ = cpu_ns;
}

}  // namespace attune::session
