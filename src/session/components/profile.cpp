// The CPU samples of a session's programs (docs/profile.md).

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/privilege.h"
#include "base/text.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/info_keys.h"
#include "model/sample_marks.h"
#include "profile/cpu_sampler.h"
#include "profile/operands.h"
#include "profile/page_nodes.h"
#include "profile/spinning.h"
#include "profile/stack_unwinder.h"
#include "session/components/factories.h"
#include "session/probes/code_frames.h"
#include "session/probes/code_sites.h"
#include "session/probes/kernel_sites.h"
#include "session/probes/python_stacks.h"

namespace attune::session {
namespace {

using model::ElementId;

/// Rings that are half full are read before (CpuSampler::Wait).
constexpr std::chrono::milliseconds kPassInterval(250);
/// Python's frames are read from the process, where they are to be as they were at the sample.
constexpr std::chrono::milliseconds kPythonPassInterval(50);
/// The kernel's rings fill up behind a thread that waits for a CPU with many others; unwinding takes it longer than one
/// turn. An ordinary user may not ask for it.
constexpr int kNiceness = -10;
constexpr size_t kMaxStacks = 262'144;
/// Limit of code addresses of a process; each is decoded once.
constexpr size_t kMaxCode = 65'536;
constexpr size_t kMaxProcesses = 1024;
constexpr size_t kMaxUnknown = 65'536;
/// On a machine with several nodes, one page fault in so many is recorded.
constexpr uint32_t kFaultsASample = 8;
/// Bytes copied of each sample's stack: most programs' whole one (docs/profile.md).
constexpr uint32_t kStackBytes = 32'768;
/// The outermost place of a call path whose callers are not known.
constexpr std::string_view kCut = "[cut]";

/// A system call, by a function of the kernel, with an argument that says how much is read or written, or how long it
/// may wait.
struct MarkedCall {
  std::string_view function;
  size_t argument = 0;  ///< its register
  bool is_size = true;
};
constexpr std::array kMarkedCalls{MarkedCall{"ksys_read", profile::kThirdArgument},
                                  MarkedCall{"ksys_write", profile::kThirdArgument},
                                  MarkedCall{"ksys_pread64", profile::kThirdArgument},
                                  MarkedCall{"ksys_pwrite64", profile::kThirdArgument},
                                  MarkedCall{"__x64_sys_read", profile::kThirdArgument},
                                  MarkedCall{"__x64_sys_write", profile::kThirdArgument},
                                  MarkedCall{"__x64_sys_pread64", profile::kThirdArgument},
                                  MarkedCall{"__x64_sys_pwrite64", profile::kThirdArgument},
                                  MarkedCall{"__x64_sys_poll", profile::kThirdArgument, false},
                                  MarkedCall{"__x64_sys_epoll_wait", profile::kFourthArgument, false},
                                  MarkedCall{"__x64_sys_epoll_pwait", profile::kFourthArgument, false}};

/// Up to so many bytes of a process's memory; fewer where it ends.
std::vector<uint8_t> ReadMemory(int32_t pid, uint64_t address, size_t most) {
  const KernelFileRights rights;
  const UniqueFd memory(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> bytes(most);
  const ssize_t count = memory ? pread(memory.get(), bytes.data(), most, static_cast<off_t>(address)) : -1;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  return bytes;
}

/// The code of a process around an address, or from the start of the address's page where there is none before it.
std::vector<uint8_t> ReadCode(int32_t pid, uint64_t ip, uint64_t& start) {
  const uint64_t page = ip & ~(static_cast<uint64_t>(getpagesize()) - 1);
  for (const uint64_t from : {ip - std::min<uint64_t>(ip, profile::kCodeBefore),
                              std::max(page, ip - std::min<uint64_t>(ip, profile::kCodeBefore))}) {
    std::vector<uint8_t> code = ReadMemory(pid, from, profile::kCodeBefore + profile::kCodeBehind);
    if (code.empty()) continue;
    start = from;
    return code;
  }
  return {};
}

/// The sample of a record that is one; nullptr: it is none.
const profile::CpuSample* SampleIn(const profile::PerfRecord& record) {
  if (const auto* of_event = std::get_if<profile::EventSample>(&record)) return of_event;
  return std::get_if<profile::CpuSample>(&record);
}

/// Reads what profile::CpuSampler records of programs, and publishes it as the tables stacks, cpu_samples,
/// event_samples and accesses.
class Profiling {
 public:
  /// @param period_ns of a thread's CPU time, between two samples
  /// @param events to be sampled, too
  /// @param watcher must outlive this
  Profiling(int64_t period_ns, std::vector<counter::SampledEvent> events, const model::ProcessWatcher& watcher,
            ProcessTable& processes, Registry& registry, Pipeline& pipeline)
      : period_ns_(period_ns),
        events_(std::move(events)),
        filter_fd_(watcher.SampleFilter()),
        processes_(processes),
        registry_(registry),
        pipeline_(pipeline),
        sites_(host_, processes, registry, pipeline),
        python_(sites_),
        kernel_sites_(
            host_, [&watcher](uint64_t address) { return watcher.KernelFunction(address); }, processes, registry,
            pipeline) {}
  ~Profiling() { Stop(); }

  /// @return kPermission: the kernel permits no samples, and what to do about it
  Status Start();
  /// Reads what is there, then ends. Idempotent.
  void Stop();

  /// A child that waits to become the program. @thread one at a time, beside the others
  Status FollowFromExec(pid_t pid);
  /// A process that runs already. @thread as FollowFromExec
  Status FollowRunning(pid_t pid) { return sampler_->FollowRunning(pid); }

  bool started() const { return sampler_ != nullptr; }
  /// @pre started(), as for the two above
  bool sees_kernel() const { return sampler_->sees_kernel(); }
  std::map<std::string, Error> Refused() const { return sampler_->Refused(); }

 private:
  /// Whether a thread spins at a place. By the address in its file, or in memory that no file is in.
  using Spinning = std::unordered_map<uint64_t, bool>;
  /// Known code of a process, until it becomes another program.
  struct Code {
    std::unordered_map<uint64_t, model::ElementId> sites;                  ///< by the address behind the place
    std::unordered_map<uint64_t, std::vector<profile::Operand>> operands;  ///< by where a sample was taken
    Spinning spinning;
  };

  void Run();
  void Pass();
  void Take(profile::PerfRecord& record, bool is_again);
  void TakeDeferred(int32_t pid);
  void Add(const profile::CpuSample& sample);
  void Add(const profile::EventSample& sample);
  void Add(const profile::PageFault& fault);
  void Add(const profile::CodeMapped& mapped);
  void Add(const profile::Executed& executed);
  void Add(const profile::Renamed& renamed);
  void Add(const profile::Forked& forked);
  void Add(const profile::Lost& lost);
  bool IsLauncherStill(int32_t pid);
  /// Functions of Python in a call path, by the index of the interpreter's function that executes them.
  using Interpreted = std::map<size_t, PythonStacks::Executed>;
  /// Thread and call path of a sample.
  struct Location {
    model::ElementId thread = 0;
    model::ElementId site = 0;
    int64_t stack = 0;
    std::vector<uint64_t> path;      ///< addresses of the program, outermost last
    bool executes_spinning = false;  ///< the interpreter executes a function that spins
  };
  Location Locate(const profile::CpuSample& sample);
  profile::UnwoundStack PathOf(const profile::CpuSample& sample, Interpreted& interpreted);
  void AddAccesses(const profile::CpuSample& sample, bool is_spinning, model::CpuSample& row);
  model::ElementId Site(int32_t pid, uint64_t behind);
  std::string MarkOfCall(const profile::CpuSample& sample);
  model::ElementId Mark(int32_t pid, std::string_view name);
  int64_t StackOf(int64_t parent, model::ElementId site);
  int64_t ParentOf(int64_t stack) const;
  const std::vector<profile::Operand>& OperandsAt(int32_t pid, uint64_t ip);
  bool IsSpinningAt(int32_t pid, uint64_t ip);
  bool IsSpinning(int32_t pid, const std::vector<uint64_t>& path);
  void FindNodes();
  void Publish();

  const int64_t period_ns_;
  const std::vector<counter::SampledEvent> events_;
  const int filter_fd_;
  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  const HostRoot host_;
  std::unique_ptr<profile::CpuSampler> sampler_;
  CodeSites sites_;
  CodeFrames frames_;
  PythonStacks python_;
  KernelSites kernel_sites_;
  profile::PageNodes nodes_;
  std::vector<int> cpu_nodes_;                                         ///< empty: the machine has one node
  model::StreamId stream_ = 0;                                         ///< that gaps are of
  std::map<int32_t, Code> code_;                                       ///< by pid
  std::map<std::pair<std::string, uint64_t>, Spinning> spinning_;      ///< by path and inode: the same in all processes
  std::map<std::pair<int64_t, model::ElementId>, int64_t> stack_ids_;  ///< by parent and site
  std::vector<int64_t> parents_;                                       ///< parent of each stack, by id less 1
  std::vector<model::Stack> stacks_;                                   ///< rows of this pass, as are the following ones
  std::vector<model::CpuSample> samples_;
  std::vector<model::EventSample> event_samples_;
  std::vector<model::Access> accesses_;
  std::vector<int32_t> access_pids_;
  std::vector<model::Gap> gaps_;
  /// Records of processes that the watcher has not told of yet: until the next pass.
  std::vector<profile::PerfRecord> unknown_;
  std::unordered_set<int32_t> deferred_;  ///< pids of `unknown_` of this pass

  Mutex waiting_mutex_;
  /// Children that are a copy of the launcher until they become the program: an event of a CPU samples them, too.
  std::unordered_set<int32_t> waiting_ ATTUNE_GUARDED_BY(waiting_mutex_);

  UniqueFd stop_;  ///< an eventfd
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

Status Profiling::Start() {
  cpu_nodes_ = profile::ReadCpuNodes(host_);
  profile::CpuSamplerOptions options{.period_ns = period_ns_,
                                     .events = events_,
                                     .cpus = CpuSet::In(host_, "/sys/devices/system/cpu/online"),
                                     .stack_bytes = kStackBytes,
                                     .filter_fd = filter_fd_};
  if (options.cpus.empty()) options.cpus = CpuSet::Allowed();
  if (!cpu_nodes_.empty()) options.faults_a_sample = kFaultsASample;
  ATTUNE_TRY(sampler_, profile::CpuSampler::Create(options));
  stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return ErrnoError("CPU samples: eventfd");
  stream_ = registry_.NextStreamId();
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "attune-profile");
  return {};
}

void Profiling::Stop() {
  stopping_ = true;
  const uint64_t one = 1;
  if (stop_) (void)!write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

void Profiling::Run() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness);
  bool last = false;
  while (!last) {
    sampler_->Wait(stop_.get(), python_.HasAny() ? kPythonPassInterval : kPassInterval);
    last = stopping_;
    Pass();
  }
}

void Profiling::Pass() {
  deferred_.clear();
  if (spinning_.size() > kMaxProcesses) spinning_.clear();
  std::vector<profile::PerfRecord> again;
  again.swap(unknown_);
  for (profile::PerfRecord& record : again) Take(record, true);
  sampler_->Read([this](profile::PerfRecord& record) { Take(record, false); });
  if (!cpu_nodes_.empty()) FindNodes();
  Publish();
}

/// An event of a CPU tells of all processes what they map, how they are named and what they start; its samples are of
/// followed ones alone.
void Profiling::Take(profile::PerfRecord& record, bool is_again) {
  const auto pid_of = [](const auto& any) -> int32_t {
    if constexpr (requires { any.pid; }) return any.pid;
    return 0;
  };
  const profile::CpuSample* const sample = SampleIn(record);
  if (sample != nullptr) TakeDeferred(sample->pid);
  const int32_t pid = filter_fd_ < 0 || sample != nullptr ? 0 : std::visit(pid_of, record);
  if (pid == 0 || (processes_.Knows(pid) && !deferred_.contains(pid))) {
    std::visit([this](const auto& any) { Add(any); }, record);
  } else if (!is_again && unknown_.size() < kMaxUnknown) {
    deferred_.insert(pid);  // later records of it in the same pass stay behind this one
    unknown_.push_back(std::move(record));
  }
}

/// A sample says that its process is followed, before the watcher does.
void Profiling::TakeDeferred(int32_t pid) {
  if (deferred_.erase(pid) == 0) return;
  const auto is_other = [pid](const profile::PerfRecord& record) {
    return std::visit(
        [pid](const auto& any) {
          if constexpr (requires { any.pid; }) return any.pid != pid;
          return true;
        },
        record);
  };
  const auto own = std::stable_partition(unknown_.begin(), unknown_.end(), is_other);
  for (auto record = own; record != unknown_.end(); ++record)
    std::visit([this](const auto& any) { Add(any); }, *record);
  unknown_.erase(own, unknown_.end());
}

Status Profiling::FollowFromExec(pid_t pid) {
  {
    const MutexLock lock(waiting_mutex_);
    waiting_.insert(pid);
  }
  return sampler_->FollowFromExec(pid);
}

bool Profiling::IsLauncherStill(int32_t pid) {
  const MutexLock lock(waiting_mutex_);
  return waiting_.contains(pid);
}

void Profiling::Add(const profile::CpuSample& sample) {
  if (IsLauncherStill(sample.pid)) return;
  const Location at = Locate(sample);
  samples_.push_back({sample.t_ns, at.thread, sample.cpu, at.site, at.stack, period_ns_});
  if (!sample.in_kernel && sample.registers.known)
    AddAccesses(sample, IsSpinning(sample.pid, at.path) || at.executes_spinning, samples_.back());
}

void Profiling::Add(const profile::EventSample& sample) {
  if (IsLauncherStill(sample.pid) || sample.event.empty()) return;
  const Location at = Locate(sample);
  event_samples_.push_back({.t_ns = sample.t_ns,
                            .thread = at.thread,
                            .cpu = sample.cpu,
                            .event = sample.event,
                            .site = at.site,
                            .stack = at.stack,
                            .count = static_cast<int64_t>(std::min<uint64_t>(sample.count, INT64_MAX))});
}

Profiling::Location Profiling::Locate(const profile::CpuSample& sample) {
  int64_t stack = 0;
  ElementId site = 0;
  Interpreted interpreted;
  profile::UnwoundStack path = PathOf(sample, interpreted);
  if (path.end != profile::StackEnd::kOutermost) {
    site = registry_.FindOrAddNamed(processes_.Process(sample.pid), model::ElementKind::kSite, kCut);
    stack = StackOf(stack, site);
  }
  for (size_t i = path.addresses.size(); i-- > 0;) {
    if (const auto executed = interpreted.find(i); executed != interpreted.end()) {
      for (const ElementId place : std::views::reverse(executed->second.sites)) stack = StackOf(stack, site = place);
      continue;
    }
    // The leaf's instruction has not run yet; the other addresses are behind a call, as is a system call's.
    const bool is_leaf = i == 0 && !sample.in_kernel;
    site = Site(sample.pid, path.addresses[i] + (is_leaf ? 1 : 0));
    stack = StackOf(stack, site);
  }
  if (const std::string mark = MarkOfCall(sample); !mark.empty()) stack = StackOf(stack, Mark(sample.pid, mark));
  if (sample.in_kernel) {
    site = kernel_sites_.Root(sample.pid);
    stack = StackOf(stack, site);
  }
  for (const uint64_t address : std::views::reverse(sample.kernel_stack)) {
    const ElementId function = kernel_sites_.Add(sample.pid, address);
    if (function == 0) continue;
    site = function;
    stack = StackOf(stack, site);
  }
  return {.thread = processes_.Thread(sample.pid, sample.tid),
          .site = site,
          .stack = stack,
          .path = std::move(path.addresses),
          .executes_spinning = !interpreted.empty() && interpreted.begin()->second.spins};
}

/// Unwound from the copy of the stack; where there is none, as the kernel found it by frame pointers.
profile::UnwoundStack Profiling::PathOf(const profile::CpuSample& sample, Interpreted& interpreted) {
  if (!profile::CanUnwind()) return {sample.stack, profile::StackEnd::kOutermost};
  if (!sample.registers.known || sample.stack_copy.empty()) return {sample.stack, profile::StackEnd::kNotCopied};
  struct Place {
    uint64_t address = 0;
    const track::MappedFile* file = nullptr;
    uint64_t bias = 0;
  } last;
  const auto find = [&](uint64_t address) -> profile::LoadedCode {
    last = {.address = address, .file = sites_.FindMapping(sample.pid, address)};
    if (last.file == nullptr) return {};
    const profile::LoadedCode code = frames_.Find(sample.pid, *last.file, address);
    last.bias = code.bias;
    return code;
  };
  const auto see = [&](size_t index, const profile::StackPart& part) {
    if (last.file == nullptr) return;
    auto executed = python_.Find(sample, last.address, *last.file, last.bias, part);
    if (!executed.sites.empty()) interpreted[index] = std::move(executed);
  };
  return profile::Unwind(sample, find, see);
}

/// Marks the row's call path, too. What a thread does at memory while it waits is no use of it.
void Profiling::AddAccesses(const profile::CpuSample& sample, bool is_spinning, model::CpuSample& row) {
  if (is_spinning) row.stack = StackOf(row.stack, Mark(sample.pid, model::kSpinningMark));
  int64_t weight_ns = is_spinning ? 0 : period_ns_;
  for (const profile::Operand& operand : OperandsAt(sample.pid, sample.registers.ip)) {
    const auto access = profile::Resolve(operand, sample.registers);
    if (!access) continue;
    const auto kind = !access->writes ? model::AccessKind::kRead
                      : access->reads ? model::AccessKind::kUpdate
                                      : model::AccessKind::kWrite;
    const ElementId site = Site(sample.pid, access->behind);
    if (access->is_atomic && weight_ns != 0) {
      row.site = site;  // the sampled address lies behind this instruction
      row.stack = StackOf(StackOf(ParentOf(row.stack), site), Mark(sample.pid, model::kAtomicMark));
    }
    accesses_.push_back({.t_ns = sample.t_ns,
                         .thread = row.thread,
                         .cpu = sample.cpu,
                         .site = site,
                         .kind = kind,
                         .address = static_cast<int64_t>(access->address),
                         .bytes = access->bytes,
                         .weight_ns = std::exchange(weight_ns, 0)});
    access_pids_.push_back(sample.pid);
  }
}

void Profiling::Add(const profile::PageFault& fault) {
  const auto page_bytes = static_cast<uint64_t>(getpagesize());
  accesses_.push_back({.t_ns = fault.t_ns,
                       .thread = processes_.Thread(fault.pid, fault.tid),
                       .cpu = fault.cpu,
                       .site = Site(fault.pid, fault.ip + 1),
                       .kind = model::AccessKind::kFirstTouch,
                       .address = static_cast<int64_t>(fault.address / page_bytes * page_bytes),
                       .bytes = static_cast<int64_t>(page_bytes)});
  access_pids_.push_back(fault.pid);
}

void Profiling::Add(const profile::CodeMapped& mapped) {
  sites_.AddMapped(mapped.pid, {mapped.start, mapped.start + mapped.bytes, mapped.offset, mapped.path, mapped.inode});
  code_.erase(mapped.pid);  // another library may have been there
}

void Profiling::Add(const profile::Executed& executed) {
  sites_.Forget(executed.pid);
  python_.Forget(executed.pid);
  code_.erase(executed.pid);
  const MutexLock lock(waiting_mutex_);
  waiting_.erase(executed.pid);
}

/// Also where nobody else tells it: the watcher may be one that polls.
void Profiling::Add(const profile::Renamed& renamed) {
  processes_.Apply({.kind = model::ProcessEventKind::kName,
                    .t_ns = renamed.t_ns,
                    .pid = renamed.pid,
                    .tid = renamed.tid,
                    .command = CleanText(renamed.name)});
}

void Profiling::Add(const profile::Forked& forked) {
  sites_.CopyMemory(forked.parent, forked.pid);
  python_.CopyMemory(forked.parent, forked.pid);
  code_.erase(forked.pid);
}

void Profiling::Add(const profile::Lost& lost) {
  {
    const MutexLock lock(waiting_mutex_);
    waiting_.clear();  // the lost records may have included the exec
  }
  gaps_.push_back({stream_, lost.t_ns, lost.t_ns, static_cast<int64_t>(lost.records), model::GapReason::kDropped});
}

ElementId Profiling::Site(int32_t pid, uint64_t behind) {
  if (code_.size() > kMaxProcesses) code_.clear();
  auto& sites = code_[pid].sites;
  if (const auto found = sites.find(behind); found != sites.end()) return found->second;
  const ElementId site = sites_.Add(pid, sites_.FindInMemory(pid, behind));
  if (sites.size() < kMaxCode) sites[behind] = site;
  return site;
}

/// Mark by the arguments of the system call that was sampled; "": none.
std::string Profiling::MarkOfCall(const profile::CpuSample& sample) {
  if (!sample.registers.known) return {};
  for (const uint64_t address : std::views::reverse(sample.kernel_stack)) {
    const std::string_view function = kernel_sites_.NameOf(address);
    const auto call = std::ranges::find(kMarkedCalls, function, &MarkedCall::function);
    if (call == kMarkedCalls.end()) continue;
    const uint64_t argument = sample.registers.general[call->argument];
    if (!call->is_size) return static_cast<uint32_t>(argument) == 0 ? std::string(model::kNoWaitMark) : "";
    return argument <= model::kMostSmallBytes ? model::SmallMark(static_cast<int64_t>(argument)) : "";
  }
  return {};
}

ElementId Profiling::Mark(int32_t pid, std::string_view name) {
  return registry_.FindOrAddNamed(processes_.Process(pid), model::ElementKind::kSite, std::string(name));
}

int64_t Profiling::StackOf(int64_t parent, ElementId site) {
  const std::pair key(parent, site);
  if (const auto found = stack_ids_.find(key); found != stack_ids_.end()) return found->second;
  if (stack_ids_.size() >= kMaxStacks) return parent;
  const auto id = static_cast<int64_t>(stack_ids_.size() + 1);
  stack_ids_[key] = id;
  parents_.push_back(parent);
  stacks_.push_back({id, parent, site});
  return id;
}

int64_t Profiling::ParentOf(int64_t stack) const { return stack > 0 ? parents_[static_cast<size_t>(stack - 1)] : 0; }

const std::vector<profile::Operand>& Profiling::OperandsAt(int32_t pid, uint64_t ip) {
  static const std::vector<profile::Operand> none;
  auto& operands = code_[pid].operands;
  if (const auto found = operands.find(ip); found != operands.end()) return found->second;
  if (operands.size() >= kMaxCode) return none;
  uint64_t start = 0;
  const std::vector<uint8_t> code = ReadCode(pid, ip, start);
  return operands[ip] = profile::DecodeOperands(code, start, ip);
}

bool Profiling::IsSpinningAt(int32_t pid, uint64_t ip) {
  const track::MappedFile* const file = sites_.FindMapping(pid, ip);
  Spinning& known = file != nullptr ? spinning_[{file->path, file->inode}] : code_[pid].spinning;
  const uint64_t at = file != nullptr ? ip - file->start + file->offset : ip;
  if (const auto found = known.find(at); found != known.end()) return found->second;
  if (known.size() >= kMaxCode) return false;
  uint64_t start = 0;
  const std::vector<uint8_t> code = ReadCode(pid, ip, start);
  const auto read = [pid](uint64_t address) { return ReadMemory(pid, address, profile::kFunctionBytes); };
  return known[at] = profile::IsSpinning(code, start, ip, read);
}

/// Checks the place itself, and the functions that called it from a loop.
bool Profiling::IsSpinning(int32_t pid, const std::vector<uint64_t>& path) {
  constexpr size_t kMostCallers = 5;
  for (size_t i = 0; i < std::min(path.size(), kMostCallers + 1); ++i) {
    if (IsSpinningAt(pid, path[i])) return true;
  }
  return false;
}

/// Finds the nodes of all accesses of this pass, with one system call a process.
void Profiling::FindNodes() {
  std::map<int32_t, std::vector<size_t>> by_process;
  for (size_t i = 0; i < accesses_.size(); ++i) by_process[access_pids_[i]].push_back(i);
  const int64_t now_ns = MonotonicNs();
  for (const auto& [pid, indices] : by_process) {
    std::vector<uint64_t> addresses;
    for (const size_t i : indices) addresses.push_back(static_cast<uint64_t>(accesses_[i].address));
    const std::vector<int> nodes = nodes_.Find(pid, addresses, now_ns);
    for (size_t i = 0; i < indices.size(); ++i) {
      model::Access& access = accesses_[indices[i]];
      const auto cpu = static_cast<size_t>(access.cpu);
      if (nodes[i] == profile::PageNodes::kUnknown || cpu >= cpu_nodes_.size()) continue;
      access.page_node = nodes[i];
      access.cpu_node = cpu_nodes_[cpu];
    }
  }
}

void Profiling::Publish() {
  // Rows that samples refer to come first.
  if (!stacks_.empty()) pipeline_.Publish(model::ToBatch(std::span<const model::Stack>(stacks_)));
  if (!samples_.empty()) pipeline_.Publish(model::ToBatch(std::span<const model::CpuSample>(samples_)));
  if (!event_samples_.empty()) pipeline_.Publish(model::ToBatch(std::span<const model::EventSample>(event_samples_)));
  if (!accesses_.empty()) pipeline_.Publish(model::ToBatch(std::span<const model::Access>(accesses_)));
  if (!gaps_.empty()) pipeline_.Publish(model::ToBatch(std::span<const model::Gap>(gaps_)));
  stacks_.clear();
  samples_.clear();
  event_samples_.clear();
  accesses_.clear();
  access_pids_.clear();
  gaps_.clear();
}

class ProfileComponent : public Component {
 public:
  ProfileComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                   FollowingComponent& following)
      : context_(context), recording_(recording), facts_(facts), following_(following) {}

