#pragma once
/// Reads several events of one thread, or of CPUs, at once.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "counter/counter_set.h"
#include "counter/library/user_counter.h"
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
  /// @param totals of each event since it was opened, without its scale; never fall. @return false: a counter is not
  /// there any more
  bool Read(uint64_t* totals) {
    const auto read = [&] {
      uint64_t* next = totals;
      return ReadDirectly([&](uint64_t total) { *next++ = total; });
    };
    return read() || (RenewDirect() && read()) || ReadFully(totals);
  }
  /// The same without a system call and within some dozen instructions. @param take is called with the total of each
  /// event in turn  @return false: `take` was not called for all, and Read() is needed
  template <typename Take>
  bool ReadDirectly(Take&& take) const {
    if (direct_.empty()) return false;
    for (const DirectCounter& counter : direct_) {
      uint64_t total = 0;
      if (!counter.Read(total)) return false;
      take(total);
    }
    return true;
  }
  const std::vector<EventNote>& notes() const { return notes_; }
  /// Whether a Read() needs no system call now.
  bool ReadsInUserSpace() const;
  /// By the page of the first counter. Without counters: by the system's clock.
  TickClock Clock() const { return groups_.empty() ? TickClock() : TickClock(groups_.front().counters.front().page); }
  /// Whether an event, by its place, is counted.
  bool IsCounted(size_t event) const { return event < is_counted_.size() && is_counted_[event]; }

 private:
  struct Counter {
    size_t event = 0;
    UniqueFd fd;
    EventPage page;
    ScaledCount count;
    bool is_of_kind = false;  ///< of a thread, on one kind of cores

    void Take(const ScaledCount::Reading& reading);
    ScaledCount::Reading of_kind;  ///< that AddKinds() adds
  };
  struct Group {
    std::string unit;               ///< that counts it; groups are of one unit and one place
    std::vector<Counter> counters;  ///< the first leads it
    bool can_read_pages = true;
  };

  /// Events that the kernel accounts of the thread anyway, where no other event of the kernel is counted: one call for
  /// all of them, which costs half of a read of perf's. @return false: perf must count them
  bool TakeFromUsage(const std::vector<NamedEvent>& events, std::span<const Place> places);
  /// @param first_group of the place
  Status OpenOne(const HostRoot& host, const PerfOpen& open, size_t event, const NamedEvent& named, const Event& part,
                 const Place& place, size_t first_group);
  bool RenewDirect();
  bool ReadFully(uint64_t* totals);
  void PrepareDirect();
  Group& GroupOf(const std::string& unit, size_t first_group);
  void AddKinds(size_t event);
  bool ReadPages(Group& group);
  bool ReadGroup(Group& group);

  std::vector<DirectCounter> direct_;  ///< by event; empty: full readings are always needed
  std::vector<Group> groups_;
  std::vector<NamedEvent> of_usage_;  ///< by event; without parts: it is perf's
  AccountedUse usage_before_;
  std::vector<bool> is_counted_;
  std::vector<size_t> events_of_kinds_;
  std::vector<uint64_t> buffer_;
  std::vector<EventNote> notes_;
  bool in_user_space_ = false;  ///< the last full reading
};

}  // namespace attune::counter
