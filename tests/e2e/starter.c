/* Starts a program in one of many ways: starter WAY PROGRAM. Ends as the program did. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void Exec(const char* way, const char* path) {
  const char* name = strrchr(path, '/') + 1;
  char* arguments[] = {(char*)path, NULL};
  if (strcmp(way, "execve") == 0) execve(path, arguments, environ);
  if (strcmp(way, "execv") == 0) execv(path, arguments);
  if (strcmp(way, "execvp") == 0) execvp(name, arguments);
  if (strcmp(way, "execvpe") == 0) execvpe(name, arguments, environ);
  if (strcmp(way, "execl") == 0) execl(path, path, (char*)NULL);
  if (strcmp(way, "execlp") == 0) execlp(name, path, (char*)NULL);
  if (strcmp(way, "execle") == 0) execle(path, path, (char*)NULL, environ);
  if (strcmp(way, "fexecve") == 0) fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
  if (strcmp(way, "execveat") == 0) execveat(AT_FDCWD, path, arguments, environ, 0);
  perror(way);
  _exit(120);
}

static int Ended(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

static int WaitFor(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return Ended(status);
}

static int Spawn(const char* way, const char* path) {
  char* arguments[] = {(char*)path, NULL};
  pid_t pid = 0;
  const int error = strcmp(way, "posix_spawn") == 0
                        ? posix_spawn(&pid, path, NULL, NULL, arguments, environ)
                        : posix_spawnp(&pid, strrchr(path, '/') + 1, NULL, NULL, arguments, environ);
  if (error != 0) return 121;
  return WaitFor(pid);
}

static int Pipe(const char* path) {
  char text[4096];
  FILE* pipe = popen(path, "r");
  if (pipe == NULL) return 122;
  while (fgets(text, sizeof text, pipe) != NULL) fputs(text, stdout);
  return Ended(pclose(pipe));
}

static int Vfork(const char* path) {
  char* arguments[] = {(char*)path, NULL};
  const pid_t pid = vfork();
  if (pid == 0) {
    execve(path, arguments, environ);
    _exit(123);
  }
  const char* preload = getenv("LD_PRELOAD");
  if (getenv("EXPECT_PRELOAD") != NULL && preload == NULL) return 124; /* the child has changed its parent's */
  return WaitFor(pid);
}

int main(int count, char** arguments) {
  if (count != 3) return 125;
  const char* way = arguments[1];
  const char* path = arguments[2];
  errno = 0;
  if (strcmp(way, "system") == 0) return Ended(system(path));
  if (strcmp(way, "popen") == 0) return Pipe(path);
  if (strcmp(way, "vfork") == 0) return Vfork(path);
  if (strncmp(way, "posix_spawn", 11) == 0) return Spawn(way, path);
  Exec(way, path);
  return 126;
}
