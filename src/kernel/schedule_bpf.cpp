#include "kernel/schedule_bpf.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace attune::kernel {

namespace {

using model::TimeState;

static_assert(kStateRunning == static_cast<int>(TimeState::kRunning));
static_assert(kStateQueuedWake == static_cast<int>(TimeState::kQueuedWake));
static_assert(kStateFutex == static_cast<int>(TimeState::kFutex));
static_assert(kStateFile == static_cast<int>(TimeState::kFile));
static_assert(kStateCall == static_cast<int>(TimeState::kCall));
static_assert(static_cast<int>(TimeState::kProgram) + kCpuIdle == static_cast<int>(TimeState::kIdle));

constexpr char kScan[] = "on_task";  // the program that Scan() runs
constexpr std::string_view kPrograms[] = {"on_switch", "on_waking", "on_fork_slot", "on_exec_slot", kScan};

constexpr std::pair<long, unsigned char> kCalls[] = {
    {SYS_futex, kStateFutex},
    {SYS_nanosleep, kStateSleep},
    {SYS_clock_nanosleep, kStateSleep},
#ifdef SYS_poll
    {SYS_poll, kStatePoll},
    {SYS_select, kStatePoll},
    {SYS_epoll_wait, kStatePoll},
    {SYS_pause, kStateSignal},
#endif
    {SYS_ppoll, kStatePoll},
    {SYS_pselect6, kStatePoll},
    {SYS_epoll_pwait, kStatePoll},
    {SYS_epoll_pwait2, kStatePoll},
    {SYS_io_uring_enter, kStatePoll},
    {SYS_wait4, kStateChild},
    {SYS_waitid, kStateChild},
    {SYS_rt_sigsuspend, kStateSignal},
    {SYS_rt_sigtimedwait, kStateSignal},
    {SYS_msync, kStateFile},
    {SYS_sync, kStateFile},
    {SYS_syncfs, kStateDescriptor},
    {SYS_fsync, kStateDescriptor},
    {SYS_fdatasync, kStateDescriptor},
    {SYS_sync_file_range, kStateDescriptor},
    {SYS_ftruncate, kStateDescriptor},
    {SYS_fallocate, kStateDescriptor},
    {SYS_read, kStateDescriptor},
    {SYS_write, kStateDescriptor},
    {SYS_readv, kStateDescriptor},
    {SYS_writev, kStateDescriptor},
    {SYS_pread64, kStateDescriptor},
    {SYS_pwrite64, kStateDescriptor},
    {SYS_preadv, kStateDescriptor},
    {SYS_pwritev, kStateDescriptor},
    {SYS_sendfile, kStateDescriptor},
    {SYS_splice, kStateDescriptor},
    {SYS_tee, kStateDescriptor},
    {SYS_copy_file_range, kStateDescriptor},
    {SYS_ioctl, kStateDescriptor},
    {SYS_fcntl, kStateDescriptor},
    {SYS_flock, kStateDescriptor},
    {SYS_connect, kStateDescriptor},
    {SYS_accept, kStateDescriptor},
    {SYS_accept4, kStateDescriptor},
    {SYS_recvfrom, kStateDescriptor},
    {SYS_recvmsg, kStateDescriptor},
    {SYS_recvmmsg, kStateDescriptor},
    {SYS_sendto, kStateDescriptor},
    {SYS_sendmsg, kStateDescriptor},
    {SYS_sendmmsg, kStateDescriptor},
};

schedule_machine MachineOf() {
  schedule_machine machine{};
  machine.cpus = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  std::fill(std::begin(machine.state_of_call), std::end(machine.state_of_call), kStateCall);
  for (const auto& [number, state] : kCalls) {
    if (number < kMaxCalls) machine.state_of_call[number] = state;
  }
  return machine;
}

uint64_t Since(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

/// Growth since `before`; both only grow, but for a present state whose end came between two looks at it.
model::StateSum Added(uint32_t state, const slot_sum& now, slot_sum& before) {
  model::StateSum sum;
  sum.state = static_cast<TimeState>(state);
  sum.ns = static_cast<int64_t>(Since(now.ns, before.ns));
  sum.count = static_cast<int64_t>(Since(now.count, before.count));
  before.ns = std::max(before.ns, now.ns);
  before.count = now.count;
  return sum;
}

}  // namespace

bool BpfScheduleAccount::Owns(const bpf_program& program) {
  return std::ranges::find(kPrograms, std::string_view(bpf_program__name(&program))) != std::end(kPrograms);
}

Status BpfScheduleAccount::Prepare(bpf_object* object, bool wanted) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (Owns(*program)) bpf_program__set_autoload(program, wanted);
  }
  if (!SetConstant(object, ".rodata.schedule", MachineOf())) return BpfError("preparing the account of time", EINVAL);
  return {};
}

