#include "dataflow/runtime/implementations.h"

#include <algorithm>

namespace attune::flow {

bool HasCapability(Capability capability) {
#if defined(__x86_64__)
  switch (capability) {
    case Capability::kCpu: return true;
    case Capability::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Capability::kAvx512:
      return HasCapability(Capability::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return capability == Capability::kCpu;
#endif
}

namespace detail {
namespace {

/// "cpu, avx2 and avx512", of those for which `is_in` is true.
template <typename Predicate>
std::string Names(const Predicate& is_in) {
  std::vector<std::string> names;
  for (const CapabilityInfo& each : kCapabilities) {
    if (is_in(each.capability)) names.emplace_back(each.name);
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

bool IsOfSomeKernel(const GraphInfo& graph, Capability capability) {
  return std::any_of(graph.kernels.begin(), graph.kernels.end(), [&](const KernelInfo& kernel) {
    return std::any_of(kernel.implementations.begin(), kernel.implementations.end(),
                       [&](const ImplementationInfo& each) { return each.capability == capability; });
  });
}

/// Why the wanted capability cannot be; empty: it can.
std::string Problem(const GraphInfo& graph, const std::string& wanted, bool (*has)(Capability)) {
  const CapabilityInfo* info = FindCapability(wanted);
  if (info == nullptr)
    return "there is no implementation '" + wanted + "': it is one of " + Names([](Capability) { return true; });
  if (!has(info->capability)) return "this machine has no " + wanted + ": it has " + Names(has);
  if (info->capability != Capability::kCpu && !IsOfSomeKernel(graph, info->capability))
    return "no kernel has code for " + wanted + ": there is code for " +
           Names([&](Capability each) { return IsOfSomeKernel(graph, each); });
  return "";
}

}  // namespace

std::optional<Error> ChooseImplementations(const GraphInfo& graph, const std::string& wanted, bool (*has)(Capability),
                                           std::vector<Chosen>* chosen) {
  const std::string problem = wanted.empty() ? "" : Problem(graph, wanted, has);
  chosen->clear();
  for (const KernelInfo& kernel : graph.kernels) {
    const ImplementationInfo* best = &kernel.implementations.front();
    for (const ImplementationInfo& each : kernel.implementations) {
      const bool may = wanted.empty() ? has(each.capability) : CapabilityName(each.capability) == wanted;
      if (problem.empty() && may && each.capability > best->capability) best = &each;
    }
    chosen->push_back({best->run, best->body.get(), best->capability});
  }
  if (problem.empty()) return {};
  return Error{ErrorKind::kOptions, "", "", -1, {}, problem};
}

}  // namespace detail
}  // namespace attune::flow
