#pragma once
/// The guardian of a tuning session: a process of its own that undoes what is changed as soon as the session has ended,
/// also by kill -9 (docs/tuning.md). It has the ring files of the programs, so that it can turn back knobs in them.
///
/// If the guardian is killed, the session starts another one. If both are, `attune restore` and the next tuning
/// session undo what the journal holds.

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/tuning/journal.h"

namespace attune::session {

/// The session's end. @thread one at a time
class Guardian {
 public:
  /// Starts `attune tuning-guardian`. @pre the journal lives as long as this
  static Result<Guardian> Start(const Journal& journal);
  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  /// Hands over the ring file of a program. Error: it does not live any more
  Status GiveRing(int fd);
  bool IsAlive() const;
  /// Nothing is changed any more, or what is stays: it ends without undoing anything.
  void Dismiss();
  pid_t pid() const { return pid_; }

 private:
  Guardian() = default;
  UniqueFd socket_;
  pid_t pid_ = 0;
};

inline constexpr int kGuardianSocketFd = 3;   ///< socket of `attune tuning-guardian`
inline constexpr int kGuardianJournalFd = 4;  ///< keeps the journal's lock

/// The whole life of the process. @param journal path of the journal
Result<int> RunGuardian(const std::string& journal);

}  // namespace attune::session
