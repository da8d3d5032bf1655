#include "kernel/bpf_handles.h"

#include <fmt/format.h>

namespace attune::kernel {

Error BpfError(std::string_view what, int error_number) {
  Error error = ErrnoError(fmt::format("eBPF: {}", what), error_number);
  if (error.code == Errc::kPermission) {
    error.hint = "run as root; or `attune doctor` prints the setcap command for this host";
  } else {
    error.code = Errc::kUnavailable;
  }
  return error;
}

}  // namespace attune::kernel
