/* Small programs with markers, one for each case in probe_test.cpp. Usage: scenarios NAME [numbers]. Prints nothing but
 * what the test reads; exits 0 when the case went as it should as far as the program can tell. */
#include <attune/probe.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long arguments[4];

/* Waits for one byte from the test; what it was, or 0 at the end. */
static char Await(void) {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
  }
  return byte;
}

static void Tell(char byte) {
  if (write(STDOUT_FILENO, &byte, 1) != 1) _exit(90);
}

static void EmitMany(long count) {
  for (long i = 0; i < count; ++i) ATTUNE_COUNTER("step", i);
}

/* Every kind of marker, once. */
static int Basic(void) {
  errno = 1234;
  ATTUNE_REGION_BEGIN("outer");
  {
    ATTUNE_REGION("inner");
    ATTUNE_INSTANT("instant");
    ATTUNE_INSTANT_VALUE("valued", -5);
  }
  ATTUNE_COUNTER("counter", INT64_MAX);
  ATTUNE_SEND("channel", 100, 7);
  ATTUNE_RECEIVE("channel", 100, 7);
  ATTUNE_REGION_END("outer");
  return errno == 1234 ? 0 : 1;
}

/* Prints the level before main, in main, and errno at the start of main. */
static uint32_t level_in_constructor;
__attribute__((constructor)) static void Construct(void) { level_in_constructor = attune_level(); }
static int Level(void) {
  printf("%u %u %d\n", level_in_constructor, attune_level(), errno);
  return 0;
}

static void* EmitThread(void* count) {
  EmitMany(*(long*)count);
  return NULL;
}

/* arguments: threads at a time, events of each, rounds. */
static int Threads(void) {
  const long count = arguments[0];
  pthread_t* threads = calloc((size_t)count, sizeof(*threads));
  for (long round = 0; round < arguments[2]; ++round) {
    for (long i = 0; i < count; ++i) {
      if (pthread_create(&threads[i], NULL, EmitThread, &arguments[1]) != 0) return 1;
    }
    for (long i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  }
  free(threads);
  return 0;
}

/* arguments: threads that all live at once, events of each. */
static pthread_barrier_t barrier;
static void* LiveThread(void* unused) {
  EmitMany(1);
  pthread_barrier_wait(&barrier);
  EmitMany(arguments[1] - 1);
  return unused;
}
static int Live(void) {
  const long count = arguments[0];
  pthread_t* threads = calloc((size_t)count, sizeof(*threads));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], &small, LiveThread, NULL) != 0) return 1;
  }
  for (long i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
  return 0;
}

/* Emits 100 events for each 'e', in a thread for 't', in a child that leaves with _exit for 'f'; answers each with 'd'.
 */
