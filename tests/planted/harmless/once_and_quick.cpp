// Threads go through std::call_once and a static variable that take no time to make.
// planted: class=none

#include <mutex>
#include <string>
#include <thread>

#include "planted.h"

namespace {
std::once_flag flag;
int made = 0;

const std::string& Name() {
  static const std::string kName = "name";
  return kName;
}

void Use() {
  for (int i = 0; i < 1200; ++i) {
    std::call_once(flag, [] { ++made; });
    if (Name().empty()) std::abort();
    COMPUTE_US(1000);
  }
}
}  // namespace

int main() {
  std::thread first(Use), second(Use);
  first.join();
  second.join();
  return made != 1;
}
