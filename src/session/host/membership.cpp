#include "session/host/membership.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/root_helper.h"

namespace attune::session {
namespace {

/// A request is one short line.
constexpr size_t kMaxTextBytes = 2048;

std::string RequestText(std::string text) {
  text.resize(std::min(text.size(), kMaxTextBytes));
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// One line of the session process. @param pid of it; 0: not known yet
Result<std::string> ReadLine(int fd, pid_t pid) {
  std::string line;
  char byte = 0;
  while (true) {
    ATTUNE_CHECK_OK(AwaitReadable(fd, pid));
    const ssize_t n = read(fd, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{Errc::kInternal, "the session process ended before it was ready", ""};
    if (byte == '\n') return line;
    line.push_back(byte);
  }
}

/// Closes every descriptor but the one for the first line and the root helper's: the program's pipes among them must
/// not be held open. @return the first
int KeepOnly(int ready) {
  constexpr int kReady = 3, kHelper = 4;
  // Out of the way of both numbers first.
  const int line = fcntl(ready, F_DUPFD_CLOEXEC, kHelper + 1);
  const int helper = RootHelperSocket() < 0 ? -1 : fcntl(RootHelperSocket(), F_DUPFD_CLOEXEC, kHelper + 1);
  SetRootHelperSocket(-1);  // it may have either number
  dup3(line, kReady, O_CLOEXEC);
  if (helper >= 0) SetRootHelperSocket(dup3(helper, kHelper, O_CLOEXEC));
  close_range(helper >= 0 ? kHelper + 1 : kReady + 1, ~0U, 0);
  return kReady;
}

/// Detaches: a grandchild in its own process session, without our descriptors.
Result<UniqueFd> ForkSession(const SessionOptions& options, const Job& job) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return ErrnoError("pipe");
  UniqueFd ready_read(ready[0]);
  UniqueFd ready_write(ready[1]);
  const pid_t first = fork();
  if (first < 0) return ErrnoError("fork");
  if (first > 0) {
    waitpid(first, nullptr, 0);
    return ready_read;
  }
  setsid();
  if (fork() != 0) _exit(0);
  const int kept = KeepOnly(ready_write.release());
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    if (null > 3) close(null);
  }
  dprintf(kept, "%d\n", static_cast<int>(getpid()));
  [[maybe_unused]] const int rc = chdir("/");
  umask(0077);
  RunHostSession(options, job, kept);
  _exit(0);
}

Result<SessionInfo> StartSession(const SessionOptions& options, const Job& job, std::vector<std::string>& notes,
                                 bool& refused) {
  ATTUNE_TRY(const UniqueFd ready, ForkSession(options, job));
  ATTUNE_TRY(const std::string pid, ReadLine(ready.get(), 0));
  // Then {"ok":true,"notes":[...],"info":{...}} or an error reply.
  ATTUNE_TRY(const std::string line, ReadLine(ready.get(), std::atoi(pid.c_str())));
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return Error{Errc::kInternal, "the session's first line is not JSON", ""};
  if (json.value("ok", false)) {
    for (const auto& note : json["notes"]) notes.push_back(note.get<std::string>());
    return SessionInfoFromJson(json["info"].dump());
  }
  refused = json.value("refused", false);
  return ErrorFromReply(line);
}

}  // namespace

Result<Membership> Membership::JoinOrStart(const SessionOptions& options, bool& refused) {
  refused = false;
  const Job job = FindJob(HostRoot());
  ATTUNE_TRY(const UniqueFd lock, LockSessions());
  ATTUNE_TRY(const std::vector<SessionInfo> sessions, LiveSessions());
  const char* outer = std::getenv("ATTUNE_SESSION");  // run by a program that is observed already
  Membership member;
  for (const SessionInfo& session : sessions) {
    if (session.key != job.key && (outer == nullptr || session.folder != outer)) continue;
    auto client = ControlClient::Connect(session.folder + "/ctl");
    if (!client.ok()) continue;  // it is about to end
    member.client_ = *std::move(client);
    if (!member.client_.Ask(fmt::format("join {}", getpid())).ok()) continue;
    member.info_ = session;
    return member;
  }
  ATTUNE_TRY(member.info_, StartSession(options, job, member.notes_, refused));
  member.started_it_ = true;
  ATTUNE_TRY(member.client_, ControlClient::Connect(member.info_.folder + "/ctl"));
  ATTUNE_CHECK_OK(member.client_.Ask(fmt::format("join {}", getpid())));
  return member;
}

std::vector<std::pair<std::string, std::string>> Membership::ProgramEnvironment(Level level) const {
  return {
      {"ATTUNE_SESSION", info_.folder}, {"ATTUNE_RINGS", info_.rings}, {"ATTUNE_LEVEL", std::string(ToString(level))}};
}

Status Membership::Tell(const std::string& line) {
  ATTUNE_CHECK_OK(client_.Ask(line));
  return {};
}

Status Membership::Started(pid_t pid, int64_t start_ns, std::span<const std::string> command) {
  return Tell(fmt::format("started {} {} {}", pid, start_ns, RequestText(fmt::format("{}", fmt::join(command, " ")))));
}

Status Membership::Exited(pid_t pid, const ExitStatus& status) {
  return Tell(fmt::format("exited {} {} {} {} {} {} {} {} {} {} {}", pid, status.end_ns, status.code, status.signal,
                          status.user_ns, status.system_ns, status.minor_faults, status.major_faults,
                          status.voluntary_switches, status.involuntary_switches, status.max_rss_bytes));
}

Status Membership::Unseen(const std::string& what) { return Tell("unseen " + RequestText(what)); }
Status Membership::Running(pid_t pid) { return Tell(fmt::format("running {}", pid)); }
Status Membership::Failed(pid_t pid) { return Tell(fmt::format("failed {}", pid)); }
Status Membership::Attach(pid_t pid) { return Tell(fmt::format("attach {}", pid)); }

Status Membership::TakeEnd() {
  ATTUNE_TRY(const std::string line, client_.Receive());
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_object() && json.value("finished", false)) return {};
  return ErrorFromReply(line);
}

Result<bool> Membership::Leave() {
  ATTUNE_TRY(const std::string reply, client_.Ask("leave"));
  const nlohmann::json json = nlohmann::json::parse(reply, nullptr, false);
  return json.value("finished", false);
}

}  // namespace attune::session
