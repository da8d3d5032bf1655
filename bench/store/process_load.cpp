#include "store/process_load.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace attune::bench {

void ProcessLoad::Run() {
  std::string name = "/bin/true";
  char* arguments[] = {name.data(), nullptr};
  while (!stop_) {
    pid_t child = 0;
    if (::posix_spawn(&child, name.c_str(), nullptr, nullptr, arguments, environ) != 0) return;
    ::waitpid(child, nullptr, 0);
    ++started_;
  }
}

}  // namespace attune::bench
