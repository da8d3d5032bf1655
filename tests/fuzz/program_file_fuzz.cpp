// What kind of program a file is: any bytes may be asked to be run.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "symbols/program_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const attune::UniqueFd file(::memfd_create("program", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto read = attune::symbols::ReadProgramFile("/proc/self/fd/" + std::to_string(file.get()));
  if (read.ok() && read->interpreter.size() > 4096) __builtin_trap();
  return 0;
}
