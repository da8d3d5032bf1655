#include "actuator/descriptors.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

namespace attune::actuator {
namespace {

constexpr std::string_view kDescriptor = "descriptor ";

// Debian's headers of the C library know neither; the numbers are those of all architectures.
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

}  // namespace

Result<std::vector<OpenDescriptor>> DescriptorsOf(const HostRoot& host, pid_t pid, std::string_view link_begin) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  ATTUNE_TRY(const std::vector<std::string> names, host.List(folder));
  std::vector<OpenDescriptor> descriptors;
  for (const std::string& name : names) {
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    const auto link = host.ReadLink(folder + "/" + name);
    if (number >= 0 && link.ok() && link->starts_with(link_begin)) descriptors.push_back({number, *link});
  }
  return descriptors;
}

std::string DescriptorPlace(int number) { return fmt::format("{}{}", kDescriptor, number); }

Result<int> DescriptorOf(const model::Knob& knob, std::string_view place) {
  int number = -1;
  if (place.starts_with(kDescriptor)) {
    const std::string_view digits = place.substr(kDescriptor.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  if (number < 0) return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no descriptor", knob.name, place), ""};
  return number;
}

Result<UniqueFd> CopyDescriptor(pid_t pid, int number) {
  const UniqueFd process(static_cast<int>(syscall(kPidfdOpen, pid, 0)));
  if (!process) return ErrnoError(fmt::format("process {}", pid));
  UniqueFd copy(static_cast<int>(syscall(kPidfdGetfd, process.get(), number, 0)));
  if (copy) return copy;
  if (errno == EBADF)
    return Error{Errc::kNotFound, fmt::format("descriptor {} of process {} is closed", number, pid), ""};
  Error error = ErrnoError(fmt::format("descriptor {} of process {}", number, pid));
  if (error.code == Errc::kPermission)
    error.hint =
        "it takes CAP_SYS_PTRACE, or kernel.yama.ptrace_scope=0: run as root, or sysctl kernel.yama.ptrace_scope";
  return error;
}

}  // namespace attune::actuator
