#pragma once
/// Locks that clang checks: -Wthread-safety reports each use of a member without the mutex that its declaration names,
/// and each call of a function without the mutexes that it needs. std::mutex and its locks have no such attributes in
/// libstdc++. g++ sees none of them.
///
///   Mutex mutex_;
///   std::vector<Mail> mailbox_ ATTUNE_GUARDED_BY(mutex_);
///   void SendLocked(Mail mail) ATTUNE_REQUIRES(mutex_);
///   ready_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return !mailbox_.empty(); });
///
/// Constructors and destructors are not checked: nobody else has the object then.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#ifdef __clang__
#define ATTUNE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define ATTUNE_THREAD_ATTRIBUTE(attribute)
#endif

/// A type that is a lock, and one that holds a lock while it lives.
#define ATTUNE_CAPABILITY(name) ATTUNE_THREAD_ATTRIBUTE(capability(name))
#define ATTUNE_SCOPED_CAPABILITY ATTUNE_THREAD_ATTRIBUTE(scoped_lockable)
/// A member that is used with this mutex held.
#define ATTUNE_GUARDED_BY(mutex) ATTUNE_THREAD_ATTRIBUTE(guarded_by(mutex))
/// A function that is called with these mutexes held, and one that takes them itself.
#define ATTUNE_REQUIRES(...) ATTUNE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ATTUNE_EXCLUDES(...) ATTUNE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// A function that returns with these mutexes held, and one that gives them up.
#define ATTUNE_ACQUIRE(...) ATTUNE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ATTUNE_RELEASE(...) ATTUNE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
/// A function that the analysis cannot follow; a comment says why it is right.
#define ATTUNE_NO_THREAD_SAFETY_ANALYSIS ATTUNE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace attune {

/// std::mutex, taken by a MutexLock.
class ATTUNE_CAPABILITY("mutex") Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex until the end of its scope, or of Unlock().
class ATTUNE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ATTUNE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() ATTUNE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ATTUNE_RELEASE() { lock_.unlock(); }
  void Lock() ATTUNE_ACQUIRE() { lock_.lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

/// std::condition_variable. The lock is held when a wait returns, and whenever a predicate is called.
class CondVar {
 public:
  void NotifyOne() noexcept { condition_.notify_one(); }
  void NotifyAll() noexcept { condition_.notify_all(); }

  void Wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  template <typename Predicate>
  void Wait(MutexLock& lock, Predicate predicate) {
    condition_.wait(lock.lock_, std::move(predicate));
  }

  template <typename Duration>
  void WaitFor(MutexLock& lock, Duration limit) {
    condition_.wait_for(lock.lock_, limit);
  }
  /// @return whether the predicate holds
  template <typename Duration, typename Predicate>
  bool WaitFor(MutexLock& lock, Duration limit, Predicate predicate) {
    return condition_.wait_for(lock.lock_, limit, std::move(predicate));
  }

  template <typename Time>
  void WaitUntil(MutexLock& lock, Time deadline) {
    condition_.wait_until(lock.lock_, deadline);
  }
  /// @return whether the predicate holds
  template <typename Time, typename Predicate>
  bool WaitUntil(MutexLock& lock, Time deadline, Predicate predicate) {
    return condition_.wait_until(lock.lock_, deadline, std::move(predicate));
  }

 private:
  std::condition_variable condition_;
};

}  // namespace attune
