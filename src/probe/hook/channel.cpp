#include "probe/hook/channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/hook/caller.h"
#include "probe/hook/module.h"
#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {

constinit int64_t g_cpu_offset = 0;
constinit uint64_t* g_descriptors = nullptr;

constinit uint64_t g_event_of[kDescriptors] = {};

namespace {

using wire::ChannelKind;

constexpr uint32_t kSites = 256;
constexpr uint32_t kMaxProbes = 64;

/// One end of a channel. Its place in the table is its index, less one.
struct Channel {
  uint64_t key;  ///< 0: free
  uint32_t is_told;
};
struct Tables {
  uint64_t descriptors[kDescriptors];
  uint64_t files[kDescriptors];  ///< identity of each descriptor's file (FileOf) when last inspected
  Channel channels[wire::kMessageMaxChannels];
  uint64_t sites[kSites];  ///< call sites that the session was told
};
constinit Tables* g_tables = nullptr;

/// Identity under which a channel is told.
struct Identity {
  ChannelKind kind = ChannelKind::kNone;
  uint64_t id = 0;
  uint32_t end = 0;
  uint64_t detail = 0;
};

constexpr uint64_t kEndBits = 0x7fffffff;

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

uint64_t IdOf(ChannelKind kind, uint64_t one, uint64_t other) {
  return Mix(Mix(Mix(UINT64_C(0x6368616e), static_cast<uint64_t>(kind)), one), other) | 1;
}

/// The index of a channel, of which the session is told. 0: there is no room.
uint32_t IndexOf(const Identity& identity) {
  if (ThreadWithTable() == nullptr) return 0;
  const uint64_t key = Mix(identity.id, identity.end) | 1;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const uint32_t place = static_cast<uint32_t>((key >> 20) + probe) % wire::kMessageMaxChannels;
    Channel& channel = g_tables->channels[place];
    uint64_t seen = 0;
    if (!__atomic_compare_exchange_n(&channel.key, &seen, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
        seen != key)
      continue;
    if (__atomic_load_n(&channel.is_told, __ATOMIC_ACQUIRE) == 0) {
      const uint64_t values[4] = {place + 1, identity.id, uint64_t{identity.end} << 32, identity.detail};
      if (!EmitIfRoom(wire::EventKind::kCommunicator, static_cast<uint16_t>(identity.kind), 0, values, 4)) return 0;
      __atomic_store_n(&channel.is_told, 1, __ATOMIC_RELEASE);
    }
    return place + 1;
  }
  return 0;
}

/// An address of the internet, in either version as the same.
struct Endpoint {
  uint8_t address[16] = {};
  uint16_t port = 0;
};

bool ReadEndpoint(const sockaddr_storage& from, Endpoint& to) {
  static constexpr uint8_t kVersion4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (from.ss_family == AF_INET) {
    sockaddr_in address;
    memcpy(&address, &from, sizeof address);
    memcpy(to.address, kVersion4, sizeof kVersion4);
    memcpy(to.address + sizeof kVersion4, &address.sin_addr, sizeof address.sin_addr);
    to.port = __builtin_bswap16(address.sin_port);
    return true;
  }
  if (from.ss_family != AF_INET6) return false;
  sockaddr_in6 address;
  memcpy(&address, &from, sizeof address);
  memcpy(to.address, &address.sin6_addr, sizeof to.address);
  to.port = __builtin_bswap16(address.sin6_port);
  return true;
}

uint64_t HashOf(const Endpoint& endpoint) {
  uint64_t words[2];
  memcpy(words, endpoint.address, sizeof words);
  return Mix(Mix(words[0], words[1]), endpoint.port);
}

/// Identity of a connected socket.
Identity InternetSocket(int file, int type, const sockaddr_storage& own_address) {
  sockaddr_storage peer_address;
  socklen_t bytes = sizeof peer_address;
  Endpoint own, peer;
  if (getpeername(file, reinterpret_cast<sockaddr*>(&peer_address), &bytes) != 0 || !ReadEndpoint(own_address, own) ||
      !ReadEndpoint(peer_address, peer))
    return {};
  const int order = memcmp(own.address, peer.address, sizeof own.address);
  const bool is_second = order != 0 ? order > 0 : own.port > peer.port;
  const Endpoint& first = is_second ? peer : own;
  const Endpoint& second = is_second ? own : peer;
  const ChannelKind kind = type == SOCK_DGRAM ? ChannelKind::kUdpSocket : ChannelKind::kTcpSocket;
  return {.kind = kind,
          .id = IdOf(kind, HashOf(first), HashOf(second)),
          .end = is_second,
          .detail = uint64_t{first.port} << 16 | second.port};
}

Identity UnixSocket(int type, uint64_t inode, uint64_t peer) {
  const ChannelKind kind = type == SOCK_STREAM ? ChannelKind::kUnixSocket : ChannelKind::kUnixDatagram;
  return {.kind = kind,
          .id = IdOf(kind, inode, 0),
          .end = static_cast<uint32_t>(inode & kEndBits),
          .detail = peer & kEndBits};
}

Identity Socket(int file, uint64_t inode) {
  sockaddr_storage own;
  int type = 0;
  socklen_t bytes = sizeof own, type_bytes = sizeof type;
  if (getsockname(file, reinterpret_cast<sockaddr*>(&own), &bytes) != 0) return {};
  if (getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0) return {};
  if (own.ss_family == AF_UNIX) return UnixSocket(type, inode, 0);
  return InternetSocket(file, type, own);
}

/// Identity of a descriptor without a file type.
Identity Event(int file) {
  const uint64_t made_as = __atomic_load_n(&g_event_of[file], __ATOMIC_RELAXED);
  if (made_as == 0) return {};
  return {.kind = ChannelKind::kEvent, .id = IdOf(ChannelKind::kEvent, made_as, 0), .detail = made_as};
}

Identity IdentityOf(int file, const struct stat& status, bool is_queue) {
  if (is_queue) {
    return {.kind = ChannelKind::kPosixQueue,
            .id = IdOf(ChannelKind::kPosixQueue, status.st_dev, status.st_ino),
            .detail = status.st_ino};
  }
  if (S_ISFIFO(status.st_mode)) {
    return {.kind = ChannelKind::kPipe,
            .id = IdOf(ChannelKind::kPipe, status.st_dev, status.st_ino),
            .detail = status.st_ino};
  }
  if (S_ISSOCK(status.st_mode)) return Socket(file, status.st_ino);
  return (status.st_mode & S_IFMT) == 0 ? Event(file) : Identity{};
}

uint64_t FileOf(const struct stat& status) { return Mix(status.st_dev, status.st_ino); }

void Remember(int file, uint64_t now, uint64_t what, uint32_t index) {
  g_tables->files[file] = what;
  __atomic_store_n(&g_descriptors[file], DescriptorWord(index, now), __ATOMIC_RELAXED);
}

uint32_t Ask(int file, uint64_t now, bool is_queue) {
  const uint64_t known = __atomic_load_n(&g_descriptors[file], __ATOMIC_RELAXED);
  if (attune_probe_is_sandboxed != 0) return known & 0xffff;
  const int saved_errno = errno;
  struct stat status;
  uint32_t index = 0;
  if (fstat(file, &status) == 0) {
    const uint64_t what = FileOf(status);
    index = known & 0xffff;
    if (index == 0 || g_tables->files[file] != what) {
      const Identity identity = IdentityOf(file, status, is_queue);
      index = identity.kind != ChannelKind::kNone ? IndexOf(identity) : 0;
    }
    Remember(file, now, what, index);
  }
  errno = saved_errno;
  return index;
}

/// Both ends of a pair that was made just now: later nobody can tell that they belong together.
void TellPair(const int* ends, int type) {
  const uint64_t now = Ticks();
  struct stat status[2];
  if (fstat(ends[0], &status[0]) != 0 || fstat(ends[1], &status[1]) != 0) return;
  for (int i = 0; i < 2; ++i) {
    if (static_cast<uint32_t>(ends[i]) >= kDescriptors) continue;
    Remember(ends[i], now, FileOf(status[i]), IndexOf(UnixSocket(type, status[i].st_ino, status[1 - i].st_ino)));
  }
}

/// Launchers only pass on what the ranks of a job write, so their channels are not recorded.
bool IsLauncher() {
  // Debian and others add the implementation's name.
  static constexpr const char* kNames[] = {"mpirun",
                                           "mpiexec",
                                           "orterun",
                                           "orted",
                                           "prterun",
                                           "prte",
                                           "prted",
                                           "srun",
                                           "slurmstepd",
                                           "hydra_pmi_proxy",
                                           "hydra_bstrap_proxy",
                                           "hydra_nameserver"};
  const char* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const char* slash = path != nullptr ? strrchr(path, '/') : nullptr;
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* each : kNames) {
    const size_t length = strlen(each);
    if (name != nullptr && strncmp(name, each, length) == 0 && (name[length] == '\0' || name[length] == '.'))
      return true;
  }
  return false;
}

