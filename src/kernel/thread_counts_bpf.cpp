#include "kernel/thread_counts_bpf.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/host_root.h"
#include "base/time_namespace.h"
#include "base/unique_fd.h"
#include "kernel/bpf_handles.h"

namespace attune::kernel {

/// The compiled thread_counts.bpf.c.
extern const unsigned char kThreadCountsObject[];
extern const std::size_t kThreadCountsObjectSize;

namespace {

constexpr char kSwitch[] = "count_switch", kNow[] = "count_now", kLiving[] = "read_living", kFind[] = "find_threads",
               kSample[] = "count_sample", kTellMigration[] = "tell_migration", kTellSwitch[] = "tell_switch",
               kSelf[] = "count_self";

class ThreadCounts final : public ThreadCountsBpf {
 public:
  Status Load(std::span<const OnCpus> events, unsigned tells, uint32_t rows_bytes) {
    ATTUNE_CHECK_OK(PrepareBpf(HostRoot()));
    object_.reset(bpf_object__open_mem(kThreadCountsObject, kThreadCountsObjectSize, nullptr));
    if (!object_) return BpfError("opening the programs that count for each thread", errno);
    const auto cpus = static_cast<unsigned>(std::max(1, libbpf_num_possible_cpus()));
    counters_ = static_cast<unsigned>(events.size());
    SetConstant(object_.get(), ".rodata.threads", thread_machine{.counters = counters_, .cpus = cpus, .tells = tells});
    bpf_map__set_max_entries(Map("events"), std::max(1u, counters_ * cpus));
    bpf_map__set_max_entries(Map("rows"), std::bit_ceil(rows_bytes));
    // A switch costs nothing where all is counted by the kernel anyway.
    for (const char* name : {kSwitch, kNow}) bpf_program__set_autoload(Program(name), counters_ > 0);
    bpf_program__set_autoload(Program(kTellMigration), (tells & kTellMigrations) != 0);
    bpf_program__set_autoload(Program(kTellSwitch), (tells & kTellSwitches) != 0);
    bpf_program__set_autoload(Program(kSelf), (tells & kTellSelf) != 0);
    if (const int error = bpf_object__load(object_.get()); error != 0)
      return BpfError("loading the programs that count for each thread", -error);
    for (unsigned counter = 0; counter < counters_; ++counter) {
      for (unsigned cpu = 0; cpu < cpus && cpu < events[counter].size(); ++cpu)
        ATTUNE_CHECK_OK(SetEvent(counter * cpus + cpu, events[counter][cpu]));
    }
    return Attach();
  }

  Status FollowFromExec(pid_t pid) override {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) return ErrnoError("following the program");
    const int fd = process.get();
    thread_sums sums{};
    sums.waits_for_exec = 1;
    if (bpf_map__update_elem(Map("sums_of"), &fd, sizeof fd, &sums, sizeof sums, BPF_ANY) != 0)
      return BpfError("following the program", errno);
    return {};
  }

  Status FollowRunning(pid_t pid) override {
    const uint32_t zero = 0;
    const int process = pid;
    if (bpf_map__update_elem(Map("process_to_find"), &zero, sizeof zero, &process, sizeof process, BPF_ANY) != 0)
      return BpfError("following the process", errno);
    return WalkThreads(kFind);
  }

  Status SampleBy(int event) override {
    LinkHandle link(bpf_program__attach_perf_event(Program(kSample), event));
    if (!link) return BpfError("sampling by an event", errno);
    links_.push_back(std::move(link));
    return {};
  }

  Status SampleAt(const std::string& file, const char* function) override {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function);
    constexpr pid_t kAny = -1;
    LinkHandle link(bpf_program__attach_uprobe_opts(Program(kSelf), kAny, file.c_str(), 0, &options));
    if (!link) return BpfError(fmt::format("watching {} of {}", function, file), errno);
    links_.push_back(std::move(link));
    return {};
  }

  Status Read(bool with_living, const Visit& visit) override {
    if (with_living) {
      CountNow();
      ATTUNE_CHECK_OK(WalkThreads(kLiving));
    }
    visit_ = &visit;
    const int consumed = ring_buffer__consume(rows_.get());
    visit_ = nullptr;
    return consumed < 0 ? Status(ErrnoError("reading the threads' counts", -consumed)) : Status();
  }