static int Commands(void) {
  long hundred = 100;
  for (char command = Await(); command != 0; command = Await()) {
    pthread_t thread;
    if (command == 'e') EmitMany(hundred);
    if (command == 't') {
      if (pthread_create(&thread, NULL, EmitThread, &hundred) != 0) return 1;
      pthread_join(thread, NULL);
    }
    if (command == 'f') {
      const pid_t child = fork();
      if (child == 0) {
        EmitMany(hundred);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    Tell('d');
  }
  return 0;
}

/* Parent, child and grandchild; all three go on after the fork. Prints their process ids. */
static int Fork(void) {
  EmitMany(10);
  const pid_t child = fork();
  if (child == 0) {
    EmitMany(20);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      long count = 30;
      pthread_t thread;
      pthread_create(&thread, NULL, EmitThread, &count); /* the first event of the process is not its main thread's */
      pthread_join(thread, NULL);
      return 0;
    }
    waitpid(grandchild, NULL, 0);
    printf("%d %d\n", (int)getpid(), (int)grandchild);
    fflush(stdout);
    EmitMany(1);
    _exit(0);
  }
  EmitMany(5);
  waitpid(child, NULL, 0);
  return 0;
}

/* arguments: children at a time, events of each, rounds; several threads fork at once while all emit. */
static void* Forker(void* unused) {
  for (long round = 0; round < arguments[2]; ++round) {
    EmitMany(arguments[1]);
    const pid_t child = fork();
    if (child == 0) {
      EmitMany(arguments[1]);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) _exit(91);
  }
  return unused;
}
static int ForkingThreads(void) {
  pthread_t threads[8];
  for (long i = 0; i < arguments[0]; ++i) pthread_create(&threads[i], NULL, Forker, NULL);
  for (long i = 0; i < arguments[0]; ++i) pthread_join(threads[i], NULL);
  return 0;
}

static int Vfork(void) {
  EmitMany(10);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = vfork();
#pragma GCC diagnostic pop
  if (child == 0) {
    ATTUNE_INSTANT("between vfork and exec");
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EmitMany(10);
  return status;
}

static int Exec(void) {
  EmitMany(10);
  execl("/proc/self/exe", "scenarios", "basic", (char*)NULL);
  return 1;
}

/* main ends with pthread_exit, a thread goes on. */
static pthread_t main_thread;
static void* Survivor(void* unused) {
  pthread_join(main_thread, NULL);
  EmitMany(20);
  exit(0);
  return unused;
}
static int PthreadExit(void) {
  pthread_t thread;
  main_thread = pthread_self();
  pthread_create(&thread, NULL, Survivor, NULL);
  EmitMany(10);
  pthread_exit(NULL);
}

/* A thread that is cancelled in a region, and one that is cancelled asynchronously while it emits. */
static volatile int started;
static void* Cancelled(void* asynchronous) {
  if (asynchronous != NULL) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  ATTUNE_REGION("cancelled");
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  for (;;) {
    if (asynchronous != NULL) {
      EmitMany(1);
    } else {
      pause();
    }
  }
  return NULL;
}
static int Cancel(void) {
  void* modes[2] = {NULL, &main_thread};
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    started = 0;
    pthread_create(&thread, NULL, Cancelled, modes[i]);
    while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == 0) sched_yield();
    void* result = NULL;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) return 1;
  }
  EmitMany(10);
  return 0;
}

/* Emits in main and in a timer's handler; prints how often in each. argument: how often in the handler. Between its
 * events main does something else, so that some signals come there, whatever an event takes. */
static volatile long handled;
static void OnTimer(int signal) {
  (void)signal;
  ATTUNE_INSTANT("timer");
  ++handled;
}
static int Signals(void) {
  const struct itimerval fast = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
  signal(SIGALRM, OnTimer);
  setitimer(ITIMER_REAL, &fast, NULL);
  long emitted = 0;
  for (; handled < arguments[0]; ++emitted) {
    ATTUNE_COUNTER("step", emitted);
    for (volatile int i = 0; i < 1000; ++i) continue;
  }
  setitimer(ITIMER_REAL, &off, NULL);
  printf("%ld %ld\n", emitted, handled);
  return 0;
}

/* Leaves the handler with a longjmp, wherever it interrupted; then, when told, emits 1000 events.
 * argument: how often. */
static sigjmp_buf jump;
static void OnTimerJump(int signal) {
  (void)signal;
  siglongjmp(jump, 1);
}
static int Longjmp(void) {
  static volatile long jumps;
  static volatile long step;
  const struct itimerval once = {{0, 0}, {0, 20}};
  signal(SIGALRM, OnTimerJump);
  if (sigsetjmp(jump, 1) != 0) ++jumps;
  if (jumps < arguments[0]) {
    setitimer(ITIMER_REAL, &once, NULL);
    for (;;) ATTUNE_COUNTER("step", ++step);
  }
  Tell('d');
  Await(); /* the first byte came early */
  Await(); /* the end: the ring has been drained */
  for (int i = 0; i < 1000; ++i) ATTUNE_INSTANT("after");
  return 0;
}

/* A thread whose first events are interrupted, again and again, by a handler that leaves with a longjmp; then 100 more.
 * arguments: threads, one after the other; jumps of each. */
