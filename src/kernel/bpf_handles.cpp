#include "kernel/bpf_handles.h"

#include <fmt/format.h>

#include "model/process_watcher.h"

namespace attune::kernel {

Status PrepareBpf(const HostRoot& host) {
  ATTUNE_CHECK_OK(model::CheckPidNamespace(host, "eBPF"));
  if (!host.Exists("/sys/kernel/btf/vmlinux"))
    return Error{Errc::kUnavailable, "eBPF: the kernel has no type information (/sys/kernel/btf/vmlinux)",
                 "use a kernel with CONFIG_DEBUG_INFO_BTF"};
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  return {};
}

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
