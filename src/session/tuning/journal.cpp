#include "session/tuning/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/host_root.h"
#include "base/text.h"
#include "base/user_file.h"

namespace attune::session {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMostBytes = 64u << 20;
constexpr std::string_view kEnding = ".changes";

std::string BootId() {
  const auto id = HostRoot().ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? id->substr(0, id->find('\n')) : std::string();
}

Result<std::string> Folder() {
  std::string folder = StateFolder("changes");
  if (folder.empty())
    return Error{Errc::kUnavailable, "there is no folder for what tuning changes", "set HOME or XDG_STATE_HOME"};
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (!fs::is_directory(folder, error)) return Error{Errc::kIo, folder + " cannot be made", "set XDG_STATE_HOME"};
  return folder;
}

std::string ToLine(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

void TakeLine(std::string_view line, std::vector<Change>& changes) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return;
  try {
    if (object.contains("undone")) {
      std::erase_if(changes, [number = object.at("undone").get<int64_t>()](const Change& change) {
        return change.number == number;
      });
      return;
    }
    Change change;
    change.number = object.at("change").get<int64_t>();
    change.knob = object.at("knob").get<std::string>();
    change.actuator = object.value("actuator", std::string());
    change.target = {object.at("pid").get<pid_t>(), object.at("start").get<uint64_t>()};
    change.place = object.at("place").get<std::string>();
    change.before = object.at("before").get<std::string>();
    change.after = object.at("after").get<std::string>();
    changes.push_back(std::move(change));
  } catch (const json::exception&) {
    return;  // it makes no sense
  }
}

/// Whether nobody holds the journal.
bool IsAbandoned(int fd) {
  if (flock(fd, LOCK_SH | LOCK_NB) != 0) return false;
  flock(fd, LOCK_UN);
  return true;
}

struct Read {
  std::vector<Change> changes;
  bool is_of_this_boot = false;
  bool is_held = false;
};

Result<Read> ReadJournal(const std::string& file) {
  ATTUNE_TRY(const UniqueFd fd, OpenUserFile(file));
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMostBytes));
  Read read;
  read.is_held = !IsAbandoned(fd.get());
  JournalText journal = ParseJournal(text);
  read.is_of_this_boot = journal.boot == BootId();
  read.changes = std::move(journal.changes);
  for (Change& change : read.changes) {
    change.file = file;
    change.by_hand = journal.by_hand;
    change.is_held = read.is_held;
    change.session = fs::path(file).stem().string();
  }
  return read;
}

}  // namespace

JournalText ParseJournal(std::string_view text) {
  JournalText journal;
  const std::vector<std::string_view> lines = Split(text, "\n");
  const json head = json::parse(lines.front(), nullptr, false);
  if (!head.is_object() || !head.contains("boot") || !head["boot"].is_string()) return journal;
  journal.boot = head["boot"].get<std::string>();
  journal.by_hand = head.contains("by_hand") && head["by_hand"] == json(true);
  for (size_t i = 1; i < lines.size(); ++i) TakeLine(lines[i], journal.changes);
  return journal;
}

Result<Journal> Journal::Create(const std::string& session, By by) {
  ATTUNE_TRY(const std::string folder, Folder());
  Journal journal;
  journal.session_ = session;
  journal.path_ = fmt::format("{}/{}{}", folder, session, kEnding);
  // Whoever looks meanwhile finds a whole journal that is held, or none.
  const std::string made = fmt::format("{}/{}.new", folder, session);
  journal.file_.reset(open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!journal.file_) return ErrnoError(made);
  Status written;
  if (flock(journal.file_.get(), LOCK_EX) != 0) written = ErrnoError(made);
  if (written.ok())
    written = journal.Append(ToLine({{"attune", 0}, {"boot", BootId()}, {"by_hand", by == By::kHand}}), true);
  if (written.ok() && rename(made.c_str(), journal.path_.c_str()) != 0) written = ErrnoError(journal.path_);
  if (!written.ok()) {
    unlink(made.c_str());
    return written.error();
  }
  return journal;
}

Status Journal::Append(const std::string& line, bool durable) {
  if (write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return ErrnoError(path_);
  if (durable && fdatasync(file_.get()) != 0) return ErrnoError(path_);
  return {};
}

Result<int64_t> Journal::Note(const Change& change) {
  const int64_t number = next_++;
  ATTUNE_CHECK_OK(Append(ToLine({{"change", number},
                                 {"knob", change.knob},
                                 {"actuator", change.actuator},
                                 {"pid", change.target.pid},
                                 {"start", change.target.start_ticks},
                                 {"place", change.place},
                                 {"before", change.before},
                                 {"after", change.after}}),
                         true));
  return number;
}

Status Journal::NoteUndone(int64_t number) { return Append(ToLine({{"undone", number}}), false); }

void Journal::Remove() {
  if (file_) unlink(path_.c_str());
  file_.reset();
}

Result<std::vector<Change>> HeldChanges(const std::string& file) {
  ATTUNE_TRY(Read read, ReadJournal(file));
  return std::move(read.changes);
}

Result<std::vector<Change>> HeldChanges() {
  ATTUNE_TRY(const std::string folder, Folder());
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::end(entry); entry.increment(error)) {
    if (entry->path().extension() == kEnding) files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  std::vector<Change> changes;
  for (const std::string& file : files) {
    Result<Read> read = ReadJournal(file);
    if (!read.ok()) continue;  // another process has removed it, or it is no journal
    if (!read->is_held && (!read->is_of_this_boot || read->changes.empty())) {
      unlink(file.c_str());
      continue;
    }
    std::ranges::move(read->changes, std::back_inserter(changes));
  }
  return changes;
}

Status NoteUndone(const Change& change) {
  const UniqueFd file(open(change.file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return ErrnoError(change.file);
  const std::string line = ToLine({{"undone", change.number}});
  if (write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return ErrnoError(change.file);
  return {};
}

Status CheckUnowned(const std::string& knob, const model::KnobTarget& target, const std::string& session,
                    Journal::By by) {
  ATTUNE_TRY(const std::vector<Change> changes, HeldChanges());
  for (const Change& change : changes) {
    if (change.knob != knob || change.session == session || (change.by_hand && by == Journal::By::kHand)) continue;
    if (change.target.pid != target.pid || change.target.start_ticks != target.start_ticks) continue;
    return Error{Errc::kExists,
                 target.pid == 0 ? fmt::format("{} is held by {}", knob, change.session)
                                 : fmt::format("{} of process {} is held by {}", knob, target.pid, change.session),
                 change.by_hand   ? "it was set by hand: attune restore undoes that"
                 : change.is_held ? "attune list changes shows what is set; wait for the end of that session"
                                  : "that session was killed: attune restore undoes what it has changed"};
  }
  return {};
}

}  // namespace attune::session
