#include "analysis/findings/cpu_loss.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/places/own_place.h"
#include "model/sample_marks.h"
#include "symbols/kernel_symbols.h"

namespace attune::analysis {
namespace {

using model::ElementId;

struct NamedPart {
  std::string_view name;
  PathPart part;
};

/// Functions of the kernel; names that have not changed from Linux 5.4 to 6.18, or as many as there were.
constexpr std::array kKernelFunctions{
    NamedPart{"asm_exc_page_fault", PathPart::kFault},
    NamedPart{"exc_page_fault", PathPart::kFault},
    NamedPart{"do_user_addr_fault", PathPart::kFault},
    NamedPart{"do_page_fault", PathPart::kFault},
    NamedPart{"do_mem_abort", PathPart::kFault},
    NamedPart{"handle_mm_fault", PathPart::kFault},
    NamedPart{"do_wp_page", PathPart::kCopy},
    NamedPart{"wp_page_copy", PathPart::kCopy},
    NamedPart{"unmap_vmas", PathPart::kRelease},
    NamedPart{"unmap_page_range", PathPart::kRelease},
    NamedPart{"zap_page_range", PathPart::kRelease},
    NamedPart{"zap_page_range_single", PathPart::kRelease},
    NamedPart{"zap_pte_range", PathPart::kRelease},
    NamedPart{"tlb_finish_mmu", PathPart::kRelease},
    NamedPart{"do_exit", PathPart::kExit},
    NamedPart{"do_group_exit", PathPart::kExit},
    NamedPart{"begin_new_exec", PathPart::kExit},
    NamedPart{"exit_mmap", PathPart::kExit},
    NamedPart{"ksys_read", PathPart::kRead},
    NamedPart{"ksys_pread64", PathPart::kRead},
    NamedPart{"ksys_write", PathPart::kReadWrite},
    NamedPart{"ksys_pwrite64", PathPart::kReadWrite},
    NamedPart{"__x64_sys_read", PathPart::kRead},
    NamedPart{"__x64_sys_pread64", PathPart::kRead},
    NamedPart{"__x64_sys_write", PathPart::kReadWrite},
    NamedPart{"__x64_sys_pwrite64", PathPart::kReadWrite},
    NamedPart{"__arm64_sys_read", PathPart::kRead},
    NamedPart{"__arm64_sys_pread64", PathPart::kRead},
    NamedPart{"__arm64_sys_write", PathPart::kReadWrite},
    NamedPart{"__arm64_sys_pwrite64", PathPart::kReadWrite},
    NamedPart{"vfs_read", PathPart::kRead},
    NamedPart{"vfs_write", PathPart::kReadWrite},
    NamedPart{"__sys_recvfrom", PathPart::kRead},
    NamedPart{"__sys_recvfrom", PathPart::kMessage},
    NamedPart{"__sys_recvfrom", PathPart::kChannel},
    NamedPart{"___sys_recvmsg", PathPart::kRead},
    NamedPart{"___sys_recvmsg", PathPart::kMessage},
    NamedPart{"___sys_recvmsg", PathPart::kChannel},
    NamedPart{"__sys_recvmsg", PathPart::kRead},
    NamedPart{"__sys_recvmsg", PathPart::kMessage},
    NamedPart{"sock_read_iter", PathPart::kMessage},
    NamedPart{"sock_read_iter", PathPart::kChannel},
    NamedPart{"sock_write_iter", PathPart::kMessage},
    NamedPart{"eventfd_read", PathPart::kMessage},
    NamedPart{"eventfd_read", PathPart::kChannel},
    NamedPart{"eventfd_write", PathPart::kMessage},
    NamedPart{"timerfd_read", PathPart::kMessage},
    NamedPart{"timerfd_read", PathPart::kChannel},
    NamedPart{"timerfd_read_iter", PathPart::kMessage},
    NamedPart{"timerfd_read_iter", PathPart::kChannel},
    NamedPart{"signalfd_read", PathPart::kMessage},
    NamedPart{"signalfd_read", PathPart::kChannel},
    NamedPart{"signalfd_read_iter", PathPart::kMessage},
    NamedPart{"signalfd_read_iter", PathPart::kChannel},
    NamedPart{"inotify_read", PathPart::kMessage},
    NamedPart{"inotify_read", PathPart::kChannel},
    NamedPart{"_copy_to_iter", PathPart::kTransfer},
    NamedPart{"anon_pipe_buf_release", PathPart::kTransfer},
    NamedPart{"touch_atime", PathPart::kTransfer},
    NamedPart{"atime_needs_update", PathPart::kTransfer},
    NamedPart{"copy_page_to_iter", PathPart::kTransfer},
    NamedPart{"_copy_to_user", PathPart::kTransfer},
    NamedPart{"copy_to_user", PathPart::kTransfer},
    NamedPart{"skb_copy_datagram_iter", PathPart::kTransfer},
    NamedPart{"_copy_from_iter", PathPart::kTransfer},
    NamedPart{"copy_page_from_iter", PathPart::kTransfer},
    NamedPart{"filemap_read", PathPart::kTransfer},
    NamedPart{"pipe_read", PathPart::kChannel},
    NamedPart{"anon_pipe_read", PathPart::kChannel},
    NamedPart{"fifo_pipe_read", PathPart::kChannel},
    NamedPart{"tty_read", PathPart::kChannel},
    NamedPart{"__x64_sys_sched_yield", PathPart::kYield},
    NamedPart{"__arm64_sys_sched_yield", PathPart::kYield},
    NamedPart{"do_sched_yield", PathPart::kYield},
    NamedPart{"exit_to_user_mode_loop", PathPart::kPreempted},
    NamedPart{"schedule", PathPart::kSwitch},
    NamedPart{"try_to_wake_up", PathPart::kSwitch},
    NamedPart{"futex_wait", PathPart::kSwitch},
    NamedPart{"futex_wake", PathPart::kSwitch},
};

/// Functions of libraries, by their exported names.
constexpr std::array kLibraryFunctions{
    NamedPart{"sched_yield", PathPart::kYield},
    NamedPart{"__sched_yield", PathPart::kYield},
    NamedPart{"read", PathPart::kIoCall},
    NamedPart{"write", PathPart::kIoCall},
    NamedPart{"pread", PathPart::kIoCall},
    NamedPart{"pwrite", PathPart::kIoCall},
    NamedPart{"pread64", PathPart::kIoCall},
    NamedPart{"pwrite64", PathPart::kIoCall},
    NamedPart{"__libc_read", PathPart::kIoCall},
    NamedPart{"__libc_write", PathPart::kIoCall},
    NamedPart{"__libc_pread", PathPart::kIoCall},
    NamedPart{"__libc_pwrite", PathPart::kIoCall},
    NamedPart{"__libc_pread64", PathPart::kIoCall},
    NamedPart{"__libc_pwrite64", PathPart::kIoCall},
    NamedPart{"malloc", PathPart::kAllocate},
    NamedPart{"free", PathPart::kAllocate},
    NamedPart{"cfree", PathPart::kAllocate},
    NamedPart{"calloc", PathPart::kAllocate},
    NamedPart{"realloc", PathPart::kAllocate},
    NamedPart{"memalign", PathPart::kAllocate},
    NamedPart{"aligned_alloc", PathPart::kAllocate},
    NamedPart{"posix_memalign", PathPart::kAllocate},
    NamedPart{"__libc_malloc", PathPart::kAllocate},
    NamedPart{"__libc_free", PathPart::kAllocate},
    NamedPart{"__libc_calloc", PathPart::kAllocate},
    NamedPart{"__libc_realloc", PathPart::kAllocate},
    NamedPart{"__libc_memalign", PathPart::kAllocate},
    NamedPart{"_int_malloc", PathPart::kAllocate},
    NamedPart{"_int_free", PathPart::kAllocate},
    NamedPart{"__lll_lock_wait_private", PathPart::kLockOfLibrary},
    NamedPart{"__lll_lock_wait", PathPart::kLockOfLibrary},
    NamedPart{"__lll_lock_wake_private", PathPart::kLockOfLibrary},
    NamedPart{"__lll_lock_wake", PathPart::kLockOfLibrary},
};

constexpr std::array kMarks{NamedPart{model::kSpinningMark, PathPart::kSpinning},
                            NamedPart{model::kAtomicMark, PathPart::kAtomic},
                            NamedPart{model::kNoWaitMark, PathPart::kNoWait}};

/// By the begins of their file names.
constexpr std::array kLibraries{
    NamedPart{"libattune_", PathPart::kLibc},    NamedPart{"libc.so", PathPart::kLibc},
    NamedPart{"libpthread", PathPart::kLibc},    NamedPart{"ld-linux", PathPart::kLibc},
    NamedPart{"libgomp", PathPart::kParallel},   NamedPart{"libomp", PathPart::kParallel},
    NamedPart{"libiomp", PathPart::kParallel},   NamedPart{"libtbb", PathPart::kParallel},
    NamedPart{"libmpi", PathPart::kParallel},    NamedPart{"libopen-", PathPart::kParallel},
    NamedPart{"libmpich", PathPart::kParallel},  NamedPart{"libucp", PathPart::kParallel},
    NamedPart{"libucs", PathPart::kParallel},    NamedPart{"libuct", PathPart::kParallel},
    NamedPart{"libfabric", PathPart::kParallel}, NamedPart{"libpsm", PathPart::kParallel},
};

/// The name without what a compiler or the C library puts around it: "__GI___libc_free" is __libc_free.
std::string_view PlainName(std::string_view function) {
  constexpr std::string_view kInternal = "__GI_";
  if (function.starts_with(kInternal)) function.remove_prefix(kInternal.size());
  return function.substr(0, function.find_first_of(".@", 1));
}

template <size_t n>
uint32_t PartsOf(const std::array<NamedPart, n>& functions, std::string_view name) {
  uint32_t parts = 0;
  for (const NamedPart& each : functions) {
    if (each.name == name) parts |= static_cast<uint32_t>(each.part);
  }
  return parts;
}

/// CPU time by CPU time that was sampled.
double Scale(const FindingInput& input, ElementId thread) {
  const auto sampled = input.memory.sampled_ns.find(thread);
  const auto times = input.times.by_thread.find(thread);
  if (sampled == input.memory.sampled_ns.end() || sampled->second <= 0 || times == input.times.by_thread.end())
    return 1;
  return std::max(1.0, times->second.run_ns / static_cast<double>(sampled->second));
}

/// CPU time at something, of these threads, by all of their CPU time.
double PartOfCpuTime(const FindingInput& input, const std::map<ElementId, int64_t>& threads) {
  int64_t part_ns = 0, all_ns = 0;
  for (const auto& [thread, ns] : threads) {
    AddTo(part_ns, ns);
    if (const auto all = input.memory.sampled_ns.find(thread); all != input.memory.sampled_ns.end())
      AddTo(all_ns, all->second);
  }
  return PartOf(part_ns, all_ns);
}

}  // namespace

bool FindNothing(int64_t channels_ns, int64_t receives_ns) {
  constexpr double kNothingThere = 0.01;
  /// With fewer samples nothing may be seen of copying by chance.
  constexpr int64_t kLeastAtChannelsNs = 100'000'000;
  return channels_ns >= kLeastAtChannelsNs && PartOf(receives_ns, channels_ns) < kNothingThere;
}

int64_t ScaledCpuTime(const FindingInput& input, ElementId thread, int64_t sampled_ns) {
  return static_cast<int64_t>(std::min(static_cast<double>(sampled_ns) * Scale(input, thread), 4e18));
}

void SetCpuLost(const FindingInput& input, const std::map<ElementId, int64_t>& threads, Finding& finding) {
  std::vector<FindingThread> rows;
  for (const auto& [thread, sampled_ns] : threads) {
    rows.push_back(input.Thread(thread, ScaledCpuTime(input, thread, sampled_ns)));
    AddTo(finding.lost_ns, rows.back().lost_ns);
  }
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  finding.figures["part_of_cpu_time"] = PartOfCpuTime(input, threads);
  FindingInput::SetThreads(std::move(rows), finding);
}

ElementId MostOf(const std::map<ElementId, int64_t>& amounts) {
  const auto most = std::max_element(amounts.begin(), amounts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == amounts.end() ? 0 : most->first;
}

const model::Stack* PathReader::Node(int64_t stack) const {
  if (stack <= 0 || stack > static_cast<int64_t>(samples_.stacks.size())) return nullptr;
  const model::Stack& node = samples_.stacks[static_cast<size_t>(stack - 1)];
  return node.id == 0 ? nullptr : &node;
}

const PathReader::Site& PathReader::Look(ElementId site) {
  const auto [found, is_new] = sites_.try_emplace(site);
  Site& looked = found->second;
  if (!is_new) return looked;
  const CodePlace place = names_.PlaceOf(site);
  const std::string_view function = PlainName(place.function);
  if (place.module == symbols::kKernelModule || place.name == symbols::kKernelModule) {
    looked.parts = PartsOf(kKernelFunctions, function) | static_cast<uint32_t>(PathPart::kKernel);
  } else if (place.name.starts_with('[')) {
    looked.parts = PartsOf(kMarks, place.name);
    looked.most_bytes = model::BytesOfMark(place.name).value_or(0);
    if (looked.most_bytes != 0) looked.parts |= static_cast<uint32_t>(PathPart::kSmall);
  } else if (IsSystemModule(place.module)) {
    const std::string_view file = std::string_view(place.module).substr(place.module.rfind('/') + 1);
    looked.parts = PartsOf(kLibraryFunctions, function);
    for (const NamedPart& library : kLibraries) {
      if (file.starts_with(library.name)) looked.parts |= static_cast<uint32_t>(library.part);
    }
  } else {
    looked.is_own = !place.module.empty();
  }
  return looked;
}

const PathFacts& PathReader::Of(int64_t stack) {
  const auto [found, is_new] = paths_.try_emplace(stack);
  PathFacts& facts = found->second;
  if (!is_new) return facts;
  // A parent's id is smaller, so that this ends.
  for (const model::Stack* node = Node(stack); node != nullptr; node = Node(node->parent)) {
    const Site& site = Look(node->site);
    facts.parts |= site.parts;
    facts.most_bytes = std::max(facts.most_bytes, site.most_bytes);
    if (site.is_own) break;
  }
  if (facts.Has(PathPart::kPreempted))
    facts.parts &= ~(static_cast<uint32_t>(PathPart::kSwitch) | static_cast<uint32_t>(PathPart::kTransfer));
  return facts;
}

ElementId CpuLoss::OwnOf(int64_t stack) {
  const auto [found, is_new] = own_.try_emplace(stack, 0);
  if (is_new) found->second = OwnPlaceOf(input_.cpu_samples->PathOf(stack), input_.names);
  return found->second;
}

void CpuLoss::Add(ElementId thread, int64_t stack, int64_t ns) {
  const model::Element* element = input_.meta.FindElement(thread);
  if (element == nullptr || ns <= 0) return;
  ProcessLoss& loss = by_process_[element->parent];
  AddTo(loss.threads[thread], ns);
  const ElementId site = OwnOf(stack);
  const CodePlace place = input_.names.PlaceOf(site);
  ProcessLoss::Function& function =
      loss.functions[{place.module, place.function.empty() ? place.name : place.function}];
  AddTo(function.ns, ns);
  AddTo(function.sites[site], ns);
}

Finding CpuFinding(const FindingInput& input, const FindingClass& kind, const ProcessLoss& loss) {
  constexpr double kLeastOfFunction = 0.1;
  Finding finding{.kind = kind};
  SetCpuLost(input, loss.threads, finding);
  std::vector<const ProcessLoss::Function*> functions;
  int64_t all_ns = 0;
  for (const auto& [name, function] : loss.functions) {
    functions.push_back(&function);
    AddTo(all_ns, function.ns);
  }
  std::ranges::stable_sort(functions, [](const auto* a, const auto* b) { return a->ns > b->ns; });
  for (const ProcessLoss::Function* function : functions) {
    const CodePlace place = input.names.PlaceOf(MostOf(function->sites));
    if (function == functions.front()) {
      finding.site = place;
    } else if (PartOf(function->ns, all_ns) >= kLeastOfFunction) {
      FindingPlace& other = finding.places.emplace_back();
      static_cast<CodePlace&>(other) = place;
      other.what = "here too";
    }
  }
  return finding;
}

}  // namespace attune::analysis
