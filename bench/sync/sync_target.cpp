// The program that sync_bench observes: does a round of its case for each line with a number of operations on stdin,
// and answers with a line: nanoseconds for all of them, voluntary context switches, threads, and whether the C library
// takes the process for single-threaded. Ends with its stdin.
//
// Usage: sync_target CASE CPU CPU [THREADS]

#include "sync_target.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

namespace {

const SyncCase* Find(const SyncCase* cases, const char* name) {
  for (; cases->name != nullptr; ++cases) {
    if (std::strcmp(cases->name, name) == 0) return cases;
  }
  return nullptr;
}

int64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1'000'000'000) + now.tv_nsec;
}

long VoluntarySwitches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

int Threads() {
  int threads = 0;
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) Fail("/proc/self/task");
  while (const dirent* entry = ::readdir(tasks)) threads += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(tasks);
  return threads;
}

void AnswerRounds(const SyncCase& chosen) {
  uint64_t operations = 0;
  while (std::scanf("%" SCNu64, &operations) == 1) {
    chosen.run(operations / 10);  // what it needs is in the caches again
    const long switches = VoluntarySwitches();
    const int64_t begin_ns = NowNs();
    chosen.run(operations);
    const int64_t ns = NowNs() - begin_ns;
    std::printf("%" PRId64 " %ld %d %d\n", ns, VoluntarySwitches() - switches, Threads(), __libc_single_threaded);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const SyncCase* chosen = nullptr;
  for (const SyncCase* cases : {kPthreadCases, kFileCases, kStandardCases}) {
    if (chosen == nullptr) chosen = Find(cases, argv[1]);
  }
  if (chosen == nullptr) return 2;
  const SyncSetup setup = {{std::atoi(argv[2]), std::atoi(argv[3])},
                           argc > 4 ? static_cast<uint32_t>(std::atoi(argv[4])) : 0};
  PinTo(setup.cpus[0]);
  if (chosen->prepare != nullptr) chosen->prepare(&setup);
  AnswerRounds(*chosen);
  std::exit(0);
}
