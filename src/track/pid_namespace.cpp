#include "track/pid_namespace.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "track/process_usage.h"

namespace attune::track {
namespace {

constexpr uint32_t kVainLooksPerRound = 64;  ///< a program can invent numbers without end
constexpr int kTestsForRoom = 64;

/// A process or thread as its innermost PID namespace numbers it.
struct InnerNumber {
  int32_t number = 0;
  size_t depth = 0;  ///< numbers that we see: 1 where it is in our namespace
};

/// The last number of the line NSpid. @return kNotFound: it is gone
Result<InnerNumber> ReadInnerNumber(const HostRoot& host, const std::string& path) {
  ATTUNE_TRY(const std::string status, host.ReadFile(path, 16384));
  const Error none{Errc::kCorrupt, path + ": no NSpid", ""};
  constexpr std::string_view kKey = "\nNSpid:";
  size_t at = status.find(kKey);
  if (at == std::string::npos) return none;
  at += kKey.size();
  const char* const end = status.data() + std::min(status.find('\n', at), status.size());
  InnerNumber inner;
  for (const char* next = status.data() + at; next < end;) {
    const auto [behind, error] = std::from_chars(next, end, inner.number);
    if (error == std::errc()) ++inner.depth;
    next = error == std::errc() ? behind : next + 1;
  }
  if (inner.depth == 0 || inner.number <= 0) return none;
  return inner;
}

Result<std::string> ReadSpace(const HostRoot& host, int64_t pid) {
  return host.ReadLink(fmt::format("/proc/{}/ns/pid", pid));
}

bool IsGone(const Error& error) { return error.code == Errc::kNotFound; }

}  // namespace

PidNamespace::PidNamespace(HostRoot host, int32_t theirs, int32_t ours, size_t most)
    : host_(std::move(host)),
      known_theirs_(theirs),
      known_(ours),
      most_(most),
      space_(ReadSpace(host_, ours).value_or("")),
      processes_{{theirs, ours}} {}

/// Read again where it could not be, as long as the known process is the same.
const std::string& PidNamespace::Space() {
  if (!space_.empty()) return space_;
  const auto inner = ReadInnerNumber(host_, fmt::format("/proc/{}/status", known_));
  if (inner.ok() && inner->number == known_theirs_) space_ = ReadSpace(host_, known_).value_or("");
  return space_;
}

/// Whether our number is still that process's: false only if it certainly is not.
bool PidNamespace::IsStill(int32_t ours, int32_t theirs) {
  if (!ThreadIsAlive({ours, ours})) return false;
  const auto inner = ReadInnerNumber(host_, fmt::format("/proc/{}/status", ours));
  if (inner.ok() && inner->number != theirs) return false;
  const auto space = ReadSpace(host_, ours);
  return !space.ok() || space_.empty() || *space == space_;
}

PidNamespace::Sight PidNamespace::FindProcess(int32_t theirs) {
  const auto all = ListProcesses(host_);
  if (!all.ok()) return {};
  const std::string& wanted = Space();
  // Mounted with hidepid=2, /proc has no processes of other users: the first one is root's.
  bool shows_all = host_.Exists("/proc/1");
  for (const int64_t pid : *all) {
    const auto space = ReadSpace(host_, pid);
    if (space.ok() ? !wanted.empty() && *space != wanted : IsGone(space.error())) continue;
    const auto inner = ReadInnerNumber(host_, fmt::format("/proc/{}/status", pid));
    if (!inner.ok()) {
      shows_all = shows_all && IsGone(inner.error());
    } else if (inner->number == theirs && space.ok() && !wanted.empty()) {
      const auto ours = static_cast<int32_t>(pid);
      return {Presence::kThere, {ours, ours}};
    } else if (inner->number == theirs && inner->depth > 1) {
      shows_all = false;  // it may be the one: its namespace cannot be read
    }
  }
  return {shows_all ? Presence::kGone : Presence::kUnknown, {}};
}

/// Learns the numbers of all threads of its process.
PidNamespace::Sight PidNamespace::LookFor(const ThreadIds& theirs) {
  const auto known = processes_.find(theirs.pid);
  if (known != processes_.end()) {
    if (IsStill(known->second, theirs.pid)) return LookIn(known->second, theirs);
    // With the first process all others of its namespace end, and none comes after.
    if (theirs.pid == 1) return {Presence::kGone, {}};
  }
  const Sight process = FindProcess(theirs.pid);
  if (process.presence != Presence::kThere) return process;
  KeepProcess(theirs.pid, process.ours.pid);
  return LookIn(process.ours.pid, theirs);
}

PidNamespace::Sight PidNamespace::LookIn(int32_t process, const ThreadIds& theirs) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto tids = ListThreads(host_, process);
    if (!tids.ok()) return {};  // it is hidden, or ended just now: then the next look says so
    Sight sight{Presence::kGone, {}};
    for (const int64_t tid : *tids) {
      const auto inner = ReadInnerNumber(host_, fmt::format("/proc/{}/task/{}/status", process, tid));
      if (inner.ok()) {
        const ThreadIds ours{process, static_cast<int32_t>(tid)};
        Keep({theirs.pid, inner->number}, ours, inner->number == theirs.tid);
        if (inner->number == theirs.tid) sight = {Presence::kThere, ours};
      } else if (!IsGone(inner.error()) && sight.presence == Presence::kGone) {
        sight.presence = Presence::kUnknown;
      }
    }
    if (sight.presence != Presence::kGone) return sight;
    // A thread that ends while they are listed can hide the one behind it (proc_task_readdir of the kernel).
    const auto again = ListThreads(host_, process);
    if (again.ok() && *again == *tids) return sight;
  }
  return {};
}

