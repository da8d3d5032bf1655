#pragma once
/// Copies of the descriptors of another process (pidfd_getfd), for what is a property of the open file.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/unique_fd.h"
#include "model/knob.h"

namespace attune::actuator {

struct OpenDescriptor {
  int number = 0;
  std::string link;  ///< "socket:[4711]", "pipe:[12]", a path
};

/// Those whose link begins so. Error: kNotFound, kPermission
Result<std::vector<OpenDescriptor>> DescriptorsOf(const HostRoot& host, pid_t pid, std::string_view link_begin);

/// "descriptor 5"
std::string DescriptorPlace(int number);
Result<int> DescriptorOf(const model::Knob& knob, std::string_view place);

/// A descriptor of ours for the same open file.
/// Error: kPermission, with what is needed; kNotFound: it is closed
Result<UniqueFd> CopyDescriptor(pid_t pid, int number);

}  // namespace attune::actuator
