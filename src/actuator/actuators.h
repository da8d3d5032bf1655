#pragma once
/// Actuators: who reads and writes the knobs of a family (docs/knobs.md). A family is a file of families/.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/knob.h"

namespace attune::actuator {

/// A function in the memory of a process.
struct FunctionPlace {
  uint64_t address = 0;
  uint64_t library_from = 0;  ///< code of the library that it is in
  uint64_t library_to = 0;
};
/// Finds an exported function. @param library the beginning of its file's name: "libc.so"  @param function empty: the
/// library alone is looked for
/// Error: kNotFound: the process has no such library, or the library no such function
using FindFunction =
    std::function<Result<FunctionPlace>(pid_t pid, std::string_view library, std::string_view function)>;

/// Access to the host and to programs, shared by all actuators.
struct ActuatorHost {
  HostRoot host = HostRoot();
  model::ProbeChannel* probe = nullptr;  ///< not owned; nullptr: no program has a probe
  FindFunction find_function = {};       ///< empty: none is found
  /// Processes that came by no safe point in time: their threads are stopped for a call at once.
  std::shared_ptr<std::set<pid_t>> without_safe_points = std::make_shared<std::set<pid_t>>();
};

struct ActuatorRow {
  std::string_view name;  ///< "socket"
  std::unique_ptr<model::Actuator> (*make)(const ActuatorHost& host);
};
std::vector<ActuatorRow> AllActuators();

/// Error: kNotFound: there is none of that name
Result<std::unique_ptr<model::Actuator>> MakeActuator(std::string_view name, const ActuatorHost& host);

}  // namespace attune::actuator
