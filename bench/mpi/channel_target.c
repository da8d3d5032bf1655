// Two processes that send a message to and fro by one of the ways that are no MPI. The first reads "WAY BYTES TIMES"
// lines and answers with nanoseconds; the other one sleeps meanwhile. The way "clocks" is the box, with bare readings
// of the clock where the probe has its own, and nothing recorded.

#include <arpa/inet.h>
#include <attune/probe.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/tsc.h"

enum { kMost = 1 << 18, kMostInQueue = 4096 };

/// A channel in shared memory, one for each direction: as RTM's programs have them.
struct box {
  _Alignas(64) volatile long full;
  _Alignas(64) char bytes[kMost];
};
struct queued {
  long type;
  char bytes[kMostInQueue];
};

/// The ends that one of the two has.
struct ends {
  int number;         // 0: asks, 1: answers
  int in[3], out[3];  // pipe, UNIX socket, TCP
  mqd_t queue_in, queue_out;
  int system_v;
  struct box *box_in, *box_out;
};

static char* g_message;
static volatile uint64_t g_time;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void check(int is_so, const char* what) {
  if (is_so) return;
  perror(what);
  exit(1);
}

static void write_all(int file, long bytes) {
  for (long done = 0; done < bytes;) {
    const ssize_t part = write(file, g_message + done, (size_t)(bytes - done));
    check(part > 0, "write");
    done += part;
  }
}
static void read_all(int file, long bytes) {
  for (long done = 0; done < bytes;) {
    const ssize_t part = read(file, g_message + done, (size_t)(bytes - done));
    check(part > 0, "read");
    done += part;
  }
}

static void put(struct box* box, long bytes, int32_t tag, int is_timed) {
  const uint64_t begin = is_timed ? ReadTsc() : attune_channel_begin();
  while (box->full) {
  }
  memcpy(box->bytes, g_message, (size_t)bytes);
  __atomic_store_n(&box->full, 1, __ATOMIC_RELEASE);
  if (is_timed) g_time = ReadTsc() - begin;
  ATTUNE_CHANNEL_SEND("boxes", (uint64_t)bytes, tag, begin);
}
static void take(struct box* box, long bytes, int32_t tag, int is_timed) {
  const uint64_t begin = is_timed ? ReadTsc() : attune_channel_begin();
  while (!__atomic_load_n(&box->full, __ATOMIC_ACQUIRE)) {
  }
  memcpy(g_message, box->bytes, (size_t)bytes);
  __atomic_store_n(&box->full, 0, __ATOMIC_RELEASE);
  if (is_timed) g_time = ReadTsc() - begin;
  ATTUNE_CHANNEL_RECV("boxes", (uint64_t)bytes, tag, begin);
}

static void send_one(const struct ends* ends, char way, long bytes) {
  static struct queued queued;
  queued.type = 1 + ends->number;
  switch (way) {
    case 'p': write_all(ends->out[0], bytes); break;
    case 'u': write_all(ends->out[1], bytes); break;
    case 't': write_all(ends->out[2], bytes); break;
    case 'q': check(mq_send(ends->queue_out, g_message, (size_t)bytes, 0) == 0, "mq_send"); break;
    case 'v': check(msgsnd(ends->system_v, &queued, (size_t)bytes, 0) == 0, "msgsnd"); break;
    default: put(ends->box_out, bytes, ends->number, way == 'c'); break;
  }
}
static void receive_one(const struct ends* ends, char way, long bytes) {
  static struct queued queued;
  switch (way) {
    case 'p': read_all(ends->in[0], bytes); break;
    case 'u': read_all(ends->in[1], bytes); break;
    case 't': read_all(ends->in[2], bytes); break;
    case 'q': check(mq_receive(ends->queue_in, g_message, kMostInQueue, NULL) == bytes, "mq_receive"); break;
    case 'v': check(msgrcv(ends->system_v, &queued, kMostInQueue, 2 - ends->number, 0) == bytes, "msgrcv"); break;
    default: take(ends->box_in, bytes, 1 - ends->number, way == 'c'); break;
  }
}

