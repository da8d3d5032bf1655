#pragma once
/// Write-ahead journal of changed settings: a later process can undo the changes of a killed session.
///
/// A file a session in the folder of changes (StateFolder("changes")): a line of JSON a change, and one when it was
/// undone. The session and its guardian hold an flock on the file, which ends with both of them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/knob.h"

namespace attune::session {

/// A setting that was changed and not undone.
struct Change {
  int64_t number = 0;  ///< in its journal
  std::string knob;
  std::string actuator;  ///< the knob's actuator; needed if the knob is a program's own
  model::KnobTarget target;
  std::string place;
  std::string before;
  std::string after;
  std::string session;   ///< session that changed it
  std::string file;      ///< its journal
  bool is_held = false;  ///< whoever changed it lives, or its guardian does
  bool by_hand = false;  ///< `attune set`: it stays until `attune restore`, or until the process ends
};

/// @thread one at a time
class Journal {
 public:
  enum class By { kSession, kHand };
  /// @param session its name, which no other one has had: the journal's file is called so
  static Result<Journal> Create(const std::string& session, By by = By::kSession);

  /// Durable when it returns. @return the change's number
  Result<int64_t> Note(const Change& change);
  Status NoteUndone(int64_t number);
  /// Nothing is changed any more.
  void Remove();
  const std::string& path() const { return path_; }
  int fd() const { return file_.get(); }

 private:
  Journal() = default;
  Status Append(const std::string& line, bool durable);

  UniqueFd file_;
  std::string path_;
  std::string session_;
  int64_t next_ = 1;
};

struct JournalText {
  std::string boot;  ///< id of the boot in which it was written; empty: it is no journal
  bool by_hand = false;
  std::vector<Change> changes;  ///< that were not undone, without `file`, `session` and `is_held`
};
/// @param text foreign bytes; lines that make no sense are left out
JournalText ParseJournal(std::string_view text);

/// All changes of this user on this host since it was booted, in the order of their journals. Journals of an earlier
/// boot, and those of nobody who lives that hold nothing, are removed. A line that makes no sense is left out.
Result<std::vector<Change>> HeldChanges();
/// The same of one journal.
Result<std::vector<Change>> HeldChanges(const std::string& file);
/// Notes in a change's journal that it is undone.
Status NoteUndone(const Change& change);

/// A knob of a process has one owner; all that is set by hand has the same. Error: kExists, with who it is.
/// @param session who asks
Status CheckUnowned(const std::string& knob, const model::KnobTarget& target, const std::string& session,
                    Journal::By by = Journal::By::kSession);

}  // namespace attune::session
