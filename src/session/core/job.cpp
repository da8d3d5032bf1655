#include "session/core/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "session/core/session_folders.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

constexpr int64_t kLockLimitNs = 30'000'000'000;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int EnvironmentCount(const char* name) {
  const std::string text = Environment(name);
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count > 0 && count < 100'000 ? count : 0;
}

bool LaunchesJobs(std::string_view name) {
  constexpr std::array<std::string_view, 12> kLaunchers{"mpirun",  "mpiexec",    "orterun",         "orted",
                                                        "prterun", "prted",      "hydra_pmi_proxy", "mpiexec.hydra",
                                                        "srun",    "slurmstepd", "mpirun.openmpi",  "mpirun.mpich"};
  // The kernel cuts names at 15 characters.
  return std::any_of(kLaunchers.begin(), kLaunchers.end(),
                     [&](std::string_view known) { return name == known.substr(0, 15); });
}

/// The PID namespace of this process: a pid names a process together with it.
std::string PidNamespace() {
  const auto link = HostRoot().ReadLink("/proc/self/ns/pid");
  if (!link.ok()) return "";
  const size_t begin = link->find_first_of("0123456789");
  return begin == std::string::npos ? "" : link->substr(begin, link->find(']') - begin);
}

}  // namespace

uint64_t StartTicks(pid_t pid) {
  const auto stat = track::ReadProcStat(HostRoot(), pid);
  // A zombie has ended; it waits for a parent that may never ask.
  const bool runs = stat.ok() && stat->state != 'Z' && stat->state != 'X';
  return runs ? static_cast<uint64_t>(stat->start_ticks) : 0;
}

Job FindJob(const HostRoot& host) {
  Job job;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}) {
    if (job.local_ranks == 0) job.local_ranks = EnvironmentCount(name);
  }
  if (const std::string name = Environment(kJobVariable); !name.empty()) {
    job.key = "named:" + name;
  } else if (const std::string id = Environment("SLURM_JOB_ID"); !id.empty() && !Environment("SLURM_PROCID").empty()) {
    job.key = "slurm:" + id + "." + Environment("SLURM_STEP_ID");
  } else if (const std::string space = Environment("PMIX_NAMESPACE"); !space.empty()) {
    job.key = "pmix:" + space;
  } else {
    int64_t pid = getppid();
    for (int depth = 0; pid > 1 && depth < 64; ++depth) {
      const auto stat = track::ReadProcStat(host, pid);
      if (!stat.ok()) break;
      if (LaunchesJobs(stat->name)) {
        job.key = fmt::format("launcher:{}:{}:{}", PidNamespace(), pid, stat->start_ticks);
        break;
      }
      pid = stat->parent_pid;
    }
  }
  if (job.key.empty()) job.key = fmt::format("own:{}:{}:{}", PidNamespace(), getpid(), StartTicks(getpid()));
  return job;
}

int64_t RankFromEnvironment(std::string_view environment) {
  constexpr std::array<std::string_view, 4> kNames{"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
  const std::vector<std::string_view> entries = Split(environment, std::string_view("\0", 1));
  for (const std::string_view name : kNames) {
    for (const std::string_view entry : entries) {
      if (!entry.starts_with(name)) continue;
      int64_t rank = -1;
      const std::string_view value = entry.substr(name.size());
      const auto [last, error] = std::from_chars(value.data(), value.data() + value.size(), rank);
      if (error == std::errc() && last == value.data() + value.size() && rank >= 0) return rank;
    }
  }
  return -1;
}

std::string ToJson(const SessionInfo& info) {
  return nlohmann::json{{"id", info.id},
                        {"key", info.key},
                        {"pid", info.pid},
                        {"folder", info.folder},
                        {"rings", info.rings},
                        {"recording", info.recording},
                        {"temporary", info.temporary},
                        {"url", info.url},
                        {"program", info.program},
                        {"start_real_ns", info.start_real_ns}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<SessionInfo> SessionInfoFromJson(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Error corrupt{Errc::kCorrupt, "not a session's description", ""};
  if (!json.is_object()) return corrupt;
  SessionInfo info;
  const auto text_field = [&](const char* key, std::string& target) {
    if (json.contains(key) && json[key].is_string()) target = json[key].get<std::string>();
  };
  text_field("id", info.id);
  text_field("key", info.key);
  text_field("folder", info.folder);
  text_field("rings", info.rings);
  text_field("recording", info.recording);
  text_field("url", info.url);
  text_field("program", info.program);
  if (!json.contains("pid") || !json["pid"].is_number_integer()) return corrupt;
  info.pid = json["pid"].get<pid_t>();
  info.temporary = json.value("temporary", nlohmann::json(false)) == true;
  if (json.contains("start_real_ns") && json["start_real_ns"].is_number_integer())
    info.start_real_ns = json["start_real_ns"].get<int64_t>();
  return info;
}

Result<std::vector<SessionInfo>> LiveSessions() {
  ATTUNE_TRY(const SessionFolders folders, CollectAbandoned(Abandoned::kRemove));
  std::vector<SessionInfo> sessions;
  for (const std::string& folder : folders.living) {
    const auto text = HostRoot().ReadFile(folder + "/info.json");
    if (!text.ok()) continue;
    auto info = SessionInfoFromJson(*text);
    if (info.ok() && info->folder == folder) sessions.push_back(*std::move(info));
  }
  return sessions;
}

Result<SessionInfo> FindSession(const std::string& wanted) {
  ATTUNE_TRY(std::vector<SessionInfo> sessions, LiveSessions());
  if (wanted.empty() && sessions.size() == 1) return sessions.front();
  std::string known;
  for (SessionInfo& session : sessions) {
    if (session.id == wanted) return std::move(session);
    known += (known.empty() ? "" : ", ") + session.id + " (" + session.program + ")";
  }
  if (sessions.empty())
    return Error{Errc::kNotFound, "no session of yours is running", "start one with: attune run -- PROGRAM"};
  if (wanted.empty())
    return Error{Errc::kInvalidArgument, "several sessions are running", "choose one with --session: " + known};
  return Error{Errc::kNotFound, "there is no session '" + wanted + "'", "running: " + known};
}

Result<UniqueFd> LockSessions() {
  ATTUNE_TRY(const std::string base, SessionBase());
  UniqueFd lock(open((base + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return ErrnoError(base + "/lock");
  // Whoever has it starts a session, or has been stopped while doing so.
  const int64_t limit_ns = MonotonicNs() + kLockLimitNs;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoError(base + "/lock");
    if (MonotonicNs() >= limit_ns)
      return Error{Errc::kTimeout, base + "/lock: another attune has been starting a session for half a minute",
                   "is one of its processes stopped?"};
    constexpr timespec kPause{0, 2'000'000};
    nanosleep(&kPause, nullptr);
  }
  return lock;
}

}  // namespace attune::session