/// Behind what finds the C library's functions.
[[gnu::constructor(103)]] void MakeTables() {
  if (g_process.header == nullptr || g_process.sync_entries == 0 || !IsInPlace() || IsLauncher()) return;
  const int saved_errno = errno;
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED && madvise(memory, sizeof(Tables), MADV_WIPEONFORK) == 0) {
    g_tables = static_cast<Tables*>(memory);
    g_descriptors = g_tables->descriptors;
  }
  errno = saved_errno;
}

}  // namespace

uint32_t LookAt(int file, uint64_t now) { return Ask(file, now, false); }

uint64_t TellSite(const void* site) {
  const uint64_t address = Address(site);
  if (ThreadWithTable() == nullptr) return address;
  uint64_t& place = g_tables->sites[address * UINT64_C(0x9e3779b97f4a7c15) >> 56];
  if (__builtin_expect(__atomic_load_n(&place, __ATOMIC_RELAXED) == address, 1)) return InterpretedSite(0, address);
  const int saved_errno = errno;
  TellModule(address);
  errno = saved_errno;
  __atomic_store_n(&place, address, __ATOMIC_RELAXED);
  return InterpretedSite(0, address);
}

// ---- what descriptors are of

ATTUNE_HOOK int close(int file) {
  ForgetDescriptor(file);
  return g_real.close(file);
}

