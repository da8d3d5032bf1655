#include "kernel/process_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/text.h"
#include "base/time_namespace.h"
#include "base/unique_fd.h"
#include "kernel/bpf_handles.h"
#include "kernel/process_events.h"
#include "kernel/schedule_bpf.h"

namespace attune::kernel {

namespace {

using model::ProcessEvent;
using model::ProcessEventKind;

#if defined(__x86_64__)
constexpr char kFutexCall[] = "__x64_sys_futex";
#else
constexpr char kFutexCall[] = "__arm64_sys_futex";
#endif
// The programs of process.bpf.c that count calls of futex: at its entry, and at that of every call.
constexpr char kAtFutex[] = "on_futex";
constexpr char kAtAnyCall[] = "on_call";
constexpr char kFilter[] = "only_followed";  // filters samples; attached by whoever takes them
constexpr char kNamer[] = "name_function";   // run for each address

/// CPU times as the kernel gives them to getrusage: the exact run time, split as the clock tick found the program.
void SplitRuntime(const kernel_usage& from, model::ProcessUsage& to) {
  const auto runtime_ns = static_cast<int64_t>(from.runtime_ns);
  if (from.system_ns == 0) {
    to.user_ns = runtime_ns;
  } else if (from.user_ns == 0) {
    to.user_ns = 0;
  } else {
    const double share = static_cast<double>(from.user_ns) / static_cast<double>(from.user_ns + from.system_ns);
    to.user_ns = static_cast<int64_t>(share * static_cast<double>(runtime_ns));
  }
  to.system_ns = runtime_ns - to.user_ns;
}

model::ProcessUsage ToUsage(const kernel_usage& from) {
  model::ProcessUsage usage;
  SplitRuntime(from, usage);
  usage.minor_faults = static_cast<int64_t>(from.minor_faults);
  usage.major_faults = static_cast<int64_t>(from.major_faults);
  usage.voluntary_switches = static_cast<int64_t>(from.voluntary_switches);
  usage.involuntary_switches = static_cast<int64_t>(from.involuntary_switches);
  if (from.max_rss_pages > 0) usage.max_rss_bytes = static_cast<int64_t>(from.max_rss_pages) * ::sysconf(_SC_PAGESIZE);
  return usage;
}

/// The command line of an exec; the rest of a long one is still in /proc, if the process is.
std::string CommandOf(const kernel_exec& exec) {
  std::string command(exec.command, std::min<size_t>(exec.command_stored, sizeof exec.command));
  if (exec.command_bytes > exec.command_stored) {
    const auto whole = HostRoot().ReadFile(fmt::format("/proc/{}/cmdline", exec.event.pid), 64u << 10);
    if (whole.ok() && whole->starts_with(command)) {
      command = *whole;
    } else {
      command += "...";
    }
  }
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return CleanText(command);
}

class BpfWatcher final : public model::EventWatcher {
 public:
  BpfWatcher(TreeDescriber describe, FutexCounting counting) : describe_(std::move(describe)), counting_(counting) {}

  Status Load() {
    ATTUNE_CHECK_OK(PrepareBpf(HostRoot()));
    ATTUNE_CHECK_OK(LoadMost());
    followed_ = bpf_object__find_map_by_name(object_.get(), "followed");
    lost_ = bpf_object__find_map_by_name(object_.get(), "lost");
    const bpf_map* events = bpf_object__find_map_by_name(object_.get(), "events");
    ring_.reset(ring_buffer__new(bpf_map__fd(events), &BpfWatcher::OnRecord, this, nullptr));
    if (!ring_) return BpfError("mapping the eBPF ring", errno);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      const std::string_view name = bpf_program__name(program);
      if (name == kAtFutex || name == kAtAnyCall || name == kFilter || name == kNamer ||
          BpfScheduleAccount::Owns(*program))
        continue;
      if (!Attach(program)) return BpfError(fmt::format("attaching {}", bpf_program__section_name(program)), errno);
    }
    const bool counts =
        Attach(bpf_object__find_program_by_name(object_.get(), kAtFutex)) ||
        (counting_ == FutexCounting::kAnyway && Attach(bpf_object__find_program_by_name(object_.get(), kAtAnyCall)));
    if (counts) futex_calls_ = bpf_object__find_map_by_name(object_.get(), "futex_calls");
    return {};
  }

  std::string_view Method() const override { return "ebpf"; }
  std::string_view Limits() const override { return ""; }
  int fd() const override { return ring_buffer__epoll_fd(ring_.get()); }

  uint64_t Lost() const override {
    const int key = 0;
    uint64_t count = 0;
    bpf_map__lookup_elem(lost_, &key, sizeof key, &count, sizeof count, 0);
    return count;
  }

