#pragma once
/// Accounts for the time of followed threads by eBPF programs on the scheduler's tracepoints: each switch and wake-up,
/// in sums that the kernel keeps in memory of ours (schedule_slots.h). Needs what MakeBpfWatcher needs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "base/time_namespace.h"
#include "kernel/bpf_handles.h"
#include "kernel/schedule_slots.h"
#include "model/schedule.h"

namespace attune::kernel {

class BpfScheduleAccount final : public model::ScheduleAccount {
 public:
  /// Whether a program of the object is one of those that account for time.
  static bool Owns(const bpf_program& program);
  /// To call before the object is loaded. @param wanted else its programs are not loaded, and Create() fails
  static Status Prepare(bpf_object* object, bool wanted);
  /// @param object loaded; lives longer
  /// @return kPermission, or kUnavailable with what is missing
  static Result<std::unique_ptr<BpfScheduleAccount>> Create(bpf_object* object);
  ~BpfScheduleAccount() override;

  /// Accounts for threads of followed processes that are there already. @cost 0.1 us a thread of the host
  Status Scan();

  std::string_view Method() const override { return "ebpf"; }
  Status Read(const Visit& visit) override;
  void Stop() override { links_.clear(); }
  uint64_t LeftOut() const override { return totals_->left_out; }

 private:
  /// Sums of a thread up to a reading, its present state included.
  struct Sums {
    uint64_t start_ns = 0;  ///< another one: the slot is another thread's
    uint64_t alone_ns = 0;  ///< without a stretch that has not ended
    uint64_t idle_cpus_ns = 0;
    std::array<slot_sum, kStateEnd> by_state{};
    std::array<slot_sum, kSlotWakers> by_waker{};
  };
  using Wakers = std::unordered_map<int, std::vector<model::StateSum>>;

  explicit BpfScheduleAccount(bpf_object* object) : object_(object) {}
  Status MapMemory();
  /// The sleeps of a slot's thread that others ended since the last reading. @param before is brought up to now
  static std::vector<model::StateSum> AddedByWakers(const thread_slot& slot, Sums& before, const Wakers& wakers);
  Sums SumsOf(const thread_slot& slot, uint64_t now_ns) const;
  void ReadSlot(uint32_t index, uint64_t now_ns, const Wakers& wakers, const Visit& visit);
  void ReadMachine(uint64_t now_ns, const Visit& visit);
  Wakers TakeWakers();
  static int OnLone(void* self, void* data, size_t size);
  Status ReadLone(uint32_t used, const Visit& visit);
  /// Sums of a slot's thread that were handed over.
  Sums& BeforeOf(uint32_t index);
  bpf_map* Map(const char* name) const { return bpf_object__find_map_by_name(object_, name); }

  const int64_t to_monotonic_ns_ = KernelToMonotonicNs(HostRoot());
  bpf_object* const object_;
  RingHandle lone_;
  std::vector<lone_stretch> stretches_;  // stretches of one reading
  std::vector<LinkHandle> links_;        // the first to go: nothing writes to maps that are gone
  thread_slot* slots_ = nullptr;
  const schedule_totals* totals_ = nullptr;
  std::vector<Sums> before_;  ///< by slot
  std::vector<std::array<uint64_t, kCpuKinds>> cpus_before_;
  uint64_t no_thread_before_ns_ = 0;
  std::vector<model::StateSum> added_;  // sums of one visit
};

}  // namespace attune::kernel
