#pragma once
/// The knobs that a session turns: it holds each of them alone, notes what was there before on disk before it writes,
/// and turns all of them back, the last one first.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actuator/actuators.h"
#include "model/knob.h"
#include "session/tuning/guardian.h"
#include "session/tuning/journal.h"
#include "session/tuning/ring_channel.h"

namespace attune::session {

/// @thread one at a time
class KnobBoard {
 public:
  enum class Writes { kYes, kNothing };
  /// @param session its name in the journal  @param rings outlives this  @param writes nothing: knobs are read alone
  KnobBoard(std::string session, std::vector<model::Knob> knobs, RingChannel& rings, Writes writes = Writes::kYes,
            const HostRoot& host = HostRoot());
  /// As End().
  ~KnobBoard();
  KnobBoard(const KnobBoard&) = delete;
  KnobBoard& operator=(const KnobBoard&) = delete;

  /// Also those that the programs have declared up to now. References stay valid.
  const std::deque<model::Knob>& knobs();
  /// Values now of a knob in these processes, those that have it. Error: none has it, and why
  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const std::vector<pid_t>& pids);

  /// Sets the knob to a value, wherever these processes have it: in each thread, socket, process that there is now.
  /// Those that came since the last time are changed too. Error: kExists: another session has it; kNotFound: there is
  /// none; kUnavailable: somebody else has changed it meanwhile, who keeps it
  Status Set(const model::Knob& knob, const std::string& value, const std::vector<pid_t>& pids);
  /// Writes the value that is kept, else the values of before, and still holds the knob.
  Status Reset(const model::Knob& knob);
  /// From now on Reset() and Withdraw() go back to what is set now.
  void Keep(const model::Knob& knob, const std::string& value);
  /// As Reset(); where nothing is kept the knob is given up.
  Status Withdraw(const model::Knob& knob);
  /// Turns the knob back to what was there before, also where a value is kept, and gives it up.
  Status GiveUp(const model::Knob& knob);
  /// Turns all knobs back, the last one first. Those for which a thread of the program is needed are left to the
  /// guardian: nobody waits for them here.
  void End();

  /// The values of before and the one that was set, for people: "8", "0-1 and 2".
  std::string BeforeText(const model::Knob& knob) const;
  bool Holds(const model::Knob& knob) const { return held_.contains(knob.name); }
  /// Hands new rings to the guardian, and starts another one where it has died. To be called now and then.
  void KeepGuarded();

 private:
  struct Held {
    int order = 0;
    std::vector<Change> changes;
    std::optional<std::string> kept;
    std::vector<pid_t> pids;  ///< that Set() was called with last
  };

  Result<model::Actuator*> ActuatorOf(const model::Knob& knob);
  Status Begin();
  Status SetOne(const model::Knob& knob, const model::KnobTarget& target, const std::string& value, Held& held,
                bool& has_any);
  Status WriteBefore(const model::Knob& knob, Held& held, bool gives_up);

  const std::string session_;
  std::deque<model::Knob> knobs_;
  RingChannel& rings_;
  const Writes writes_;
  const actuator::ActuatorHost host_;
  std::map<std::string, std::unique_ptr<model::Actuator>> actuators_;  ///< by family
  std::map<std::string, Held> held_;                                   ///< by knob
  int orders_ = 0;
  std::optional<Journal> journal_;
  std::optional<Guardian> guardian_;
  size_t rings_given_ = 0;
};

}  // namespace attune::session
