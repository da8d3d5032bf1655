#pragma once
/// Knobs: what can be changed of a running program, described as data (catalog/knobs/*.toml, docs/knobs.md).

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune::model {

enum class KnobType : uint8_t {
  kInteger,
  kSwitch,  ///< "on" or "off"
  kWord,    ///< one of `words`
  kCpus,    ///< a set of CPUs, in the kernel's list format: "0-3,7"
  kText,    ///< any text; who writes it knows what it may be
};

enum class KnobScope : uint8_t {
  kThread,  ///< per thread; set for all threads of a process
  kProcess,
  kMachine,  ///< also changes other programs: only with --allow machine
};

/// Quality of an undo.
enum class KnobUndo : uint8_t {
  kExact,
  kEquivalent,  ///< works as before, as far as anybody can tell
  kNone,        ///< never turned by `attune tune`, by hand only
};

struct Knob {
  std::string name;   ///< "openmp.team"
  std::string about;  ///< a line, lower case, no full stop
  KnobType type = KnobType::kInteger;
  int64_t low = 0;
  int64_t high = 0;
  std::vector<std::string> words;  ///< kWord
  std::string unit;                ///< unit of an integer; empty: a number
  KnobScope scope = KnobScope::kProcess;
  std::string actuator;                    ///< name of the actuator that reads and writes it
  std::map<std::string, std::string> how;  ///< parameters of the actuator: names of functions, a path
  int64_t settle_ns = 0;                   ///< from a change to the first moment that shows what it does
  std::string safe_point;                  ///< when it takes effect
  std::string trades;                      ///< the resource that it costs
  std::string risk;
  KnobUndo undo = KnobUndo::kExact;
  std::vector<std::string> answers;  ///< classes of findings
  std::string permanent;             ///< how to have it from the start; "{value}" stands for the value
  std::string file;                  ///< source of its description

  bool operator==(const Knob&) const = default;
};

/// Lower-case letters, digits, '.', '-' and '_'.
bool IsKnobName(std::string_view name);
std::string_view ToString(KnobType type);
std::string_view ToString(KnobScope scope);
std::string_view ToString(KnobUndo undo);

/// "1 to 256 threads", "on or off".
std::string RangeOf(const Knob& knob);
/// The value in the form in which it is read back ("007" as "7"), or what is wrong with it (kInvalidArgument).
Result<std::string> CheckValue(const Knob& knob, std::string_view text);
/// Knob::permanent with the value in it.
std::string PermanentText(const Knob& knob, std::string_view value);

/// A process whose knobs are turned; the start time tells it from a later one with its number.
struct KnobTarget {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat
};

/// Holder of a knob: none for a knob of the machine, which outlives the process by which it was found.
inline KnobTarget OwnerOf(const Knob& knob, const KnobTarget& target) {
  return knob.scope == KnobScope::kMachine ? KnobTarget() : target;
}

/// One place at which a knob has a value: a process has a descriptor's size for each of its descriptors.
struct KnobSetting {
  std::string place;  ///< "thread 4711", "descriptor 5"; empty: the process as a whole
  std::string value;

  bool operator==(const KnobSetting&) const = default;
};

/// Begin of the place of a program's own knob (attune/knob.h): where it may change.
inline constexpr std::string_view kAnywhere = "variable ";
inline constexpr std::string_view kAtSafePoints = "variable at safe points ";

/// Words and calls in the memory that the probe in a program shares with its session (wire/ring.h). @thread any
class ProbeChannel {
 public:
  virtual ~ProbeChannel() = default;
  /// A word that the session writes and the probe reads. Error: kNotFound: the process has no probe
  virtual Result<uint32_t> ReadWord(pid_t pid, std::string_view word) = 0;
  virtual Status WriteWord(pid_t pid, std::string_view word, uint32_t value) = 0;

  struct Call {
    uint64_t function = 0;  ///< address
    int64_t arguments[2] = {0, 0};
    uint64_t not_from = 0;  ///< code from which it must not be called: the library's own, which may hold its locks
    uint64_t not_to = 0;
  };
  /// Location of a program's own knob: kAnywhere or kAtSafePoints, then its address. Error: kNotFound
  virtual Result<std::string> FindDeclared(pid_t pid, std::string_view knob) = 0;
  /// Has a function called by a thread of the process, at its next safe point (docs/knobs.md).
  /// @return what it returned; kTimeout: no thread came by, and none will call it any more
  virtual Result<int64_t> DoCall(pid_t pid, const Call& call, int64_t limit_ns) = 0;
};

/// Reads and writes a family of knobs. What is written is read back: an error where the value is another one.
/// @thread one at a time
class Actuator {
 public:
  virtual ~Actuator() = default;
  /// Whether each read and write waits for a thread of the program to come by a safe point.
  virtual bool WaitsForProgram() const { return false; }
  /// Whether what is written holds only as long as this object is there.
  virtual bool EndsWithUs() const { return false; }
  /// Settings that the process has now. Error: kNotFound: it has no such knob (no such library, no socket)
  virtual Result<std::vector<KnobSetting>> Read(const Knob& knob, const KnobTarget& target) = 0;
  /// @return the value that holds now; for an `equivalent` knob what is asked for
  virtual Result<std::string> Write(const Knob& knob, const KnobTarget& target, const KnobSetting& setting) = 0;
};

}  // namespace attune::model
