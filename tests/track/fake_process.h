#pragma once
/// Processes of a fake host.

#include <fmt/format.h>

#include <string>

#include "fake_host.h"

namespace attune::fakes {

struct FakeProcess {
  int pid = 1;
  std::string name = "sh";
  char state = 'S';
  int parent = 0;
  long minor_faults = 100;
  long children_minor_faults = 0;
  long user_ticks = 3;
  int threads = 1;
  long start_ticks = 50;
  long stack_start = 7000;
  int wait_status = 0;

  /// As /proc/PID/stat.
  std::string Stat() const {
    return fmt::format(
        "{} ({}) {} {} 1 1 0 -1 4194304 {} {} 2 0 {} 4 0 0 20 0 {} 0 {} 1000 10 18446744073709551615 1 1 {} 0 0 0 0 0 "
        "0 0 0 0 17 0 0 0 0 "
        "0 0 1 1 1 1 1 1 1 {}\n",
        pid, name, state, parent, minor_faults, children_minor_faults, user_ticks, threads, start_ticks, stack_start,
        wait_status);
  }
  /// Into /proc, with its first thread.
  void Put(FakeHost& host, std::string_view command_line) const {
    const std::string folder = fmt::format("/proc/{}", pid);
    const std::string status =
        "Name:\tx\nVmHWM:\t     300 kB\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
    host.Write(folder + "/stat", Stat()).Write(folder + "/cmdline", command_line);
    host.Write(fmt::format("{}/task/{}/stat", folder, pid), Stat())
        .Write(fmt::format("{}/task/{}/status", folder, pid), status);
  }
};

}  // namespace attune::fakes
