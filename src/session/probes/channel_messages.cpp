#include "session/probes/channel_messages.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>

#include "base/unique_fd.h"

namespace attune::session {
namespace {

using model::kAbsent;
using model::Message;
using model::MessageKind;
using wire::ChannelKind;

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/// Name of a channel that is no UNIX socket: its ends are alike, or are one of two.
std::string NameOf(ChannelKind kind, uint64_t detail) {
  const uint64_t low = detail & 0xffff, high = detail >> 16 & 0xffff;
  switch (kind) {
    case ChannelKind::kPipe: return fmt::format("pipe {}", detail);
    case ChannelKind::kTcpSocket: return fmt::format("TCP ports {} and {}", high, low);
    case ChannelKind::kUdpSocket: return fmt::format("UDP ports {} and {}", high, low);
    case ChannelKind::kPosixQueue: return fmt::format("message queue {}", detail);
    case ChannelKind::kEvent: return fmt::format("eventfd {} of process {}", detail & 0xffffffff, detail >> 32);
    case ChannelKind::kSystemVQueue: return fmt::format("System V message queue {}", detail);
    default: break;
  }
  return "channel";
}

/// Inode of the peer, from the answer to a question for one socket.
uint32_t PeerIn(const char* answer, size_t bytes) {
  nlmsghdr header;
  if (bytes < sizeof header) return 0;
  std::memcpy(&header, answer, sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > bytes) return 0;
  for (size_t at = NLMSG_LENGTH(sizeof(unix_diag_msg)); at + sizeof(rtattr) <= header.nlmsg_len;) {
    rtattr attribute;
    std::memcpy(&attribute, answer + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > header.nlmsg_len) return 0;
    if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len >= RTA_LENGTH(sizeof(uint32_t))) {
      uint32_t peer = 0;
      std::memcpy(&peer, answer + at + RTA_LENGTH(0), sizeof peer);
      return peer;
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return 0;
}

}  // namespace

uint32_t ConnectedSocket(uint32_t inode) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return 0;
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question = {};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = UINT32_MAX;
  question.request.udiag_ino = inode;
  question.request.udiag_show = UDIAG_SHOW_PEER;
  question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = UINT32_MAX;
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};  // the kernel answers at once, or never
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char answer[4096];
  if (send(socket.get(), &question, sizeof question, 0) < 0) return 0;
  const ssize_t got = recv(socket.get(), answer, sizeof answer, 0);
  return got > 0 ? PeerIn(answer, static_cast<size_t>(got)) : 0;
}

model::ElementId ChannelMessages::Element(const std::string& name) {
  const auto found = elements_.find(name);
  if (found != elements_.end()) return found->second;
  if (elements_.size() >= kMaxChannels) return name == "other channels" ? 0 : Element("other channels");
  const model::ElementId made = registry_.FindOrAddNamed(registry_.Machine(), model::ElementKind::kChannel, name);
  elements_[name] = made;
  return made;
}

uint32_t ChannelMessages::PeerOf(uint32_t inode, uint32_t told) {
  const auto known = peers_.find(inode);
  if (told == 0 && known != peers_.end() && known->second != 0) return known->second;
  const uint32_t peer = told != 0 ? told : ConnectedSocket(inode);
  if (peers_.size() >= 2 * kMaxChannels) peers_.clear();
  peers_[inode] = peer;
  if (peer != 0) peers_[peer] = inode;
  return peer;
}

ChannelEnd ChannelMessages::End(ChannelKind kind, uint64_t id, uint32_t end, uint64_t detail) {
  const bool is_stream = wire::IsStream(kind);
  if (kind == ChannelKind::kUnixSocket || kind == ChannelKind::kUnixDatagram) {
    const uint32_t peer = PeerOf(end, static_cast<uint32_t>(detail));
    const uint32_t low = std::min(end, peer), high = std::max(end, peer);
    const uint64_t both = Mix(Mix(static_cast<uint64_t>(kind), low), high);
    return {.element = Element(peer == 0 ? fmt::format("socket {}", end) : fmt::format("socket {} and {}", low, high)),
            .outgoing = Mix(both, end),
            .incoming = Mix(both, peer),
            .is_stream = is_stream};
  }
  const bool has_ends = kind == ChannelKind::kTcpSocket || kind == ChannelKind::kUdpSocket;
  const uint32_t other = has_ends ? end ^ 1 : end;
  return {.element = Element(NameOf(kind, detail)),
          .outgoing = Mix(id, end),
          .incoming = Mix(id, other),
          .is_stream = is_stream,
          .is_event = kind == ChannelKind::kEvent};
}

ChannelEnd ChannelMessages::Named(std::string_view name) {
  uint64_t key = name.size();
  for (const char c : name) key = Mix(key, static_cast<unsigned char>(c));
  return {.element = Element(std::string(name)), .outgoing = key, .incoming = key, .is_stream = false};
}

