#include "counter/known_elsewhere.h"

#include <algorithm>
#include <array>

namespace attune::counter {
namespace {

constexpr std::array kUnits{"cpu",
                            "cpum_cf",
                            "cpum_sf",
                            "msr",
                            "power",
                            "intel_pt",
                            "intel_bts",
                            "i915",
                            "cs_etm",
                            "armv6",
                            "armv7",
                            "apple_avalanche_pmu",
                            "apple_blizzard_pmu"};
/// Beginnings of the names of units of which there are several.
constexpr std::array kUnitKinds{"cpu_",  "armv8_", "armv9_",  "uncore_", "cstate_", "amd_", "ibs_", "arm_",
                                "riscv", "hisi_",  "nvidia_", "power_",  "dfl_",    "arm-", "cxl_"};
/// Events of Linux's drivers for x86 (arch/x86/events).
constexpr std::array kEvents{"mem-loads",
                             "mem-loads-aux",
                             "mem-stores",
                             "slots",
                             "topdown-retiring",
                             "topdown-bad-spec",
                             "topdown-fe-bound",
                             "topdown-be-bound",
                             "topdown-heavy-ops",
                             "topdown-br-mispredict",
                             "topdown-fetch-lat",
                             "topdown-mem-bound",
                             "topdown-total-slots",
                             "topdown-slots-issued",
                             "topdown-slots-retired",
                             "topdown-fetch-bubbles",
                             "topdown-recovery-bubbles",
                             "tx-start",
                             "tx-commit",
                             "tx-abort",
                             "cycles-t",
                             "cycles-ct",
                             "el-start",
                             "el-commit",
                             "el-abort",
                             "energy-cores",
                             "energy-pkg",
                             "energy-ram",
                             "energy-gpu",
                             "energy-psys",
                             "tsc",
                             "aperf",
                             "mperf",
                             "pperf",
                             "smi",
                             "ptsc",
                             "irperf",
                             "cpu_thermal_margin"};

}  // namespace

bool IsUnitOfLinux(std::string_view device) {
  return std::ranges::find(kUnits, device) != kUnits.end() ||
         std::ranges::any_of(kUnitKinds, [&](std::string_view kind) { return device.starts_with(kind); });
}

bool IsUnitsEventOfLinux(std::string_view name) { return std::ranges::find(kEvents, name) != kEvents.end(); }

}  // namespace attune::counter