Result<std::unique_ptr<BpfScheduleAccount>> BpfScheduleAccount::Create(bpf_object* object) {
  if (!bpf_program__autoload(bpf_object__find_program_by_name(object, kScan)))
    return BpfError("loading the programs that account for time", EINVAL);
  std::unique_ptr<BpfScheduleAccount> account(new BpfScheduleAccount(object));
  ATTUNE_CHECK_OK(account->MapMemory());
  return account;
}

BpfScheduleAccount::~BpfScheduleAccount() {
  links_.clear();
  if (slots_ != nullptr) ::munmap(slots_, sizeof(thread_slot) * kMaxSlots);
  if (totals_ != nullptr) ::munmap(const_cast<schedule_totals*>(totals_), sizeof(schedule_totals));
}

Status BpfScheduleAccount::MapMemory() {
  const auto map = [this](const char* name, size_t bytes, int protection) {
    return ::mmap(nullptr, bytes, protection, MAP_SHARED, bpf_map__fd(Map(name)), 0);
  };
  void* slots = map("slots", sizeof(thread_slot) * kMaxSlots, PROT_READ | PROT_WRITE);
  if (slots == MAP_FAILED) return BpfError("mapping the threads' sums", errno);
  slots_ = static_cast<thread_slot*>(slots);
  void* totals = map("totals", sizeof(schedule_totals), PROT_READ);
  if (totals == MAP_FAILED) return BpfError("mapping the sums of all threads", errno);
  totals_ = static_cast<const schedule_totals*>(totals);
  lone_.reset(ring_buffer__new(bpf_map__fd(Map("lone")), &BpfScheduleAccount::OnLone, this, nullptr));
  if (!lone_) return BpfError("mapping the ring of lone threads", errno);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    if (!Owns(*program) || std::string_view(bpf_program__name(program)) == kScan) continue;
    LinkHandle link(bpf_program__attach(program));
    if (!link) return BpfError(fmt::format("attaching {}", bpf_program__section_name(program)), errno);
    links_.push_back(std::move(link));
  }
  return {};
}

Status BpfScheduleAccount::Scan() {
  const LinkHandle link(bpf_program__attach_iter(bpf_object__find_program_by_name(object_, kScan), nullptr));
  if (!link) return BpfError("looking for threads", errno);
  const UniqueFd walk(bpf_iter_create(bpf_link__fd(link.get())));
  if (!walk) return BpfError("looking for threads", errno);
  char none[64];
  while (::read(walk.get(), none, sizeof none) > 0) {
  }
  return {};
}

Status BpfScheduleAccount::Read(const Visit& visit) {
  const auto now_ns = static_cast<uint64_t>(MonotonicNs() - to_monotonic_ns_);
  const Wakers wakers = TakeWakers();
  const uint64_t used = std::min<uint64_t>(totals_->slots, kMaxSlots);
  before_.resize(std::max<size_t>(before_.size(), used));
  ATTUNE_CHECK_OK(ReadLone(static_cast<uint32_t>(used), visit));
  for (uint32_t index = 0; index < used; ++index) {
    if (slots_[index].tid != 0) ReadSlot(index, now_ns, wakers, visit);
  }
  ReadMachine(now_ns, visit);
  return {};
}

