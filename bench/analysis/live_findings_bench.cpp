/// Cost of findings while a program runs: 100 000 events a second of simulated time, judged twice a second as a session
/// does. ATTUNE_EVENTS=1000000000 shows that memory stays bounded over hours.

#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "analysis/findings/find_findings.h"
#include "analysis/findings/program_operators.h"
#include "harness/figure.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::bench {
namespace {

constexpr int64_t kThreads = 16;
constexpr int64_t kLocks = 64;
constexpr int64_t kSites = 200;
constexpr int64_t kEventNs = 10'000;  // 100 000 a second
constexpr size_t kBatchRows = 1000;
constexpr int64_t kJudgeNs = 500'000'000;

/// Threads that hand locks over to each other and meet at barriers, for as long as it is asked for.
class Program : public model::Source {
 public:
  Program() {
    auto meta = std::make_shared<model::Metadata>();
    meta->info["cpus_allowed"] = "0-7";
    const auto add = [&meta](model::ElementKind kind, model::ElementId parent, int64_t os_id) {
      const auto id = static_cast<model::ElementId>(meta->elements.size() + 1);
      meta->elements.push_back(
          {.id = id, .parent = parent, .kind = kind, .os_id = os_id, .start_ns = 0, .name = std::to_string(id)});
      return id;
    };
    const model::ElementId process = add(model::ElementKind::kProcess, 0, 100);
    meta->processes.push_back({.id = process, .pid = 100, .start_ns = 0});
    for (int64_t i = 0; i < kThreads; ++i) add(model::ElementKind::kThread, process, 100 + i);
    for (int64_t i = 0; i < kLocks; ++i) add(model::ElementKind::kLock, process, model::kAbsent);
    for (int64_t i = 0; i < kSites; ++i) add(model::ElementKind::kSite, process, model::kAbsent);
    meta_ = meta;
  }
  std::shared_ptr<const model::Metadata> Meta() override { return meta_; }
  model::TimeRange Extent() override { return {0, t_ns_}; }
  Status ReadSamples(model::StreamId, std::span<const uint32_t>, model::TimeRange,
                     const model::SampleVisitor&) override {
    return {};
  }
  Status ReadEvents(model::TimeRange, const model::EventVisitor&) override { return {}; }
  Result<std::vector<model::SeriesView>> View(const model::ViewRequest&) override {
    return std::vector<model::SeriesView>{};
  }
  uint64_t Version() override { return 1; }
  bool WaitForNews(uint64_t, std::chrono::milliseconds) override { return false; }
  bool Growing() override { return true; }

  int64_t now_ns() const { return t_ns_; }

  model::Batch NextEvents() {
    model::Batch batch{.table = model::Event::kTable, .rows = kBatchRows, .ints = {}, .texts = {}};
    batch.ints.resize(7);
    for (size_t i = 0; i < kBatchRows; ++i) {
      t_ns_ += kEventNs;
      const auto n = t_ns_ / kEventNs;
      const int64_t thread = 2 + n % kThreads;
      const int64_t lock = 2 + kThreads + n % kLocks;
      const int64_t site = 2 + kThreads + kLocks + n % kSites;
      if (n % 10 == 0) {
        Add(batch, thread, wire::EventKind::kWait, 2 + kThreads, site, 30'000, wire::SyncKind::kBarrier);
      } else if (n % 2 == 0) {
        Add(batch, thread, wire::EventKind::kHandOver, lock, site, 0, wire::SyncKind::kNone);
      } else {
        Add(batch, thread, wire::EventKind::kWait, lock, site, 40'000 + n % 1000, wire::SyncKind::kMutex);
      }
    }
    return batch;
  }
  /// A second's sums.
  model::Batch NextSums() const {
    std::vector<model::Sync> rows;
    for (int64_t i = 0; i < kThreads * 20; ++i) {
      rows.push_back({.t_ns = t_ns_,
                      .thread = static_cast<model::ElementId>(2 + i % kThreads),
                      .object = static_cast<model::ElementId>(2 + kThreads + i % 4),
                      .site = static_cast<model::ElementId>(2 + kThreads + kLocks + i % kSites),
                      .kind = wire::SyncKind::kMutex,
                      .count = 300,
                      .contended = 150,
                      .wait_ns = 6'000'000,
                      .hold_ns = 100'000,
                      .holds = 10});
    }
    return model::ToBatch(rows);
  }

 private:
  void Add(model::Batch& batch, int64_t thread, wire::EventKind kind, int64_t object, int64_t site, int64_t a,
           wire::SyncKind b) const {
    const int64_t cells[] = {t_ns_, thread, static_cast<int64_t>(kind), object, site, a, static_cast<int64_t>(b)};
    for (size_t i = 0; i < 7; ++i) batch.ints[i].push_back(cells[i]);
  }

  std::shared_ptr<const model::Metadata> meta_;
  int64_t t_ns_ = 0;
};

int64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void BenchLiveFindings(int64_t events) {
  Program program;
  analysis::ProgramOperators operators;
  analysis::LiveFeed feed(program, operators.All());
  feed.Learn();
  int64_t spent_ns = 0, judged_ns = 0, next_judge_ns = kJudgeNs, next_sums_ns = 1'000'000'000;
  size_t found = 0;
  while (program.now_ns() < events * kEventNs) {
    const model::Batch batch = program.NextEvents();
    const int64_t begin_ns = CpuNs();
    feed.Add(batch);
    if (program.now_ns() >= next_sums_ns) {
      feed.Add(program.NextSums());
      next_sums_ns += 1'000'000'000;
    }
    const int64_t added_ns = CpuNs();
    if (program.now_ns() >= next_judge_ns) {
      const auto meta = program.Meta();
      const analysis::SiteNames names(*meta, {});
      found = FindFindings(operators.Snapshot(*meta, names, program.now_ns(), program.now_ns() - 200'000'000)).size();
      next_judge_ns += kJudgeNs;
    }
    const int64_t end_ns = CpuNs();
    spent_ns += end_ns - begin_ns;
    judged_ns += end_ns - added_ns;
  }
  if (found == 0) std::abort();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto count = static_cast<double>(events);
  const std::string note = std::to_string(events) +
                           " events of 16 threads and 64 locks; judging them twice a second is " +
                           std::to_string(static_cast<int>(static_cast<double>(judged_ns) / count)) + " ns of it";
  Report({"findings while it runs: an event", static_cast<double>(spent_ns) / count, "ns", 500, Better::kLower, note});
  Report({"findings while it runs: memory", static_cast<double>(usage.ru_maxrss) / 1024, "MiB", 200, Better::kLower,
          std::to_string(events) + " events"});
}

}  // namespace
}  // namespace attune::bench

int main() {
  const char* events = std::getenv("ATTUNE_EVENTS");
  attune::bench::BenchLiveFindings(events != nullptr ? std::atoll(events) : 20'000'000);
}
