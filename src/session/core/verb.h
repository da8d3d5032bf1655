#pragma once
/// The commands of a session as data: `attune ctl`, the control FIFO, the page, launchers, later tunlets and agents.
///
/// A verb is a row that the component that carries it out gives (Component::Verbs()). Parser, help, completion, the
/// table in docs/sessions.md and dispatch come from the rows.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "base/result.h"
#include "model/level.h"
#include "model/table.h"

namespace attune::session {

using model::Level;

/// The speakers that a verb is for.
enum class Role : uint8_t {
  kOwner,     ///< the session's user: `attune ctl`, the control FIFO
  kLauncher,  ///< `attune run` itself; offered to nobody
  kPage,      ///< whoever sees the page. The verb's function is called on the page's threads, too
};

enum class ArgumentKind : uint8_t {
  kNumber,    ///< a whole number; numbers are a verb's first arguments
  kText,      ///< the rest of the line as it is
  kSensor,    ///< a name
  kLevel,     ///< level of the probes
  kInterval,  ///< kMinIntervalNs to kMaxIntervalNs
  kFile,      ///< an absolute path, or `off`
  kSink,      ///< NAME[=ARGUMENT], or `off [NAME]`
  kAlarm,     ///< NAME=VALUE, NAME=on or NAME=off
};

/// The last argument of a verb takes the rest of the line, those before it a word each.
struct Argument {
  std::string name;  ///< as help names it: "TIME"
  ArgumentKind kind = ArgumentKind::kText;
  bool optional = false;  ///< left out where the line has no word for it besides those of the arguments behind it
};

/// `off` in the place of a file or a sink.
struct Off {
  std::string name;  ///< name of the sink; empty: all
};

/// Value of an argument; monostate: it was left out.
using Value = std::variant<std::monostate, std::string, int64_t, Level, Off, analysis::AlarmSettings>;

struct Verb;

/// A verb with its values, one an argument.
struct VerbCall {
  const Verb* verb = nullptr;
  std::vector<Value> values = {};
  uint64_t connection = 0;        ///< id of the control socket's connection; 0: none
  int64_t t_ns = model::kAbsent;  ///< the moment that is meant; kAbsent: now

  /// @pre the argument is of the kind that has such a value. Text: empty where it was left out
  std::string Text(size_t index) const;
  int64_t Number(size_t index) const { return std::get<int64_t>(values.at(index)); }
  /// nullptr: it was given as something else.
  const Off* IfOff(size_t index) const { return std::get_if<Off>(&values.at(index)); }
};

/// One line of JSON; nothing: it comes later through ControlServer::Reply().
using Reply = std::optional<std::string>;

struct Verb {
  std::string name;
  int rank = 0;  ///< order in which help lists them
  std::vector<Role> roles;
  std::vector<Argument> arguments = {};
  std::string help = {};             ///< a line, lower case, no full stop
  std::string example = {};          ///< a whole command; empty: none
  std::string example_meaning = {};  ///< effect of the example
  std::function<Result<Reply>(const VerbCall&)> run = {};

  bool Permits(Role role) const;
  /// "interval [SENSOR] TIME".
  std::string Grammar() const;
};

/// The function of a verb that answers OkReply() or an error. @param run gives a Status
std::function<Result<Reply>(const VerbCall&)> Plainly(std::function<Status(const VerbCall&)> run);

class VerbRegistry {
 public:
  void Add(std::vector<Verb> verbs);
  /// By rank.
  const std::vector<Verb>& All() const { return verbs_; }
  /// nullptr: there is none.
  const Verb* Find(std::string_view name) const;
  /// The names for that role.
  std::vector<std::string> Names(Role role) const;

  /// @param line one line without its newline; foreign bytes
  Result<VerbCall> Parse(std::string_view line) const;
  /// Carries out what is said by somebody who has values rather than a line. Errors: the verb's; kInvalidArgument where
  /// there is none for that role.
  Result<Reply> Do(Role role, std::string_view name, std::vector<Value> values, int64_t t_ns = model::kAbsent) const;

 private:
  std::vector<Verb> verbs_;
};

/// {"ok":true}
std::string OkReply();

}  // namespace attune::session