/// Two at the same number in one process are one, as its first one is closed.
ATTUNE_HOOK int eventfd(unsigned count, int flags) {
  const int file = g_real.eventfd(count, flags);
  if (file < 0 || static_cast<uint32_t>(file) >= kDescriptors) return file;
  ForgetDescriptor(file);
  const auto process = static_cast<uint64_t>(static_cast<uint32_t>(getpid()));
  __atomic_store_n(&g_event_of[file], process << 32 | static_cast<uint32_t>(file), __ATOMIC_RELAXED);
  return file;
}

ATTUNE_HOOK int dup2(int from, int to) {
  ForgetDescriptor(to);
  return g_real.dup2(from, to);
}

ATTUNE_HOOK int dup3(int from, int to, int flags) {
  ForgetDescriptor(to);
  return g_real.dup3(from, to, flags);
}

ATTUNE_HOOK int socketpair(int domain, int type, int protocol, int* ends) {
  const int result = g_real.socketpair(domain, type, protocol, ends);
  if (result != 0 || domain != AF_UNIX || !Recording() || g_descriptors == nullptr || attune_probe_is_sandboxed != 0)
    return result;
  const int saved_errno = errno;
  TellPair(ends, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK));
  errno = saved_errno;
  return result;
}

ATTUNE_HOOK int Prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) __asm__("prctl");
int Prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP) attune_probe_is_sandboxed = 1;
  return g_real.prctl(option, a, b, c, d);
}

// ---- message queues

