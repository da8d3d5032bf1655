#include "track/connector.h"

#include <fmt/format.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "track/process_usage.h"

namespace attune::track {
namespace {

using model::ProcessEvent;
using model::ProcessEventKind;

constexpr int kReceiveBytes = 8 << 20;  // bursts of events of the whole machine wait here

struct Followed {
  std::set<int64_t> threads;
  std::string name;
  int first_thread_status = 0;  ///< status of the first thread, if it ended before the others
};

class ConnectorWatcher final : public model::EventWatcher {
 public:
  explicit ConnectorWatcher(HostRoot host) : host_(std::move(host)) {}

  Status Listen() {
    ATTUNE_CHECK_OK(model::CheckPidNamespace(host_, "process connector"));
    socket_.reset(::socket(PF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_CONNECTOR));
    if (!socket_) return Fail("socket");
    // Beyond the system's limit where permitted; otherwise as much as it grants.
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes) != 0) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
    }
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = CN_IDX_PROC;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return Fail("bind");
    ATTUNE_CHECK_OK(Send(PROC_CN_MCAST_LISTEN));
    return {};
  }

  ~ConnectorWatcher() override {
    if (socket_ && listening_) (void)Send(PROC_CN_MCAST_IGNORE).ok();  // the kernel stops making events for nobody
  }

  std::string_view Method() const override { return "connector"; }
  std::string_view Limits() const override {
    return "arguments and totals of processes that end within a millisecond can be unknown; exit codes are complete";
  }
  int fd() const override { return socket_.get(); }
  uint64_t Lost() const override { return lost_; }

  Status Follow(int64_t pid) override {
    // Events that wait in the socket come after what is described now: those that it already contains are passed over.
    ATTUNE_TRY(const std::vector<ProcessEvent> tree, DescribeTree(host_, pid));
    for (const ProcessEvent& event : tree) {
      Followed& process = followed_[event.pid];
      process.threads.insert(event.tid);
      if (event.kind == ProcessEventKind::kFork) process.name = event.command;
      existing_.push_back(event);
    }
    return {};
  }

 private:
  static Error Fail(std::string_view what) {
    Error error = ErrnoError(fmt::format("process connector: {}", what));
    if (error.code == Errc::kPermission) {
      error.hint = "use Linux 6.6 or newer, or run as root; `attune doctor` prints the setcap command for this host";
    } else {
      error.code = Errc::kUnavailable;
    }
    return error;
  }

  Status Send(proc_cn_mcast_op operation) {
    nlmsghdr header{};
    header.nlmsg_len = NLMSG_LENGTH(sizeof(cn_msg) + sizeof operation);
    header.nlmsg_type = NLMSG_DONE;
    cn_msg message{};
    message.id = {CN_IDX_PROC, CN_VAL_PROC};
    message.len = sizeof operation;
    std::array<char, NLMSG_LENGTH(sizeof(cn_msg) + sizeof operation)> request{};
    std::memcpy(request.data(), &header, sizeof header);
    std::memcpy(request.data() + NLMSG_HDRLEN, &message, sizeof message);
    std::memcpy(request.data() + NLMSG_HDRLEN + sizeof message, &operation, sizeof operation);
    if (::send(socket_.get(), request.data(), request.size(), 0) < 0) return Fail("send");
    listening_ = true;
    return {};
  }

  Status Receive() override {
    alignas(nlmsghdr) std::array<char, 4096> buffer;
    while (true) {
      const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
      // The queue overflowed: how much is lost shows in the sequence numbers that come next.
      if (size < 0 && (errno == ENOBUFS || errno == EINTR)) continue;
      if (size <= 0) return ErrnoError("process connector: recv");
      Take(buffer.data(), static_cast<size_t>(size));
    }
  }

  /// One datagram of the kernel: netlink messages, each a connector message with one event.
  void Take(const char* data, size_t size) {
    while (size >= sizeof(nlmsghdr)) {
      nlmsghdr header;
      std::memcpy(&header, data, sizeof header);
      if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size) return;
      const size_t body = header.nlmsg_len - NLMSG_HDRLEN;
      cn_msg message;
      proc_event event{};
      if (body >= sizeof message + offsetof(proc_event, event_data)) {
        std::memcpy(&message, data + NLMSG_HDRLEN, sizeof message);
        const size_t event_size = std::min({body - sizeof message, size_t{message.len}, sizeof event});
        std::memcpy(&event, data + NLMSG_HDRLEN + sizeof message, event_size);
        if (message.id.idx == CN_IDX_PROC && message.id.val == CN_VAL_PROC) Translate(message.seq, event);
      }
      const size_t step = NLMSG_ALIGN(header.nlmsg_len);
      if (step >= size) return;
      data += step;
      size -= step;
    }
  }

  /// Messages of one CPU are numbered without holes.
  void CountLost(uint32_t cpu, uint32_t sequence) {
    const auto [last, is_first] = last_sequence_.try_emplace(cpu, sequence);
    if (!is_first) {
      lost_ += sequence - last->second - 1;  // wraps as the kernel's does
      last->second = sequence;
    }
  }

  void Translate(uint32_t sequence, const proc_event& from) {
    if (from.what == proc_event::PROC_EVENT_NONE) return;  // the answer to Send
    CountLost(from.cpu, sequence);
    const auto t_ns = static_cast<int64_t>(from.timestamp_ns);
    switch (from.what) {
      case proc_event::PROC_EVENT_FORK: OnFork(from.event_data.fork, t_ns); break;
      case proc_event::PROC_EVENT_EXEC: OnExec(from.event_data.exec.process_tgid, t_ns); break;
      case proc_event::PROC_EVENT_COMM: OnName(from.event_data.comm, t_ns); break;
      case proc_event::PROC_EVENT_EXIT: OnExit(from.event_data.exit, t_ns); break;
      default: break;
    }
  }

  ProcessEvent Make(ProcessEventKind kind, int64_t pid, int64_t tid, int64_t t_ns) const {
    ProcessEvent event;
    event.kind = kind;
    event.pid = pid;
    event.tid = tid;
    event.t_ns = t_ns;
    return event;
  }

  template <class Fork>
  void OnFork(const Fork& from, int64_t t_ns) {
    // The parent is who the child belongs to (which differs with CLONE_PARENT); the kernel does not name the caller.
    const auto parent = followed_.find(from.child_pid == from.child_tgid ? from.parent_tgid : from.child_tgid);
    if (parent == followed_.end()) return;
    if (from.child_pid != from.child_tgid) {
      if (!parent->second.threads.insert(from.child_pid).second) return;
      ProcessEvent event = Make(ProcessEventKind::kThreadStart, from.child_tgid, from.child_pid, t_ns);
      event.command = parent->second.name;
      Hand(event);
      return;
    }
    std::string name = parent->second.name;
    const auto [child, is_new] = followed_.try_emplace(from.child_tgid);
    if (!is_new) return;  // Follow has described it
    child->second.threads.insert(from.child_pid);
    child->second.name = name;
    ProcessEvent event = Make(ProcessEventKind::kFork, from.child_tgid, from.child_tgid, t_ns);
    event.parent_pid = from.parent_tgid;
    event.command = std::move(name);
    Hand(event);
  }

  void OnExec(int64_t pid, int64_t t_ns) {
    const auto process = followed_.find(pid);
    if (process == followed_.end()) return;
    process->second.threads = {pid};
    ProcessEvent event = Make(ProcessEventKind::kExec, pid, pid, t_ns);
    const auto command = ReadCommand(host_, pid);
    // A zombie has no arguments any more: its name is what is left.
    event.command = command.ok() && !command->starts_with('[') ? *command : process->second.name;
    Hand(event);
  }

  template <class Comm>
  void OnName(const Comm& from, int64_t t_ns) {
    const auto process = followed_.find(from.process_tgid);
    if (process == followed_.end()) return;
    ProcessEvent event = Make(ProcessEventKind::kName, from.process_tgid, from.process_pid, t_ns);
    event.command = CleanText({from.comm, ::strnlen(from.comm, sizeof from.comm)});
    if (from.process_pid == from.process_tgid) process->second.name = event.command;
    Hand(event);
  }

  template <class Exit>
  void OnExit(const Exit& from, int64_t t_ns) {
    const int64_t pid = from.process_tgid, tid = from.process_pid;
    const auto process = followed_.find(pid);
    if (process == followed_.end()) return;
    process->second.threads.erase(tid);
    const auto status = static_cast<int>(from.exit_code);
    if (!process->second.threads.empty()) {
      if (tid == pid) process->second.first_thread_status = status;
      Hand(Make(ProcessEventKind::kThreadExit, pid, tid, t_ns));
      return;
    }
    ProcessEvent event = Make(ProcessEventKind::kExit, pid, pid, t_ns);
    // The last thread's status is the process's, unless it ended by itself after the first one.
    SetWaitStatus(tid == pid || status != 0 ? status : process->second.first_thread_status, event);
    if (const auto stat = ReadProcStat(host_, pid); stat.ok()) event.usage = UsageOf(*stat);
    followed_.erase(process);
    Hand(event);
  }

  const HostRoot host_;
  UniqueFd socket_;
  bool listening_ = false;
  std::map<int64_t, Followed> followed_;
  std::map<uint32_t, uint32_t> last_sequence_;
  uint64_t lost_ = 0;
};

}  // namespace

Result<std::unique_ptr<model::ProcessWatcher>> MakeConnectorWatcher(HostRoot host) {
  auto watcher = std::make_unique<ConnectorWatcher>(std::move(host));
  ATTUNE_CHECK_OK(watcher->Listen());
  return std::unique_ptr<model::ProcessWatcher>(std::move(watcher));
}

}  // namespace attune::track
