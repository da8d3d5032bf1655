#pragma once
#include "model/table.h"

namespace attune::model {

struct Process {
  ElementId id = 0;
  ElementId parent = 0;
  int64_t pid = 0;
  int64_t start_ns = kAbsent;
  int64_t end_ns = kAbsent;
  int64_t exit_code = kAbsent;
  int64_t exit_signal = kAbsent;
  int64_t user_ns = kAbsent;
  int64_t system_ns = kAbsent;
  int64_t minor_faults = kAbsent;
  int64_t major_faults = kAbsent;
  int64_t voluntary_switches = kAbsent;
  int64_t involuntary_switches = kAbsent;
  int64_t max_rss_bytes = kAbsent;
  std::string host;
  std::string command;

  bool operator==(const Process&) const = default;

  bool Check() const { return id != 0; }

  static constexpr Table kTable{9};
  static constexpr TableText kText{.name = "processes",
                                   .about = "a process that was followed; NULL: not known (yet)",
                                   .storage = Storage::kReplaced,
                                   .key = "id",
                                   .key_is_unique = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Process::id, "id", Role::kElement, "", "its element"),
        Col(&Process::parent, "parent", Role::kElement, "", "the process that started it"),
        Col(&Process::host, "host", Role::kText, "", "where it ran"),
        Col(&Process::pid, "pid", Role::kInteger, "", "in the session's PID namespace"),
        Col(&Process::start_ns, "start_ns", Role::kTime, "ns", "when it began"),
        Col(&Process::end_ns, "end_ns", Role::kTime, "ns", "when it ended; NULL: still running, or unknown"),
        Col(&Process::exit_code, "exit_code", Role::kInteger, "", "of exit()"),
        Col(&Process::exit_signal, "exit_signal", Role::kInteger, "", "that ended it; 0: it exited by itself"),
        Col(&Process::command, "command", Role::kText, "", "arguments joined by spaces, control characters replaced"),
        Col(&Process::user_ns, "user_ns", Role::kInteger, "ns", "CPU time of its own code"),
        Col(&Process::system_ns, "system_ns", Role::kInteger, "ns", "CPU time of the kernel for it"),
        Col(&Process::minor_faults, "minor_faults", Role::kInteger, "", "page faults without reading a device"),
        Col(&Process::major_faults, "major_faults", Role::kInteger, "", "page faults that read a device"),
        Col(&Process::voluntary_switches, "voluntary_switches", Role::kInteger, "", "times that it gave up its CPU"),
        Col(&Process::involuntary_switches, "involuntary_switches", Role::kInteger, "",
            "times that its CPU was taken away"),
        Col(&Process::max_rss_bytes, "max_rss_bytes", Role::kInteger, "bytes", "most memory that it had"));
  }
};

}  // namespace attune::model
