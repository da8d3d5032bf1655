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
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/unique_fd.h"
#include "harness/figure.h"
#include "sensor/registry.h"
#include "sensor/text/key_value_text.h"
#include "session/sampler.h"

namespace {

using namespace attune;
using bench::Better;

constexpr int64_t kMs = 1'000'000;
constexpr int kPriority = 10;

int64_t CpuNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool FifoIsPermitted() {
  bool permitted = false;
  std::thread([&] {
    const sched_param parameters{kPriority};
    permitted = ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
  }).join();
  return permitted;
}

/// Every number of the text, one after the other: the least that a reader of such a file can do.
int64_t SumOfNumbers(const char* at, const char* end) {
  int64_t sum = 0;
  while (at < end) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    int64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
    sum += value;
  }
  return sum;
}

/// Wake-up, pread and parse of vmstat and stat at 1 kHz. @return CPU nanoseconds a tick
double BareLoop(int ticks) {
  double ns_a_tick = 0;
  std::thread([&] {
    const sched_param parameters{kPriority};
    ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const UniqueFd vmstat = *HostRoot().Open("/proc/vmstat");
    const UniqueFd stat = *HostRoot().Open("/proc/stat");
    std::vector<char> buffer(64 << 10);
    volatile int64_t sum = 0;
    const int64_t cpu_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
    int64_t next_ns = MonotonicNs() / kMs * kMs;
    for (int tick = 0; tick < ticks; ++tick) {
      next_ns += kMs;
      const timespec until{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      for (const int fd : {vmstat.get(), stat.get()}) {
        const long size = PreadAll(fd, buffer.data(), buffer.size());
        sum = sum + SumOfNumbers(buffer.data(), buffer.data() + size);
      }
    }
    ns_a_tick = static_cast<double>(CpuNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / ticks;
  }).join();
  return ns_a_tick;
}

struct Run {
  double cpu_ns_a_tick = 0;  ///< of the whole process
  double cpu_share = 0;      ///< of one core
  double taken = 0;          ///< ticks that have a sample, of all
};

/// Drives sensors for some time as a session does, and throws away what comes.
Run RunSampler(std::vector<session::SensorRequest> requests, int64_t interval_ns, int64_t run_ns) {
  session::SamplerOptions options;
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
  const Status started = sampler->Start(ids, [&](session::SampleChunk chunk) {
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
  constexpr int kTicks = 250;
  const auto sampler = [] { return RunSampler(VmstatAndCpu(kMs), kMs, kTicks * kMs).cpu_ns_a_tick; };
  const bench::Ratio ratio = bench::Compare([] { return BareLoop(kTicks); }, sampler);
  bench::Report({"sampler 1 kHz against a bare loop, CPU", ratio.median, "ratio", 1.15, Better::kLower,
                 "vmstat and cpu, whole process with delivery; " + bench::Describe(ratio)});
}

void MeasurePunctuality() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 4; ++i) {
    busy.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  const Run run = RunSampler(VmstatAndCpu(kMs), kMs, 5000 * kMs);
  stop = true;
  for (std::thread& thread : busy) thread.join();
  bench::Report({"ticks taken at 1 kHz beside 4 busy threads", 100 * run.taken, "%", 99.5, Better::kHigher,
                 "vmstat and cpu, SCHED_FIFO, 5 s"});
}

void MeasureShares() {
  const Run slow = RunSampler(VmstatAndCpu(100 * kMs), 100 * kMs, 4000 * kMs);
  bench::Report(
      {"sampler 10 Hz, CPU of a core", 100 * slow.cpu_share, "%", 0.3, Better::kLower, "vmstat and cpu, 4 s"});
  const Run quick = RunSampler(VmstatAndCpu(kMs), kMs, 4000 * kMs);
  bench::Report({"sampler 1 kHz, CPU of a core", 100 * quick.cpu_share, "%", 8, Better::kLower, "vmstat and cpu, 4 s"});
  std::vector<session::SensorRequest> requests;
  requests.push_back({std::make_unique<CheapSensor>(), kMs / 10});
  const Run cheap = RunSampler(std::move(requests), kMs / 10, 3000 * kMs);
  bench::Report({"sampler 10 kHz, 16 cheap counters, CPU of a core", 100 * cheap.cpu_share, "%", 25, Better::kLower,
                 fmt::format("{:.2f} % of the ticks taken, 3 s", 100 * cheap.taken)});
}

}  // namespace

int main() {
  MeasureParsing();
  MeasureAgainstBareLoop();
  MeasureShares();
  if (FifoIsPermitted()) {
    MeasurePunctuality();
  } else {
    bench::ReportUnavailable("ticks taken at 1 kHz beside 4 busy threads", "SCHED_FIFO needs CAP_SYS_NICE");
  }
  return 0;
}
