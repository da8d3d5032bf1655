#include "session/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "track/process_usage.h"

namespace attune::session {
namespace {

namespace fs = std::filesystem;

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

std::string RingBase() { return fmt::format("/dev/shm/attune-{}", geteuid()); }

/// A folder of ours alone. Somebody else could have made it first in a shared place, which is refused.
Status MakePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoError("making the folder " + path);
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return ErrnoError(path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 066) != 0) {
    return Error{Errc::kPermission, path + " is not a private folder of yours",
                 "remove it, or set XDG_RUNTIME_DIR to a folder of yours"};
  }
  return {};
}

/// Rings whose session (named by its pid) has ended and whose description is gone too: a runtime folder ends with its
/// login.
void CollectRings() {
  const auto names = HostRoot().List(RingBase());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && StartTicks(pid) == 0)
      RemoveFolder(RingBase() + "/" + name);
  }
}

bool Alive(const SessionInfo& info) {
  return info.pid > 0 && StartTicks(info.pid) == info.start_ticks && info.start_ticks != 0;
}

/// What a session that was killed left: its folder and its rings. Its recording stays.
void Collect(const SessionInfo& info, const std::string& base) {
  if (info.temporary && !info.recording.empty() && fs::path(info.recording).parent_path() == fs::path(base) / info.id) {
    unlink(info.recording.c_str());
  }
  RemoveFolder(base + "/" + info.id);
  RemoveFolder(RingBase() + "/" + info.id);
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
        job.key = fmt::format("launcher:{}:{}", pid, stat->start_ticks);
        break;
      }
      pid = stat->parent_pid;
    }
  }
  if (job.key.empty()) job.key = fmt::format("own:{}:{}", getpid(), StartTicks(getpid()));
  return job;
}

int64_t RankFromEnvironment(std::string_view environment) {
  constexpr std::array<std::string_view, 4> kNames{"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
  for (const std::string_view name : kNames) {
    for (size_t at = 0; at < environment.size();) {
      const size_t end = std::min(environment.find('\0', at), environment.size());
      const std::string_view entry = environment.substr(at, end - at);
      at = end + 1;
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
                        {"start_ticks", info.start_ticks},
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
  if (!json.contains("pid") || !json["pid"].is_number_integer() || !json.contains("start_ticks") ||
      !json["start_ticks"].is_number_unsigned()) {
    return corrupt;
  }
  info.pid = json["pid"].get<pid_t>();
  info.start_ticks = json["start_ticks"].get<uint64_t>();
  info.temporary = json.value("temporary", nlohmann::json(false)) == true;
  if (json.contains("start_real_ns") && json["start_real_ns"].is_number_integer())
    info.start_real_ns = json["start_real_ns"].get<int64_t>();
  return info;
}

Result<std::string> SessionBase() {
  std::string base = Environment("XDG_RUNTIME_DIR");
  struct stat status{};
  const bool usable = !base.empty() && stat(base.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == geteuid() && access(base.c_str(), W_OK) == 0;
  base = usable ? base + "/attune" : fmt::format("/tmp/attune-{}", geteuid());
  ATTUNE_CHECK_OK(MakePrivateFolder(base));
  return base;
}

Result<std::vector<SessionInfo>> LiveSessions() {
  ATTUNE_TRY(const std::string base, SessionBase());
  std::vector<SessionInfo> sessions;
  ATTUNE_TRY(const std::vector<std::string> names, HostRoot().List(base));
  for (const std::string& name : names) {
    const auto text = HostRoot().ReadFile(base + "/" + name + "/info.json");
    if (!text.ok()) continue;
    auto info = SessionInfoFromJson(*text);
    if (!info.ok() || info->id != name) continue;
    if (Alive(*info)) {
      sessions.push_back(*std::move(info));
    } else {
      Collect(*info, base);
    }
  }
  CollectRings();
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
                   "is one of your attune processes stopped?"};
    constexpr timespec kPause{0, 2'000'000};
    nanosleep(&kPause, nullptr);
  }
  return lock;
}

Result<std::string> MakeRingFolder(const std::string& id, uid_t uid, gid_t gid) {
  const std::string base = RingBase();
  ATTUNE_CHECK_OK(MakePrivateFolder(base));
  const std::string folder = base + "/" + id;
  ATTUNE_CHECK_OK(MakePrivateFolder(folder));
  if (uid != geteuid()) {
    // The program runs as somebody else (sudo): it must be able to reach its folder, and only that.
    if (chmod(base.c_str(), 0711) != 0 || chown(folder.c_str(), uid, gid) != 0) return ErrnoError(folder);
  }
  return folder;
}

void RemoveFolder(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) fs::remove_all(path, ignored);
}

}  // namespace attune::session
