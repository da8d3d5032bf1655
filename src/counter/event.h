#pragma once
/// Names of events: perf's, those that the kernel names for a unit, libpfm4's, and raw numbers.

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "counter/pmu.h"

namespace attune::counter {

/// An event of one unit.
struct Event {
  uint32_t type = 0;  ///< PERF_TYPE_*, or a unit's own
  uint64_t config = 0, config1 = 0, config2 = 0;
  std::string device;  ///< unit that counts it; empty: the kernel, or whatever core there is
  CpuSet cpus;         ///< that it can be counted on; empty: any
  bool in_user = true, in_kernel = true;

  /// Everything but how it is read.
  perf_event_attr Attributes() const;
};

/// An event as it was asked for by name.
struct NamedEvent {
  std::string name;          ///< as it was asked for
  std::vector<Event> parts;  ///< not empty; several: cores of several kinds, whose counts add up
  std::string unit;          ///< of a count times `scale`; empty: a number
  double scale = 1;
};

/// An event that is not counted, or not all of it.
struct EventNote {
  std::string event;
  std::string why;
};

/// The names of a list, empty ones too: what is between commas. A comma between slashes is part of a name.
std::vector<std::string_view> SplitEvents(std::string_view list);

/// A list of names, separated by commas; a comma between slashes is part of a name.
///   cycles, instructions, cache-misses, L1-dcache-load-misses, task-clock, ...   as perf calls them
///   cpu/event=0x3c,umask=0x00/, msr/tsc/                                        a unit with terms, or its own name
///   r01d1                                                                       raw, of the cores
///   sched:sched_switch                                                          a tracepoint
///   INST_RETIRED:ANY_P                                                          as libpfm4 calls it
/// Behind each, ":u" or ":k": in the program, in the kernel only.
/// @param left_out gets those that are known but that this machine cannot count, and why: the list may be empty then.
/// nullptr: such an event is an error
/// Error: kInvalidArgument with the nearest names; kUnavailable: this machine cannot count it, and why
Result<std::vector<NamedEvent>> ParseEvents(const HostRoot& host, const std::vector<Pmu>& pmus, std::string_view list,
                                            std::vector<EventNote>* left_out = nullptr);

/// Error for a list of which nothing is left. @pre left_out is not empty
Error NothingIsCounted(const std::vector<EventNote>& left_out);

/// An event, and how often it occurs between two samples of it.
struct SampledEvent {
  NamedEvent event;
  uint64_t period = 0;  ///< 0: it was not said
};
/// A list of names as above, each with its period or without: "page-faults=1000,cycles".
/// @param left_out as ParseEvents  Error: as ParseEvents
Result<std::vector<SampledEvent>> ParseSampledEvents(const HostRoot& host, const std::vector<Pmu>& pmus,
                                                     std::string_view list, std::vector<EventNote>* left_out = nullptr);

/// The first of the names that this machine can count. @pre not empty. Error: why it cannot count the first of them
Result<NamedEvent> FirstEventOf(const HostRoot& host, const std::vector<Pmu>& pmus,
                                std::span<const std::string_view> names);

/// An event that can be asked for here.
struct ListedEvent {
  std::string name;
  std::string kind;  ///< "software", "hardware", "cache", a unit's device
  std::string code;  ///< what it stands for: "event=0x3c,umask=0x00"
};
/// All that this machine has, without tracepoints and libpfm4's. @param pmus as FindPmus gives them
std::vector<ListedEvent> ListEvents(const HostRoot& host, const std::vector<Pmu>& pmus);

/// "ns" of an event that counts CPU time; "" of one that counts how often. @param name as it was asked for
std::string_view UnitOf(std::string_view name);

/// The software events that every kernel counts, whatever the machine.
bool IsSoftware(const Event& event);

}  // namespace attune::counter
