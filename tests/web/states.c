// Every state that the account of a thread can have, each for a tenth of a second or more: a thread for each, named
// after it. What a thread waits for is time that passes, so that it runs alike on any number of CPUs.

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void rest_ms(long ms) {
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute(void) {
  static volatile unsigned long sum;
  while (cpu_s() < 0.15) {
    for (unsigned i = 0; i < 100000; ++i) sum = sum + i;
  }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hold(void) {
  pthread_mutex_lock(&lock);
  rest_ms(200);
  pthread_mutex_unlock(&lock);
}

static void wait_for_lock(void) {
  rest_ms(50);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}

static pthread_mutex_t flag_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flag_is_set = PTHREAD_COND_INITIALIZER;
static int flag;

static void wait_for_flag(void) {
  pthread_mutex_lock(&flag_lock);
  while (!flag) pthread_cond_wait(&flag_is_set, &flag_lock);
  pthread_mutex_unlock(&flag_lock);
}

static pthread_barrier_t meeting;
static sem_t permits;
static int pipe_ends[2], socket_ends[2], event, terminal, typist;

static void meet(void) { pthread_barrier_wait(&meeting); }
static void acquire(void) { sem_wait(&permits); }

static void call_futex(void) {
  static int word;
  const struct timespec limit = {0, 150000000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
}

static void sleeps(void) { rest_ms(150); }

static void polls(void) {
  struct pollfd none = {.fd = -1, .events = POLLIN};
  poll(&none, 1, 150);
}

static void read_one(int fd) {
  char byte[8];
  if (read(fd, byte, sizeof byte) <= 0) exit(2);
}

static void read_pipe(void) { read_one(pipe_ends[0]); }
static void read_socket(void) { read_one(socket_ends[0]); }
static void read_event(void) { read_one(event); }
static void read_terminal(void) { read_one(terminal); }

static void write_file(void) {
  static char block[1 << 20];
  FILE* file = tmpfile();
  if (file == NULL) exit(2);
  for (int i = 0; i < 8; ++i) {
    memset(block, i, sizeof block);
    if (write(fileno(file), block, sizeof block) < 0) exit(2);
    fsync(fileno(file));
  }
  fclose(file);
}

/// A child that sleeps, is stopped, and goes on.
static void wait_for_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    rest_ms(50);
    _exit(0);
  }
  rest_ms(10);
  kill(child, SIGSTOP);
  rest_ms(150);
  kill(child, SIGCONT);
  waitpid(child, NULL, 0);
}

static void wait_for_signal(void) {
  const struct timespec limit = {0, 150000000};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigtimedwait(&set, NULL, &limit);
}

static void wait_in_another_call(void) {
  const struct timespec limit = {0, 150000000};
  struct sembuf acquire_one = {.sem_num = 0, .sem_op = -1, .sem_flg = 0};
  const int set = semget(IPC_PRIVATE, 1, 0600);
  if (set < 0) exit(2);
  semtimedop(set, &acquire_one, 1, &limit);
  semctl(set, 0, IPC_RMID);
}

struct role {
  const char* name;
  void (*run)(void);
};

static void* run(void* role) {
  pthread_setname_np(pthread_self(), ((const struct role*)role)->name);
  ((const struct role*)role)->run();
  return NULL;
}

static void prepare(void) {
  pthread_barrier_init(&meeting, NULL, 2);
  sem_init(&permits, 0, 0);
  event = eventfd(0, EFD_CLOEXEC);
  terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pipe(pipe_ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) != 0) exit(2);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) exit(2);
  typist = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (typist < 0 || event < 0) exit(2);
}

/// Lets all go on that wait for the first thread.
static void release(void) {
  const uint64_t one = 1;
  pthread_mutex_lock(&flag_lock);
  flag = 1;
  pthread_cond_broadcast(&flag_is_set);
  pthread_mutex_unlock(&flag_lock);
  pthread_barrier_wait(&meeting);
  sem_post(&permits);
  if (write(pipe_ends[1], "x", 1) != 1 || write(socket_ends[1], "x", 1) != 1) exit(2);
  if (write(event, &one, sizeof one) < 0 || write(typist, "x\n", 2) < 0) exit(2);
}

int main(void) {
  static const struct role kRoles[] = {
      {"computes-1", compute},
      {"computes-2", compute},
      {"computes-3", compute},
      {"computes-4", compute},
      {"holds", hold},
      {"lock", wait_for_lock},
      {"condition", wait_for_flag},
      {"barrier", meet},
      {"semaphore", acquire},
      {"futex", call_futex},
      {"sleep", sleeps},
      {"poll", polls},
      {"pipe", read_pipe},
      {"socket", read_socket},
      {"event", read_event},
      {"device", read_terminal},
      {"file", write_file},
      {"child", wait_for_child},
      {"signal", wait_for_signal},
      {"call", wait_in_another_call},
  };
  enum { kCount = sizeof kRoles / sizeof kRoles[0] };
  pthread_t threads[kCount];
  prepare();
  for (int i = 0; i < kCount; ++i) {
    if (pthread_create(&threads[i], NULL, run, (void*)&kRoles[i]) != 0) return 2;
  }
  rest_ms(200);
  release();
  for (int i = 0; i < kCount; ++i) pthread_join(threads[i], NULL);
  return 0;
}
