// Two processes that send each other bytes and messages in every way that attune sees. Says nothing but how it ended.

#include <arpa/inet.h>
#include <attune/probe.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char g_room[16384];
struct message {
  long type;
  char text[100];
};

static void check(int is_so, const char* what) {
  if (is_so) return;
  perror(what);
  exit(1);
}

/// So many bytes, in parts of 4096.
static void read_all(int file, long bytes) {
  while (bytes > 0) {
    const ssize_t got = read(file, g_room, bytes < 4096 ? (size_t)bytes : 4096);
    check(got > 0, "read");
    bytes -= got;
  }
}

static void write_all(int file, ssize_t bytes) { check(write(file, g_room, (size_t)bytes) == bytes, "write"); }

static int listen_here(struct sockaddr_in* address) {
  socklen_t bytes = sizeof *address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  memset(address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(bind(listener, (struct sockaddr*)address, bytes) == 0 && listen(listener, 1) == 0, "listen");
  check(getsockname(listener, (struct sockaddr*)address, &bytes) == 0, "getsockname");
  return listener;
}

// What a compiler calls where buffers' sizes are known (_FORTIFY_SOURCE).
ssize_t recvfrom_chk(int file, void* to, size_t bytes, size_t room, int flags, struct sockaddr* from,
                     socklen_t* from_bytes) __asm__("__recvfrom_chk");

/// 300 bytes, after a look at them, which takes nothing.
static void receive(int tcp, int is_checked) {
  struct iovec part = {g_room, 300};
  struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1};
  check(recvmsg(tcp, &all, MSG_PEEK | MSG_WAITALL) == 300, "recvmsg");
  const ssize_t got = is_checked ? recvfrom_chk(tcp, g_room, 300, sizeof g_room, MSG_WAITALL, NULL, NULL)
                                 : recv(tcp, g_room, 300, MSG_WAITALL);
  check(got == 300, "recv");
}

static int child(const int* ends, int queue, mqd_t posix_queue, const struct sockaddr_in* address) {
  char text[256];
  struct message message;
  const int tcp = socket(AF_INET, SOCK_STREAM, 0);
  check(connect(tcp, (const struct sockaddr*)address, sizeof *address) == 0, "connect");
  for (int i = 0; i < 10; ++i) read_all(ends[0], 10000);
  // The descriptor is of something else from now on.
  check(dup2(ends[1], ends[0]) == ends[0], "dup2");
  for (int i = 0; i < 20; ++i) {
    read_all(ends[0], 500);
    write_all(ends[0], 200);
  }
  for (int i = 0; i < 30; ++i) receive(tcp, i % 2 == 0);
  for (int i = 0; i < 7; ++i) check(mq_receive(posix_queue, text, sizeof text, NULL) == 100, "mq_receive");
  for (int i = 0; i < 8; ++i) check(msgrcv(queue, &message, sizeof message.text, 0, 0) == 40, "msgrcv");
  for (int i = 0; i < 9; ++i) {
    const uint64_t begin = attune_channel_begin();
    read_all(ends[0], 1);
    ATTUNE_CHANNEL_RECV("own words", 64, i, begin);
  }
  return 0;
}

int main(void) {
  int pipe_ends[2], socket_ends[2], status = 1;
  struct sockaddr_in address;
  char name[64];
  check(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) == 0, "pipe");
  const int listener = listen_here(&address);
  const int queue = msgget(IPC_PRIVATE, 0600);
  struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = 256};
  snprintf(name, sizeof name, "/attune-%d", getpid());
  const mqd_t posix_queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  check(posix_queue >= 0 && queue >= 0, "queues");
  mq_unlink(name);
  const pid_t pid = fork();
  if (pid == 0) {
    const int ends[2] = {pipe_ends[0], socket_ends[1]};
    close(pipe_ends[1]);
    close(socket_ends[0]);
    return child(ends, queue, posix_queue, &address);
  }
  const int tcp = accept(listener, NULL, NULL);
  for (int i = 0; i < 10; ++i) write_all(pipe_ends[1], 10000);
  for (int i = 0; i < 20; ++i) {
    write_all(socket_ends[0], 500);
    read_all(socket_ends[0], 200);
  }
  for (int i = 0; i < 30; ++i) check(send(tcp, g_room, 300, 0) == 300, "send");
  for (int i = 0; i < 7; ++i) check(mq_send(posix_queue, g_room, 100, 3) == 0, "mq_send");
  struct message message = {.type = 5};
  for (int i = 0; i < 8; ++i) check(msgsnd(queue, &message, 40, 0) == 0, "msgsnd");
  for (int i = 0; i < 9; ++i) {
    const uint64_t begin = attune_channel_begin();
    write_all(socket_ends[0], 1);
    ATTUNE_CHANNEL_SEND("own words", 64, i, begin);
  }
  waitpid(pid, &status, 0);
  msgctl(queue, IPC_RMID, NULL);
  return status != 0;
}