namespace {

bool IsOn() { return Recording() && g_descriptors != nullptr && g_mpi_stack == 0; }

uint32_t QueueOf(mqd_t queue, uint64_t now) {
  if (queue < 0 || static_cast<uint32_t>(queue) >= kDescriptors) return 0;
  const uint64_t known = __atomic_load_n(&g_descriptors[queue], __ATOMIC_RELAXED);
  return (known & 0xffff) == 0 || IsOld(known, now) ? Ask(queue, now, true) : known & 0xffff;
}

uint32_t SystemVQueue(int queue) {
  return IndexOf({.kind = ChannelKind::kSystemVQueue,
                  .id = IdOf(ChannelKind::kSystemVQueue, static_cast<uint32_t>(queue), 0),
                  .detail = static_cast<uint32_t>(queue)});
}

template <class Call>
int QueueSend(mqd_t queue, size_t bytes, unsigned priority, const void* site, const Call& call) {
  if (!IsOn()) return call();
  const uint64_t before = Ticks();
  const int result = call();
  const uint64_t now = Ticks();
  const uint32_t channel = result == 0 ? QueueOf(queue, now) : 0;
  if (channel != 0)
    TellChannel(channel, ChannelFunction::kMqSend, {before, now}, static_cast<int32_t>(priority), bytes, site);
  return result;
}

/// @param call gets where the priority goes
template <class Call>
ssize_t QueueReceive(mqd_t queue, unsigned* priority, const void* site, const Call& call) {
  if (!IsOn()) return call(priority);
  unsigned own = 0;
  unsigned* asked = priority != nullptr ? priority : &own;
  const uint64_t before = Ticks();
  const ssize_t result = call(asked);
  const uint64_t now = Ticks();
  const uint32_t channel = result >= 0 ? QueueOf(queue, now) : 0;
  if (channel != 0)
    TellChannel(channel, ChannelFunction::kMqReceive, {before, now}, static_cast<int32_t>(*asked),
                static_cast<uint64_t>(result), site);
  return result;
}

/// The kind of a message that begins with it.
int32_t TypeOf(const void* message) {
  long type;
  memcpy(&type, message, sizeof type);
  return static_cast<int32_t>(type);
}

}  // namespace

ATTUNE_HOOK int mq_send(mqd_t queue, const char* from, size_t bytes, unsigned priority) {
  return QueueSend(queue, bytes, priority, ATTUNE_SITE, [=] { return g_real.mq_send(queue, from, bytes, priority); });
}

ATTUNE_HOOK int mq_timedsend(mqd_t queue, const char* from, size_t bytes, unsigned priority, const timespec* limit) {
  return QueueSend(queue, bytes, priority, ATTUNE_SITE,
                   [=] { return g_real.mq_timedsend(queue, from, bytes, priority, limit); });
}

ATTUNE_HOOK ssize_t mq_receive(mqd_t queue, char* to, size_t bytes, unsigned* priority) {
  return QueueReceive(queue, priority, ATTUNE_SITE,
                      [=](unsigned* asked) { return g_real.mq_receive(queue, to, bytes, asked); });
}

ATTUNE_HOOK ssize_t mq_timedreceive(mqd_t queue, char* __restrict to, size_t bytes, unsigned* __restrict priority,
                                    const timespec* __restrict limit) {
  return QueueReceive(queue, priority, ATTUNE_SITE,
                      [=](unsigned* asked) { return g_real.mq_timedreceive(queue, to, bytes, asked, limit); });
}

ATTUNE_HOOK int msgsnd(int queue, const void* from, size_t bytes, int flags) {
  if (!IsOn()) return g_real.msgsnd(queue, from, bytes, flags);
  const uint64_t before = Ticks();
  const int result = g_real.msgsnd(queue, from, bytes, flags);
  const uint64_t now = Ticks();
  const uint32_t channel = result == 0 ? SystemVQueue(queue) : 0;
  if (channel != 0) TellChannel(channel, ChannelFunction::kMsgsnd, {before, now}, TypeOf(from), bytes, ATTUNE_SITE);
  return result;
}

ATTUNE_HOOK ssize_t msgrcv(int queue, void* to, size_t bytes, long type, int flags) {
  constexpr int kCopy = 040000;  // MSG_COPY: the message stays
  if (!IsOn() || (flags & kCopy) != 0) return g_real.msgrcv(queue, to, bytes, type, flags);
  const uint64_t before = Ticks();
  const ssize_t result = g_real.msgrcv(queue, to, bytes, type, flags);
  const uint64_t now = Ticks();
  const uint32_t channel = result >= 0 ? SystemVQueue(queue) : 0;
  if (channel != 0)
    TellChannel(channel, ChannelFunction::kMsgrcv, {before, now}, TypeOf(to), static_cast<uint64_t>(result),
                ATTUNE_SITE);
  return result;
}

}  // namespace attune::probe::hook
