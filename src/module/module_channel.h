#pragma once
/// The protocol between a session and the process that runs a monitoring module (`attune plugin-host --module FILE`):
/// messages over a socket that keeps their bounds (SOCK_SEQPACKET), kModuleFd in the host.
///
///   session   kOpen, a ModuleOpen                 host   kHello, a ModuleHello
///   session   kNotices, rows of Notice            host   kValues, rows of ValueRow, as many as there are; then kDone
///   session   kTick, a time                       host   the same
///   session   kEnable                             host   kDone
///   session   kConfigure, kReadConfiguration,
///             kMetric, kDump: a text              host   kAnswer, a text, or kRefused, a text
///   session   kEnd                                host   ends
///
/// A host answers each message before it takes the next. It is foreign code: the session trusts nothing of what it
/// says.

#include <attune/module.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace attune::modules {

inline constexpr int kModuleFd = 3;
inline constexpr size_t kMostMessageBytes = 60'000;

enum class Word : uint32_t {
  kOpen = 1,
  kHello,
  kEnable,
  kNotices,
  kTick,
  kValues,
  kDone,
  kConfigure,
  kReadConfiguration,
  kMetric,
  kDump,
  kAnswer,
  kRefused,
  kEnd,
};

/// Moments that a module can be told of.
enum class NoticeKind : uint32_t {
  kFork = 1,
  kExec,
  kExit,
  kFree,
  kMigrate,
  kSwitchIn,
  kSwitchOut,
  kTickSample,
  kExitSample,
  kMigrationSample,
  kSwitchSample,
  kSelfSample
};

struct Notice {
  int64_t t_ns = 0;
  int64_t interval_ns = 0;  ///< of samples: since the thread's sample before
  int64_t cpu_ns = 0;       ///< of samples
  NoticeKind kind = NoticeKind::kFork;
  int32_t pid = 0;
  int32_t tid = 0;
  int32_t cpu = -1;
  int32_t core_type = 0;
  int32_t core_type_before = 0;  ///< of samples: that it ran on
  int32_t from_cpu = -1;         ///< of migrations
  uint32_t counters = 0;
  char name[16] = {};
  double counts[ATTUNE_MODULE_COUNTERS] = {};
};

/// A value of a virtual counter.
struct ValueRow {
  int64_t t_ns = 0;
  int32_t pid = 0;
  int32_t tid = 0;  ///< 0: of the machine
  uint32_t virtual_counter = 0;
  uint32_t unused = 0;
  double value = 0;
};

template <class Row>
inline constexpr size_t kMostRows = (kMostMessageBytes - sizeof(Word)) / sizeof(Row);

/// Argument of a module's open().
struct ModuleOpen {
  std::string argument;
  std::string root;
  std::vector<uint32_t> core_capacity;  ///< by type, the most capable first; at least one

  bool operator==(const ModuleOpen&) const = default;
};

struct VirtualCounter {
  std::string name;
  std::string unit;
  std::string description;
  bool is_of_machine = false;
  int32_t metric = ATTUNE_METRIC_NONE;

  bool operator==(const VirtualCounter&) const = default;
};

/// Self-description of a module.
struct ModuleHello {
  std::string failure;  ///< why it cannot be used; empty: it can
  std::string name;
  std::string description;
  int64_t interval_ns = 0;
  bool wants_starts = false;      ///< fork, exec, exit, free
  bool wants_migrations = false;  ///< also samples at them
  bool wants_switches = false;
  bool wants_samples = false;
  bool wants_switch_samples = false;
  bool wants_self_samples = false;
  std::vector<std::string> counters;  ///< events that it is to be given
  std::vector<VirtualCounter> virtuals;

  bool operator==(const ModuleHello&) const = default;
};

std::string Encode(const ModuleOpen& open);
Result<ModuleOpen> DecodeOpen(std::string_view text);
std::string Encode(const ModuleHello& hello);
/// Trusts nothing: names, limits and texts are checked. @return kCorrupt
Result<ModuleHello> DecodeHello(std::string_view text);

/// A message as it was received.
struct Message {
  Word word{};
  std::vector<char> bytes;

  std::string_view Text() const { return {bytes.data(), bytes.size()}; }
  /// Empty where they are no whole rows.
  template <class Row>
  std::vector<Row> Rows() const {
    static_assert(std::is_trivially_copyable_v<Row>);
    std::vector<Row> rows(bytes.size() % sizeof(Row) == 0 ? bytes.size() / sizeof(Row) : 0);
    if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
    return rows;
  }
};

/// @param wait false: only what there is room for. @return false: there is no room
/// Error: the other end is gone
Result<bool> Send(int socket, Word word, std::string_view bytes, bool wait);
template <class Row>
std::string_view BytesOf(std::span<const Row> rows) {
  static_assert(std::is_trivially_copyable_v<Row>);
  return {reinterpret_cast<const char*>(rows.data()), rows.size_bytes()};
}
/// @return nullopt: nothing is there (where it does not wait). Error: the other end is gone
Result<std::optional<Message>> Receive(int socket, bool wait);

}  // namespace attune::modules
