#include "kernel/process_bpf.h"
#include "kernel/thread_counts_bpf.h"

namespace attune::kernel {
namespace {

Error Absent() {
  return Error{Errc::kUnavailable, "eBPF: this attune was built without it",
               "build it with clang and libbpf-dev installed"};
}

}  // namespace

Result<std::unique_ptr<model::ProcessWatcher>> MakeBpfWatcher(TreeDescriber, FutexCounting) { return Absent(); }

Result<std::unique_ptr<ThreadCountsBpf>> ThreadCountsBpf::Create(std::span<const OnCpus>, unsigned, uint32_t) {
  return Absent();
}

}  // namespace attune::kernel