void ChannelMessages::Add(const ChannelEnd& end, Message row) {
  if (waiting_ >= kMaxWaiting) {
    ++no_room_;
    return;
  }
  if (end.is_stream) row.tag = kAbsent;
  const bool is_sent = row.kind == MessageKind::kSent;
  if (end.is_event && !is_sent && (row.wait_ns == kAbsent || row.t_ns - row.wait_ns < kLeastEventWaitNs)) return;
  Direction& direction = directions_[{is_sent ? end.outgoing : end.incoming, end.is_stream ? 0 : row.tag}];
  direction.is_stream = end.is_stream;
  direction.is_event = end.is_event;
  row.communicator = end.element;
  row.peer = 0;
  Queue& queue = is_sent ? direction.sent : direction.received;
  const auto place = std::upper_bound(queue.begin(), queue.end(), row.t_ns,
                                      [](int64_t t_ns, const Waiting& other) { return t_ns < other.row.t_ns; });
  queue.insert(place, {row, row.bytes});
  ++waiting_;
  if (end.is_event && is_sent && queue.size() > kMaxEvents) DropFront(queue);
}

void ChannelMessages::DropFront(Queue& queue) {
  queue.pop_front();
  --waiting_;
}

/// A read that waited was ended by the first addition that was complete after it had begun: it would have found what
/// was added before. Additions that nobody waited for are no messages.
void ChannelMessages::MatchEvents(Direction& direction, int64_t settled_ns, std::vector<Message>& ready) {
  Queue &sent = direction.sent, &received = direction.received;
  while (!sent.empty() && !received.empty()) {
    Message& read = received.front().row;
    if (read.t_ns > settled_ns) return;
    while (!sent.empty() && sent.front().row.t_ns < read.wait_ns) DropFront(sent);
    if (sent.empty() || sent.front().row.t_ns > settled_ns) return;
    Message& added = sent.front().row;
    if (added.post_ns > read.t_ns) {
      DropFront(received);
      ++given_up_;
      continue;
    }
    added.peer = read.rank;
    read.peer = added.rank;
    ready.push_back(added);
    ready.push_back(read);
    DropFront(sent);
    DropFront(received);
  }
}

void ChannelMessages::Match(Direction& direction, int64_t settled_ns, std::vector<Message>& ready) {
  if (direction.is_event) return MatchEvents(direction, settled_ns, ready);
  const auto end = [&](Queue& queue) {
    ready.push_back(queue.front().row);
    queue.pop_front();
    --waiting_;
  };
  while (!direction.sent.empty() && !direction.received.empty()) {
    Waiting& sent = direction.sent.front();
    Waiting& received = direction.received.front();
    if (sent.row.t_ns > settled_ns || received.row.t_ns > settled_ns) return;
    if (received.row.t_ns < sent.row.post_ns) {  // the row of its send was lost on the way here
      if (received.row.peer != 0) {
        end(direction.received);
        continue;
      }
      direction.received.pop_front();
      --waiting_;
      ++given_up_;
      continue;
    }
    if (sent.row.peer == 0) sent.row.peer = received.row.rank;
    if (received.row.peer == 0) received.row.peer = sent.row.rank;
    const int64_t both = direction.is_stream ? std::min(sent.left, received.left) : INT64_MAX;
    sent.left -= std::min(both, sent.left);
    received.left -= std::min(both, received.left);
    const bool is_received = received.left == 0;
    if (sent.left == 0) end(direction.sent);
    if (is_received) end(direction.received);
  }
}

/// Nobody is at the other end, or it is not observed. Of a row whose peer is known a part came: who wrote the rest is
/// lost, or it was not read any more.
/// @return rows that are lost with that
uint64_t ChannelMessages::GiveUp(Direction& direction, int64_t before_ns, std::vector<Message>& ready) {
  uint64_t lost = 0;
  for (Queue* queue : {&direction.sent, &direction.received}) {
    while (!queue->empty() && queue->front().row.t_ns < before_ns) {
      if (queue->front().row.peer != 0) {
        ready.push_back(queue->front().row);
      } else if (!direction.is_event) {
        ++lost;
      }
      queue->pop_front();
      --waiting_;
    }
  }
  return lost;
}

std::vector<Message> ChannelMessages::Take(int64_t now_ns, bool is_last) {
  std::vector<Message> ready;
  const bool gives_up = is_last || now_ns >= next_give_up_ns_;
  if (gives_up) next_give_up_ns_ = now_ns + kGiveUpNs / 60;
  for (auto at = directions_.begin(); at != directions_.end();) {
    Direction& direction = at->second;
    Match(direction, is_last ? INT64_MAX : now_ns - kSettleNs, ready);
    if (gives_up) given_up_ += GiveUp(direction, is_last ? INT64_MAX : now_ns - kGiveUpNs, ready);
    if (waiting_ >= kMaxWaiting) no_room_ += GiveUp(direction, now_ns - kSettleNs, ready);
    at = direction.sent.empty() && direction.received.empty() ? directions_.erase(at) : std::next(at);
  }
  std::ranges::stable_sort(ready, {}, &Message::t_ns);
  return ready;
}

}  // namespace attune::session
