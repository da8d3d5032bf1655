// Options of the TCP sockets of a process.

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>

#include "actuator/actuators.h"
#include "actuator/descriptors.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

// SO_BUF_LOCK of asm-generic/socket.h, since Linux 5.14: the kernel does not resize these buffers by itself.
constexpr int kBufLock = 72;

struct SocketOption {
  std::string_view name;
  int level;
  int number;
  int force;   ///< the same beyond the limits of sysctl, with CAP_NET_ADMIN; 0: there is none
  int locked;  ///< bit of kBufLock that setting it leaves behind; 0: none
};
constexpr SocketOption kOptions[] = {{"SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, SO_SNDBUFFORCE, 1},
                                     {"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, SO_RCVBUFFORCE, 2},
                                     {"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 0, 0}};

/// Value of a size that the kernel still chooses by itself.
constexpr std::string_view kAutomatic = "automatic ";

Result<int> GetOption(int fd, int level, int number) {
  int value = 0;
  socklen_t bytes = sizeof value;
  if (getsockopt(fd, level, number, &value, &bytes) != 0) return ErrnoError("reading an option of a socket");
  return value;
}

Status SetOption(int fd, int level, int number, int value) {
  if (setsockopt(fd, level, number, &value, sizeof value) != 0) return ErrnoError("setting an option of a socket");
  return {};
}

class Socket : public model::Actuator {
 public:
  explicit Socket(HostRoot host) : host_(std::move(host)) {}

  /// Reads the connected TCP sockets only.
  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    ATTUNE_TRY(const SocketOption* option, OptionOf(knob));
    ATTUNE_TRY(const auto descriptors, DescriptorsOf(host_, target.pid, "socket:"));
    std::vector<model::KnobSetting> settings;
    for (const OpenDescriptor& descriptor : descriptors) {
      const auto copy = CopyDescriptor(target.pid, descriptor.number);
      if (!copy.ok() && copy.error().code == Errc::kPermission) return copy.error();
      if (!copy.ok() || !IsConnectedTcp(copy->get())) continue;
      ATTUNE_TRY(std::string value, ValueOf(copy->get(), *option));
      settings.push_back({DescriptorPlace(descriptor.number), std::move(value)});
    }
    if (settings.empty())
      return Error{Errc::kNotFound, fmt::format("process {} has no connected TCP socket", target.pid), ""};
    return settings;
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const SocketOption* option, OptionOf(knob));
    ATTUNE_TRY(const int number, DescriptorOf(knob, setting.place));
    ATTUNE_TRY(const UniqueFd copy, CopyDescriptor(target.pid, number));
    if (!IsConnectedTcp(copy.get()))
      return Error{Errc::kNotFound,
                   fmt::format("{} of process {} is no TCP socket any more", setting.place, target.pid), ""};
    ATTUNE_CHECK_OK(Set(copy.get(), *option, setting.value));
    ATTUNE_TRY(std::string is, ValueOf(copy.get(), *option));
    // The kernel chooses the size anew at once where it may.
    if (setting.value.starts_with(kAutomatic) ? !is.starts_with(kAutomatic) : is != setting.value)
      return NotTaken(knob, setting.place, setting.value, is);
    return is;
  }

 private:
  static Result<const SocketOption*> OptionOf(const model::Knob& knob) {
    const auto found = knob.how.find("option");
    for (const SocketOption& option : kOptions) {
      if (found != knob.how.end() && option.name == found->second) return &option;
    }
    return Error{Errc::kInvalidArgument, fmt::format("{}: how.option is none of the options of sockets", knob.name),
                 "SO_SNDBUF, SO_RCVBUF or TCP_NODELAY"};
  }

  static bool IsConnectedTcp(int fd) {
    const auto protocol = GetOption(fd, SOL_SOCKET, SO_PROTOCOL);
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    return protocol.ok() && *protocol == IPPROTO_TCP &&
           getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0;
  }

  static Result<std::string> ValueOf(int fd, const SocketOption& option) {
    ATTUNE_TRY(const int value, GetOption(fd, option.level, option.number));
    if (option.locked == 0) return std::string(value != 0 ? "on" : "off");
    // The kernel doubles what it is given, for its own needs.
    const auto locks = GetOption(fd, SOL_SOCKET, kBufLock);
    const bool is_automatic = locks.ok() && (*locks & option.locked) == 0;
    return fmt::format("{}{}", is_automatic ? kAutomatic : "", value / 2);
  }

  static Status Set(int fd, const SocketOption& option, std::string_view value) {
    if (option.locked == 0) return SetOption(fd, option.level, option.number, value == "on" ? 1 : 0);
    const bool is_automatic = value.starts_with(kAutomatic);
    if (is_automatic) value.remove_prefix(kAutomatic.size());
    int bytes = 0;
    std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (!SetOption(fd, option.level, option.force, bytes).ok())
      ATTUNE_CHECK_OK(SetOption(fd, option.level, option.number, bytes));
    if (!is_automatic) return {};
    ATTUNE_TRY(const int locks, GetOption(fd, SOL_SOCKET, kBufLock));
    return SetOption(fd, SOL_SOCKET, kBufLock, locks & ~option.locked);
  }

  const HostRoot host_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeSocketActuator(const ActuatorHost& host) {
  return std::make_unique<Socket>(host.host);
}

}  // namespace attune::actuator