/// @param is_wanted else it is left out where there is no room
void PidNamespace::Keep(const ThreadIds& theirs, const ThreadIds& ours, bool is_wanted) {
  if (const auto found = threads_.find(theirs); found != threads_.end()) {
    found->second = ours;
    return;
  }
  for (int tests = 0; threads_.size() >= most_ && tests < kTestsForRoom; ++tests) {
    auto next = threads_.upper_bound(swept_);
    if (next == threads_.end()) next = threads_.begin();
    swept_ = next->first;
    if (!ThreadIsAlive(next->second) || (is_wanted && tests == kTestsForRoom - 1)) threads_.erase(next);
  }
  if (threads_.size() < most_) threads_.emplace(theirs, ours);
}

void PidNamespace::KeepProcess(int32_t theirs, int32_t ours) {
  if (processes_.size() >= most_ && !processes_.contains(theirs))
    std::erase_if(processes_, [](const auto& entry) { return !ThreadIsAlive({entry.second, entry.second}); });
  if (processes_.size() < most_ || processes_.contains(theirs)) processes_[theirs] = ours;
}

const PidNamespace::StandIn& PidNamespace::LookedInVain(const ThreadIds& theirs, bool is_final) {
  constexpr uint32_t kMostDoublings = 10;
  if (stand_ins_.size() >= most_ && !stand_ins_.contains(theirs)) stand_ins_.clear();  // nearly all ended long ago
  const auto [entry, is_new] = stand_ins_.try_emplace(theirs);
  StandIn& stand_in = entry->second;
  const auto process = processes_.find(theirs.pid);
  const int32_t pid = process != processes_.end() ? process->second : known_;
  // The first thread has the number of its process.
  stand_in.ours = {pid, theirs.tid == theirs.pid ? pid : theirs.tid};
  stand_in.is_final = is_final;
  stand_in.next_look = round_ + (uint64_t{1} << std::min(stand_in.looks++, kMostDoublings));
  const bool is_first = theirs.tid == theirs.pid && process != processes_.end();
  if (is_new && !is_first && Known(theirs) == nullptr) ++unknown_;
  return stand_in;
}

ThreadIds PidNamespace::Ours(const ThreadIds& theirs) {
  if (theirs.pid <= 0) return theirs;
  if (const ThreadIds* known = Known(theirs)) return *known;
  const auto found = stand_ins_.find(theirs);
  if (found != stand_ins_.end() && (found->second.is_final || found->second.next_look > round_))
    return found->second.ours;
  if (vain_looks_ >= kVainLooksPerRound) return LookedInVain(theirs, false).ours;
  const Sight sight = LookFor(theirs);
  if (sight.presence == Presence::kThere) {
    stand_ins_.erase(theirs);
    return sight.ours;
  }
  ++vain_looks_;
  return LookedInVain(theirs, sight.presence == Presence::kGone).ours;
}

const ThreadIds* PidNamespace::Known(const ThreadIds& theirs) const {
  const auto found = threads_.find(theirs);
  return found != threads_.end() ? &found->second : nullptr;
}

void PidNamespace::Begins(const ThreadIds& theirs) {
  if (theirs.pid <= 0) return;
  stand_ins_.erase(theirs);
  const auto process = processes_.find(theirs.pid);
  if (theirs.tid == theirs.pid && process != processes_.end() && !IsStill(process->second, theirs.pid))
    processes_.erase(process);
  const auto thread = threads_.find(theirs);
  if (thread == threads_.end()) return;
  const auto [pid, tid] = thread->second;
  const auto inner = ReadInnerNumber(host_, fmt::format("/proc/{}/task/{}/status", pid, tid));
  if (inner.ok() ? inner->number != theirs.tid : !ThreadIsAlive(thread->second)) threads_.erase(thread);
}

/// A dead thread's numbers are kept, for its last records.
bool PidNamespace::IsAlive(const ThreadIds& theirs) {
  if (theirs.pid <= 0 || theirs.tid <= 0) return true;
  if (const ThreadIds* known = Known(theirs); known != nullptr && ThreadIsAlive(*known)) return true;
  const auto found = stand_ins_.find(theirs);
  if (found != stand_ins_.end() && !found->second.is_final && found->second.next_look > round_) return true;
  // Either it is new, or its number has come again: then the one that was known is another.
  const Sight sight = LookFor(theirs);
  if (sight.presence == Presence::kUnknown) LookedInVain(theirs, false);
  return sight.presence == Presence::kUnknown || (sight.presence == Presence::kThere && ThreadIsAlive(sight.ours));
}

void PidNamespace::LookAgain() {
  ++round_;
  vain_looks_ = 0;
}

bool IsInOurPidNamespace(const HostRoot& host, int32_t pid) {
  const auto theirs = ReadSpace(host, pid);
  const auto ours = host.ReadLink("/proc/self/ns/pid");
  return !theirs.ok() || !ours.ok() || *theirs == *ours;
}

bool HasChildrenElsewhere(const HostRoot& host, int32_t pid) {
  const auto own = ReadSpace(host, pid);
  const auto children = host.ReadLink(fmt::format("/proc/{}/ns/pid_for_children", pid));
  return own.ok() && children.ok() && *own != *children;
}

bool ThreadIsAlive(const ThreadIds& thread) {
  if (thread.pid <= 0 || thread.tid <= 0) return true;
  return ::syscall(SYS_tgkill, thread.pid, thread.tid, 0) == 0 || errno != ESRCH;
}

}  // namespace attune::track
