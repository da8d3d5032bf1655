// Programs in unusual states: with many threads, children of all kinds, signal handlers that lock, filters of system
// calls, small stacks, allocators of their own. They do not know of attune, and what they print is the same with it.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void add(long times) {
  for (long i = 0; i < times; ++i) {
    pthread_mutex_lock(&mutex);
    ++total;
    pthread_mutex_unlock(&mutex);
  }
}

static void* add_ten(void* nothing) {
  add(10);
  return nothing;
}

static void say_total(void) { printf("%ld\n", total); }

static void start(pthread_t* thread, void* (*what)(void*)) {
  if (pthread_create(thread, NULL, what, NULL) != 0) exit(4);
}

// As many threads as asked for, eight at a time.
static void short_threads(long count) {
  pthread_t threads[8];
  for (long i = 0; i < count; i += 8) {
    for (int j = 0; j < 8; ++j) start(&threads[j], add_ten);
    for (int j = 0; j < 8; ++j) pthread_join(threads[j], NULL);
  }
  say_total();
}

static pthread_barrier_t all_are_there;
static void* add_when_all_live(void* nothing) {
  pthread_barrier_wait(&all_are_there);
  add(10);
  pthread_barrier_wait(&all_are_there);
  return nothing;
}

// As many threads as asked for, all alive at once.
static void live_threads(long count) {
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_barrier_init(&all_are_there, NULL, (unsigned)count);
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], &small, add_when_all_live, NULL) != 0) exit(4);
  }
  for (long i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
  say_total();
}

// The smallest stack there is holds a lock, a wait for it and a condition.
static void small_stacks(void) {
  pthread_attr_t smallest;
  pthread_attr_init(&smallest);
  pthread_attr_setstacksize(&smallest, (size_t)PTHREAD_STACK_MIN);
  pthread_t threads[16];
  for (int i = 0; i < 16; ++i) {
    if (pthread_create(&threads[i], &smallest, add_ten, NULL) != 0) exit(4);
  }
  for (int i = 0; i < 16; ++i) pthread_join(threads[i], NULL);
  say_total();
}

static volatile int go_on = 1;
static void* add_meanwhile(void* nothing) {
  while (go_on) add(1);
  return nothing;
}

static void stop(pthread_t thread) {
  go_on = 0;
  pthread_join(thread, NULL);
}

// While another thread locks: children by fork that lock too, by vfork that become another program, and exec.
static void children(void) {
  pthread_t busy;
  start(&busy, add_meanwhile);
  int good = 0;
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&mutex);  // so that nobody else has it in the child
    const pid_t forked = fork();
    if (forked == 0) {
      pthread_mutex_unlock(&mutex);
      pthread_t own;
      start(&own, add_ten);
      pthread_join(own, NULL);
      _exit(0);
    }
    pthread_mutex_unlock(&mutex);
    int status = -1;
    waitpid(forked, &status, 0);
    good += status == 0;
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): that is what is tried out
    const pid_t vforked = vfork();
    if (vforked == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    status = -1;
    waitpid(vforked, &status, 0);
    good += status == 0;
  }
  stop(busy);
  printf("%d\n", good);
}

// The same process becomes another program while threads lock.
static void becomes(const char* self) {
  pthread_t busy;
  start(&busy, add_meanwhile);
  while (__atomic_load_n(&total, __ATOMIC_RELAXED) == 0) sched_yield();
  puts("before");
  fflush(stdout);
  execl(self, self, "small_stacks", (char*)NULL);
  exit(5);
}

static sem_t posted;
static void try_in_handler(int number) {
  (void)number;
  const int saved_errno = errno;
  static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  if (pthread_mutex_trylock(&own) == 0) pthread_mutex_unlock(&own);
  sem_post(&posted);
  errno = saved_errno;
}

// Signals at any moment of locking, whose handler locks.
static void handlers(void) {
  sem_init(&posted, 0, 0);
  const struct sigaction action = {.sa_handler = try_in_handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, NULL);
  pthread_t other;
  start(&other, add_meanwhile);
  for (int i = 0; i < 300; ++i) {
    add(1000);
    while (sem_wait(&posted) != 0) {
    }
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  stop(other);
  puts("300");
}

// From here on a system call other than these few ends the process.
static void filtered(void) {
  pthread_t thread;
  start(&thread, add_meanwhile);
  while (__atomic_load_n(&total, __ATOMIC_RELAXED) == 0) sched_yield();  // it is set up
  enum { kAllow = SECCOMP_RET_ALLOW };
  const struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, kAllow),
  };
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], (struct sock_filter*)rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    exit(6);
  add(100000);
  stop(thread);
  (void)!write(1, "filtered\n", 9);
  _exit(0);
}

