// Three threads need a dictionary that std::call_once builds; two wait until the first has it.
// planted: class=initialisation-wait function=LookUp|BuildDictionary

#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::once_flag is_built;
std::vector<int> dictionary;

void BuildDictionary() {
  COMPUTE_US(900000);  // <- cause
  dictionary.assign(1000, 1);
}

int LookUp(int word) {
  const long long before_ns = now_ns(), before_cpu_ns = cpu_ns();
  std::call_once(is_built, BuildDictionary);  // <- cause
  if (cpu_ns() - before_cpu_ns < 100000000) lost_since(before_ns);
  return dictionary[word];
}

void CheckText() {
  int known = 0;
  for (int word = 0; word < 200; ++word) {
    known += LookUp(word);
    COMPUTE_US(300);
  }
  if (known != 200) std::abort();
}
}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(CheckText);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