static int jump_again; /* set by the thread: it emits, and can be interrupted */
static void* JumpingThread(void* unused) {
  static volatile long done;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  done = -1;
  sigsetjmp(jump, 1);
  if (++done < arguments[1]) {
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    __atomic_store_n(&jump_again, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; ++i) ATTUNE_COUNTER("step", done); /* few, so that there is room for those behind them */
    for (;;) pause();
  }
  for (int i = 0; i < 100; ++i) ATTUNE_INSTANT("after");
  return unused;
}
static int JumpingThreads(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, NULL); /* until the thread knows where to jump to */
  signal(SIGUSR1, OnTimerJump);
  for (long i = 0; i < arguments[0]; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, JumpingThread, NULL) != 0) return 1;
    for (long n = 0; n < arguments[1]; ++n) {
      while (!__atomic_exchange_n(&jump_again, 0, __ATOMIC_ACQUIRE)) sched_yield();
      for (volatile long spin = (i * arguments[1] + n) * 7 % 500; spin > 0;) --spin;
      pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
  }
  return 0;
}

/* The counter in the shared file (its name is on stdin) is at all times at most one less than the events emitted. */
static int Counted(void) {
  char path[200] = "";
  if (scanf("%199s", path) != 1) return 1;
  FILE* file = fopen(path, "r+");
  if (file == NULL) return 1;
  volatile long* count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  for (long i = 0;; ++i) {
    ATTUNE_COUNTER("step", i);
    __atomic_store_n(count, i + 1, __ATOMIC_RELEASE);
  }
  return 0;
}

/* No system call is allowed but write and exit: others kill. The first event comes after that. */
static int Seccomp(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
  EmitMany(50000); /* more than fits */
  attune_instant(attune_name("dynamic"));
  _exit(0);
}

/* Names: equal at several places, too long, with control characters; argument: how many more. */
static int Names(void) {
  char text[600];
  for (int i = 0; i < 3; ++i) ATTUNE_INSTANT("same");
  ATTUNE_INSTANT("same");
  attune_instant(attune_name("same"));
  memset(text, 'x', sizeof(text));
  memcpy(text + 254, "\xc3\xa4", 3); /* two bytes, of which the first is the last that would fit */
  attune_instant(attune_name(text));
  attune_instant(attune_name("line\nfeed\x1b[31m"));
  attune_instant(attune_name(""));
  for (long i = 0; i < arguments[0]; ++i) {
    snprintf(text, sizeof(text), "generated name number %ld", i);
    attune_instant(attune_name(text));
  }
  return 0;
}

/* Emits until the test says that it is enough; prints how often. A second thread does the same before. */
static volatile int enough;
static void* UntilEnough(void* count) {
  while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE)) EmitMany(1), ++*(long*)count;
  return NULL;
}
static int UntilTold(void) {
  pthread_t thread;
  long count = 0;
  EmitMany(1);
  pthread_create(&thread, NULL, UntilEnough, &count);
  Await();
  __atomic_store_n(&enough, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  printf("%ld\n", count + 1);
  return 0;
}

static const struct {
  const char* name;
  int (*run)(void);
} scenarios[] = {
    {"basic", Basic},
    {"level", Level},
    {"threads", Threads},
    {"live", Live},
    {"commands", Commands},
    {"fork", Fork},
    {"forking-threads", ForkingThreads},
    {"vfork", Vfork},
    {"exec", Exec},
    {"pthread-exit", PthreadExit},
    {"cancel", Cancel},
    {"signals", Signals},
    {"jumping-threads", JumpingThreads},
    {"longjmp", Longjmp},
    {"counted", Counted},
    {"seccomp", Seccomp},
    {"names", Names},
    {"until-told", UntilTold},
};

int main(int argc, char** argv) {
  for (int i = 2; i < argc && i < 6; ++i) arguments[i - 2] = atol(argv[i]);
  for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); ++i) {
    if (strcmp(scenarios[i].name, argv[1]) == 0) return scenarios[i].run();
  }
  return 99;
}
