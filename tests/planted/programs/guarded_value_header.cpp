// A helper template applies a function under its lock; the function that a caller gives it takes long.
// planted: class=lock-contention function=Apply|RecordSample options=-O0

#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
template <typename T>
class Guarded {
 public:
  template <typename Function>
  void Apply(Function function) {
    const long long before_ns = now_ns();
    const std::scoped_lock lock(mutex_);  // <- cause
    lost_since(before_ns);
    function(value_);
  }

 private:
  std::mutex mutex_;
  T value_{};
};

Guarded<std::vector<double>> samples;

void RecordSample(double sample) {
  samples.Apply([sample](std::vector<double>& all) {  // <- cause
    all.push_back(sample);
    COMPUTE_US(2500);
  });
}

void Measure() {
  for (int i = 0; i < 200; ++i) {
    RecordSample(i);
    COMPUTE_US(700);
  }
}
}  // namespace

int main() {
  std::thread first(Measure), second(Measure);
  first.join();
  second.join();
  return write_truth();
}
