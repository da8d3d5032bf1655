#pragma once
/// Reads several events of one thread, or of CPUs, at once.

#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
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
  bool Read(uint64_t* totals);
  /// For reads without a system call, of a dozen instructions: a counter for each event in turn, which may be read
  /// until the next Read(). Empty: a Read() is needed.
  std::ranges::subrange<const DirectCounter*> direct() const { return readable_; }
  /// In a child process: the kernel has not given it the pages. @cost no allocation
  void LeaveToParent();
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
    bool is_of_kind = false;   ///< of a thread, on one kind of cores
    bool is_cpu_time = false;  ///< ns for which the thread was on a CPU

    void Take(const ScaledCount::Reading& reading);
    ScaledCount::Reading of_kind;  ///< that AddKinds() adds
  };
  struct Group {
    std::string unit;               ///< that counts it; groups are of one unit and one place
    std::vector<Counter> counters;  ///< the first leads it
    bool can_read_pages = true;
    // The kernel's events, if the thread's switches are known:
    int64_t read_ns = 0;    ///< when perf's counts were read, by RawNs()
    int64_t switches = 0;   ///< of the thread up to then
    int64_t on_cpu_ns = 0;  ///< since then
  };

  /// Events that the kernel accounts of the thread anyway, where perf counts no event of the kernel but CPU time and
  /// migrations: one call for all of them, which costs half of a read of perf's. Where it says that the thread was not
  /// switched off its CPU since perf's counts were read, these are known, too: it was on that CPU all the time.
  /// @return false: perf must count them
  bool TakeFromUsage(const std::vector<NamedEvent>& events, std::span<const Place> places);
  /// @param first_group of the place
  Status OpenOne(const HostRoot& host, const PerfOpen& open, size_t event, const NamedEvent& named, const Event& part,
                 const Place& place, size_t first_group);
  void Note(const std::string& event, std::string_view why);
  bool ReadDirectly(uint64_t* totals) const;
  bool RenewDirect();
  bool ReadFully(uint64_t* totals);
  void PrepareDirect();
  Group& GroupOf(const std::string& unit, size_t first_group);
  void AddKinds(size_t event);
  bool ReadPages(Group& group);
  bool ReadGroup(Group& group);
  /// Goes on from perf's last counts. @return false: they must be read
  static bool GoOn(Group& group, int64_t now_ns, int64_t switches);
  void AddUsage(const AccountedUse& now, uint64_t* totals) const;

  std::vector<DirectCounter> direct_;  ///< by event; empty: full readings are always needed
  /// All of them, if they took over what the kernel has written since the last full reading.
  std::ranges::subrange<const DirectCounter*> readable_{nullptr, nullptr};
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
