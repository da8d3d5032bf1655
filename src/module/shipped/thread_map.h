#pragma once
/// Bounded map of a module's state of threads.

#include <cstdint>
#include <unordered_map>

namespace attune::shipped {

/// More threads than these are left out, until others are freed.
inline constexpr size_t kMostThreads = 65536;

template <class T>
class ThreadMap {
 public:
  T* Find(int32_t tid) {
    const auto found = threads_.find(tid);
    return found == threads_.end() ? nullptr : &found->second;
  }
  /// Nothing where there are too many.
  T* FindOrAdd(int32_t tid) {
    if (T* found = Find(tid)) return found;
    return threads_.size() < kMostThreads ? &threads_[tid] : nullptr;
  }
  void Erase(int32_t tid) { threads_.erase(tid); }
  void Clear() { threads_.clear(); }
  size_t size() const { return threads_.size(); }
  auto begin() { return threads_.begin(); }
  auto end() { return threads_.end(); }

 private:
  std::unordered_map<int32_t, T> threads_;
};

}  // namespace attune::shipped
