#pragma once
/// Capabilities of machines for which kernels may have code of their own, beside that for every machine. Part of
/// attune/flow.h.

#include <string_view>

namespace attune::flow {

/// Later ones are preferred. Code for a device would be one more: its range function gets a range of instances with the
/// memory of what they read and store, and returns when their results are there.
enum class Capability { kCpu, kAvx2, kAvx512 };

#define ATTUNE_FLOW_AVX2 "avx2,fma"
#define ATTUNE_FLOW_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"

struct CapabilityInfo {
  Capability capability;
  std::string_view name;     ///< in the language, and of --implementation
  std::string_view target;   ///< instruction sets, as compilers name them; empty: those of the program
  std::string_view machine;  ///< macro of the compiler that says where such code can be compiled; empty: anywhere
};
inline constexpr CapabilityInfo kCapabilities[] = {
    {Capability::kCpu, "cpu", "", ""},
    {Capability::kAvx2, "avx2", ATTUNE_FLOW_AVX2, "__x86_64__"},
    {Capability::kAvx512, "avx512", ATTUNE_FLOW_AVX512, "__x86_64__"},
};

/// nullptr: there is no capability of that name.
constexpr const CapabilityInfo* FindCapability(std::string_view name) {
  for (const CapabilityInfo& each : kCapabilities) {
    if (each.name == name) return &each;
  }
  return nullptr;
}
constexpr std::string_view CapabilityName(Capability capability) {
  return kCapabilities[static_cast<int>(capability)].name;
}

/// Whether this machine has it, and its system lets programs use it.
bool HasCapability(Capability capability);

namespace detail {
/// Whether code for it is compiled into this program.
constexpr bool IsCompiled([[maybe_unused]] Capability capability) {
#if defined(__x86_64__)
  return true;
#else
  return capability == Capability::kCpu;
#endif
}
}  // namespace detail

}  // namespace attune::flow
