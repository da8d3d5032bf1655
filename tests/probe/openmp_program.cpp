// What OpenMP has to wait with, and the tasks that change hands meanwhile. What it prints is the same at any time.

#include <omp.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

long g_total = 0;

long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void Add(long& sum, long amount = 1) {
#pragma omp atomic
  sum += amount;
}

void Criticals(int threads, int times) {
  long named = 0;
  long atomics = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < times; ++i) {
#pragma omp critical
    ++g_total;
#pragma omp critical(other)
    ++named;
    Add(atomics);
  }
  std::printf("criticals %ld %ld %ld\n", g_total, named, atomics);
}

void Locks(int threads, int times) {
  omp_lock_t lock;
  omp_nest_lock_t nested;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested);
  long under_lock = 0;
  long under_nested = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < times; ++i) {
    omp_set_lock(&lock);
    ++under_lock;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    ++under_nested;
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
  }
  std::printf("locks %ld %ld", under_lock, under_nested);
  std::printf(" %d %d", omp_test_lock(&lock), omp_test_lock(&lock));
  std::printf(" %d %d\n", omp_test_nest_lock(&nested), omp_test_nest_lock(&nested));
}

/// Each way to share a loop out, each with its own function of the runtime.
void Loops(int threads) {
  long sums[8] = {};
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sums[ : 8])
  for (long i = 0; i < 1000; ++i) sums[0] += i;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 3) reduction(+ : sums[ : 8])
  for (long i = 0; i < 1000; ++i) sums[1] += i;
#pragma omp parallel for num_threads(threads) schedule(monotonic : dynamic, 3) reduction(+ : sums[ : 8])
  for (long i = 0; i < 1000; ++i) sums[2] += i;
#pragma omp parallel for num_threads(threads) schedule(guided) reduction(+ : sums[ : 8])
  for (long i = 0; i < 1000; ++i) sums[3] += i;
#pragma omp parallel for num_threads(threads) schedule(runtime) reduction(+ : sums[ : 8])
  for (long i = 0; i < 1000; ++i) sums[4] += i;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(dynamic) reduction(+ : sums[ : 8])
    for (long i = 0; i < 1000; ++i) sums[5] += i;
#pragma omp sections reduction(+ : sums[ : 8])
    {
#pragma omp section
      sums[6] += 1;
#pragma omp section
      sums[6] += 2;
    }
  }
#pragma omp parallel sections num_threads(threads) reduction(+ : sums[ : 8])
  {
#pragma omp section
    sums[7] += 3;
#pragma omp section
    sums[7] += 4;
  }
  // These begin the team and the loop at once.
  long counts[4] = {};
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int i = 0; i < 100; ++i) Add(counts[0]);
#pragma omp parallel for num_threads(threads) schedule(monotonic : dynamic, 2)
  for (int i = 0; i < 100; ++i) Add(counts[1]);
#pragma omp parallel for num_threads(threads) schedule(guided)
  for (int i = 0; i < 100; ++i) Add(counts[2]);
#pragma omp parallel for num_threads(threads) schedule(runtime)
  for (int i = 0; i < 100; ++i) Add(counts[3]);
  std::printf("loops %ld %ld %ld %ld,", counts[0], counts[1], counts[2], counts[3]);
  for (const long sum : sums) std::printf(" %ld", sum);
  std::string order;
#pragma omp parallel for num_threads(threads) ordered schedule(dynamic)
  for (int i = 0; i < 10; ++i) {
#pragma omp ordered
    order += static_cast<char>('0' + i);
  }
  std::printf(" %s\n", order.c_str());
}

/// A region in each thread of a region.
void Nested(int threads) {
  omp_set_max_active_levels(2);
  long visits = 0;
#pragma omp parallel num_threads(threads)
#pragma omp parallel num_threads(2)
  Add(visits);
  omp_set_max_active_levels(1);
  std::printf("nested %ld\n", visits);
}

/// Copied by the program's own function, and counted.
struct Tracked {
  explicit Tracked(int value) : text(std::to_string(value)) {}
  std::string text;
};

long Fibonacci(int n) {
  if (n < 2) return n;
  long a = 0;
  long b = 0;
#pragma omp task shared(a)
  a = Fibonacci(n - 1);
#pragma omp task shared(b)
  b = Fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

void Tasks(int threads) {
  long fibonacci = 0;
  long looped = 0;
  long unsigned_looped = 0;
  long copied = 0;
  long aligned = 0;
  long reduced = 0;
  long grouped = 0;
  long chain = 0;
  bool fulfilled = false;
  const auto from = static_cast<unsigned long long>(threads);
  Tracked tracked(42);
  struct alignas(64) {
    long values[500];
  } wide = {};
  wide.values[499] = 7;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
    fibonacci = Fibonacci(12);
#pragma omp taskloop reduction(+ : looped)
    for (long i = 0; i < 1000; ++i) looped += i;
#pragma omp taskloop grainsize(1) shared(unsigned_looped)
    for (unsigned long long i = from; i < from + 20000; ++i) Add(unsigned_looped, static_cast<long>(i));
#pragma omp taskloop firstprivate(tracked) shared(copied)
    for (int i = 0; i < 100; ++i) Add(copied, std::atol(tracked.text.c_str()));
    for (int i = 0; i < 10; ++i) {
#pragma omp task firstprivate(tracked, wide) shared(copied, aligned) if (i % 2 == 0)
      {
        Add(copied, static_cast<long>(tracked.text.size()));
        Add(aligned, wide.values[499] + static_cast<long>(reinterpret_cast<std::size_t>(&wide) % 64));
      }
    }
#pragma omp taskgroup task_reduction(+ : reduced)
    for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : reduced)
      reduced += i;
    }
