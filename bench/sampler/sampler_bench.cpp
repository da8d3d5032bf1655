// What sampling costs: parsing alone, and the sampler against a loop that does nothing but wake up, read and parse.

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/unique_fd.h"
#include "harness/figure.h"
#include "sampler/bare_loop.h"
#include "sensor/registry.h"
#include "sensor/text/key_value_text.h"
#include "session/probes/placement.h"
#include "session/sampling/sampler.h"
#include "store/recording.h"

namespace {

using namespace attune;
using bench::BareLoop;
using bench::Better;
using bench::CpuNs;
using bench::kMs;
using bench::SamplingRun;
using bench::SumOfNumbers;

bool FifoIsPermitted() {
  bool permitted = false;
  std::thread([&] {
    const sched_param parameters{bench::kPriority};
    permitted = ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
  }).join();
  return permitted;
}

/// Drives sensors for some time as a session does, and throws away what comes.
SamplingRun RunSampler(std::vector<session::SensorRequest> requests, int64_t interval_ns, int64_t run_ns,
                       const session::SamplerOptions& options = {}) {
  const auto sampler = session::Sampler::Create(HostRoot(), std::move(requests), options);
  std::vector<model::StreamId> ids;
  for (size_t i = 0; i < sampler->Sensors().size(); ++i) {
    if (sampler->Sensors()[i].unavailable) {
      std::fprintf(stderr, "sampler_bench: %s\n", sampler->Sensors()[i].unavailable->message.c_str());
      std::exit(1);
    }
    ids.push_back(static_cast<model::StreamId>(i + 1));
  }
  std::atomic<int64_t> rows{0};
  const int64_t cpu_ns = CpuNs(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t begin_ns = MonotonicNs();
  const Status started = sampler->Start(ids, [&](const session::SampleChunk& chunk) {
    if (chunk.samples.stream == 1) rows += static_cast<int64_t>(chunk.samples.rows);
  });
  if (!started.ok()) std::exit(1);
  const timespec until{(begin_ns + run_ns) / 1'000'000'000, (begin_ns + run_ns) % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  sampler->Stop();
  const double elapsed_ns = static_cast<double>(MonotonicNs() - begin_ns);
  const double cpu = static_cast<double>(CpuNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
  const double missed = static_cast<double>(options.meter->missed_ticks) / static_cast<double>(ids.size());
  const double ticks = static_cast<double>(rows) + missed;
  return {cpu / (elapsed_ns / static_cast<double>(interval_ns)), cpu / elapsed_ns, static_cast<double>(rows) / ticks};
}

std::vector<session::SensorRequest> VmstatAndCpu(int64_t interval_ns) {
  std::vector<session::SensorRequest> requests;
  for (const char* name : {"vmstat", "cpu"}) requests.push_back({*sensor::MakeSensor(name), interval_ns});
  return requests;
}

/// Sixteen counters behind one short read.
class CheapSensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override {
    static const model::SensorInfo kInfo{"cheap", "", "/proc/self/schedstat", "", kMs};
    return kInfo;
  }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override {
    ATTUNE_TRY(file_, host.Open("/proc/self/schedstat"));
    return std::vector<model::SignalSpec>(16);
  }
  bool Sample(std::span<int64_t> out) override {
    std::array<char, 128> text;
    const long size = PreadAll(file_.get(), text.data(), text.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = SumOfNumbers(text.data(), text.data() + size) + static_cast<int64_t>(i);
    return size > 0;
  }

 private:
  UniqueFd file_;
};

void MeasureParsing() {
  const HostRoot host;
  const std::string text = *host.ReadFile("/proc/vmstat");
  sensor::KeyValueText parser;
  if (!parser.Learn(text).ok()) std::exit(1);
  // Texts as they follow each other at 1 kHz on this machine.
  std::vector<std::string> texts;
  for (int i = 0; i < 64; ++i) {
    texts.push_back(*host.ReadFile("/proc/vmstat"));
    ::usleep(1000);
  }
  std::vector<int64_t> values(parser.Keys().size());
  const double ns = bench::MedianNs(
      [&] {
        for (int lap = 0; lap < 50; ++lap) {
          for (const std::string& each : texts) parser.Parse(each, values);
        }
      },
      50.0 * static_cast<double>(texts.size()));
  bench::Report({"vmstat, parse", ns, "ns", 1500, Better::kLower,
                 fmt::format("{} keys, 64 texts 1 ms apart, 21 rounds", values.size())});
}

void MeasureAgainstBareLoop() {
  constexpr int64_t kRunNs = 250 * kMs;
  const auto sampler = [] { return RunSampler(VmstatAndCpu(kMs), kMs, kRunNs).cpu_ns_a_tick; };
  const bench::Ratio ratio = bench::Compare([] { return BareLoop(kRunNs).cpu_ns_a_tick; }, sampler);
  bench::Report({"sampler 1 kHz against a bare loop, CPU", ratio.median, "ratio", 1.15, Better::kLower,
                 "vmstat and cpu, whole process with delivery; " + bench::Describe(ratio)});
}

/// Threads that never wait, as long as this lives.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

void MeasurePunctuality() {
  const BusyThreads busy(4);
  const SamplingRun run = RunSampler(VmstatAndCpu(kMs), kMs, 5000 * kMs);
  bench::Report({"ticks taken at 1 kHz beside 4 busy threads", 100 * run.taken, "%", 99.5, Better::kHigher,
                 "vmstat and cpu, SCHED_FIFO, 5 s"});
}

/// What can be had without privilege depends on the scheduler and changes from second to second: a bare loop at the
/// same time shows how much.
void MeasureUnprivilegedPunctuality() {
  constexpr int64_t kRunNs = 15'000 * kMs;
  const BusyThreads busy(4);
  SamplingRun bare;
  std::thread beside([&] { bare = BareLoop(kRunNs, /*realtime=*/false); });
  session::SamplerOptions options;
  options.realtime = false;
  const SamplingRun sampler = RunSampler(VmstatAndCpu(kMs), kMs, kRunNs, options);
  beside.join();
  bench::Report({"ticks missed beside 4 busy threads without SCHED_FIFO, more than a bare loop",
                 100 * (bare.taken - sampler.taken), "points", 1, Better::kLower,
                 fmt::format("taken: bare loop {:.1f} %, sampler {:.1f} %; at the same time, 15 s", 100 * bare.taken,
                             100 * sampler.taken)});
}

/// CPU time of a whole session over its steady part, from what it recorded of itself.
std::optional<double> SessionShare(const std::string& recording) {
  const auto source = store::OpenRecording(recording);
  if (!source.ok()) return std::nullopt;
  const auto meta = (*source)->Meta();
  for (const model::Stream& stream : meta->streams) {
    for (uint32_t column = 0; column < stream.series.size(); ++column) {
      const model::Series* series = meta->FindSeries(stream.series[column]);
      if (series == nullptr || series->sensor != "attune" || series->signal != "session_cpu") continue;
      std::vector<int64_t> t_ns, cpu_ns;
      const Status read =
          (*source)->ReadSamples(stream.id, {&column, 1}, {INT64_MIN, INT64_MAX}, [&](const auto& block) {
            t_ns.insert(t_ns.end(), block.t_ns.begin(), block.t_ns.end());
            cpu_ns.insert(cpu_ns.end(), block.columns[0].begin(), block.columns[0].end());
            return true;
          });
      // The first and the last sample are taken at the begin and the end: what these cost is not the steady part.
      if (!read.ok() || t_ns.size() < 4) return std::nullopt;
      const size_t first = 1, last = t_ns.size() - 2;
      return static_cast<double>(cpu_ns[last] - cpu_ns[first]) / static_cast<double>(t_ns[last] - t_ns[first]);
    }
  }
  return std::nullopt;
}

/// A session without a program, in a process of its own as always.
std::optional<double> RecordedShare(const std::string& attune, const std::string& options) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::exit(1);
  const std::string recording = folder + "/session.attune";
  const std::string command = fmt::format("'{}' record -q {} --for 8s -o '{}'", attune, options, recording);
  const bool ran = std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe): before any thread
  const std::optional<double> share = ran ? SessionShare(recording) : std::nullopt;
  fs::remove_all(folder);
  return share;
}

void MeasureWholeSession() {
  namespace fs = std::filesystem;
  struct Case {
    const char* figure;
    const char* options;
    double limit;
  };
  const Case cases[] = {
      {"session at 10 Hz with vmstat and cpu, CPU of a core", "-i 100ms -s vmstat,cpu,attune@1s", 0.3},
      {"session at 10 Hz with every default sensor, CPU of a core", "-i 100ms", 0.3}};
  const fs::path attune = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" / "attune";
  if (!fs::exists(attune)) {
    for (const Case& each : cases)
      bench::ReportUnavailable(each.figure, "the program is not built: " + attune.string());
    return;
  }
  constexpr int kRounds = 3;  // by turns: the machine's CPUs change between speeds
  std::vector<double> bare;
  std::map<const Case*, std::vector<double>> shares;
  for (int round = 0; round < kRounds; ++round) {
    bare.push_back(100 * BareLoop(4000 * kMs, true, nullptr, 100 * kMs).cpu_share);
    for (const Case& each : cases) {
      const std::optional<double> share = RecordedShare(attune.string(), each.options);
      if (!share) std::exit(1);
      shares[&each].push_back(100 * *share);
    }
  }
  for (const Case& each : cases) {
    bench::Report(
        {each.figure, bench::SpreadOf(shares[&each]).median, "%", each.limit, Better::kLower,
         fmt::format("sampled, encoded and written, the whole process over 8 s, median of {}; a loop that reads "
                     "and parses vmstat and stat: {:.2f} %",
                     kRounds, bench::SpreadOf(bare).median)});
  }
}

void MeasureShares() {
  const SamplingRun slow = RunSampler(VmstatAndCpu(100 * kMs), 100 * kMs, 4000 * kMs);
  bench::Report(
      {"sampler 10 Hz, CPU of a core", 100 * slow.cpu_share, "%", 0.3, Better::kLower, "vmstat and cpu, 4 s"});
  const SamplingRun quick = RunSampler(VmstatAndCpu(kMs), kMs, 4000 * kMs);
  bench::Report({"sampler 1 kHz, CPU of a core", 100 * quick.cpu_share, "%", 8, Better::kLower, "vmstat and cpu, 4 s"});
}

/// Wake-ups alone, nothing read: what they cost is up to the machine, on a virtual one to its host.
double WakeUpsShare(int64_t interval_ns, int64_t run_ns) {
  double share = 0;
  std::thread([&] {
    const sched_param parameters{bench::kPriority};
    ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);  // refused: as the sampler, without it
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const int64_t cpu_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
    const int64_t begin_ns = MonotonicNs();
    for (int64_t next_ns = begin_ns; next_ns < begin_ns + run_ns;) {
      next_ns += interval_ns;
      const timespec until{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
    share = static_cast<double>(CpuNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / static_cast<double>(run_ns);
  }).join();
  return share;
}

SamplingRun RunCheapSensor(bool keep_awake) {
  std::vector<session::SensorRequest> requests;
  requests.push_back({std::make_unique<CheapSensor>(), kMs / 10});
  session::SamplerOptions options;
  options.keep_awake = keep_awake;
  return RunSampler(std::move(requests), kMs / 10, 1000 * kMs, options);
}

/// The machine's CPUs change between speeds from second to second: wake-ups alone, with it and without it by turns.
void MeasureTenKilohertz() {
  constexpr int kRounds = 5;
  const bool can_keep_awake = session::KeepCpusAwake(HostRoot()).ok();
  std::vector<double> alone, sampled, awake, taken;
  for (int round = 0; round < kRounds; ++round) {
    const SamplingRun run = RunCheapSensor(/*keep_awake=*/false);
    sampled.push_back(100 * run.cpu_share);
    taken.push_back(100 * run.taken);
    alone.push_back(100 * WakeUpsShare(kMs / 10, 1000 * kMs));
    if (can_keep_awake) awake.push_back(100 * RunCheapSensor(/*keep_awake=*/true).cpu_share);
  }
  const auto median = [](const std::vector<double>& values) { return bench::SpreadOf(values).median; };
  bench::Report(
      {"sampler 10 kHz, 16 cheap counters, CPU of a core", median(sampled), "%", 25, Better::kLower,
       fmt::format("median of {} s, {:.2f} % of the ticks taken; a loop that wakes up and reads nothing: {:.1f} %",
                   kRounds, median(taken), median(alone))});
  const char* kept = "sampler 10 kHz, 16 cheap counters, CPUs kept awake, CPU of a core";
  if (!can_keep_awake) return bench::ReportUnavailable(kept, "--keep-awake needs root");
  bench::Report({kept, median(awake), "%", 25, Better::kLower, "by turns with the row above"});
}

}  // namespace

int main() {
  MeasureWholeSession();
  MeasureParsing();
  MeasureAgainstBareLoop();
  MeasureShares();
  MeasureTenKilohertz();
  MeasureUnprivilegedPunctuality();
  if (FifoIsPermitted()) {
    MeasurePunctuality();
  } else {
    bench::ReportUnavailable("ticks taken at 1 kHz beside 4 busy threads", "SCHED_FIFO needs CAP_SYS_NICE");
  }
  return 0;
}
