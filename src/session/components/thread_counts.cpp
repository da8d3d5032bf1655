// The table thread_counts: events of each observed thread (docs/counters.md).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "base/unique_fd.h"
#include "counter/polled_threads.h"
#include "session/components/factories.h"
#include "session/counting/bpf_threads.h"

namespace attune::session {
namespace {

using counter::EventCount;
using counter::ThreadCounts;

class ThreadCountsComponent : public Component {
 public:
  ThreadCountsComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts)
      : context_(context), recording_(recording), facts_(facts) {}

  Status Start() override;
  bool IsChosen() const override { return !context_.options.counted.empty(); }
  void OnProgram(pid_t pid, bool runs_already) override;
  void Stop() override;
  void AddPollFds(std::vector<int>& fds) const override {
    if (timer_) fds.push_back(timer_.get());
  }
  void Serve() override;
  void EverySecond() override { Read(true); }

 private:
  struct Counted {
    std::vector<EventCount> counts;              ///< at its row before
    std::map<int, std::vector<double>> on_cpus;  ///< growth that is not in the table yet, by CPU and event
    bool is_told = false;                        ///< rows of it are in the table
  };

  void Read(bool with_living);
  void Take(const ThreadCounts& thread);
  void Tell(const ThreadCounts& thread, Counted& counted);
  void Publish();
  void TellNotes();

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  std::unique_ptr<counter::ThreadCounting> counting_;    ///< nullptr: nothing is to be counted
  UniqueFd timer_;                                       ///< as often as threads' ends must be taken
  bool has_begun_ = true;                                ///< the program that was started last
  std::map<std::pair<pid_t, int64_t>, Counted> living_;  ///< by tid and start
  std::vector<model::ThreadCount> rows_;
};

Status ThreadCountsComponent::Start() {
  const std::vector<counter::NamedEvent>& events = context_.options.counted;
  if (events.empty()) return {};
  for (const counter::EventNote& note : context_.options.not_counted)
    recording_.AddUnseen(fmt::format("counts of {}: {}", note.event, note.why));
  const counter::PerfOpen open = counter::KernelPerfOpen();
  CpuSet online = CpuSet::In(context_.host, "/sys/devices/system/cpu/online");
  if (online.empty()) online = CpuSet::Allowed();
  auto by_bpf = BpfThreads::Create(context_.host, open, events, online, kTellMigrations);
  if (by_bpf.ok()) {
    counting_ = *std::move(by_bpf);
  } else if (by_bpf.error().code == Errc::kInvalidArgument) {
    return by_bpf.error();
  } else {
    counting_ = std::make_unique<counter::PolledThreads>(context_.host, open, events);
    recording_.AddUnseen(fmt::format("counts of threads that live for less than {} ms: they are told together ({})",
                                     counting_->PeriodNs() / 1'000'000, by_bpf.error().message));
  }
  ATTUNE_TRY(timer_, MakeTimer(counting_->PeriodNs(), counting_->PeriodNs()));
  return {};
}

void ThreadCountsComponent::OnProgram(pid_t pid, bool runs_already) {
  if (counting_ == nullptr) return;
  const Status followed = counting_->Follow(pid, !runs_already);
  if (!followed.ok()) recording_.AddUnseen(fmt::format("counts of process {}: {}", pid, followed.error().message));
  has_begun_ = runs_already;
}

void ThreadCountsComponent::Serve() {
  if (!HasExpired(timer_)) return;
  if (!std::exchange(has_begun_, true)) counting_->HasBegun();
  Read(false);
}

void ThreadCountsComponent::Read(bool with_living) {
  if (counting_ == nullptr) return;
  const Status read = counting_->Read(with_living, [this](const ThreadCounts& thread) { Take(thread); });
  static_cast<void>(read);  // what was lost is in the notes
  Publish();
}

void ThreadCountsComponent::Stop() {
  if (counting_ == nullptr) return;
  const Status ended = counter::EndWhenAllHaveEnded(*counting_, [this](const ThreadCounts& thread) { Take(thread); });
  static_cast<void>(ended);
  Publish();
  TellNotes();
}

/// A thread that migrates often has no more rows: what it counted on each CPU is told at its next other row.
void ThreadCountsComponent::Take(const ThreadCounts& thread) {
  const auto found = living_.try_emplace({thread.tid, thread.start_ns}).first;
  Counted& counted = found->second;
  std::vector<double>& on_cpu = counted.on_cpus[thread.ran_on];
  on_cpu.resize(thread.counts.size());
  const std::vector<EventCount> growth = counter::GrowthOf(thread.counts, counted.counts);
  for (size_t i = 0; i < growth.size(); ++i) on_cpu[i] += growth[i].value;
  counted.counts = thread.counts;
  if (thread.moment == counter::Moment::kMigrated) return;
  Tell(thread, counted);
  counted.on_cpus.clear();
  if (thread.HasEnded()) living_.erase(found);
}

void ThreadCountsComponent::Tell(const ThreadCounts& thread, Counted& counted) {
  const model::ElementId element =
      thread.tid == 0 ? facts_.registry().Machine() : facts_.processes().Thread(thread.pid, thread.last_tid);
  for (size_t i = 0; i < thread.counts.size(); ++i) {
    if (!thread.counts[i].is_known) continue;
    double grown = 0;
    int64_t told = 0;  // rounding loses nothing of the thread's sum
    for (const auto& [cpu, growth] : counted.on_cpus) {
      grown += growth[i];
      const int64_t count = std::llround(grown) - told;
      // A thread that ended before anything of it was accounted for has a row all the same, of 0.
      const bool is_only_row =
          i == 0 && cpu == thread.ran_on && !counted.is_told && thread.HasEnded() && thread.tid != 0;
      if (count <= 0 && !is_only_row) continue;
      told += std::max<int64_t>(count, 0);
      rows_.push_back({.t_ns = thread.end_ns,
                       .element = element,
                       .event = context_.options.counted[i].name,
                       .count = std::max<int64_t>(count, 0),
                       .counted_ppm = std::llround(thread.counts[i].share * 1e6),
                       .cpu = cpu < 0 ? model::kAbsent : cpu});
      counted.is_told = true;
    }
  }
}

void ThreadCountsComponent::Publish() {
  if (!rows_.empty()) recording_.pipeline().Publish(model::ToBatch(std::span<const model::ThreadCount>(rows_)));
  rows_.clear();
}

void ThreadCountsComponent::TellNotes() {
  for (const counter::EventNote& note : counting_->Notes())
    recording_.AddUnseen(note.event.empty() ? note.why : fmt::format("counts of {}: {}", note.event, note.why));
}

}  // namespace

std::unique_ptr<Component> MakeThreadCounts(SessionContext& context, RecordingComponent& recording,
                                            HostFactsComponent& facts) {
  return std::make_unique<ThreadCountsComponent>(context, recording, facts);
}

}  // namespace attune::session
