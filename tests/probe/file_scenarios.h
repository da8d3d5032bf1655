// Locks of files and of streams, for sync_scenarios.c.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static char locked_file[] = "/tmp/attune-locked-XXXXXX";

static void* take_file(void* nothing) {
  const int file = open(locked_file, O_RDWR | O_CLOEXEC);
  printf("%d", flock(file, LOCK_EX));
  printf(" %d", flock(file, LOCK_UN));
  printf(" %d\n", flock(file, LOCK_SH));
  close(file);
  return nothing;
}

static void* take_stream(void* stream) {
  flockfile(stream);
  printf("%d\n", ftrylockfile(stream));  // recursive
  funlockfile(stream);
  funlockfile(stream);
  return NULL;
}

// One thread waits for a stream that another one has locked.
static void streams(void) {
  pthread_t thread;
  FILE* stream = fopen("/dev/null", "w");
  flockfile(stream);
  pthread_create(&thread, NULL, take_stream, stream);
  usleep(20000);
  funlockfile(stream);
  pthread_join(thread, NULL);
  printf("%d\n", ftrylockfile(stream));
  funlockfile(stream);
  fclose(stream);
}

// One thread waits for a file that another one has locked; a child waits for a part of it.
static void files(void) {
  pthread_t thread;
  const int file = mkstemp(locked_file);
  flock(file, LOCK_EX);
  pthread_create(&thread, NULL, take_file, NULL);
  usleep(20000);
  flock(file, LOCK_UN);
  pthread_join(thread, NULL);
  printf("%d\n", lockf(file, F_LOCK, 0));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("%d\n", lockf(file, F_LOCK, 0));
    exit(0);
  }
  usleep(20000);
  int status = 0;
  printf("%d", lockf(file, F_ULOCK, 0));
  waitpid(child, &status, 0);
  printf(" %d\n", status);
  unlink(locked_file);
}
