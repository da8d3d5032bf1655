#include "session/core/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

namespace attune::session {

void LeaveLimits() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_LOCKS, RLIMIT_MEMLOCK,
                              RLIMIT_MSGQUEUE, RLIMIT_NPROC, RLIMIT_SIGPENDING}) {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(resource, &limit) == 0 || getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGXCPU, SIG_IGN);
  // Threads of the program have files each; the usual soft limit of 1024 is there for programs that use select().
  constexpr rlim_t kEnoughFiles = 65'536;
  rlimit files{kEnoughFiles, kEnoughFiles};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t wanted = std::max(files.rlim_cur, std::min(files.rlim_max, kEnoughFiles));
  const rlimit more{std::max(wanted, kEnoughFiles), std::max(files.rlim_max, kEnoughFiles)};
  const rlimit allowed{wanted, files.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &more) != 0) setrlimit(RLIMIT_NOFILE, &allowed);
}

}  // namespace attune::session
