#include "cli/terminal/control_fifo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "cli/command.h"
#include "session/host/components.h"

namespace attune::cli {
namespace {

constexpr size_t kMaxLineBytes = 4096;

}  // namespace

std::string CompletedCommand(const std::string& line) {
  using session::ArgumentKind;
  const size_t space = std::min(line.find(' '), line.size());
  const session::Verb* verb = session::SessionVerbs().Find(line.substr(0, space));
  if (verb == nullptr || verb->arguments.empty() || space == line.size()) return line;
  const ArgumentKind kind = verb->arguments.front().kind;
  const size_t begin = space + 1;
  size_t end = line.size();
  if (kind == ArgumentKind::kSink) {
    end = std::min(line.find('='), end);  // the argument behind it is the sink's
    const std::string name = line.substr(begin, end - begin);
    if (name.find('/') == std::string::npos && !name.ends_with(".so")) return line;
  } else if (kind != ArgumentKind::kFile || session::SessionVerbs().Parse(line).ok()) {
    return line;
  }
  std::error_code error;
  const std::string path = std::filesystem::absolute(line.substr(begin, end - begin), error).string();
  return error ? line : line.substr(0, begin) + path + line.substr(end);
}

ControlFifo::ControlFifo(std::string path, UniqueFd fd, session::ControlClient client)
    : path_(std::move(path)), fd_(std::move(fd)), client_(std::move(client)) {}

ControlFifo::ControlFifo(ControlFifo&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      client_(std::move(other.client_)),
      input_(std::move(other.input_)),
      skipping_(other.skipping_) {}

ControlFifo::~ControlFifo() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<ControlFifo> ControlFifo::Open(const std::string& path, session::ControlClient client) {
  if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) return ErrnoError("--fifo " + path);
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!fd || fstat(fd.get(), &status) != 0) return ErrnoError("--fifo " + path);
  if (!S_ISFIFO(status.st_mode) || status.st_uid != geteuid()) {
    return Error{Errc::kExists, "--fifo: " + path + " exists and is not a FIFO of yours", "choose another name"};
  }
  if (fchmod(fd.get(), 0600) != 0) return ErrnoError("--fifo " + path);
  return ControlFifo(path, std::move(fd), std::move(client));
}

void ControlFifo::Serve() {
  char buffer[4096];
  for (bool came = true; came;) {
    came = false;
    ssize_t n = 0;
    while ((n = read(fd_.get(), buffer, sizeof buffer)) > 0) {
      came = true;
      Add(std::string_view(buffer, static_cast<size_t>(n)));
    }
    if (n < 0) return;  // its writers are still there
    EndLine();
    AwaitNextWriter();  // then what came meanwhile
  }
}

void ControlFifo::Add(std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      EndLine();
    } else if (skipping_) {
      continue;
    } else if (input_.size() == kMaxLineBytes) {
      PrintError({Errc::kInvalidArgument, path_ + ": a line is longer than 4096 bytes and was left out", ""});
      skipping_ = true;
    } else {
      input_ += c;
    }
  }
}

void ControlFifo::EndLine() {
  if (!skipping_) Take(input_);
  input_.clear();
  skipping_ = false;
}

/// A descriptor whose last writer has gone is ready all the time; one that is opened now waits for the next.
void ControlFifo::AwaitNextWriter() {
  const UniqueFd next(open(fmt::format("/proc/self/fd/{}", fd_.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  pollfd last{fd_.get(), 0, 0};
  // Somebody who has opened it meanwhile is noticed by the old one alone.
  const bool nobody_writes = poll(&last, 1, 0) == 1 && (last.revents & POLLHUP) != 0;
  if (next && nobody_writes) dup3(next.get(), fd_.get(), O_CLOEXEC);
}

void ControlFifo::Take(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const std::string completed = CompletedCommand(std::string(line));
  // Checked here too: only what people may say, not what launchers say to sessions.
  const auto command = session::SessionVerbs().Parse(completed);
  if (command.ok() && !command->verb->Permits(session::Role::kOwner)) {
    PrintError({Errc::kInvalidArgument, path_ + ": '" + std::string(line) + "' is not a command for people",
                "attune ctl --help lists them"});
    return;
  }
  const auto reply = command.ok() ? client_.Ask(completed) : Result<std::string>(command.error());
  if (!reply.ok()) PrintError(reply.error().WithContext(path_));
}

}  // namespace attune::cli
