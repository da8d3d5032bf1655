#include "probe/mpi/world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

namespace attune::probe::mpi {
namespace {

class Hash {
 public:
  void Add(const char* text, size_t length) {
    for (size_t i = 0; i < length; ++i)
      value_ = (value_ ^ static_cast<unsigned char>(text[i])) * UINT64_C(1099511628211);  // FNV-1a
    value_ = (value_ ^ 0xff) * UINT64_C(1099511628211);
  }
  void Add(uint64_t number) { Add(reinterpret_cast<const char*>(&number), sizeof number); }
  /// @return whether there is such a variable
  bool AddVariable(const char* name) {
    const char* value = secure_getenv(name);
    if (value == nullptr || value[0] == '\0') return false;
    Add(value, strlen(value));
    return true;
  }
  uint64_t Value() const { return value_ | 1; }

 private:
  uint64_t value_ = UINT64_C(14695981039346656037);
};

/// Path of a file of a process. @param text of at least 40 bytes
void PathOf(int pid, const char* file, char* text) {
  memcpy(text, "/proc/", 6);
  char digits[12];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + pid % 10);
    pid /= 10;
  } while (pid > 0);
  char* at = text + 6;
  while (count > 0) *at++ = digits[--count];
  memcpy(at, file, strlen(file) + 1);
}

/// Reads a file of a process into `text`, ended by a NUL. @return bytes without it
size_t ReadFile(int pid, const char* file, char* text, size_t bytes) {
  char path[40];
  PathOf(pid, file, path);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t got = 0;
  while (fd >= 0 && got < bytes - 1) {
    const ssize_t more = read(fd, text + got, bytes - 1 - got);
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  if (fd >= 0) close(fd);
  text[got] = '\0';
  return got;
}

/// The field of /proc/PID/stat behind the name with this number (3 is the state); 0: not known.
uint64_t Field(const char* stat, int number) {
  const char* at = strrchr(stat, ')');
  for (int field = 2; at != nullptr && field < number; ++field) at = strchr(at + 1, ' ');
  uint64_t value = 0;
  for (at = at != nullptr ? at + 1 : ""; *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  return value;
}

/// The words behind two options of MPICH's launcher on each host, which are the same on all of them: the address of the
/// launcher itself, and which of its worlds this is.
bool AddOptions(Hash& hash, const char* command, size_t bytes) {
  bool is_found = false;
  bool is_wanted = false;
  for (size_t at = 0; at < bytes; at += strlen(command + at) + 1) {
    const char* word = command + at;
    if (is_wanted) hash.Add(word, strlen(word));
    is_wanted = strcmp(word, "--control-port") == 0 || strcmp(word, "--pgid") == 0;
    is_found = is_found || is_wanted;
  }
  return is_found;
}

/// The nearest ancestor that is MPICH's launcher on this host.
bool AddHydra(Hash& hash) {
  constexpr int kGenerations = 8;
  char text[2048];
  int pid = getpid();
  for (int i = 0; i < kGenerations && pid > 1; ++i) {
    const size_t bytes = ReadFile(pid, "/stat", text, sizeof text);
    if (bytes == 0) return false;
    const bool is_launcher = strstr(text, "(hydra_pmi_proxy)") != nullptr;
    const auto parent = static_cast<int>(Field(text, 4));
    if (is_launcher) return AddOptions(hash, text, ReadFile(pid, "/cmdline", text, sizeof text));
    pid = parent;
  }
  return false;
}

}  // namespace

uint64_t WorldId() {
  Hash hash;
  // Open MPI: a key that is drawn at random for each mpirun, and which of its worlds this is.
  if (hash.AddVariable("OMPI_MCA_orte_precondition_transports")) {
    hash.AddVariable("OMPI_MCA_ess_base_jobid");
    return hash.Value();
  }
  if (hash.AddVariable("PMIX_NAMESPACE") || hash.AddVariable("PMI_JOBID")) {
    hash.AddVariable("SLURM_JOB_ID");
    return hash.Value();
  }
  if (AddHydra(hash)) return hash.Value();
  if (hash.AddVariable("SLURM_JOB_ID")) {
    hash.AddVariable("SLURM_STEP_ID");
    return hash.Value();
  }
  // A world of one.
  char stat[1024];
  ReadFile(getpid(), "/stat", stat, sizeof stat);
  hash.Add(static_cast<uint64_t>(getpid()));
  hash.Add(Field(stat, 22));
  return hash.Value();
}

}  // namespace attune::probe::mpi