int BpfScheduleAccount::OnLone(void* self, void* data, size_t size) {
  if (size >= sizeof(lone_stretch))
    static_cast<BpfScheduleAccount*>(self)->stretches_.push_back(*static_cast<const lone_stretch*>(data));
  return 0;
}

/// Before the threads: a slot is another thread's only after its last sums were read.
Status BpfScheduleAccount::ReadLone(uint32_t used, const Visit& visit) {
  stretches_.clear();
  const int consumed = ring_buffer__consume(lone_.get());
  if (consumed < 0) return ErrnoError("reading the ring of lone threads", -consumed);
  for (const lone_stretch& stretch : stretches_) {
    if (stretch.number == 0 || stretch.number > used || slots_[stretch.number - 1].tid == 0) continue;
    const uint64_t ns = Since(stretch.end_ns, stretch.start_ns);
    BeforeOf(stretch.number - 1).alone_ns += ns;
    const thread_slot& slot = slots_[stretch.number - 1];
    const model::StateSum sum{.state = TimeState::kRunning,
                              .waker_tid = stretch.next,
                              .alone_ns = static_cast<int64_t>(ns),
                              .end_ns = static_cast<int64_t>(stretch.end_ns) + to_monotonic_ns_};
    visit({.pid = slot.pid, .tid = slot.tid}, std::span(&sum, 1));
  }
  return {};
}

BpfScheduleAccount::Sums& BpfScheduleAccount::BeforeOf(uint32_t index) {
  Sums& before = before_[index];
  if (before.start_ns != slots_[index].start_ns) before = {.start_ns = slots_[index].start_ns};
  return before;
}

BpfScheduleAccount::Sums BpfScheduleAccount::SumsOf(const thread_slot& slot, uint64_t now_ns) const {
  Sums sums;
  sums.start_ns = slot.start_ns;
  std::copy(std::begin(slot.by_state), std::end(slot.by_state), sums.by_state.begin());
  sums.alone_ns = slot.alone_ns;
  sums.idle_cpus_ns = slot.idle_cpus_ns;
  const uint64_t ns = Since(now_ns, slot.since_ns);
  if (slot.state < kStateEnd) sums.by_state[slot.state].ns += ns;
  if (slot.state == kStateRunning || slot.state == kStateQueued) {
    sums.idle_cpus_ns += Since(totals_->idle_cpus_ns, slot.idle_cpus_mark_ns);
  }
  return sums;
}

std::vector<model::StateSum> BpfScheduleAccount::AddedByWakers(const thread_slot& slot, Sums& before,
                                                               const Wakers& wakers) {
  std::vector<model::StateSum> added;
  for (size_t i = 0; i < kSlotWakers && slot.wakers[i].waker != 0; ++i) {
    model::StateSum sum = Added(slot.wakers[i].state, slot.wakers[i].sum, before.by_waker[i]);
    sum.waker_tid = slot.wakers[i].waker;
    if (sum.count > 0) added.push_back(sum);
  }
  if (const auto others = wakers.find(slot.tid); others != wakers.end())
    added.insert(added.end(), others->second.begin(), others->second.end());
  return added;
}

