// Programs that read, write and synchronise, without knowing of attune. What they print is the same with it and
// without it.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scenario.h"

// What a compiler calls where buffers' sizes are known (_FORTIFY_SOURCE).
ssize_t read_chk(int file, void* to, size_t bytes, size_t room) __asm__("__read_chk");
ssize_t pread_chk(int file, void* to, size_t bytes, off_t at, size_t room) __asm__("__pread_chk");
ssize_t pread64_chk(int file, void* to, size_t bytes, off_t at, size_t room) __asm__("__pread64_chk");

static int ends[2];

static void show(const char* what, ssize_t result) { printf("%s %s\n", what, said(result)); }

// Each function, where it can do what it shall and where it cannot.
static void all(int file) {
  char buffer[8];
  struct iovec parts[2] = {{buffer, 4}, {buffer + 4, 4}};
  for (int i = 0; i < 8; ++i) buffer[i] = (char)('a' + i);
  show("write", write(file, buffer, 8));
  show("writev", writev(file, parts, 2));
  show("pwrite", pwrite(file, buffer, 8, 16));
  show("pwrite64", pwrite64(file, buffer, 8, 24));
  show("pwritev", pwritev(file, parts, 2, 32));
  show("pwritev64", pwritev64(file, parts, 2, 40));
  show("fsync", fsync(file));  // NOLINT(clang-analyzer-unix.StdCLibraryFunctions): also where it cannot
  show("fdatasync", fdatasync(file));
  (void)lseek(file, 0, SEEK_SET);
  show("read", read(file, buffer, 8));
  show("__read_chk", read_chk(file, buffer, 3, 8));
  show("readv", readv(file, parts, 2));
  show("pread", pread(file, buffer, 8, 44));
  show("pread64", pread64(file, buffer, 8, 1));
  show("__pread_chk", pread_chk(file, buffer, 5, 2, 8));
  show("__pread64_chk", pread64_chk(file, buffer, 5, 3, 8));
  show("preadv", preadv(file, parts, 2, 40));
  show("preadv64", preadv64(file, parts, 2, 100));
  printf("%.8s\n", buffer);
}

static void until_it_woke_me(void) {
  while (__atomic_load_n(&sleeper, __ATOMIC_ACQUIRE) != 0) sched_yield();
}

static char room_for_all[1 << 16];
static void* read_in_all_ways(void* nothing) {
  char buffer[8];
  struct iovec part = {buffer, 8};
  for (int way = 0; way < 3; ++way) {
    about_to_sleep();
    const ssize_t got = way == 0   ? read(ends[0], buffer, 8)
                        : way == 1 ? read_chk(ends[0], buffer, 8, sizeof buffer)
                                   : readv(ends[0], &part, 1);
    show("got", got);
    until_it_woke_me();
  }
  return nothing;
}

// A thread that waits in each of three calls until a timer, which is no channel, helps it.
static void waits(void) {
  pthread_t thread;
  const struct itimerspec at_once = {.it_value = {.tv_nsec = 1}};
  ends[0] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  pthread_create(&thread, NULL, read_in_all_ways, NULL);
  for (int way = 0; way < 3; ++way) {
    wait_until_asleep();
    if (timerfd_settime(ends[0], 0, &at_once, NULL) != 0) exit(1);
  }
  pthread_join(thread, NULL);
}

static void cleanup(void* text) { puts(text); }
static void* read_for_ever(void* nothing) {
  pthread_cleanup_push(cleanup, "cleaned");
  about_to_sleep();
  (void)!read(ends[0], room_for_all, 1);
  pthread_cleanup_pop(0);
  return nothing;
}

static void on_signal(int number) {
  errno = 0;
  (void)number;
}

static void* read_interrupted(void* nothing) {
  about_to_sleep();
  show("interrupted", read(ends[0], room_for_all, 1));
  return nothing;
}

// Calls that are left: by cancellation, by a signal.
static void left(void) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, read_for_ever, NULL);
  wait_until_asleep();
  pthread_cancel(thread);
  pthread_join(thread, &result);
  printf("%d\n", result == PTHREAD_CANCELED);
  const struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  pthread_create(&thread, NULL, read_interrupted, NULL);
  wait_until_asleep();
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (pipe(ends) != 0) return 2;
  if (strcmp(what, "all") == 0) {
    FILE* file = tmpfile();
    if (file == NULL) return 3;
    all(fileno(file));
    all(-1);
    close(ends[1]);
    all(ends[0]);
    fclose(file);
  }
  if (strcmp(what, "waits") == 0) waits();
  if (strcmp(what, "left") == 0) left();
  return fflush(stdout);
}