#pragma omp taskgroup
    for (int i = 0; i < 10; ++i) {
#pragma omp task shared(grouped)
      Add(grouped, i);
    }
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inout : chain) shared(chain)
      chain = chain * 3 + i;
    }
#pragma omp taskwait depend(in : chain)
    omp_event_handle_t event;
#pragma omp task detach(event) shared(fulfilled)
    {
      fulfilled = true;
      omp_fulfill_event(event);
    }
#pragma omp taskwait
  }
  std::printf("tasks %ld %ld %ld %ld %ld %ld %ld %ld %d\n", fibonacci, looped, unsigned_looped, copied, aligned,
              reduced, grouped, chain, fulfilled);
#pragma omp parallel num_threads(threads) reduction(task, + : reduced)
#pragma omp single
  for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : reduced)
    reduced += i;
  }
  std::printf("reduced %ld\n", reduced);
}

/// Each thread waits for tasks by what they are done with, in more than one region.
void Dependences(int threads) {
  long sum = 0;
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(threads)
    {
      long own = 0;
#pragma omp task depend(inout : own) shared(own)
      own += 2;
#pragma omp taskwait depend(in : own)
      Add(sum, own);
    }
  }
  std::printf("dependences %ld\n", sum);
}

/// A region and a loop that some leave early (OMP_CANCELLATION).
void Cancelled(int threads) {
  long found = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for
    for (int i = 0; i < 1000; ++i) {
      if (i == 500) {
#pragma omp atomic write
        found = i;
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
#pragma omp barrier
#pragma omp cancel parallel
  }
  std::printf("cancelled %ld %d\n", found, omp_get_cancellation());
}

/// Says on stderr how long the threads wait at the end of the region and at a barrier of it, in nanoseconds.
void Imbalance(int threads, int step_ms) {
  std::vector<long> done(static_cast<std::size_t>(threads));
  std::vector<long> at_barrier(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    const auto self = static_cast<std::size_t>(omp_get_thread_num());
    usleep(static_cast<unsigned>(step_ms * 1000) * (static_cast<unsigned>(self) + 1));
    at_barrier[self] = -Now();
#pragma omp barrier
    at_barrier[self] += Now();
    usleep(static_cast<unsigned>(step_ms * 1000) * static_cast<unsigned>(threads - omp_get_thread_num()));
    done[self] = Now();
  }  // the region that the report shall name
  const long end = Now();
  long barrier_ns = 0;
  long region_ns = 0;
  for (const long ns : at_barrier) barrier_ns += ns;
  for (const long ns : done) region_ns += end - ns;
  std::fprintf(stderr, "%ld %ld\n", barrier_ns, region_ns);
}

/// Says on stderr how long two threads are at a barrier, and how much of that they do tasks.
void WorkWhileWaiting(int step_ms) {
  long wait_ns = 0;
  long task_ns = 0;
  const auto step_us = static_cast<unsigned>(step_ms * 1000);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < 10; ++i) {
#pragma omp task shared(task_ns)
        {
          const long before = Now();
          usleep(step_us);
          Add(task_ns, Now() - before);
        }
      }
      usleep(20 * step_us);
    }
    const long before = Now();
#pragma omp barrier
    Add(wait_ns, Now() - before);
  }
  std::fprintf(stderr, "%ld %ld\n", wait_ns, task_ns);
}

/// Says on stderr how long the threads wait for a critical section in which each spends some time, five times.
void Held(int threads, int step_ms) {
  long wait_ns = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < 5; ++i) {
    const long before = Now();
#pragma omp critical
    {  // the section that the report shall name
      wait_ns += Now() - before;
      usleep(static_cast<unsigned>(step_ms * 1000));
    }
  }
  std::fprintf(stderr, "%ld\n", wait_ns);
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int first = argc > 2 ? std::atoi(argv[2]) : 4;
  const int second = argc > 3 ? std::atoi(argv[3]) : 100;
  if (std::strcmp(what, "imbalance") == 0) {
    Imbalance(first, second);
  } else if (std::strcmp(what, "work") == 0) {
    WorkWhileWaiting(first);
  } else if (std::strcmp(what, "held") == 0) {
    Held(first, second);
  } else if (std::strcmp(what, "criticals") == 0) {
    Criticals(first, second);
  } else if (std::strcmp(what, "locks") == 0) {
    Locks(first, second);
  } else {
    Criticals(first, second);
    Locks(first, second);
    Loops(first);
    Nested(first);
    Tasks(first);
    Dependences(first);
    Cancelled(first);
  }
  return 0;
}
