#include "base/privilege.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace attune {
namespace {

constexpr std::array kInEffect{CAP_BPF,          CAP_PERFMON,    CAP_SYS_NICE, CAP_IPC_LOCK,
                               CAP_SYS_RESOURCE, CAP_SYS_PTRACE, CAP_NET_ADMIN};

constexpr uint64_t Bit(int capability) { return uint64_t{1} << capability; }

constexpr uint64_t InEffect() {
  uint64_t set = 0;
  for (const int capability : kInEffect) set |= Bit(capability);
  return set;
}
constexpr uint64_t kRaised = Bit(CAP_DAC_READ_SEARCH) | Bit(CAP_SYSLOG) | Bit(CAP_CHECKPOINT_RESTORE);
constexpr uint64_t kKept = InEffect() | kRaised;

/// Process-wide, set before the first thread: permitted capabilities that are not in effect are so on purpose.
bool g_may_be_raised = false;

struct Capabilities {
  uint64_t effective = 0;
  uint64_t permitted = 0;
  uint64_t inheritable = 0;
};

/// This thread's sets, by the system call: those of threads differ on purpose.
Capabilities Get() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return {};
  const auto whole = [&](auto member) { return data[0].*member | static_cast<uint64_t>(data[1].*member) << 32; };
  return {whole(&__user_cap_data_struct::effective), whole(&__user_cap_data_struct::permitted),
          whole(&__user_cap_data_struct::inheritable)};
}

bool Set(const Capabilities& set) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  for (int i = 0; i < 2; ++i) {
    data[i].effective = static_cast<uint32_t>(set.effective >> (32 * i));
    data[i].permitted = static_cast<uint32_t>(set.permitted >> (32 * i));
    data[i].inheritable = static_cast<uint32_t>(set.inheritable >> (32 * i));
  }
  return syscall(SYS_capset, &header, data) == 0;
}

bool Keep(uint64_t wanted) {
  const uint64_t kept = Get().permitted & wanted;
  return Set({.effective = kept & InEffect(), .permitted = kept, .inheritable = 0});
}

std::optional<uint32_t> NumberIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0' ? std::optional(number) : std::nullopt;
}

Status Become(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  const gid_t gid = entry != nullptr ? entry->pw_gid : NumberIn("SUDO_GID").value_or(uid);
  const int grouped = entry != nullptr ? initgroups(entry->pw_name, gid) : setgroups(1, &gid);
  const bool became = grouped == 0 && setresgid(gid, gid, gid) == 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 &&
                      setresuid(uid, uid, uid) == 0 && prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0 && Keep(kKept);
  if (!became) return ErrnoError("becoming the user who called sudo");
  if (entry == nullptr) return {};
  setenv("HOME", entry->pw_dir, 1);
  setenv("USER", entry->pw_name, 1);
  setenv("LOGNAME", entry->pw_name, 1);
  return {};
}

}  // namespace

bool IsUnderSudo() { return geteuid() == 0 && NumberIn("SUDO_UID").value_or(0) != 0; }

Status EnterInvokingUser() {
  if (IsUnderSudo()) {
    ATTUNE_CHECK_OK(Become(*NumberIn("SUDO_UID")));
    g_may_be_raised = true;
    return {};
  }
  if (geteuid() == 0) return {};
  g_may_be_raised = true;
  // Ambient capabilities go no further than this process.
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  Capabilities now = Get();
  if ((now.permitted | now.inheritable) == 0) return {};
  now.effective = (now.effective | (now.permitted & InEffect())) & ~kRaised;
  now.inheritable = 0;
  return Set(now) ? Status() : Status(ErrnoError("limiting the capabilities of attune"));
}

void DropKeptCapabilities() {
  if (geteuid() != 0) Set({});
}

bool KeepCapabilities(std::span<const int> capabilities) {
  uint64_t wanted = 0;
  for (const int capability : capabilities) wanted |= Bit(capability);
  wanted &= Get().permitted;
  return Set({.effective = wanted, .permitted = wanted, .inheritable = 0});
}

KernelFileRights::KernelFileRights() {
  if (!g_may_be_raised) return;
  Capabilities set = Get();
  const uint64_t raised = set.permitted & ~set.effective & kRaised;
  if (raised == 0) return;
  set.effective |= raised;
  raised_ = Set(set);
}

KernelFileRights::~KernelFileRights() {
  if (!raised_) return;
  const int saved_errno = errno;
  Capabilities set = Get();
  set.effective &= ~kRaised;
  Set(set);
  errno = saved_errno;
}

HandedDownCapabilities::HandedDownCapabilities() {
  if (geteuid() == 0) return;
  Capabilities set = Get();
  set.inheritable = set.permitted & kKept;
  if (!Set(set)) return;
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if ((set.inheritable & Bit(capability)) != 0) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  }
}

HandedDownCapabilities::~HandedDownCapabilities() {
  if (geteuid() == 0) return;
  const int saved_errno = errno;
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  Capabilities set = Get();
  set.inheritable = 0;
  Set(set);
  errno = saved_errno;
}

}  // namespace attune
