#pragma once
/// Privileges of this process beyond its user's, kept to the least (docs/privilege.md).
///
/// Under sudo attune is the user who called it from the first instruction on, with the capabilities that observing
/// needs. Files are therefore opened, made and owned with that user's rights everywhere, without a check of ours.

#include <span>

#include "base/result.h"

namespace attune {

/// Becomes the user who called sudo (SUDO_UID) for good: user, groups, HOME, USER and LOGNAME. Keeps of root's
/// capabilities BPF, PERFMON, SYS_NICE, IPC_LOCK, SYS_RESOURCE, SYS_PTRACE and NET_ADMIN, and DAC_READ_SEARCH,
/// SYSLOG and CHECKPOINT_RESTORE for KernelFileRights alone. Does nothing where attune is not root or root itself
/// called it. What a parent handed down (HandedDownCapabilities) is kept in the same way. @pre no other threads
/// Error: kPermission; then nothing may be done as root either.
Status EnterInvokingUser();
/// Whether EnterInvokingUser would change the user.
bool IsUnderSudo();

/// Gives up all capabilities of a process that became another user; those of root and of files stay. @pre no other
/// threads
void DropKeptCapabilities();

/// Keeps no other capabilities than these, in effect. @pre no other threads
bool KeepCapabilities(std::span<const int> capabilities);

/// While it exists, this thread may read any file, for files of the kernel that belong to root and whose path is
/// attune's own (/proc/PID/environ of a followed process, energy_uj), with the addresses of /proc/kallsyms, and files
/// by /proc/PID/map_files. Never around a path that somebody gave. Does nothing where the process never had the right.
class KernelFileRights {
 public:
  KernelFileRights();
  ~KernelFileRights();
  KernelFileRights(const KernelFileRights&) = delete;
  KernelFileRights& operator=(const KernelFileRights&) = delete;

 private:
  bool raised_ = false;
};

/// While it exists, what this thread executes keeps the capabilities: for attune itself only.
class HandedDownCapabilities {
 public:
  HandedDownCapabilities();
  ~HandedDownCapabilities();
  HandedDownCapabilities(const HandedDownCapabilities&) = delete;
  HandedDownCapabilities& operator=(const HandedDownCapabilities&) = delete;
};

}  // namespace attune