  Result<uint64_t> FutexCalls() const override {
    if (futex_calls_ == nullptr && counting_ == FutexCounting::kWhereItIsCheap) {
      return Error{Errc::kUnavailable,
                   "this kernel lets eBPF trace no functions, and at each system call it costs 0.1 us",
                   "attune run --check-influence does it all the same"};
    }
    if (futex_calls_ == nullptr) {
      return Error{Errc::kUnavailable, "this kernel lets eBPF see no system calls",
                   "it takes CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS or CONFIG_FTRACE_SYSCALLS"};
    }
    const int key = 0;
    std::vector<uint64_t> of_cpu(static_cast<size_t>(std::max(1, libbpf_num_possible_cpus())));
    const int error =
        bpf_map__lookup_elem(futex_calls_, &key, sizeof key, of_cpu.data(), of_cpu.size() * sizeof of_cpu.front(), 0);
    if (error != 0) return ErrnoError("eBPF: reading the calls of futex", -error);
    return std::accumulate(of_cpu.begin(), of_cpu.end(), uint64_t{0});
  }

  Result<model::ScheduleAccount*> AccountForTime() override {
    ATTUNE_TRY(schedule_, BpfScheduleAccount::Create(object_.get()));
    return schedule_.get();
  }

  int SampleFilter() const override {
    return bpf_program__fd(bpf_object__find_program_by_name(object_.get(), kFilter));
  }

  std::string KernelFunction(uint64_t address) const override {
    function_name asked{.address = address, .name = {}};
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &asked,
                .ctx_size_in = sizeof asked);  // the answer is put there, too
    const int fd = bpf_program__fd(bpf_object__find_program_by_name(object_.get(), kNamer));
    if (fd < 0 || bpf_prog_test_run_opts(fd, &options) != 0) return {};
    const std::string_view name(asked.name, strnlen(asked.name, sizeof asked.name));
    return name.starts_with("0x") ? "" : std::string(name.substr(0, name.find(' ')));
  }

  Status Follow(int64_t pid) override {
    // First the map, then a look at what is there, and again while the look finds processes that the map lacked: their
    // children of the meantime were not followed.
    std::set<int64_t> mapped;
    ATTUNE_CHECK_OK(Map(pid, mapped));
    std::vector<ProcessEvent> tree;
    for (bool grown = true; grown;) {
      auto described = describe_(pid);
      if (!described.ok()) {
        const int key = static_cast<int>(pid);
        bpf_map__delete_elem(followed_, &key, sizeof key, 0);
        return described.error();
      }
      tree = *std::move(described);
      grown = false;
      for (const ProcessEvent& event : tree) {
        if (event.kind != ProcessEventKind::kFork || mapped.contains(event.pid)) continue;
        ATTUNE_CHECK_OK(Map(event.pid, mapped));
        grown = true;
      }
    }
    if (schedule_ != nullptr) ATTUNE_CHECK_OK(schedule_->Scan());
    described_ns_ = MonotonicNs();
    for (ProcessEvent& event : tree) {
      if (event.kind == ProcessEventKind::kFork || event.kind == ProcessEventKind::kThreadStart)
        described_.insert(event.tid);
      existing_.push_back(std::move(event));
    }
    return {};
  }

 private:
  enum class Counting : uint8_t { kFutexItself, kAnyCall, kNot };

  /// Loads as much as the kernel permits. Following is worth more than the account of time, and that more than
  /// counting.
  Status LoadMost() {
    const bool may_trace = MayTraceFunctions();
    const bool any_call = counting_ == FutexCounting::kAnyway;
    Status loaded;
    for (const bool accounts : {true, false}) {
      if (may_trace && (loaded = LoadObject(Counting::kFutexItself, accounts)).ok()) return {};
      if (any_call && (loaded = LoadObject(Counting::kAnyCall, accounts)).ok()) return {};
      if ((loaded = LoadObject(Counting::kNot, accounts)).ok() || loaded.error().code == Errc::kPermission) break;
    }
    return loaded;
  }

