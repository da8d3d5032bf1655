#include "sink/host_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"

namespace attune::sink {
namespace {

constexpr int64_t kAnswerNs = 5'000'000'000;
/// Time limit for the end of a host that has closed its socket, or was never opened: it has nothing more to do.
constexpr int64_t kEndNs = 1'000'000'000;

}  // namespace

Result<HostProcess> HostProcess::Start(const std::string& file, const std::string& program, const std::string& folder) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return ErrnoError("socketpair");
  HostProcess host;
  host.socket_.reset(ends[0]);
  const UniqueFd theirs = MovedUp(UniqueFd(ends[1]));
  if (!theirs) return ErrnoError("the socket of the sink");
  ATTUNE_TRY(host.child_, ChildProcess::Spawn({.program = program,
                                               .arguments = {"attune", "plugin-host", "--sink", file},
                                               .descriptors = {{theirs.get(), kSinkFd}},
                                               .folder = folder}));
  host.running_ = true;
  return host;
}

HostProcess::~HostProcess() {
  if (!running_ || !socket_) return;  // waited for, or moved from
  socket_.reset();
  WaitUntil(MonotonicNs() + kEndNs);
}

std::string HostProcess::WaitUntil(int64_t deadline_ns) {
  if (!WaitReadable(child_.pidfd(), deadline_ns)) child_.Kill();
  running_ = false;
  return child_.Wait();
}

/// @param function of the plug-in that is running meanwhile
Result<model::Batch> HostProcess::Expect(Word word, std::string_view function) {
  const int64_t deadline_ns = MonotonicNs() + kAnswerNs;
  std::array<char, 16384> buffer;
  while (true) {
    ATTUNE_TRY(std::optional<model::Batch> batch, stream_.Next());
    if (batch) {
      if (batch->table == model::InfoRow::kTable && batch->stream == word) return *std::move(batch);
      return Error{Errc::kCorrupt, "the sink's process does not say what it should", ""};
    }
    if (!WaitReadable(socket_.get(), deadline_ns)) {
      child_.Kill();
      return Error{Errc::kTimeout, fmt::format("it did not answer within 5 s in its {}", function), ""};
    }
    const ssize_t n = read(socket_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return Error{Errc::kUnavailable, fmt::format("it {} in its {}", WaitUntil(MonotonicNs() + kEndNs), function), ""};
    }
    stream_.Append(std::span(buffer).first(static_cast<size_t>(n)));
  }
}

Result<SinkHello> HostProcess::Greet(const std::string& file) {
  const auto batch = Expect(kHello, "initialisers");
  if (!batch.ok()) return batch.error().WithContext(file);
  SinkHello hello = HelloFrom(*batch);
  if (!hello.failure.empty()) return Error{Errc::kUnavailable, fmt::format("{}: {}", file, hello.failure), ""};
  if (const std::string stem = std::filesystem::path(file).stem().string(); hello.name != stem) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: this is the sink '{}': a plug-in's file is called like it", file, hello.name),
                 fmt::format("call the file {}.so", hello.name)};
  }
  return hello;
}

Status HostProcess::Open(const SinkOpen& open) {
  // Some KB at most: the socket takes it at once.
  const std::string bytes = Encode(open);
  if (send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    return ErrnoError("telling the sink what to open");
  ATTUNE_TRY(const model::Batch batch, Expect(kOpened, "open()"));
  const std::string failure = OpenedFrom(batch);
  if (!failure.empty()) return Error{Errc::kInvalidArgument, failure, ""};
  return {};
}

}  // namespace attune::sink
