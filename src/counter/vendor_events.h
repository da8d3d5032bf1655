#pragma once
/// Files of events that makers of processors publish (JSON: Intel's perfmon, the kernel's pmu-events), which a user
/// puts into ~/.config/attune/events or /etc/attune/events (docs/counters.md).

#include <string>
#include <string_view>
#include <vector>

#include "base/plugin_files.h"
#include "base/result.h"

namespace attune::counter {

struct VendorEvent {
  std::string name;         ///< "INST_RETIRED.ANY"
  std::string unit;         ///< as the file calls it: "cpu_core", "iMC"; empty: the cores
  std::string terms;        ///< as perf writes them: "event=0xc0,umask=0x1"
  std::string description;  ///< a line
  std::string lacking;      ///< what of it the kernel has no term for; empty: it can be counted
};

/// Events without a code, which are no counters (as of fixed ones that have a name alone), are left out.
/// @param text foreign bytes  @param file how messages call it  Error: kCorrupt with the line
Result<std::vector<VendorEvent>> ParseVendorEvents(std::string_view text, std::string_view file);
Result<std::vector<VendorEvent>> ReadVendorEvents(const std::string& file);

/// NAME.json in these folders.
std::vector<PluginFile> VendorEventFiles();

}  // namespace attune::counter