  /// Without samples everything else is observed all the same, and the recording says that they are missing.
  Status Start() override;
  void Stop() override {
    if (profiling_ != nullptr) profiling_->Stop();
  }
  void OnProgram(pid_t pid, bool runs_already) override;

 private:
  void Take(const Status& followed);
  void TellRefused();

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  std::unique_ptr<Profiling> profiling_;  ///< nullptr: no samples are taken
  std::set<std::string> told_;            ///< events that the kernel does not sample
};

Status ProfileComponent::Start() {
  const int64_t period_ns = context_.options.cpu_sample_ns;
  if (period_ns == 0 || !context_.options.follows) return {};
  for (const counter::EventNote& note : context_.options.not_sampled)
    recording_.AddUnseen(fmt::format("samples of {}: {}", note.event, note.why));
  profiling_ = std::make_unique<Profiling>(period_ns, context_.options.sampled_events, following_.watcher(),
                                           facts_.processes(), facts_.registry(), recording_.pipeline());
  Take(profiling_->Start());
  if (profiling_ == nullptr) return {};
  recording_.Publish({{std::string(model::info::kCpuSampleNs), std::to_string(period_ns)}});
  if (!profiling_->sees_kernel())
    recording_.AddUnseen("CPU time in the kernel: no samples of it without root (kernel.perf_event_paranoid above 1)");
  return {};
}

void ProfileComponent::OnProgram(pid_t pid, bool runs_already) {
  if (profiling_ == nullptr) return;
  Take(runs_already ? profiling_->FollowRunning(pid) : profiling_->FollowFromExec(pid));
  TellRefused();
}

void ProfileComponent::TellRefused() {
  if (profiling_ == nullptr) return;
  for (const auto& [event, error] : profiling_->Refused()) {
    if (told_.insert(event).second) recording_.AddUnseen(error.message + (error.hint.empty() ? "" : ": " + error.hint));
  }
}

void ProfileComponent::Take(const Status& followed) {
  if (followed.ok()) return;
  const Error& error = followed.error();
  recording_.AddUnseen(error.message + (error.hint.empty() ? "" : ": " + error.hint));
  if (!profiling_->started()) profiling_.reset();
}

}  // namespace

std::unique_ptr<Component> MakeProfile(SessionContext& context, RecordingComponent& recording,
                                       HostFactsComponent& facts, FollowingComponent& following) {
  return std::make_unique<ProfileComponent>(context, recording, facts, following);
}

}  // namespace attune::session
