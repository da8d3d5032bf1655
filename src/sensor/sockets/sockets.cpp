#include "sensor/sockets/sockets.h"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "base/clock.h"

namespace attune::sensor {
namespace {

constexpr size_t kMostProcesses = 256;
constexpr size_t kMostDescriptors = 4096;
constexpr std::array<std::string_view, 4> kSignals{"busy", "receiver_limited", "sender_limited", "ack_wait"};
/// A piece that was sent longer ago and is not acknowledged waits for more than the way there and back of a near peer.
constexpr uint32_t kLateAckMs = 5;
constexpr uint32_t kEstablished = 1u << 1;  // TCP_ESTABLISHED of the kernel's net/tcp_states.h
constexpr std::string_view kSocket = "socket:[";

void AddTo(SocketTimes& sum, const SocketTimes& times) {
  sum.busy_ns += times.busy_ns;
  sum.receiver_limited_ns += times.receiver_limited_ns;
  sum.sender_limited_ns += times.sender_limited_ns;
}

template <class T>
T Read(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

/// Fields that an older kernel lacks (its tcp_info is shorter) are 0.
SocketTimes TimesOf(std::span<const std::byte> info) {
  const auto tcp = Read<tcp_info>(info);
  const auto to_ns = [](uint64_t us) { return static_cast<int64_t>(std::min<uint64_t>(us, INT64_MAX / 1000) * 1000); };
  // A whole segment would be sent at once; of a far peer an acknowledgement takes as long as the way there and back.
  const bool is_held = tcp.tcpi_notsent_bytes > 0 && tcp.tcpi_notsent_bytes < tcp.tcpi_snd_mss &&
                       tcp.tcpi_unacked > 0 && tcp.tcpi_last_data_sent >= kLateAckMs &&
                       tcp.tcpi_min_rtt / 1000 < kLateAckMs;
  return {to_ns(tcp.tcpi_busy_time), to_ns(tcp.tcpi_rwnd_limited), to_ns(tcp.tcpi_sndbuf_limited), is_held};
}

void AddSocket(std::span<const std::byte> message, std::map<uint64_t, SocketTimes>& times) {
  if (message.size() < sizeof(inet_diag_msg)) return;
  const auto head = Read<inet_diag_msg>(message);
  auto rest = message.subspan(std::min(message.size(), static_cast<size_t>(NLMSG_ALIGN(sizeof head))));
  while (rest.size() >= sizeof(rtattr)) {
    const auto attribute = Read<rtattr>(rest);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > rest.size()) return;
    if (attribute.rta_type == INET_DIAG_INFO)
      times[head.idiag_inode] = TimesOf(rest.subspan(sizeof attribute, attribute.rta_len - sizeof attribute));
    rest = rest.subspan(std::min(rest.size(), static_cast<size_t>(RTA_ALIGN(attribute.rta_len))));
  }
}

bool AskFor(int netlink, uint8_t family) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = 1u << (INET_DIAG_INFO - 1);
  request.body.idiag_states = kEstablished;
  return send(netlink, &request, sizeof request, 0) == sizeof request;
}

}  // namespace

bool ParseSocketMessages(std::span<const std::byte> bytes, std::map<uint64_t, SocketTimes>& times) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    const auto head = Read<nlmsghdr>(bytes);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes.size()) return false;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return false;
    if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
      AddSocket(bytes.subspan(sizeof head, head.nlmsg_len - sizeof head), times);
    bytes = bytes.subspan(std::min(bytes.size(), static_cast<size_t>(NLMSG_ALIGN(head.nlmsg_len))));
  }
  return true;
}

std::map<uint64_t, SocketTimes> SocketSensor::Ask(int netlink) {
  std::map<uint64_t, SocketTimes> times;
  std::array<std::byte, 32768> answer;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    if (!AskFor(netlink, family)) continue;
    ssize_t size = 0;
    do {
      size = recv(netlink, answer.data(), answer.size(), 0);
    } while (size > 0 && ParseSocketMessages(std::span(answer).first(static_cast<size_t>(size)), times));
  }
  return times;
}

std::set<uint64_t> SocketSensor::SocketsOf(const HostRoot& host, int64_t pid) {
  std::set<uint64_t> inodes;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto names = host.List(folder);
  if (!names.ok()) return inodes;
  for (size_t i = 0; i < std::min(names->size(), kMostDescriptors); ++i) {
    const auto link = host.ReadLink(folder + "/" + (*names)[i]);
    if (!link.ok() || !link->starts_with(kSocket)) continue;
    uint64_t inode = 0;
    std::from_chars(link->data() + kSocket.size(), link->data() + link->size(), inode);
    inodes.insert(inode);
  }
  return inodes;
}

std::vector<int64_t> SocketSensor::WithSockets(const HostRoot& host) const {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const std::map<uint64_t, SocketTimes> times = Ask(netlink.get());
  std::vector<int64_t> pids;
  if (times.empty()) return pids;
  for (const int64_t pid : observed_()) {
    if (pids.size() >= kMostProcesses) break;
    const std::set<uint64_t> inodes = SocketsOf(host, pid);
    if (std::ranges::any_of(inodes, [&](uint64_t inode) { return times.contains(inode); })) pids.push_back(pid);
  }
  return pids;
}

Result<std::vector<model::SignalSpec>> SocketSensor::Prepare(const HostRoot& host) {
  if (!observed_) return Error{Errc::kUnavailable, "sockets: no program is observed", "attune run -- PROGRAM"};
  if (!host.IsThisMachine()) return Error{Errc::kUnavailable, "sockets: the kernel is asked, not its files", ""};
  host_ = host;
  netlink_.reset(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink_) return ErrnoError("sockets: NETLINK_SOCK_DIAG");
  processes_.clear();
  std::vector<model::SignalSpec> specs;
  for (const int64_t pid : WithSockets(host)) {
    processes_.push_back({.pid = pid});
    for (const std::string_view signal : kSignals) specs.push_back(Spec(signal, {.os_id = pid}));
  }
  return specs;
}

bool SocketSensor::Sample(std::span<int64_t> out) {
  if (processes_.empty()) return true;
  const std::map<uint64_t, SocketTimes> times = Ask(netlink_.get());
  const int64_t now_ns = MonotonicNs();
  const int64_t since_ns = last_ns_ == 0 ? 0 : now_ns - last_ns_;
  last_ns_ = now_ns;
  size_t at = 0;
  for (Process& process : processes_) {
    std::map<uint64_t, SocketTimes> open;
    for (const uint64_t inode : SocketsOf(*host_, process.pid)) {
      if (const auto found = times.find(inode); found != times.end()) open.insert(*found);
    }
    for (const auto& [inode, last] : process.open) {
      if (!open.contains(inode)) AddTo(process.closed, last);
    }
    process.open = std::move(open);
    SocketTimes sum = process.closed;
    for (const auto& [inode, of_socket] : process.open) AddTo(sum, of_socket);
    if (std::ranges::any_of(process.open, [](const auto& socket) { return socket.second.is_held; }))
      process.held_ns += since_ns;
    out[at++] = sum.busy_ns;
    out[at++] = sum.receiver_limited_ns;
    out[at++] = sum.sender_limited_ns;
    out[at++] = process.held_ns;
  }
  return true;
}

std::unique_ptr<model::Sensor> SocketSensor::Fresh() const {
  if (!observed_ || !host_) return nullptr;
  std::vector<int64_t> known;
  for (const Process& process : processes_) known.push_back(process.pid);
  if (WithSockets(*host_) == known) return nullptr;
  return std::make_unique<SocketSensor>(observed_);
}

}  // namespace attune::sensor
