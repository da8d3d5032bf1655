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

}  // namespace

void Sampler::LatchGroup::Configure(model::StreamId new_stream, int64_t new_interval_ns, int64_t chunk_ns) {
  stream = new_stream;
  interval_ns = new_interval_ns;
  chunk_ns_ = chunk_ns;
  capacity_ = static_cast<size_t>(std::max<int64_t>(1, chunk_ns / interval_ns));
  t_ns_.clear();
  t_ns_.reserve(capacity_);
  rows_.assign(capacity_ * columns, 0);
  gaps_.clear();
  gaps_.reserve(2 * kMaxGapsAChunk);
  away_since_ns_ = 0;
  away_count_ = 0;
}

int64_t Sampler::LatchGroup::Tick() {
  const int64_t now_ns = MonotonicNs();
  const int64_t missed = (now_ns - next_ns) / interval_ns;
  if (missed > 0) {
    AddGap(model::GapReason::kMissed, next_ns, next_ns + missed * interval_ns, missed);
    next_ns += missed * interval_ns;
  }
  const std::span<int64_t> row(rows_.data() + t_ns_.size() * columns, columns);
  if (sensor->Sample(row)) {
    if (away_since_ns_ != 0) AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
    away_since_ns_ = 0;
    away_count_ = 0;
    t_ns_.push_back(now_ns);
  } else {
    if (away_since_ns_ == 0) away_since_ns_ = now_ns;
    ++away_count_;
  }
  next_ns += interval_ns;
  return missed;
}

bool Sampler::LatchGroup::WantsDelivery(int64_t now_ns) const {
  if (t_ns_.size() == capacity_) return true;
  if (!t_ns_.empty()) return now_ns - t_ns_.front() >= chunk_ns_;
  return !gaps_.empty() || (away_since_ns_ != 0 && now_ns - away_since_ns_ >= kAwayReportNs);
}

SampleChunk Sampler::LatchGroup::Take(int64_t now_ns, bool closing) {
  // A sensor that stays away is reported a part at a time, so that a recording that is cut off has it too.
  if (away_since_ns_ != 0 && away_count_ > 0 && (closing || now_ns - away_since_ns_ >= kAwayReportNs)) {
    AddGap(model::GapReason::kVanished, away_since_ns_, now_ns, away_count_);
    away_since_ns_ = now_ns;
    away_count_ = 0;
  }
  if (closing && paused_since_ns_ != 0) {
    const int64_t first_ns = next_ns;
    Align(now_ns);
    AddGap(model::GapReason::kPaused, paused_since_ns_, now_ns, (next_ns - first_ns) / interval_ns);
    paused_since_ns_ = now_ns;
  }
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
  Align(now_ns);
  AddGap(model::GapReason::kPaused, paused_since_ns_, now_ns, std::max<int64_t>(0, (next_ns - first_ns) / interval_ns));
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
  Post(Command::kStop);
  thread_.join();
}

void Sampler::Lane::Add(LatchGroup* group) {
  ++group_count_;
  Post(Command::kAdd, group);
}

void Sampler::Lane::Remove(LatchGroup* group) {
  --group_count_;
  Post(Command::kRemove, group);
}

void Sampler::Lane::Pause() { Post(Command::kPause); }

void Sampler::Lane::Resume() { Post(Command::kResume); }

void Sampler::Lane::Post(Command command, LatchGroup* group) {
  std::unique_lock lock(mutex_);
  mailbox_.emplace_back(command, group);
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
    now_ns = MonotonicNs();
    for (LatchGroup* group : groups_) {
      if (group->WantsDelivery(now_ns)) Deliver(*group, now_ns, false);
    }
  }
}

bool Sampler::Lane::Obey() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = MonotonicNs();
  bool go_on = true;
  for (const auto& [command, group] : mailbox_) {
    switch (command) {
      case Command::kAdd:
        group->Align(now_ns);
        if (paused_) group->Pause(now_ns);
        groups_.push_back(group);
        break;
      case Command::kRemove:
        Deliver(*group, now_ns, true);
        std::erase(groups_, group);
        break;
      case Command::kPause:
        paused_ = true;
        for (LatchGroup* each : groups_) {
          Deliver(*each, now_ns, false);
          each->Pause(now_ns);
        }
        break;
      case Command::kResume:
        paused_ = false;
        for (LatchGroup* each : groups_) {
          each->Resume(now_ns);
          Deliver(*each, now_ns, false);
        }
        break;
      case Command::kStop:
        for (LatchGroup* each : groups_) Deliver(*each, now_ns, true);
        AccountCpu();
        go_on = false;
        break;
    }
  }
  mailbox_.clear();
  done_.notify_all();
  return go_on;
}

void Sampler::Lane::Deliver(LatchGroup& group, int64_t now_ns, bool closing) {
  SampleChunk chunk = group.Take(now_ns, closing);
  AccountCpu();
  if (chunk.samples.rows > 0 || !chunk.gaps.empty()) callback_(std::move(chunk));
}

void Sampler::Lane::AccountCpu() {
  const int64_t cpu_ns = ThreadCpuNs();
  options_.meter->sampler_cpu_ns.fetch_add(cpu_ns - cpu_ns_, std::memory_order_relaxed);
  cpu_ns_ = cpu_ns;
}

}  // namespace attune::session
