// The socket for rings without a name: peers that connect, send files of all kinds and numbers, and leave.
//
// Input: one step a byte: what is done in the low two bits, with which peer in the next two, and with how many or which
// files in the rest.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "session/probes/ring_intake.h"
#include "track/ring_reader.h"
#include "wire/ring.h"

namespace {

using attune::UniqueFd;
using attune::session::RingIntake;

constexpr size_t kPeers = 4;
constexpr size_t kMostFiles = 4;

/// A folder that is gone when the fuzzer exits.
struct Folder {
  Folder() {
    char made[] = "/tmp/attune-intake-fuzz-XXXXXX";
    if (mkdtemp(made) == nullptr) abort();
    name = made;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name, ignored);
  }
  std::string name;
};

UniqueFd Memory(int seals) {
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(fd.get(), 4096) != 0 || fcntl(fd.get(), F_ADD_SEALS, seals) != 0) abort();
  return fd;
}

UniqueFd Connect(const std::string& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder + "/" ATTUNE_RING_SOCKET_NAME).copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

void Send(int to, int file, size_t count) {
  char byte = 0;
  iovec text{&byte, 1};
  std::array<int, kMostFiles> files;
  files.fill(file);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), files.data(), count * sizeof(int));
  }
  (void)!sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder made;
  const std::string& folder = made.name;
  static auto listening = RingIntake::Listen(folder);
  if (!listening.ok()) abort();
  static const std::array<UniqueFd, 4> kinds{Memory(F_SEAL_SHRINK | F_SEAL_GROW), Memory(0), Memory(F_SEAL_SHRINK),
                                             UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC))};
  std::array<UniqueFd, kPeers> peers;
  for (const uint8_t step : std::basic_string_view<uint8_t>(data, size)) {
    UniqueFd& peer = peers[step >> 2 & 3];
    switch (step & 3) {
      case 0: peer = Connect(folder); break;
      case 1:
        if (peer) Send(peer.get(), kinds[step >> 4 & 3].get(), step >> 6 & 3);
        break;
      case 2: peer.reset(); break;
      default:
        for (attune::session::SentRing& sent : listening->Take()) {
          if (sent.sender != getpid()) __builtin_trap();
          if ((fcntl(sent.file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) __builtin_trap();
          if (attune::track::RingReader::Take(sent.file, "fuzz", sent.sender).ok()) __builtin_trap();
        }
    }
  }
  peers = {};
  (void)listening->Take();
  return 0;
}
