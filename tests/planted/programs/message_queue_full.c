// A POSIX message queue has room for four messages, and its receiver needs milliseconds for each.
// planted: class=slow-peer function=handle_messages|post_message processes=2 libraries=rt

#include <mqueue.h>
#include <sys/wait.h>

#include "planted.h"

static mqd_t queue;

static void handle_messages(int count) {
  char message[64];
  for (int i = 0; i < count; ++i) {
    if (mq_receive(queue, message, sizeof message, NULL) < 0) exit(1);  // <- cause
    rest_us(5000);
  }
}

static void post_message(int number) {
  char message[64];
  snprintf(message, sizeof message, "%d", number);
  const long long before_ns = now_ns();
  if (mq_send(queue, message, sizeof message, 0) != 0) exit(1);  // <- cause
  lost_since(before_ns);
}

int main(void) {
  char name[64];
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
  snprintf(name, sizeof name, "/planted-%d", getpid());
  queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  if (queue == (mqd_t)-1) skip("no message queues here");
  mq_unlink(name);
  const pid_t receiver = fork();
  if (receiver == 0) {
    handle_messages(250);
    _exit(0);
  }
  for (int i = 0; i < 250; ++i) {
    COMPUTE_US(300);
    post_message(i);
  }
  waitpid(receiver, NULL, 0);
  return write_truth();
}
