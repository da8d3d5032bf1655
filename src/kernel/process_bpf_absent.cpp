#include "kernel/process_bpf.h"

namespace attune::kernel {

Result<std::unique_ptr<model::ProcessWatcher>> MakeBpfWatcher(TreeDescriber, FutexCounting) {
  return Error{Errc::kUnavailable, "eBPF: this attune was built without it",
               "build it with clang and libbpf-dev installed"};
}

}  // namespace attune::kernel
