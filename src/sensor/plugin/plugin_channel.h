#pragma once
/// The protocol between a session and the process that runs a plug-in (`attune plugin-host`).
///
///   kHelloFd   a socket: the host sends what the plug-in says of itself, as frames, and then waits for one byte: go on
///   kPageFd    shared memory, sealed in its size: PluginPage and one value a signal
///
/// For a sample the session counts up `request` and wakes the host; the host fills the values, sets `answer` to the
/// same and wakes the session. A plug-in can write anywhere into the page: the session takes its values for what they
/// are, numbers, and trusts nothing else of it.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/sensor.h"

namespace attune::sensor {

inline constexpr int kHelloFd = 3;
inline constexpr int kPageFd = 4;
inline constexpr size_t kMaxPluginSignals = 65'536;

/// Instead of a request: the plug-in is closed.
inline constexpr uint32_t kStopRequest = UINT32_MAX;

struct PluginPage {
  std::atomic<uint32_t> request;
  std::atomic<uint32_t> answer;
  std::atomic<uint32_t> gone;  ///< belongs to the answer; 1: the plug-in's source is gone at the moment
  uint32_t unused;
  int64_t values[];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(PluginPage) == 16);
constexpr size_t PluginPageBytes(size_t signals) { return sizeof(PluginPage) + signals * sizeof(int64_t); }

/// The self-description of a plug-in.
struct PluginHello {
  std::string failure;  ///< why it cannot be used; empty: it can
  std::string name;
  std::string description;
  std::string source;
  std::string cost;
  int64_t default_interval_ns = 0;
  std::vector<model::SignalSpec> signals;
};

/// Describes a problem of a signal; empty: none.
std::string WhatIsWrong(const model::SignalSpec& signal);

std::string EncodeHello(const PluginHello& hello);
/// Trusts nothing. @return kCorrupt
Result<PluginHello> DecodeHello(std::span<const char> bytes);

}  // namespace attune::sensor