static void run_on(int number) {
  cpu_set_t may, one;
  check(sched_getaffinity(0, sizeof may, &may) == 0, "sched_getaffinity");
  CPU_ZERO(&one);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &may)) continue;
    if (seen++ == number % CPU_COUNT(&may)) CPU_SET(cpu, &one);
  }
  check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

/// The other process. Its orders come by a pipe of their own, until that is closed.
static int answer(const struct ends* ends, int orders) {
  long order[3];
  run_on(1);
  while (read(orders, order, sizeof order) == (ssize_t)sizeof order) {
    for (long i = 0; i < order[2]; ++i) {
      receive_one(ends, (char)order[0], order[1]);
      send_one(ends, (char)order[0], order[1]);
    }
  }
  return 0;
}

static int ask(const struct ends* ends, int orders) {
  char way[16];
  long order[3];
  run_on(0);
  while (scanf("%15s %ld %ld", way, &order[1], &order[2]) == 3) {
    order[0] = way[0] == 's' ? 'v' : way[0] == 'm' ? 'q' : way[0];  // system-v, mqueue
    check(write(orders, order, sizeof order) == (ssize_t)sizeof order, "write");
    send_one(ends, (char)order[0], order[1]);  // the other one is awake by then
    receive_one(ends, (char)order[0], order[1]);
    const long start = now();
    for (long i = 1; i < order[2]; ++i) {
      send_one(ends, (char)order[0], order[1]);
      receive_one(ends, (char)order[0], order[1]);
    }
    printf("%ld\n", now() - start);
    fflush(stdout);
  }
  return 0;
}

static void connect_tcp(int* both) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof address;
  const int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  check(bind(listener, (struct sockaddr*)&address, bytes) == 0 && listen(listener, 1) == 0, "listen");
  check(getsockname(listener, (struct sockaddr*)&address, &bytes) == 0, "getsockname");
  both[0] = socket(AF_INET, SOCK_STREAM, 0);
  check(connect(both[0], (struct sockaddr*)&address, bytes) == 0, "connect");
  both[1] = accept(listener, NULL, NULL);
  for (int i = 0; i < 2; ++i)
    check(setsockopt(both[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
  close(listener);
}

static mqd_t make_queue(int number) {
  char name[64];
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = kMostInQueue};
  snprintf(name, sizeof name, "/attune-bench-%d-%d", getpid(), number);
  const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  check(queue >= 0, "mq_open");
  mq_unlink(name);
  return queue;
}

int main(void) {
  int there[2], back[2], local[2], tcp[2], orders[2], status = 1;
  check(pipe(there) == 0 && pipe(back) == 0 && pipe(orders) == 0, "pipe");
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0, "socketpair");
  connect_tcp(tcp);
  struct box* boxes = mmap(NULL, 2 * sizeof *boxes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_message = calloc(1, kMost);
  check(boxes != MAP_FAILED && g_message != NULL, "memory");
  const mqd_t queues[2] = {make_queue(0), make_queue(1)};
  const int system_v = msgget(IPC_PRIVATE, 0600);
  check(system_v >= 0, "msgget");
  const struct ends asks = {
      0,        {back[0], local[0], tcp[0]}, {there[1], local[0], tcp[0]}, queues[1], queues[0], system_v, &boxes[1],
      &boxes[0]};
  const struct ends answers = {
      1,        {there[0], local[1], tcp[1]}, {back[1], local[1], tcp[1]}, queues[0], queues[1], system_v, &boxes[0],
      &boxes[1]};
  const pid_t pid = fork();
  if (pid == 0) {
    close(orders[1]);
    return answer(&answers, orders[0]);
  }
  close(orders[0]);
  const int code = ask(&asks, orders[1]);
  close(orders[1]);
  waitpid(pid, &status, 0);
  msgctl(system_v, IPC_RMID, NULL);
  return code != 0 || status != 0;
}