void BpfScheduleAccount::ReadSlot(uint32_t index, uint64_t now_ns, const Wakers& wakers, const Visit& visit) {
  const thread_slot slot = slots_[index];
  Sums& before = BeforeOf(index);
  const Sums now = SumsOf(slot, now_ns);
  added_.clear();
  const std::vector<model::StateSum> woken = AddedByWakers(slot, before, wakers);
  for (uint32_t state = kStateRunning; state < kStateEnd; ++state) {
    model::StateSum rest = Added(state, now.by_state[state], before.by_state[state]);
    for (const model::StateSum& part : woken) {
      if (part.state != rest.state) continue;
      // If a sleep began before the previous reading, its part until then was handed over without a waker.
      model::StateSum& ended = added_.emplace_back(part);
      ended.ns = std::min(part.ns, rest.ns);
      rest.ns -= ended.ns;
      rest.count -= std::min(rest.count, part.count);
    }
    if (state == kStateRunning) {
      rest.alone_ns = static_cast<int64_t>(Since(now.alone_ns, before.alone_ns));
      rest.idle_cpus_ns = static_cast<int64_t>(Since(now.idle_cpus_ns, before.idle_cpus_ns));
    }
    if (rest.ns != 0 || rest.count != 0) added_.push_back(rest);
  }
  before.alone_ns = std::max(before.alone_ns, now.alone_ns);
  before.idle_cpus_ns = std::max(before.idle_cpus_ns, now.idle_cpus_ns);
  if (!added_.empty()) visit({.pid = slot.pid, .tid = slot.tid}, added_);
  if (slot.state != kStateDone) return;
  before = {};
  slots_[index] = {};
  bpf_map__update_elem(Map("free_slots"), nullptr, 0, &index, sizeof index, BPF_ANY);
}

/// Deletes them: what comes meanwhile of one that is deleted counts as a sleep without a known waker.
BpfScheduleAccount::Wakers BpfScheduleAccount::TakeWakers() {
  std::vector<waker_key> keys(kMaxWakers);
  std::vector<slot_sum> sums(kMaxWakers);
  uint32_t count = kMaxWakers, next = 0;
  bpf_map_lookup_and_delete_batch(bpf_map__fd(Map("wakers")), nullptr, &next, keys.data(), sums.data(), &count,
                                  nullptr);
  Wakers wakers;
  for (uint32_t i = 0; i < std::min<uint32_t>(count, kMaxWakers); ++i) {
    wakers[keys[i].tid].push_back({.state = static_cast<TimeState>(keys[i].state),
                                   .waker_tid = keys[i].waker,
                                   .ns = static_cast<int64_t>(sums[i].ns),
                                   .count = static_cast<int64_t>(sums[i].count)});
  }
  return wakers;
}

void BpfScheduleAccount::ReadMachine(uint64_t now_ns, const Visit& visit) {
  const uint32_t zero = 0;
  std::vector<cpu_totals> cpus(static_cast<size_t>(std::max(1, libbpf_num_possible_cpus())));
  bpf_map__lookup_elem(Map("cpus"), &zero, sizeof zero, cpus.data(), cpus.size() * sizeof cpus.front(), 0);
  cpus_before_.resize(cpus.size());
  for (size_t i = 0; i < cpus.size(); ++i) {
    if (cpus[i].since_ns == 0) continue;
    if (cpus[i].kind < kCpuKinds) cpus[i].ns[cpus[i].kind] += Since(now_ns, cpus[i].since_ns);
    added_.clear();
    for (size_t kind = 0; kind < kCpuKinds; ++kind) {
      const uint64_t ns = Since(cpus[i].ns[kind], cpus_before_[i][kind]);
      cpus_before_[i][kind] += ns;
      const auto state = static_cast<TimeState>(static_cast<size_t>(TimeState::kProgram) + kind);
      if (ns != 0) added_.push_back({.state = state, .ns = static_cast<int64_t>(ns)});
    }
    if (!added_.empty()) visit({.cpu = static_cast<int64_t>(i)}, added_);
  }
  uint64_t no_thread_ns = totals_->no_thread_ns;
  if (totals_->active <= 0 && totals_->since_ns != 0) no_thread_ns += Since(now_ns, totals_->since_ns);
  const uint64_t ns = Since(no_thread_ns, no_thread_before_ns_);
  no_thread_before_ns_ += ns;
  const model::StateSum none{.state = TimeState::kNoThread, .ns = static_cast<int64_t>(ns)};
  if (ns != 0) visit({}, std::span(&none, 1));
}

}  // namespace attune::kernel
