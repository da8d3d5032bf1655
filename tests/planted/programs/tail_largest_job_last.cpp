// Jobs are taken from a list by two threads, and the largest job lies at its end.
// planted: class=tail-imbalance function=RunJob options=-O0

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
struct Job {
  int milliseconds;
};

std::vector<Job> jobs;
std::atomic<std::size_t> next_job = 0;
long long end_ns[2];

void RunJob(const Job& job) {
  COMPUTE_US(job.milliseconds * 1000);  // <- cause
}

void TakeJobs(int thread) {
  for (std::size_t job = next_job++; job < jobs.size(); job = next_job++) RunJob(jobs[job]);
  end_ns[thread] = now_ns();
}
}  // namespace

int main() {
  for (int i = 0; i < 60; ++i) jobs.push_back({10});
  jobs.push_back({900});
  std::thread first(TakeJobs, 0), second(TakeJobs, 1);
  first.join();
  second.join();
  lost(std::max(end_ns[0], end_ns[1]) - std::min(end_ns[0], end_ns[1]));
  return write_truth();
}