  /// Whether the kernel permits programs at the entry of functions. It says EPERM before it looks at which function; 1
  /// is none.
  static bool MayTraceFunctions() {
    constexpr bpf_insn kReturn0[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = BPF_TRACE_FENTRY;
    options.attach_btf_id = 1;
    const UniqueFd none(bpf_prog_load(BPF_PROG_TYPE_TRACING, "none", "GPL", kReturn0, std::size(kReturn0), &options));
    return none || errno != EPERM;
  }

  Status LoadObject(Counting counting, bool accounts) {
    bpf_object_open_opts options{};
    options.sz = sizeof options;
    options.object_name = "attune";
    object_.reset(bpf_object__open_mem(kLinkedObject, kLinkedObjectSize, &options));
    if (!object_) return BpfError("opening the eBPF programs", errno);
    bpf_program* at_futex = bpf_object__find_program_by_name(object_.get(), kAtFutex);
    int error = counting == Counting::kFutexItself ? bpf_program__set_attach_target(at_futex, 0, kFutexCall)
                                                   : bpf_program__set_autoload(at_futex, false);
    bpf_program__set_autoload(bpf_object__find_program_by_name(object_.get(), kAtAnyCall),
                              counting != Counting::kNot && counting_ == FutexCounting::kAnyway);
    ATTUNE_CHECK_OK(BpfScheduleAccount::Prepare(object_.get(), accounts));
    const long number = SYS_futex;
    if (error == 0 && !SetConstant(object_.get(), ".rodata.process", number)) error = -EINVAL;
    if (error == 0) error = bpf_object__load(object_.get());
    return error == 0 ? Status() : BpfError("loading the eBPF programs", -error);
  }

  /// @return false: it is not loaded, or the kernel refuses (errno)
  bool Attach(bpf_program* program) {
    if (!bpf_program__autoload(program)) return false;
    LinkHandle link(bpf_program__attach(program));
    if (!link) return false;
    links_.push_back(std::move(link));
    return true;
  }

  Status Map(int64_t pid, std::set<int64_t>& mapped) {
    const int key = static_cast<int>(pid);
    const char one = 1;
    const int error = bpf_map__update_elem(followed_, &key, sizeof key, &one, sizeof one, BPF_ANY);
    if (error != 0) return ErrnoError(fmt::format("eBPF: following {}", pid), -error);
    mapped.insert(pid);
    return {};
  }

  Status Receive() override {
    const int consumed = ring_buffer__consume(ring_.get());
    return consumed < 0 ? ErrnoError("reading the eBPF ring", -consumed) : Status();
  }

  static int OnRecord(void* self, void* data, size_t size) {
    static_cast<BpfWatcher*>(self)->Translate(data, size);
    return 0;
  }

  void Translate(const void* data, size_t size) {
    if (size < sizeof(kernel_event)) return;
    const auto& from = *static_cast<const kernel_event*>(data);
    ProcessEvent event;
    event.t_ns = static_cast<int64_t>(from.t_ns) + to_monotonic_ns_;
    event.pid = from.pid;
    event.tid = from.tid;
    event.command = CleanText({from.name, ::strnlen(from.name, sizeof from.name)});
    switch (from.kind) {
      case kKernelFork:
      case kKernelThreadStart:
        // Follow may have seen it already.
        if (event.t_ns <= described_ns_ && described_.contains(event.tid)) return;
        event.kind = from.kind == kKernelFork ? ProcessEventKind::kFork : ProcessEventKind::kThreadStart;
        if (from.kind == kKernelFork) event.parent_pid = from.parent_pid;
        break;
      case kKernelExec:
        if (size < sizeof(kernel_exec)) return;
        event.kind = ProcessEventKind::kExec;
        event.command = CommandOf(*static_cast<const kernel_exec*>(data));
        break;
      case kKernelExit:
      case kKernelThreadExit: {
        if (size < sizeof(kernel_exit)) return;
        const auto& exit = *static_cast<const kernel_exit*>(data);
        event.kind = from.kind == kKernelExit ? ProcessEventKind::kExit : ProcessEventKind::kThreadExit;
        event.usage = ToUsage(exit.usage);
        if (from.kind == kKernelThreadExit) break;
        event.tid = event.pid;
        event.exit_signal = WIFSIGNALED(exit.wait_status) ? WTERMSIG(exit.wait_status) : 0;
        if (event.exit_signal == 0) event.exit_code = WEXITSTATUS(exit.wait_status);
        break;
      }
      case kKernelName: event.kind = ProcessEventKind::kName; break;
      default: return;
    }
    Hand(event);
  }

  const TreeDescriber describe_;
  const FutexCounting counting_;
  ObjectHandle object_;
  RingHandle ring_;
  std::vector<LinkHandle> links_;  // the first to go: nothing writes to a ring that is gone
  bpf_map* followed_ = nullptr;
  bpf_map* lost_ = nullptr;
  std::unique_ptr<BpfScheduleAccount> schedule_;
  bpf_map* futex_calls_ = nullptr;  // nullptr: they are not counted
  std::set<int64_t> described_;     // threads in existing_
  int64_t described_ns_ = 0;
  const int64_t to_monotonic_ns_ = KernelToMonotonicNs(HostRoot());
};

}  // namespace

Result<std::unique_ptr<model::ProcessWatcher>> MakeBpfWatcher(TreeDescriber describe, FutexCounting counting) {
  auto watcher = std::make_unique<BpfWatcher>(std::move(describe), counting);
  ATTUNE_CHECK_OK(watcher->Load());
  return std::unique_ptr<model::ProcessWatcher>(std::move(watcher));
}

}  // namespace attune::kernel
