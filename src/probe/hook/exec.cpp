/// Starting other programs. The probe library is taken out of the LD_PRELOAD of those that would not start with it
/// (fitness.h); all others are started as they would be without us.
///
/// A child of vfork calls these on its parent's stack and in its parent's memory: nothing is changed there, and what is
/// made lies on the stack, where the C library's own functions have theirs.

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/hook/fitness.h"
#include "probe/hook/real.h"
#include "probe/hook/timed_call.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

/// An environment of more entries, or longer ones, stays as it is: there may be no stack for it.
constexpr unsigned long kMostPointers = 4096;
constexpr unsigned long kMostCharacters = 16384;

/// Starts a program with an environment that lacks the probe library.
template <class Start>
[[gnu::noinline]] int StartWithout(Words environment, const Start& start) {
  const EnvironmentSize size = SizeWithoutProbe(environment);
  if (size.pointers > kMostPointers || size.characters > kMostCharacters) return start(environment);
  auto** pointers = static_cast<char**>(__builtin_alloca(size.pointers * sizeof(char*)));
  auto* characters = static_cast<char*>(__builtin_alloca(size.characters));
  return start(WithoutProbe(environment, pointers, characters));
}

template <class Start>
[[gnu::always_inline]] inline int StartIn(Words environment, int folder, const char* path, const Start& start) {
  if (path == nullptr || MayBePreloaded(FindPreloaded(environment), folder, path)) return start(environment);
  return StartWithout(environment, start);
}

template <class Start>
[[gnu::always_inline]] inline int StartOnPath(Words environment, const char* file, const Start& start) {
  if (file == nullptr || MayBePreloadedOnPath(FindPreloaded(environment), file)) return start(environment);
  return StartWithout(environment, start);
}

/// The arguments of execl and its like: counted, and then copied.
unsigned long CountArguments(va_list arguments) {
  unsigned long count = 1;  // the first is a named parameter
  while (va_arg(arguments, char*) != nullptr) ++count;
  return count;
}
void CopyArguments(char** to, const char* first, va_list arguments) {
  *to++ = const_cast<char*>(first);
  while ((*to++ = va_arg(arguments, char*)) != nullptr) {
  }
}

/// The shell of system() and popen() gets the program's own environment, which those take themselves. Where the shell
/// does not start with the probe library, nothing else does that is started from here.
void PrepareForShell() {
  if (!MayBePreloaded(FindPreloaded(environ), AT_FDCWD, "/bin/sh")) LeaveOwnEnvironment();
}

}  // namespace

ATTUNE_HOOK int execve(const char* path, Words arguments, Words environment) {
  return StartIn(environment, AT_FDCWD, path, [=](Words own) { return g_real.execve(path, arguments, own); });
}
ATTUNE_HOOK int execv(const char* path, Words arguments) {
  return StartIn(environ, AT_FDCWD, path, [=](Words own) {
    return own == environ ? g_real.execv(path, arguments) : g_real.execve(path, arguments, own);
  });
}
ATTUNE_HOOK int execvp(const char* file, Words arguments) {
  return StartOnPath(environ, file, [=](Words own) {
    return own == environ ? g_real.execvp(file, arguments) : g_real.execvpe(file, arguments, own);
  });
}
ATTUNE_HOOK int execvpe(const char* file, Words arguments, Words environment) {
  return StartOnPath(environment, file, [=](Words own) { return g_real.execvpe(file, arguments, own); });
}
ATTUNE_HOOK int fexecve(int file, Words arguments, Words environment) {
  return StartIn(environment, file, "", [=](Words own) { return g_real.fexecve(file, arguments, own); });
}
ATTUNE_HOOK int execveat(int folder, const char* path, Words arguments, Words environment, int flags) {
  return StartIn(environment, folder, path,
                 [=](Words own) { return g_real.execveat(folder, path, arguments, own, flags); });
}

#define ATTUNE_EXEC_LIST(first)                                                          \
  va_list list;                                                                          \
  va_start(list, first);                                                                 \
  const unsigned long count = CountArguments(list);                                      \
  va_end(list);                                                                          \
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                                 \
  CopyArguments(arguments, first, list)

ATTUNE_HOOK int execl(const char* path, const char* first, ...) {
  ATTUNE_EXEC_LIST(first);
  va_end(list);
  return execv(path, arguments);
}
ATTUNE_HOOK int execlp(const char* file, const char* first, ...) {
  ATTUNE_EXEC_LIST(first);
  va_end(list);
  return execvp(file, arguments);
}
ATTUNE_HOOK int execle(const char* path, const char* first, ...) {
  ATTUNE_EXEC_LIST(first);
  Words environment = va_arg(list, Words);
  va_end(list);
  return execve(path, arguments, environment);
}
#undef ATTUNE_EXEC_LIST

ATTUNE_HOOK int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, Words arguments, Words environment) {
  return StartIn(environment, AT_FDCWD, path,
                 [=](Words own) { return g_real.posix_spawn(pid, path, actions, attributes, arguments, own); });
}
ATTUNE_HOOK int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, Words arguments, Words environment) {
  return StartOnPath(environment, file,
                     [=](Words own) { return g_real.posix_spawnp(pid, file, actions, attributes, arguments, own); });
}

ATTUNE_HOOK int system(const char* command) {
  PrepareForShell();
  return TimedCall(
      SyncKind::kChild, ATTUNE_SITE, [=] { return g_real.system(command); }, [](int result) { return result != -1; },
      Records::kLongCalls);
}
ATTUNE_HOOK FILE* popen(const char* command, const char* mode) {
  PrepareForShell();
  return g_real.popen(command, mode);
}

}  // namespace attune::probe::hook
