/* A pipeline: one thread makes blocks, some pack them, one collects the result. Blocks travel through bounded queues.
 *
 * What the markers show: how long each stage works on a block (regions), how full the queues are (counters), which
 * block went from whom to whom and how long it lay in between (sends and receives), and where the pipeline is stuck:
 * with one worker the first queue is always full, with many it is always empty, because the maker is then the slowest.
 *
 *   attune run -- build/release/examples/example_pipeline [BLOCKS [WORKERS]]
 */
#include <attune/probe.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlockBytes = 256 * 1024, kQueueLength = 8, kMaxWorkers = 64 };

typedef struct Block {
  long number;
  size_t bytes;
  unsigned char data[kBlockBytes * 2]; /* packing can make it longer */
} Block;

/* A queue that makes its writers wait when it is full and its readers when it is empty. */
typedef struct Queue {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  Block* blocks[kQueueLength];
  int length;
} Queue;

static Queue raw = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};
static Queue packed = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

/* Returns the new length. */
static int Push(Queue* queue, Block* block) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->length == kQueueLength) pthread_cond_wait(&queue->changed, &queue->mutex);
  queue->blocks[queue->length++] = block;
  const int length = queue->length;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  return length;
}

static Block* Pop(Queue* queue, int* length) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->length == 0) pthread_cond_wait(&queue->changed, &queue->mutex);
  Block* block = queue->blocks[0];
  *length = --queue->length;
  memmove(queue->blocks, queue->blocks + 1, sizeof(queue->blocks[0]) * (size_t)queue->length);
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  return block;
}

/* Text-like bytes: runs of letters, the same in each run of the program. */
static void Fill(Block* block) {
  ATTUNE_REGION("fill");
  uint32_t state = (uint32_t)block->number * 2654435761u + 1;
  block->bytes = kBlockBytes;
  for (size_t at = 0; at < kBlockBytes;) {
    state = state * 1664525u + 1013904223u;
    size_t run = 1 + (state >> 28);
    if (run > kBlockBytes - at) run = kBlockBytes - at;
    memset(block->data + at, 'a' + (int)((state >> 20) % 26), run);
    at += run;
  }
}

/* Run lengths, in several passes, so that there is something to wait for. */
static void Pack(Block* block) {
  ATTUNE_REGION("pack");
  static _Thread_local unsigned char out[kBlockBytes * 2];
  size_t used = 0;
  for (int pass = 0; pass < 8; ++pass) {
    used = 0;
    for (size_t at = 0; at < block->bytes;) {
      size_t run = 1;
      while (at + run < block->bytes && run < 255 && block->data[at + run] == block->data[at]) ++run;
      out[used++] = (unsigned char)run;
      out[used++] = block->data[at];
      at += run;
    }
  }
  memcpy(block->data, out, used);
  block->bytes = used;
}

static void* Work(void* unused) {
  for (;;) {
    int length = 0;
    ATTUNE_REGION_BEGIN("wait for a block");
    Block* block = Pop(&raw, &length);
    ATTUNE_REGION_END("wait for a block");
    if (block == NULL) return unused;
    ATTUNE_RECEIVE("raw blocks", block->bytes, (uint64_t)block->number);
    ATTUNE_COUNTER("raw queue", length);
    Pack(block);
    ATTUNE_SEND("packed blocks", block->bytes, (uint64_t)block->number);
    const int waiting = Push(&packed, block);
    ATTUNE_COUNTER("packed queue", waiting);
  }
}

typedef struct Total {
  long blocks;
  size_t bytes;
} Total;

static void* Collect(void* total_pointer) {
  Total* total = total_pointer;
  for (;;) {
    int length = 0;
    Block* block = Pop(&packed, &length);
    if (block == NULL) return NULL;
    ATTUNE_RECEIVE("packed blocks", block->bytes, (uint64_t)block->number);
    ATTUNE_COUNTER("packed queue", length);
    ATTUNE_REGION("collect");
    total->blocks += 1;
    total->bytes += block->bytes;
    ATTUNE_COUNTER("bytes kept", (int64_t)total->bytes);
    free(block);
  }
}

int main(int argc, char** argv) {
  const long blocks = argc > 1 ? atol(argv[1]) : 2000;
  const long workers = argc > 2 ? atol(argv[2]) : 2;
  if (blocks < 1 || workers < 1 || workers > kMaxWorkers) {
    fprintf(stderr, "usage: %s [BLOCKS [WORKERS, at most %d]]\n", argv[0], kMaxWorkers);
    return 2;
  }
  pthread_t threads[kMaxWorkers];
  pthread_t collector;
  Total total = {0, 0};
  if (pthread_create(&collector, NULL, Collect, &total) != 0) return 1;
  for (long i = 0; i < workers; ++i) {
    if (pthread_create(&threads[i], NULL, Work, NULL) != 0) return 1;
  }
  ATTUNE_INSTANT_VALUE("workers started", workers);
  for (long number = 0; number < blocks; ++number) {
    Block* block = malloc(sizeof(*block));
    if (block == NULL) return 1;
    block->number = number;
    Fill(block);
    ATTUNE_SEND("raw blocks", block->bytes, (uint64_t)number);
    const int waiting =
        Push(&raw, block); /* not inside the marker: that evaluates its arguments only when it records */
    ATTUNE_COUNTER("raw queue", waiting);
  }
  for (long i = 0; i < workers; ++i) Push(&raw, NULL);
  for (long i = 0; i < workers; ++i) pthread_join(threads[i], NULL);
  Push(&packed, NULL);
  pthread_join(collector, NULL);
  printf("%ld blocks, %zu bytes kept of %zu\n", total.blocks, total.bytes, (size_t)blocks * kBlockBytes);
  return 0;
}
