// What it costs the session to look at what the threads of a large program have counted (the collector does so once a
// second): 64 and 1000 threads with 16 locks each, all of them used since it looked before.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "harness/figure.h"
#include "sync/child.h"
#include "track/ring_reader.h"

namespace {

using namespace attune;
using bench::Fail;

constexpr int kUsualRounds = 21;
constexpr double kLimitUs = 10'000;  // 1 % of a core at one pass a second
constexpr uint64_t kLocksOfThread = 16;

track::RingReader OpenOnly(int folder) {
  const auto names = track::ListRings(folder);
  if (!names.ok() || names->size() != 1) Fail("the program did not attach");
  auto reader = track::RingReader::Open(folder, names->front());
  if (!reader.ok()) Fail(reader.error().message);
  return *std::move(reader);
}

int64_t CpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// One pass over all tables, and what it gave. @return its CPU time
double PassUs(track::RingReader& reader, std::vector<track::SyncDelta>& counted) {
  const int64_t begin_ns = CpuNs();
  if (!reader.ReadSyncTables().ok()) Fail("the ring file is damaged");
  counted = reader.TakeSync();
  return static_cast<double>(CpuNs() - begin_ns) / 1000;
}

void Measure(uint32_t threads, int rounds) {
  const bench::Folder folder("/dev/shm");
  const UniqueFd folder_fd(::open(folder.Path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Small rings: they are not what is read here. One slot more for the first thread.
  const Status written = track::WriteRingConfig(folder_fd.get(), {.slot_count = threads + 1,
                                                                  .ring_words = wire::kRingMinWords,
                                                                  .sync_entries = wire::kRingUsualSyncEntries,
                                                                  .ready_slots = threads + 1,
                                                                  .clock_is_tsc = TscIsUsable()});
  if (!written.ok()) Fail(written.error().message);
  const int cpu = bench::FirstCpus()[0];
  const bench::Target target(
      {.name = "tables",
       .cpus = {cpu, cpu},
       .threads = threads,
       .environment = {"LD_PRELOAD=" ATTUNE_PROBE_LIBRARY, ATTUNE_RING_FOLDER_VARIABLE "=" + folder.Path(),
                       ATTUNE_LEVEL_VARIABLE "=profile"}});
  target.Run(1);
  track::RingReader reader = OpenOnly(folder_fd.get());
  std::vector<double> news_us, idle_us;
  std::vector<track::SyncDelta> counted;
  for (int round = 0; round < rounds; ++round) {
    target.Run(10);
    if (!reader.Drain([](auto) {}).ok()) Fail("the ring file is damaged");
    news_us.push_back(PassUs(reader, counted));
    const auto locks = std::count_if(counted.begin(), counted.end(),
                                     [](const auto& delta) { return delta.kind == wire::SyncKind::kMutex; });
    if (static_cast<uint64_t>(locks) != threads * kLocksOfThread)
      Fail(fmt::format("{} locks instead of {}", locks, threads * kLocksOfThread));
    idle_us.push_back(PassUs(reader, counted));
  }
  const auto report = [&](const std::string& what, const std::vector<double>& values) {
    const bench::Spread spread = bench::SpreadOf(values);
    bench::Report({fmt::format("tables of {} threads, {}", threads, what), spread.median, "us", kLimitUs,
                   bench::Better::kLower,
                   fmt::format("CPU time, {} rounds, 95 % interval {:.0f} to {:.0f}; limit: 1 % of a core at 1 s",
                               rounds, spread.low95, spread.high95),
                   spread});
  };
  report("16 locks each, all used", news_us);
  report("nothing new", idle_us);
}

}  // namespace

int main() {
  const char* given = std::getenv("ATTUNE_BENCH_ROUNDS");
  const int rounds = given != nullptr ? std::max(1, std::atoi(given)) : kUsualRounds;
  for (const uint32_t threads : {64u, 1000u}) Measure(threads, rounds);
  return 0;
}
