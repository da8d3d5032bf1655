#include "track/pid_namespace.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "track/process_usage.h"

namespace attune::track {
namespace {

constexpr size_t kMostThreads = 65536;

/// The last number of the line NSpid: as a thread sees itself. 0: there is none
int32_t InnermostPid(const HostRoot& host, const std::string& path) {
  const auto status = host.ReadFile(path, 16384);
  if (!status.ok()) return 0;
  size_t at = status->find("\nNSpid:");
  if (at == std::string::npos) return 0;
  const size_t end = std::min(status->find('\n', at + 1), status->size());
  at = status->find_last_of(" \t:", end - 1) + 1;
  int32_t number = 0;
  std::from_chars(status->data() + at, status->data() + end, number);
  return number;
}

std::string SpaceOf(const HostRoot& host, int64_t pid) {
  return host.ReadLink(fmt::format("/proc/{}/ns/pid", pid)).value_or("");
}

}  // namespace

PidNamespace::PidNamespace(HostRoot host, int32_t theirs, int32_t ours)
    : host_(std::move(host)), known_(ours), space_(SpaceOf(host_, ours)), processes_{{theirs, ours}} {}

/// 0: none lives
int32_t PidNamespace::ProcessOf(int32_t theirs) {
  if (const auto found = processes_.find(theirs); found != processes_.end()) return found->second;
  const auto all = ListProcesses(host_);
  if (!all.ok() || space_.empty()) return 0;
  for (const int64_t pid : *all) {
    if (SpaceOf(host_, pid) != space_ || InnermostPid(host_, fmt::format("/proc/{}/status", pid)) != theirs) continue;
    if (processes_.size() < kMostThreads) processes_[theirs] = static_cast<int32_t>(pid);
    return static_cast<int32_t>(pid);
  }
  return 0;
}

/// Learns the numbers of all threads of its process.
bool PidNamespace::LookFor(const ThreadIds& theirs) {
  const int32_t pid = ProcessOf(theirs.pid);
  const auto tids = ListThreads(host_, pid);
  if (pid == 0 || !tids.ok() || threads_.size() > kMostThreads) return false;
  for (const int64_t tid : *tids) {
    const int32_t inner = InnermostPid(host_, fmt::format("/proc/{}/task/{}/status", pid, tid));
    if (inner > 0) threads_[{theirs.pid, inner}] = {pid, static_cast<int32_t>(tid)};
  }
  return threads_.contains(theirs);
}

ThreadIds PidNamespace::Ours(const ThreadIds& theirs) {
  if (theirs.pid <= 0) return theirs;
  if (const auto found = threads_.find(theirs); found != threads_.end()) return found->second;
  if (const auto found = gone_.find(theirs); found != gone_.end()) return found->second;
  if (LookFor(theirs)) return threads_[theirs];
  const auto process = processes_.find(theirs.pid);
  const int32_t pid = process != processes_.end() ? process->second : known_;
  // The first thread has the number of its process.
  const ThreadIds ids{pid, theirs.tid == theirs.pid ? pid : theirs.tid};
  if (theirs.tid != theirs.pid || process == processes_.end()) ++unknown_;
  if (gone_.size() < kMostThreads) gone_[theirs] = ids;
  return ids;
}

bool PidNamespace::IsAlive(const ThreadIds& theirs) {
  if (theirs.pid <= 0 || theirs.tid <= 0) return true;
  if (!threads_.contains(theirs) && !LookFor(theirs)) return false;
  return ThreadIsAlive(threads_[theirs]);
}

bool ThreadIsAlive(const ThreadIds& thread) {
  if (thread.pid <= 0 || thread.tid <= 0) return true;
  return ::syscall(SYS_tgkill, thread.pid, thread.tid, 0) == 0 || errno != ESRCH;
}

}  // namespace attune::track
