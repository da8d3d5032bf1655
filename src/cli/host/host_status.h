#pragma once
/// Status, health and alarms of this machine, from the same sensors, sampler and rules that a session has.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/alarms/alarm_rule.h"
#include "base/host_root.h"
#include "base/result.h"

namespace attune::cli {

/// Samples from Start() to its end. @thread one
class HostStatus {
 public:
  /// @param limit_for_ns no alarm waits longer than that for its time; 0: each waits for its own
  static Result<std::unique_ptr<HostStatus>> Start(const HostRoot& host, const analysis::AlarmSettings& settings,
                                                   int64_t limit_for_ns = 0);
  ~HostStatus();
  HostStatus(const HostStatus&) = delete;
  HostStatus& operator=(const HostStatus&) = delete;

  /// `status` and `health` as analysis::StatusFigures has them, and `alarms` as `attune alarms --json` has them under
  /// `rules`.
  nlohmann::ordered_json Take();

 private:
  class Impl;
  explicit HostStatus(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Looks for that long and takes once: what `attune info --json` has. @param for_ns at least half a second
Result<nlohmann::ordered_json> LookAtStatus(int64_t for_ns);

/// A line of such a section: "  CPUs         2 online". An empty value is left out.
void PrintField(const char* name, const std::string& value);
/// A short section of text on stdout about what Take() gave.
void PrintStatus(const nlohmann::ordered_json& status);

/// `attune info --status`: status, health and alarms as text or as JSON; with `every` as JSON lines.
/// @param every empty: once  @return exit code
Result<int> ShowStatus(const std::string& every, bool json);

/// A JSON line with `t_real_ns` and what Take() gives, every `every_ns` (500 ms or more), until SIGINT or SIGTERM.
/// @return exit code
Result<int> StreamStatus(int64_t every_ns);

}  // namespace attune::cli
