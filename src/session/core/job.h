#pragma once
/// The session that an `attune run` belongs to, and the folders of sessions on this host.
///
///   BASE/ID/            0700, locked by the session; BASE: SessionBase(); ID: the session process's pid
///     ctl               the session's control socket, 0600
///     info.json         SessionInfo; there when the session can be reached
///   BASE/lock           held while somebody looks for a session or starts one
///   /dev/shm/attune-UID-RANDOM/   0700, locked by the session: the rings, one file an observed process

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::session {

/// Variable that names the job, if set: a run of the console is a job of its own, wherever the console itself was
/// started.
inline constexpr const char* kJobVariable = "ATTUNE_JOB";

/// The job that this process is part of: all `attune run` of one job on one host share a session.
struct Job {
  std::string key;      ///< "slurm:4711.0", "pmix:...", "launcher:NAMESPACE:PID:START"; "own:…" for no job
  int local_ranks = 0;  ///< how many launchers will join on this host, where the environment tells; 0: not known
};
/// From the environment (ATTUNE_JOB, SLURM_JOB_ID, PMIX_NAMESPACE) and the nearest ancestor that launches processes
/// (mpirun, srun, …).
Job FindJob(const HostRoot& host);

/// MPI rank from the environment of a process ("NAME=VALUE" strings separated by NULs); -1: none.
int64_t RankFromEnvironment(std::string_view environment);

/// Facts of a session for those who look for it.
struct SessionInfo {
  std::string id;
  std::string key;
  pid_t pid = 0;  ///< in the session's PID namespace
  std::string folder;
  std::string rings;
  std::string recording;   ///< absolute path
  bool temporary = false;  ///< the recording goes away with the session
  std::string url;         ///< page's address; empty: none is served
  std::string program;
  int64_t start_real_ns = 0;
};
std::string ToJson(const SessionInfo& info);
Result<SessionInfo> SessionInfoFromJson(std::string_view text);

/// All sessions of this user that can be reached, also those of other PID namespaces that share the folders. What dead
/// ones left behind (folders, rings) is removed on the way.
Result<std::vector<SessionInfo>> LiveSessions();
/// The session that `wanted` names (an id, or empty: the only one).
Result<SessionInfo> FindSession(const std::string& wanted);

/// Held while a session is looked for or started, so that ranks that start together end up in one.
Result<UniqueFd> LockSessions();

/// Start time of a process in clock ticks since boot (/proc/PID/stat); 0: it has ended.
uint64_t StartTicks(pid_t pid);

}  // namespace attune::session
