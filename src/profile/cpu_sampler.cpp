#include "profile/cpu_sampler.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/host_root.h"
#include "counter/perf_open.h"

namespace attune::profile {
namespace {

/// Pages per CPU: an ordinary user may lock enough for two kinds of ring by default (kernel.perf_event_mlock_kb, 516).
constexpr size_t kSamplePages = 64, kFaultPages = 32, kLeastPages = 16;
/// A ring that is the only kind may take all of it.
constexpr size_t kAlonePages = 128;
/// Root gets more from the kernel: a hundred programs that start at once tell of thousands of files that they map,
/// and a copy of a stack takes eight pages.
constexpr size_t kMostSamplePages = 1024, kSamplePagesInAll = 8192;

/// Events may come in bursts: with smaller copies of stacks more of them have room.
constexpr uint32_t kMostEventStackBytes = 8192;

size_t PagesOf(PerfEvent event, const CpuSamplerOptions& options) {
  if (event == PerfEvent::kPageFault) return kFaultPages;
  const bool is_alone = options.faults_a_sample == 0 && options.events.empty();
  if (geteuid() != 0) return is_alone ? kAlonePages : IsOfEvents(event) ? kFaultPages : kSamplePages;
  const size_t cpus = options.cpus.size();
  return std::clamp(std::bit_floor(kSamplePagesInAll / std::max<size_t>(cpus, 1)), kSamplePages, kMostSamplePages);
}

/// -1: errno says why.
int OpenEvent(perf_event_attr attributes, pid_t tid, int cpu) {
  static const counter::PerfOpen open = counter::KernelPerfOpen();
  const int fd = open(attributes, {.pid = tid, .cpu = cpu});
  if (fd < 0) errno = -fd;
  return fd < 0 ? -1 : fd;
}

Error RefusalOf(int error) {
  if (error == EACCES || error == EPERM) {
    const auto level = HostRoot().ReadFile("/proc/sys/kernel/perf_event_paranoid");
    std::string set = level.ok() ? *level : "not readable";
    set.erase(std::min(set.find('\n'), set.size()));
    return {Errc::kPermission,
            fmt::format("CPU samples: the kernel permits none (kernel.perf_event_paranoid is {})", set),
            std::atoi(set.c_str()) > 2 ? "as root: sysctl kernel.perf_event_paranoid=2"
                                       : "in a container, its seccomp profile must allow perf_event_open"};
  }
  errno = error;
  return ErrnoError("CPU samples: perf_event_open");
}

int64_t TimeOf(const PerfRecord& record) {
  return std::visit([](const auto& any) { return any.t_ns; }, record);
}

}  // namespace

Result<std::unique_ptr<CpuSampler>> CpuSampler::Create(const CpuSamplerOptions& options) {
  std::unique_ptr<CpuSampler> sampler(new CpuSampler(options));
  for (const CpuId cpu : options.cpus) {
    ATTUNE_CHECK_OK(sampler->AddRing(PerfEvent::kCpuTime, cpu));
    if (options.faults_a_sample > 0) ATTUNE_CHECK_OK(sampler->AddRing(PerfEvent::kPageFault, cpu));
    for (const PerfEvent kind : {PerfEvent::kOfPeriod, PerfEvent::kOfRate}) {
      const auto is_of_it = [kind](const counter::SampledEvent& sampled) { return KindOf(sampled) == kind; };
      if (std::ranges::any_of(options.events, is_of_it)) ATTUNE_CHECK_OK(sampler->AddRing(kind, cpu));
    }
  }
  // Whether what the kernel does may be seen is known only when it is asked for.
  perf_event_attr attributes = sampler->Attributes(PerfEvent::kCpuTime, false);
  const UniqueFd tried(OpenEvent(attributes, 0, -1));
  sampler->sees_kernel_ = static_cast<bool>(tried);
  return sampler;
}

CpuSampler::~CpuSampler() {
  events_.clear();
  for (const Ring& ring : rings_) munmap(ring.memory, ring.data_bytes + static_cast<size_t>(getpagesize()));
}

Status CpuSampler::AddRing(PerfEvent event, int cpu) {
  perf_event_attr attributes = Attributes(event, false);
  attributes.inherit = 0;
  if (IsOfCpus(event)) {
    attributes.exclude_idle = 1;
  } else {
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.sample_period = 0;
    attributes.exclude_kernel = 1;
    attributes.mmap = attributes.mmap2 = attributes.comm = attributes.comm_exec = attributes.task = 0;
  }
  Ring ring{.event = event, .cpu = cpu, .fd = UniqueFd(OpenEvent(attributes, IsOfCpus(event) ? -1 : 0, cpu))};
  if (ring.fd && IsOfCpus(event) && ioctl(ring.fd.get(), PERF_EVENT_IOC_SET_BPF, options_.filter_fd) != 0)
    return ErrnoError("CPU samples: PERF_EVENT_IOC_SET_BPF");
  if (!ring.fd) {
    // A CPU that is not online any more has no threads.
    return errno == ENODEV ? Status() : Status(RefusalOf(errno));
  }
  const auto page_bytes = static_cast<size_t>(getpagesize());
  for (size_t pages = PagesOf(event, options_); pages >= kLeastPages; pages /= 2) {
    ring.data_bytes = pages * page_bytes;
    ring.memory = mmap(nullptr, ring.data_bytes + page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd.get(), 0);
    if (ring.memory != MAP_FAILED) {
      rings_.push_back(std::move(ring));
      return {};
    }
  }
  return Error{Errc::kPermission, "CPU samples: the kernel gives no memory for them",
               "as root: sysctl kernel.perf_event_mlock_kb=2048"};
}

perf_event_attr CpuSampler::Attributes(PerfEvent event, bool from_exec) const {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  const bool is_time = event == PerfEvent::kCpuTime;
  attributes.config = is_time ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS;
  attributes.sample_period = is_time ? static_cast<uint64_t>(options_.period_ns) : options_.faults_a_sample;
  attributes.inherit = 1;
  attributes.disabled = from_exec;
  attributes.enable_on_exec = from_exec;
  attributes.exclude_kernel = !sees_kernel_ || !is_time;
  attributes.exclude_hv = 1;
  SetLayout(event, options_.stack_bytes, attributes);
  return attributes;
}

perf_event_attr CpuSampler::EventAttributes(const counter::SampledEvent& sampled, const counter::Event& part,
                                            bool from_exec) const {
  perf_event_attr attributes = part.Attributes();
  attributes.freq = sampled.period == 0;
  if (attributes.freq) {
    attributes.sample_freq = static_cast<uint64_t>(std::max<int64_t>(1, 1'000'000'000 / options_.period_ns));
  } else {
    attributes.sample_period = sampled.period;
  }
  attributes.inherit = 1;
  attributes.disabled = from_exec;
  attributes.enable_on_exec = from_exec;
  if (!sees_kernel_) attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  SetLayout(KindOf(sampled), std::min(options_.stack_bytes, kMostEventStackBytes), attributes);
  return attributes;
}

Status CpuSampler::Redirect(UniqueFd fd, const Ring& ring) {
  if (ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd.get()) != 0)
    return ErrnoError("CPU samples: PERF_EVENT_IOC_SET_OUTPUT");
  events_.push_back(std::move(fd));
  return {};
}

Status CpuSampler::FollowThread(pid_t tid, bool from_exec) {
  for (const Ring& ring : rings_) {
    if (IsOfCpus(ring.event)) continue;
    if (IsOfEvents(ring.event)) {
      ATTUNE_CHECK_OK(FollowEvents(ring, tid, from_exec));
      continue;
    }
    const perf_event_attr attributes = Attributes(ring.event, from_exec);
    UniqueFd fd(OpenEvent(attributes, tid, ring.cpu));
    if (!fd) return RefusalOf(errno);
    ATTUNE_CHECK_OK(Redirect(std::move(fd), ring));
  }
  return {};
}

/// An event that the kernel refuses is left out: the others are sampled all the same.
Status CpuSampler::FollowEvents(const Ring& ring, pid_t tid, bool from_exec) {
  for (const counter::SampledEvent& sampled : options_.events) {
    if (KindOf(sampled) != ring.event) continue;
    for (const counter::Event& part : sampled.event.parts) {
      if (!part.cpus.empty() && !part.cpus.Contains(ring.cpu)) continue;
      const perf_event_attr attributes = EventAttributes(sampled, part, from_exec);
      UniqueFd fd(OpenEvent(attributes, tid, ring.cpu));
      if (!fd && errno == ESRCH) return ErrnoError("CPU samples: perf_event_open");
      uint64_t id = 0;
      const bool is_open = fd && ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) == 0;
      const int error_number = errno;
      const MutexLock lock(names_mutex_);
      if (!is_open) {
        refused_.try_emplace(sampled.event.name,
                             counter::PerfError(HostRoot(), "samples of " + sampled.event.name, error_number));
        continue;
      }
      opened_[id] = {&sampled, tid, fd.get()};
      ATTUNE_CHECK_OK(Redirect(std::move(fd), ring));
    }
  }
  return {};
}

std::map<std::string, Error> CpuSampler::Refused() const {
  const MutexLock lock(names_mutex_);
  return refused_;
}

void CpuSampler::NameEvent(EventSample& sample) const {
  const MutexLock lock(names_mutex_);
  const auto opened = opened_.find(sample.event_id);
  if (opened == opened_.end()) return;
  const counter::SampledEvent& sampled = *opened->second.sampled;
  sample.event = sampled.event.name;
  if (sampled.period > 0) sample.count = sampled.period;
}

/// Counts so far of the events that are sampled by a rate, with those of all threads that the followed ones started.
std::map<std::string, double> CpuSampler::Totals() const {
  struct Counted {
    uint64_t value = 0, enabled_ns = 0, running_ns = 0;
  };
  // A thread has a counter on each CPU, which runs while it is there: together they are the thread's.
  std::map<std::pair<std::string_view, pid_t>, Counted> of_threads;
  {
    const MutexLock lock(names_mutex_);
    for (const auto& [id, opened] : opened_) {
      Counted counted;
      if (KindOf(*opened.sampled) != PerfEvent::kOfRate || read(opened.fd, &counted, sizeof counted) != sizeof counted)
        continue;
      Counted& sum = of_threads[{opened.sampled->event.name, opened.tid}];
      sum.value += counted.value;
      sum.enabled_ns = std::max(sum.enabled_ns, counted.enabled_ns);
      sum.running_ns += counted.running_ns;
    }
  }
  std::map<std::string, double> totals;
  for (const auto& [of, sum] : of_threads) {
    // It may have shared counters with others.
    const double scale = sum.running_ns > 0 && sum.running_ns < sum.enabled_ns
                             ? static_cast<double>(sum.enabled_ns) / static_cast<double>(sum.running_ns)
                             : 1;
    totals[std::string(of.first)] += static_cast<double>(sum.value) * scale;
  }
  return totals;
}

/// The kernel adapts the period of a rate behind the events, so that in bursts what samples say may be far off. Their
/// sum is known: it is what was counted since the last samples.
void CpuSampler::CorrectCounts(std::vector<PerfRecord>& records) {
  if (options_.events.empty()) return;
  std::map<std::string, std::vector<EventSample*>> by_event;
  for (PerfRecord& record : records) {
    auto* const sample = std::get_if<EventSample>(&record);
    if (sample != nullptr && sample->is_estimate) by_event[sample->event].push_back(sample);
  }
  if (by_event.empty()) return;
  const std::map<std::string, double> totals = Totals();
  for (auto& [event, samples] : by_event) {
    const auto total = totals.find(event);
    if (total == totals.end()) continue;
    double sum = 0;
    for (const EventSample* sample : samples) sum += static_cast<double>(sample->count);
    double& told = told_[event];
    const double factor = sum > 0 ? std::max(0.0, total->second - told) / sum : 0;
    for (EventSample* sample : samples) {
      // The rest of rounding stays with the samples that follow.
      const double until = told + static_cast<double>(sample->count) * factor;
      sample->count = static_cast<uint64_t>(std::max(0.0, std::floor(until) - std::floor(told)));
      told = until;
    }
  }
}

Status CpuSampler::FollowFromExec(pid_t pid) { return FollowThread(pid, true); }

Status CpuSampler::FollowRunning(pid_t pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid), gone);
  if (gone) return Error{Errc::kNotFound, fmt::format("CPU samples: there is no process {}", pid), ""};
  for (const auto& task : tasks) {
    const std::string name = task.path().filename();
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    const Status followed = FollowThread(tid, false);
    if (!followed.ok() && followed.error().code != Errc::kNotFound) return followed;  // it may have ended meanwhile
  }
  return {};
}

