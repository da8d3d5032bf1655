#pragma once
/// Reads several events of one thread, or of CPUs, at once.

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "counter/counter_set.h"
#include "counter/process_accounting.h"

namespace attune::counter {

/// Events in groups of perf, each of which is read by one system call, or by none where the kernel permits that.
/// @thread the one that opened it
class GroupReader {
 public:
  /// Places that are read: a thread wherever it runs, or a CPU.
  struct Place {
    pid_t pid = 0;  ///< 0: the calling thread; -1: all
    int cpu = -1;   ///< -1: wherever it runs
  };

  /// Events that cannot be counted are noted and have no value. Error: none can be counted
  Status Open(const HostRoot& host, const PerfOpen& open, const std::vector<NamedEvent>& events,
              std::span<const Place> places);
  /// @param totals of each event since it was opened, in its unit; never falls. @return false: a counter is not there
  /// any more
  bool Read(double* totals);
  const std::vector<EventNote>& notes() const { return notes_; }
  /// Whether the last Read() needed no system call.
  bool reads_in_user_space() const { return in_user_space_; }
  /// Whether an event, by its place, is counted.
  bool IsCounted(size_t event) const { return event < is_counted_.size() && is_counted_[event]; }

 private:
  class Page {
   public:
    Page() = default;
    explicit Page(int fd);
    Page(Page&& other) noexcept : page_(other.page_) { other.page_ = nullptr; }
    Page& operator=(Page&&) = delete;
    ~Page();
    /// Without a system call. @return false: it cannot be read so now
    bool Read(ScaledCount::Reading& reading) const;

   private:
    perf_event_mmap_page* page_ = nullptr;
  };
  struct Counter {
    size_t event = 0;
    UniqueFd fd;
    Page page;
    ScaledCount count;
  };
  struct Group {
    std::string unit;               ///< that counts it; groups are of one unit and one place
    std::vector<Counter> counters;  ///< the first leads it
    bool can_read_pages = true;
  };

  /// @param first_group of the place
  /// Events that the kernel accounts of the thread anyway, where no other event of the kernel is counted: one call for
  /// all of them, which costs half of a read of perf's. @return false: perf must count them
  bool TakeFromUsage(const std::vector<NamedEvent>& events, std::span<const Place> places);
  Status OpenOne(const HostRoot& host, const PerfOpen& open, size_t event, const NamedEvent& named, const Event& part,
                 const Place& place, size_t first_group);
  Group& GroupOf(const std::string& unit, size_t first_group);
  bool ReadPages(Group& group);
  bool ReadGroup(Group& group);

  std::vector<Group> groups_;
  std::vector<NamedEvent> of_usage_;  ///< by event; without parts: it is perf's
  AccountedUse usage_before_;
  std::vector<double> scales_;
  std::vector<bool> is_counted_;
  std::vector<uint64_t> buffer_;
  std::vector<EventNote> notes_;
  bool in_user_space_ = false;
};

}  // namespace attune::counter
