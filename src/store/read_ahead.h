#pragma once
/// Frames that are decoded while those before them are worked on.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"
#include "base/thread_safety.h"
#include "store/frame_index.h"

namespace attune::store {

/// Gives the content of frames, one after the other. When much of it was decoded already, a thread of its own decodes
/// the others, at most kAhead frames ahead: memory stays bounded, and a reader that stops early has not decoded all of
/// them. Errors come in the place of their frames. @thread one at a time
template <class Decoded>
class ReadAhead {
 public:
  static constexpr size_t kAhead = 2;
  /// So many values are decoded by the reader itself: they take about a millisecond, a thread some of 0.1 ms.
  static constexpr uint64_t kWorthAThread = 256u << 10;
  using Decode = std::function<Result<Decoded>(const FrameRef& frame)>;

  /// @param frames must outlive this  @param columns number that is decoded of each frame
  /// @param decode called by the thread or the reader, for one frame at a time
  ReadAhead(std::span<const FrameRef> frames, size_t columns, Decode decode)
      : frames_(frames), columns_(columns), decode_(std::move(decode)) {}
  ~ReadAhead() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    moved_.NotifyAll();
    if (thread_.joinable()) thread_.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Content of the next frame. Call at most once for each frame.
  Result<Decoded> Next() {
    if (!thread_.joinable() && !Start()) {
      values_ += frames_[next_].rows * columns_;
      return decode_(frames_[next_++]);
    }
    MutexLock lock(mutex_);
    moved_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return !ready_.empty() || failure_ != nullptr; });
    if (ready_.empty()) std::rethrow_exception(failure_);
    Result<Decoded> decoded = std::move(ready_.front());
    ready_.pop_front();
    lock.Unlock();
    moved_.NotifyAll();
    return decoded;
  }

 private:
  /// @return false: the reader decodes the next one itself
  bool Start() {
    if (has_failed_ || values_ < kWorthAThread || frames_.size() - next_ < 2) return false;
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      has_failed_ = true;  // no thread is to be had
    }
    return !has_failed_;
  }

  /// @pre the reader does not touch next_ any more
  void Run() {
    try {
      for (const FrameRef& frame : frames_.subspan(next_)) {
        Result<Decoded> decoded = decode_(frame);
        MutexLock lock(mutex_);
        moved_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return ready_.size() < kAhead || stopping_; });
        if (stopping_) return;
        ready_.push_back(std::move(decoded));
        lock.Unlock();
        moved_.NotifyAll();
      }
    } catch (...) {  // no memory: the reader is told when it has come so far
      const MutexLock lock(mutex_);
      failure_ = std::current_exception();
      moved_.NotifyAll();
    }
  }

  const std::span<const FrameRef> frames_;
  const size_t columns_;
  const Decode decode_;
  size_t next_ = 0;      ///< first frame that the reader has not decoded
  uint64_t values_ = 0;  ///< decoded by the reader
  bool has_failed_ = false;
  Mutex mutex_;
  CondVar moved_;
  std::deque<Result<Decoded>> ready_ ATTUNE_GUARDED_BY(mutex_);
  std::exception_ptr failure_ ATTUNE_GUARDED_BY(mutex_);
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::store
