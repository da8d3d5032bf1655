// Huge pages of 2 MiB in place of small ones, for the memory that a process has now (MADV_COLLAPSE, Linux 6.1). They
// stay when the knob is set back: a program does not see any difference but its speed.

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>

#include "actuator/actuators.h"
#include "actuator/pages.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

// Debian's headers know none of these; the numbers are those of all architectures.
constexpr long kPidfdOpen = 434, kProcessMadvise = 440;
constexpr int kCollapse = 25;
constexpr uint64_t kHugeBytes = 2u << 20;
/// Part of the memory that makes the knob "on".
constexpr double kMost = 0.5;

/// A line of /proc/PID/smaps_rollup, in KiB.
int64_t LineOf(std::string_view text, std::string_view name) {
  const size_t at = text.find(fmt::format("\n{}:", name));
  int64_t kib = 0;
  if (at == std::string_view::npos) return 0;
  std::string_view rest = text.substr(at + name.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib;
}

class HugePages : public model::Actuator {
 public:
  explicit HugePages(HostRoot host) : host_(std::move(host)) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& /*knob*/, const model::KnobTarget& target) override {
    ATTUNE_TRY(const std::string text, host_.ReadFile(fmt::format("/proc/{}/smaps_rollup", target.pid)));
    const auto all = static_cast<double>(LineOf(text, "Anonymous"));
    const bool is_on = all > 0 && static_cast<double>(LineOf(text, "AnonHugePages")) >= kMost * all;
    return std::vector<model::KnobSetting>{{"", is_on ? "on" : "off"}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    if (setting.value != "on") return setting.value;
    const UniqueFd process(static_cast<int>(syscall(kPidfdOpen, target.pid, 0)));
    if (!process) return ErrnoError(fmt::format("process {}", target.pid));
    ATTUNE_TRY(const std::vector<MemoryRange> ranges, OwnMemory(host_, target.pid));
    uint64_t collapsed = 0;
    for (const MemoryRange& range : ranges) {
      // Each by itself: one that cannot be (never touched, locked, too many at once) holds up no other.
      const uint64_t end = range.end / kHugeBytes * kHugeBytes;
      for (uint64_t at = (range.begin + kHugeBytes - 1) / kHugeBytes * kHugeBytes; at < end; at += kHugeBytes) {
        const iovec piece{reinterpret_cast<void*>(at), kHugeBytes};
        if (syscall(kProcessMadvise, process.get(), &piece, 1, kCollapse, 0) > 0) {
          collapsed += kHugeBytes;
        } else if (errno == EPERM || errno == ESRCH) {
          Error error = ErrnoError(fmt::format("{} of process {}", knob.name, target.pid));
          if (error.code == Errc::kPermission) error.hint = "it takes CAP_SYS_PTRACE and CAP_SYS_NICE: run as root";
          return error;
        }
      }
    }
    ATTUNE_TRY(const auto now, Read(knob, target));
    if (now.front().value == "on") return setting.value;
    return Error{Errc::kUnavailable,
                 fmt::format("{}: {} MiB of process {} are in huge pages now, less than half of its memory", knob.name,
                             collapsed >> 20, target.pid),
                 "whole pieces of 2 MiB that were written to can be, as long as the machine has such pieces free"};
  }

 private:
  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeHugePagesActuator(const ActuatorHost& host) {
  return std::make_unique<HugePages>(host.host);
}

}  // namespace attune::actuator