void CpuSampler::Wait(int stop_fd, std::chrono::milliseconds limit) {
  std::vector<pollfd> wanted{{stop_fd, POLLIN, 0}};
  for (const Ring& ring : rings_) wanted.push_back({ring.is_over ? -1 : ring.fd.get(), POLLIN, 0});
  if (poll(wanted.data(), wanted.size(), static_cast<int>(limit.count())) <= 0) return;
  for (size_t i = 0; i < rings_.size(); ++i)
    rings_[i].is_over = rings_[i].is_over || (wanted[i + 1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void CpuSampler::ReadRing(Ring& ring, std::vector<PerfRecord>& records) {
  auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
  const auto* data = static_cast<const std::byte*>(ring.memory) + getpagesize();
  const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  uint64_t tail = page->data_tail;
  while (tail < head) {
    const size_t at = tail % ring.data_bytes;
    perf_event_header header;
    std::memcpy(&header, data + at, sizeof header);  // records are of whole words: it never goes over the end
    if (header.size < sizeof header || header.size > head - tail) break;
    std::span<const std::byte> bytes(data + at, header.size);
    if (at + header.size > ring.data_bytes) {
      const size_t first = ring.data_bytes - at;
      wrapped_.assign(data + at, data + ring.data_bytes);
      wrapped_.insert(wrapped_.end(), data, data + (header.size - first));
      bytes = wrapped_;
    }
    if (auto record = ParsePerfRecord(bytes, ring.event)) {
      std::visit([this](auto& any) { any.t_ns += to_monotonic_ns_; }, *record);
      if (auto* const sample = std::get_if<EventSample>(&*record)) NameEvent(*sample);
      records.push_back(*std::move(record));
    }
    tail += header.size;
  }
  std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
}

void CpuSampler::Read(const std::function<void(PerfRecord&)>& visit) {
  std::vector<PerfRecord> records;
  for (Ring& ring : rings_) ReadRing(ring, records);
  CorrectCounts(records);
  std::stable_sort(records.begin(), records.end(),
                   [](const PerfRecord& a, const PerfRecord& b) { return TimeOf(a) < TimeOf(b); });
  for (PerfRecord& record : records) visit(record);
}

}  // namespace attune::profile
