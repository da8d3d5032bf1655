/// Before main: make the ring file, if the environment names a ring folder. Every failure leaves the program as it was,
/// with the markers off.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attune/probe.h"
#include "probe/core.h"
#include "wire/preload.h"

namespace attune::probe {

constinit const uint32_t g_levels_off[2] = {wire::kRingLevelOff, wire::kRingLevelOff};
constinit const uint32_t* g_sync_level = g_levels_off;
}  // namespace attune::probe

extern "C" const uint32_t* attune_probe_level;
const uint32_t* attune_probe_level = attune::probe::g_levels_off;

namespace attune::probe {
namespace {

using wire::RingConfig;
using wire::RingHeader;
using wire::RingLayout;

constexpr size_t kMaxFileName = 64;
constexpr int kMaxFilesOfProcess = 1000;  // one for each exec
constexpr uint64_t kPage = 4096;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

ssize_t ReadFile(int folder, const char* path, void* buffer, size_t capacity) {
  Fd fd(openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.ok() ? read(fd.get(), buffer, capacity) : -1;
}

uint32_t LevelFromEnvironment() {
  const char* text = secure_getenv(ATTUNE_LEVEL_VARIABLE);
  if (text == nullptr) return wire::kRingLevelProfile;
  if (strcmp(text, "off") == 0) return wire::kRingLevelOff;
  if (strcmp(text, "blame") == 0) return wire::kRingLevelBlame;
  if (strcmp(text, "trace") == 0) return wire::kRingLevelTrace;
  if (strcmp(text, "stamped") == 0) return wire::kRingLevelStamped;
  return wire::kRingLevelProfile;
}

/// The kernel takes the TSC as its clock only while it agrees between cores and never stops.
uint32_t SafeClock() {
#if defined(__aarch64__)
  return wire::kRingClockTsc;
#else
  char name[8] = {};
  ReadFile(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof(name) - 1);
  return strcmp(name, "tsc\n") == 0 ? wire::kRingClockTsc : wire::kRingClockMonotonic;
#endif
}

uint32_t DefaultReadySlots() {
  cpu_set_t cpus;
  const int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) + 1 : wire::kRingMinReadySlots;
  if (count < wire::kRingMinReadySlots) return wire::kRingMinReadySlots;
  return count > wire::kRingMaxReadySlots ? uint32_t{wire::kRingMaxReadySlots} : static_cast<uint32_t>(count);
}

/// The session's wishes, or the defaults where it has none or they make no sense.
RingConfig ReadConfig(int folder) {
  RingConfig config = {};
  if (ReadFile(folder, ATTUNE_RING_CONFIG_NAME, &config, sizeof(config)) == sizeof(config) &&
      config.magic == ATTUNE_RING_CONFIG_MAGIC && config.version == wire::kRingVersion &&
      wire::RingSizesAreValid(config.slot_count, config.ring_words, config.names_bytes, config.sync_entries,
                              config.trace_words) &&
      config.clock <= wire::kRingClockMonotonic) {
    if (config.ready_slots == 0) {
      config.ready_slots = DefaultReadySlots();
      g_process.own_slots = wire::kRingMaxOwnSlots;
    }
    return config;
  }
  config = {};
  config.slot_count = wire::kRingDefaultSlots;
  config.ring_words = wire::kRingDefaultWords;
  config.names_bytes = wire::kRingDefaultNamesBytes;
  config.sync_entries = 0;  // only a session asks for that
  config.trace_words = 0;
  config.ready_slots = DefaultReadySlots();
  g_process.own_slots = wire::kRingMaxOwnSlots;
  config.clock = SafeClock();
  config.budget_bytes = UINT64_MAX;
  return config;
}

/// Field 22 of /proc/self/stat: when the process started, in clock ticks since boot. 0: not to be had.
uint64_t StartTicks() {
  char text[1024];
  const ssize_t length = ReadFile(AT_FDCWD, "/proc/self/stat", text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* field = strrchr(text, ')');  // the name before it may hold anything
  for (int number = 2; field != nullptr && number < 22; ++number) field = strchr(field + 1, ' ');
  if (field == nullptr) return 0;
  uint64_t ticks = 0;
  for (++field; *field >= '0' && *field <= '9'; ++field) ticks = ticks * 10 + static_cast<uint64_t>(*field - '0');
  return ticks;
}

char* AppendNumber(char* out, uint64_t number) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *out++ = digits[--count];
  return out;
}

/// "PID.STARTTICKS.N" with the first N that is free. @return the descriptor, or -1
int CreateFile(int folder, int pid, uint64_t start_ticks, char (&name)[kMaxFileName]) {
  char* out = AppendNumber(name, static_cast<uint64_t>(pid));
  *out++ = '.';
  out = AppendNumber(out, start_ticks);
  *out++ = '.';
  for (int n = 0; n < kMaxFilesOfProcess; ++n) {
    *AppendNumber(out, static_cast<uint64_t>(n)) = '\0';
    const int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/// Memory for [offset, offset + bytes), so that writing there cannot fault. False: there is none.
bool Back(int fd, uint64_t offset, uint64_t bytes) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return true;
    if (errno != EINTR) return false;
  }
  return false;
}

/// A connection to the session that takes rings; -1: none does.
int ConnectToSession(const char* folder) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  constexpr char kName[] = "/" ATTUNE_RING_SOCKET_NAME;
  const size_t length = strlen(folder);
  if (length + sizeof(kName) > sizeof(address.sun_path)) return -1;
  memcpy(address.sun_path, folder, length);
  memcpy(address.sun_path + length, kName, sizeof(kName));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

bool SendDescriptor(int connection, int fd) {
  char byte = 0;
  iovec text = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int CreateMemory() {
  constexpr unsigned kNoExec = 8;  // MFD_NOEXEC_SEAL, from Linux 6.3 on
  const int fd = memfd_create("attune-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExec);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("attune-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/// A ring file without a name, whose size nobody can change any more: what is mapped of it stays there. The session
/// has it from now on, also when this process ends at once.
/// @return -1: no session takes it
int CreateUnnamed(const char* folder, uint64_t bytes) {
  const Fd session(ConnectToSession(folder));
  if (!session.ok()) return -1;
  const int fd = CreateMemory();
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 && SendDescriptor(session.get(), fd))
    return fd;
  close(fd);
  return -1;
}

bool FileSizeIsAllowed(uint64_t bytes) {
  rlimit limit;  // beyond it, ftruncate would kill the program with SIGXFSZ
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

/// The library's share of a limited address space must stay small: otherwise the program's own calls would fail.
bool AddressSpaceIsEnough(uint64_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur / wire::kScarceParts >= bytes) && !wire::MemoryIsScarce();
}

RingLayout LayoutOf(const RingConfig& config) {
  return wire::RingComputeLayout(config.slot_count, config.ring_words, config.names_bytes, config.sync_entries,
                                 config.trace_words);
}

void InChild() {
  if (g_process.header != nullptr) *g_process.fork_pid = getpid();
}

/// The mapping that a child finds empty: fork_pid on its first cache line, then the thread states.
bool MapThreadStates(uint32_t slot_count) {
  const size_t bytes = (sizeof(ThreadState) * (slot_count + size_t{1}) + kPage - 1) / kPage * kPage;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, bytes);
    return false;
  }
  g_process.fork_pid = static_cast<int*>(memory);
  g_process.threads = static_cast<ThreadState*>(memory) + 1;
  return true;
}

/// Only the first 32 keys of the GNU C library are stored without the heap. Without a key the session frees the slots
/// of threads that ended.
void MakeThreadKey() {
  pthread_key_t key;
  if (pthread_key_create(&key, ThreadEnd) != 0) return;
  if (key >= 32) {
    pthread_key_delete(key);
    return;
  }
  g_process.thread_key = key;
  g_process.has_thread_key = true;
}

void FillHeader(RingHeader* header, const RingConfig& config, const RingLayout& layout, uint64_t start_ticks) {
  header->version = wire::kRingVersion;
  header->header_bytes = wire::kRingHeaderBytes;
  header->file_bytes = layout.file_bytes;
  header->names_offset = static_cast<uint32_t>(layout.names_offset);
  header->names_bytes = config.names_bytes;
  header->slots_offset = static_cast<uint32_t>(layout.slots_offset);
  header->slot_bytes = wire::kRingSlotBytes;
  header->slot_count = config.slot_count;
  header->ring_words = config.ring_words;
  header->tables_offset = layout.tables_offset;
  header->sync_entries = config.sync_entries;
  header->trace_words = config.trace_words;
  header->rings_offset = layout.rings_offset;
  header->pid = getpid();
  header->clock = config.clock;
  header->start_ticks = start_ticks;
  header->level = LevelFromEnvironment();
  header->mutex_level = header->level;
  header->names_used = wire::kRingNameAlign;  // id 0 is no name
  header->attach_ticks = Ticks();
  header->attach_monotonic = static_cast<int64_t>(MonotonicTicks());
}

/// Backs the traces of the slots that are ready, as many as memory and budget allow, where the program is to be traced
/// from its start. (Else the session does when it says so.) @return what is left of the budget
uint64_t BackFirstTraces(int fd, const RingConfig& config, const RingLayout& layout, uint64_t budget) {
  if (config.trace_words == 0 || budget < layout.definitions_bytes ||
      !Back(fd, layout.definitions_offset, layout.definitions_bytes))
    return budget;
  budget -= layout.definitions_bytes;
  for (uint32_t i = 0; i < config.slot_count && g_process.slots[i].ready == 1; ++i) {
    if (budget < layout.trace_bytes || !Back(fd, layout.traces_offset + i * layout.trace_bytes, layout.trace_bytes))
      break;
    budget -= layout.trace_bytes;
    g_process.slots[i].trace_ready = 1;
  }
  return budget;
}

/// Backs the first rings, as many as memory and budget allow. @return what is left of the budget
uint64_t BackFirstSlots(int fd, const RingConfig& config, const RingLayout& layout) {
  uint64_t budget = config.budget_bytes - layout.tables_offset;
  const uint64_t slot_bytes = layout.table_bytes + layout.ring_bytes;
  bool goes_on = true;
  for (uint32_t i = 0; i < config.slot_count; ++i) {
    wire::RingSlot* slot = &g_process.slots[i];
    slot->tail_check = ~slot->tail;
    goes_on =
        goes_on && i < config.ready_slots && budget >= slot_bytes &&
        (layout.table_bytes == 0 || Back(fd, layout.tables_offset + i * layout.table_bytes, layout.table_bytes)) &&
        Back(fd, layout.rings_offset + i * layout.ring_bytes, layout.ring_bytes);
    if (!goes_on) continue;
    budget -= slot_bytes;
    slot->ready = 1;
  }
  return budget;
}

/// The program can neither unmap nor protect this memory from now on (mseal, Linux 6.10 and newer; elsewhere nothing
/// holds it off). A filter of system calls may end a process for a call that it does not know: then it is not tried.
void SealMapping(void* memory, uint64_t bytes) {
  constexpr long kMseal = 462;
  if (sizeof(void*) == 8 && prctl(PR_GET_SECCOMP) == 0) syscall(kMseal, memory, bytes, 0);
}

/// Fills the new file, which has its size, and maps it. False: nothing is left but the file.
bool SetUp(int fd, const RingConfig& config, const RingLayout& layout, uint64_t start_ticks) {
  if (!Back(fd, 0, layout.tables_offset)) return false;
  void* memory = mmap(nullptr, layout.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, layout.file_bytes, MADV_DONTDUMP);
  if (!MapThreadStates(config.slot_count)) {
    munmap(memory, layout.file_bytes);
    return false;
  }
  char* base = static_cast<char*>(memory);
  auto* header = reinterpret_cast<RingHeader*>(base);
  g_process.names = base + layout.names_offset;
  g_process.slots = reinterpret_cast<wire::RingSlot*>(base + layout.slots_offset);
  g_process.tables = reinterpret_cast<wire::SyncEntry*>(base + layout.tables_offset);
  g_process.rings = reinterpret_cast<uint64_t*>(base + layout.rings_offset);
  g_process.definitions = reinterpret_cast<wire::TraceDefinition*>(base + layout.definitions_offset);
  g_process.traces = reinterpret_cast<uint64_t*>(base + layout.traces_offset);
  g_process.slot_count = config.slot_count;
  g_process.ring_words = config.ring_words;
  g_process.names_bytes = config.names_bytes;
  g_process.sync_entries = config.sync_entries;
  g_process.trace_words = config.trace_words;
  g_process.clock_is_tsc = config.clock == wire::kRingClockTsc;
  FillHeader(header, config, layout, start_ticks);
  uint64_t budget = BackFirstSlots(fd, config, layout);
  if (header->level >= wire::kRingLevelTrace) budget = BackFirstTraces(fd, config, layout, budget);
  header->budget_bytes = budget / wire::kRingBudgetParts;
  if (g_process.own_slots > config.slot_count) g_process.own_slots = config.slot_count;
  *g_process.fork_pid = header->pid;
  MakeThreadKey();
  pthread_atfork(nullptr, nullptr, InChild);
  SealMapping(memory, layout.file_bytes);
  g_process.header = header;
  RegisterName(ATTUNE_RING_NO_ROOM_NAME);
  __atomic_store_n(&header->magic, ATTUNE_RING_MAGIC, __ATOMIC_RELEASE);
  __atomic_store_n(&attune_probe_level, &header->level, __ATOMIC_RELEASE);
  if (config.sync_entries > 0) __atomic_store_n(&g_sync_level, &header->level, __ATOMIC_RELEASE);
  return true;
}

/// A program may have been started with the cycle counter forbidden: reading it would then kill it.
bool ClockIsAllowed() {
#if defined(__x86_64__)
  int mode = PR_TSC_ENABLE;
  return prctl(PR_GET_TSC, &mode) != 0 || mode == PR_TSC_ENABLE;
#else
  return true;
#endif
}

void AttachTo(const char* path) {
  if (path[0] != '/' || !ClockIsAllowed()) return;
  Fd folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  // Somebody else's folder (the program changed its user) is none of ours.
  if (!folder.ok() || fstat(folder.get(), &status) != 0 || status.st_uid != geteuid()) return;
  RingConfig config = ReadConfig(folder.get());
  RingLayout layout = LayoutOf(config);
  for (; !AddressSpaceIsEnough(layout.file_bytes); layout = LayoutOf(config)) {
    if (config.slot_count <= wire::kRingMinReadySlots) return;
    config.slot_count /= 2;
  }
  if (config.budget_bytes < layout.tables_offset || !FileSizeIsAllowed(layout.file_bytes)) return;
  const uint64_t start_ticks = StartTicks();
  if (const Fd memory(CreateUnnamed(path, layout.file_bytes)); memory.ok()) {
    SetUp(memory.get(), config, layout, start_ticks);
    return;
  }
  char name[kMaxFileName];
  const Fd file(CreateFile(folder.get(), getpid(), start_ticks, name));
  if (!file.ok()) return;
  if (fchmod(file.get(), 0600) != 0 || ftruncate(file.get(), static_cast<off_t>(layout.file_bytes)) != 0 ||
      !SetUp(file.get(), config, layout, start_ticks))
    unlinkat(folder.get(), name, 0);
}

/// Early, so that the program's own constructors can use markers.
[[gnu::constructor(101)]] void Attach() {
  if (g_process.header != nullptr) return;
  const int saved_errno = errno;
  const char* path = secure_getenv(ATTUNE_RING_FOLDER_VARIABLE);  // nullptr in setuid programs
  if (path != nullptr && path[0] != '\0') AttachTo(path);
  errno = saved_errno;
}

}  // namespace
}  // namespace attune::probe
