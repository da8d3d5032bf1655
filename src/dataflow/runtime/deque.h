#pragma once
/// The work of one worker: ranges of instances. Chase and Lev's deque with a fixed size, without fences, which the
/// thread sanitizer does not know.

#include <array>
#include <atomic>
#include <cstdint>

namespace attune::flow::detail {

struct Instances;

/// Instances [begin, end) of a kernel and age.
struct Task {
  Instances* instances = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
};

class Deque {
 public:
  static constexpr int64_t kSize = 4096;

  /// @return false: full  @thread owner
  bool Push(const Task& task) {
    const int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom - top_.load(std::memory_order_acquire) >= kSize) return false;
    slots_[static_cast<size_t>(bottom % kSize)].Set(task);
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }
  /// The newest. @thread owner
  bool Pop(Task* task) {
    int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom <= top_.load(std::memory_order_relaxed)) return false;
    bottom_.store(--bottom, std::memory_order_seq_cst);
    int64_t top = top_.load(std::memory_order_seq_cst);
    if (top < bottom) {
      *task = slots_[static_cast<size_t>(bottom % kSize)].Get();
      return true;
    }
    bool got = false;
    if (top == bottom) {
      *task = slots_[static_cast<size_t>(bottom % kSize)].Get();
      got = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
    }
    bottom_.store(bottom + 1, std::memory_order_release);
    return got;
  }
  /// The oldest. @return false: empty, or another thread was faster  @thread any
  bool Steal(Task* task) {
    int64_t top = top_.load(std::memory_order_seq_cst);
    if (top >= bottom_.load(std::memory_order_seq_cst)) return false;
    *task = slots_[static_cast<size_t>(top % kSize)].Get();
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
  }
  /// @thread any; what it says may be old
  int64_t Size() const { return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed); }

 private:
  /// A thief may read a slot while its owner writes it; then the thief's exchange fails.
  struct Slot {
    std::atomic<Instances*> instances = nullptr;
    std::atomic<int64_t> begin = 0;
    std::atomic<int64_t> end = 0;
    void Set(const Task& task) {
      instances.store(task.instances, std::memory_order_relaxed);
      begin.store(task.begin, std::memory_order_relaxed);
      end.store(task.end, std::memory_order_relaxed);
    }
    Task Get() const {
      return {instances.load(std::memory_order_relaxed), begin.load(std::memory_order_relaxed),
              end.load(std::memory_order_relaxed)};
    }
  };

  alignas(64) std::atomic<int64_t> top_ = 0;
  alignas(64) std::atomic<int64_t> bottom_ = 0;
  alignas(64) std::array<Slot, kSize> slots_;
};

}  // namespace attune::flow::detail
