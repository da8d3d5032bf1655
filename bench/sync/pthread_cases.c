// The cases that call the C library's functions.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync_target.h"

void Fail(const char* what) {
  fprintf(stderr, "sync_target: %s: %s\n", what, strerror(errno));
  exit(1);
}

void PinTo(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)cpu, &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) Fail("cannot run on the CPU");
}

static void Start(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  errno = pthread_create(&thread, &attributes, function, argument);
  if (errno != 0) Fail("cannot start a thread");
  pthread_attr_destroy(&attributes);
}

static void* Sleep(void* unused) {
  while (1) pause();
  return unused;
}

void StartIdleThread(const SyncSetup* setup) {
  (void)setup;
  Start(Sleep, NULL);
}

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

static void LockAlone(uint64_t operations) {
  for (uint64_t i = 0; i < operations; ++i) {
    pthread_mutex_lock(&g_mutex);
    pthread_mutex_unlock(&g_mutex);
  }
}

// The cases of two threads: the other one waits at a barrier until there is a round, and both wait for its end.
static int g_cpu_of_other;
static uint64_t g_operations;
static void (*g_part)(unsigned me);
static pthread_barrier_t g_begin;
static pthread_barrier_t g_end;

static void* TakePart(void* unused) {
  PinTo(g_cpu_of_other);
  while (1) {
    pthread_barrier_wait(&g_begin);
    g_part(1);
    pthread_barrier_wait(&g_end);
  }
  return unused;
}

static void StartOther(const SyncSetup* setup) {
  g_cpu_of_other = setup->cpus[1];
  pthread_barrier_init(&g_begin, NULL, 2);
  pthread_barrier_init(&g_end, NULL, 2);
  Start(TakePart, NULL);
}

static void RunBoth(void (*part)(unsigned me), uint64_t operations) {
  g_operations = operations;
  g_part = part;
  pthread_barrier_wait(&g_begin);
  part(0);
  pthread_barrier_wait(&g_end);
}

// Each step takes about a nanosecond.
static void Work(int steps) {
  uint64_t value = (uint64_t)steps;
  for (int i = 0; i < steps; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(value));
  }
}

enum { kStepsInside = 50, kStepsBetween = 100 };

static uint64_t g_done;

// Until both together have done them: so none has a part of the round for itself.
static void ContendPart(unsigned me) {
  (void)me;
  int more = 1;
  while (more) {
    pthread_mutex_lock(&g_mutex);
    Work(kStepsInside);
    more = ++g_done < g_operations;
    pthread_mutex_unlock(&g_mutex);
    Work(kStepsBetween);
  }
}

static void Contend(uint64_t operations) {
  g_done = 0;
  RunBoth(ContendPart, operations);
}

static unsigned g_turn;
static pthread_cond_t g_turn_came[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

// An operation is one hand-over.
static void PlayPart(unsigned me) {
  for (uint64_t i = 0; i < g_operations / 2; ++i) {
    pthread_mutex_lock(&g_mutex);
    while (g_turn != me) pthread_cond_wait(&g_turn_came[me], &g_mutex);
    g_turn = 1 - me;
    pthread_cond_signal(&g_turn_came[1 - me]);
    pthread_mutex_unlock(&g_mutex);
  }
}

static void PingPong(uint64_t operations) { RunBoth(PlayPart, operations); }

static pthread_barrier_t g_meeting;

static void MeetPart(unsigned me) {
  (void)me;
  for (uint64_t i = 0; i < g_operations; ++i) pthread_barrier_wait(&g_meeting);
}

static void PrepareMeeting(const SyncSetup* setup) {
  pthread_barrier_init(&g_meeting, NULL, 2);
  StartOther(setup);
}

static void Meet(uint64_t operations) { RunBoth(MeetPart, operations); }

// Many threads, each with locks of its own: not for its own speed, but for what the session finds to read.
enum { kLocksOfThread = 16 };

static void* UseLocks(void* unused) {
  pthread_mutex_t locks[kLocksOfThread];
  for (int i = 0; i < kLocksOfThread; ++i) pthread_mutex_init(&locks[i], NULL);
  while (1) {
    pthread_barrier_wait(&g_begin);
    for (uint64_t done = 0; done < g_operations; ++done) {
      for (int i = 0; i < kLocksOfThread; ++i) {
        pthread_mutex_lock(&locks[i]);
        pthread_mutex_unlock(&locks[i]);
      }
    }
    pthread_barrier_wait(&g_end);
  }
  return unused;
}

static void StartMany(const SyncSetup* setup) {
  pthread_barrier_init(&g_begin, NULL, setup->threads + 1);
  pthread_barrier_init(&g_end, NULL, setup->threads + 1);
  for (uint32_t i = 0; i < setup->threads; ++i) Start(UseLocks, NULL);
}

static void RunMany(uint64_t operations) {
  g_operations = operations;
  pthread_barrier_wait(&g_begin);
  pthread_barrier_wait(&g_end);
}

const SyncCase kPthreadCases[] = {
    {"lock", StartIdleThread, LockAlone},
    {"lock-single", NULL, LockAlone},
    {"contended", StartOther, Contend},
    {"ping-pong", StartOther, PingPong},
    {"barrier", PrepareMeeting, Meet},
    {"tables", StartMany, RunMany},
    {NULL, NULL, NULL},
};