  void TakeExiting(const Visit& visit) override {
    for (const auto& [thread, row] : std::exchange(exiting_, {})) visit(row);
  }

  thread_totals totals() const override { return *totals_; }

  ~ThreadCounts() override {
    links_.clear();
    if (totals_ != nullptr) ::munmap(const_cast<thread_totals*>(totals_), sizeof(thread_totals));
  }

 private:
  bpf_map* Map(const char* name) const { return bpf_object__find_map_by_name(object_.get(), name); }
  bpf_program* Program(const char* name) const { return bpf_object__find_program_by_name(object_.get(), name); }

  Status SetEvent(uint32_t key, int fd) {
    if (fd < 0) return {};
    if (bpf_map__update_elem(Map("events"), &key, sizeof key, &fd, sizeof fd, BPF_ANY) == 0) return {};
    return BpfError("handing over the counters", errno);
  }

  Status Attach() {
    rows_.reset(ring_buffer__new(bpf_map__fd(Map("rows")), &ThreadCounts::OnRow, this, nullptr));
    if (!rows_) return BpfError("mapping the threads' counts", errno);
    void* totals = ::mmap(nullptr, sizeof(thread_totals), PROT_READ, MAP_SHARED, bpf_map__fd(Map("thread_totals")), 0);
    if (totals == MAP_FAILED) return BpfError("mapping the number of threads", errno);
    totals_ = static_cast<const thread_totals*>(totals);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      const std::string_view name = bpf_program__name(program);
      if (!bpf_program__autoload(program) || name == kNow || name == kLiving || name == kFind || name == kSample ||
          name == kSelf)
        continue;
      LinkHandle link(bpf_program__attach(program));
      if (!link) return BpfError(fmt::format("attaching {}", bpf_program__section_name(program)), errno);
      links_.push_back(std::move(link));
    }
    return {};
  }

  /// Threads that have a CPU get what was counted up to now.
  void CountNow() {
    const auto cpus = static_cast<unsigned>(std::max(1, libbpf_num_possible_cpus()));
    for (unsigned cpu = 0; counters_ > 0 && cpu < cpus; ++cpu) {
      LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
      // A CPU that is offline runs nothing.
      static_cast<void>(bpf_prog_test_run_opts(bpf_program__fd(Program(kNow)), &options));
    }
  }

  Status WalkThreads(const char* program) {
    const LinkHandle link(bpf_program__attach_iter(Program(program), nullptr));
    if (!link) return BpfError("looking for threads", errno);
    const UniqueFd walk(bpf_iter_create(bpf_link__fd(link.get())));
    if (!walk) return BpfError("looking for threads", errno);
    char none[64];
    while (::read(walk.get(), none, sizeof none) > 0) {
    }
    return {};
  }

  static int OnRow(void* self, void* data, size_t size) {
    auto* counts = static_cast<ThreadCounts*>(self);
    if (size < offsetof(thread_row, counts)) return 0;
    thread_row row{};
    std::memcpy(&row, data, std::min(size, sizeof row));
    row.start_ns += counts->to_monotonic_ns_;
    row.end_ns += counts->to_monotonic_ns_;
    const std::pair thread(row.tid, row.start_ns);
    if (row.kind == kRowExiting) {
      counts->exiting_.insert_or_assign(thread, row);
    } else {
      if (row.kind == kRowFreed) counts->exiting_.erase(thread);
      (*counts->visit_)(row);
    }
    return 0;
  }

  const uint64_t to_monotonic_ns_ = static_cast<uint64_t>(KernelToMonotonicNs(HostRoot()));
  ObjectHandle object_;
  RingHandle rows_;
  std::vector<LinkHandle> links_;
  const thread_totals* totals_ = nullptr;
  unsigned counters_ = 0;
  std::map<std::pair<int, unsigned long long>, thread_row> exiting_;  ///< by thread and start
  const Visit* visit_ = nullptr;                                      ///< during Read()
};

}  // namespace

Result<std::unique_ptr<ThreadCountsBpf>> ThreadCountsBpf::Create(std::span<const OnCpus> events, unsigned tells,
                                                                 uint32_t rows_bytes) {
  auto counts = std::make_unique<ThreadCounts>();
  ATTUNE_CHECK_OK(counts->Load(events.first(std::min(events.size(), kMaxCounters)), tells, rows_bytes));
  return std::unique_ptr<ThreadCountsBpf>(std::move(counts));
}

}  // namespace attune::kernel