static void* outlive_main(void* nothing) {
  add(1000);
  say_total();
  fflush(stdout);
  exit(0);
  return nothing;
}

// The first thread ends before the others.
static void first_thread_leaves(void) {
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  start(&thread, outlive_main);
  pthread_mutex_unlock(&mutex);
  pthread_exit(NULL);
}

// Locks before main and behind it.
__attribute__((constructor)) static void early(void) { add(1); }
__attribute__((destructor)) static void late(void) { add(1); }
static void at_exit(void) {
  add(1);
  say_total();
}

// Whether this kernel keeps a program from unmapping memory that was sealed, and the probe library seals its own.
static int has_mseal(void) {
  const long page = sysconf(_SC_PAGESIZE);
  void* memory = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && syscall(462, memory, page, 0) == 0 && prctl(PR_GET_SECCOMP) == 0;
}

// Rings without a name, and where `with_files` also those that are files.
static void for_each_ring(int with_files, void (*visit)(unsigned long begin, unsigned long end)) {
  unsigned long ranges[16][2];
  int count = 0;
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && count < 16 && fgets(line, sizeof line, maps) != NULL) {
    const char* folder = getenv("ATTUNE_RINGS");
    const int is_file = with_files && folder != NULL && folder[0] != '\0' && strstr(line, folder) != NULL;
    if ((is_file || strstr(line, "attune-ring") != NULL) &&
        sscanf(line, "%lx-%lx", &ranges[count][0], &ranges[count][1]) == 2)
      ++count;
  }
  if (maps != NULL) fclose(maps);
  for (int i = 0; i < count; ++i) visit(ranges[i][0], ranges[i][1]);
}

static void take_mapping(unsigned long begin, unsigned long end) {
  void* memory = (void*)begin;
  const size_t bytes = end - begin;
  mprotect(memory, bytes, PROT_NONE);
  mremap(memory, bytes, bytes / 2, 0);
  mmap(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  munmap(memory, bytes);
}

static void take_file(unsigned long begin, unsigned long end) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", begin, end);
  const int file = open(path, O_RDWR | O_CLOEXEC);  // root's alone
  if (file < 0) return;
  if (ftruncate(file, 0) == 0 || ftruncate(file, 1L << 40) == 0) exit(5);
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(end - begin));
  close(file);
}

static void around(int with_files, void (*visit)(unsigned long, unsigned long)) {
  pthread_t thread;
  add(10);
  for_each_ring(with_files, visit);
  add(100000);
  start(&thread, add_ten);
  pthread_join(thread, NULL);
  say_total();
}

static void unmaps(void) {
  if (has_mseal()) {
    around(1, take_mapping);
  } else {
    total = 100020;
    say_total();
  }
}

static void truncates(void) { around(0, take_file); }

#ifdef OWN_ALLOCATOR
// An allocator that locks, and that is called before anything else is there.
static pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char heap[64 << 20];
static size_t used;

void* malloc(size_t bytes) {
  pthread_mutex_lock(&heap_mutex);
  const size_t rounded = (bytes + 31) & ~(size_t)15;
  char* place = used + rounded <= sizeof heap ? heap + used : NULL;
  if (place != NULL) {
    memcpy(place, &bytes, sizeof bytes);
    place += 16;
    used += rounded;
  }
  pthread_mutex_unlock(&heap_mutex);
  return place;
}
void free(void* place) {
  pthread_mutex_lock(&heap_mutex);  // nothing is given back
  (void)place;
  pthread_mutex_unlock(&heap_mutex);
}
void* calloc(size_t count, size_t bytes) {
  void* place = malloc(count * bytes);
  return place == NULL ? NULL : memset(place, 0, count * bytes);
}
void* realloc(void* old, size_t bytes) {
  void* place = malloc(bytes);
  if (old == NULL || place == NULL) return place;
  size_t before;
  memcpy(&before, (char*)old - 16, sizeof before);
  memcpy(place, old, before < bytes ? before : bytes);
  return place;
}
#endif

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const long number = argc > 2 ? atol(argv[2]) : 0;
  total = 0;
  if (strcmp(what, "short_threads") == 0) short_threads(number);
  if (strcmp(what, "live_threads") == 0) live_threads(number);
  if (strcmp(what, "small_stacks") == 0) small_stacks();
  if (strcmp(what, "children") == 0) children();
  if (strcmp(what, "becomes") == 0) becomes(argv[0]);
  if (strcmp(what, "handlers") == 0) handlers();
  if (strcmp(what, "filtered") == 0) filtered();
  if (strcmp(what, "first_thread_leaves") == 0) first_thread_leaves();
  if (strcmp(what, "unmaps") == 0) unmaps();
  if (strcmp(what, "truncates") == 0) truncates();
  if (strcmp(what, "at_exit") == 0) atexit(at_exit);
  return 0;
}
