#include "sensor/smart/command_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/child_process.h"
#include "base/root_helper.h"

namespace attune::sensor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// After SIGKILL a process is gone at once, unless it waits inside the kernel.
constexpr milliseconds kAfterKill{200};
/// In place of a pid: the command is a child of the root helper, which ends it.
constexpr pid_t kHelpers = 0;

/// Whether the process has ended, and is gone now. Waits for at most `limit`.
bool Collect(pid_t pid, milliseconds limit) {
  const auto until = Clock::now() + limit;
  while (waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Clock::now() >= until) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace

struct CommandRunner::Child {
  size_t index = 0;
  pid_t pid = -1;
  UniqueFd output;
  std::string text;
};

CommandRunner::~CommandRunner() { Reap(); }

void CommandRunner::Reap() {
  std::erase_if(stuck_, [](const auto& entry) { return Collect(entry.second, milliseconds(0)); });
}

std::vector<Result<std::string>> CommandRunner::Run(const std::vector<Command>& commands, milliseconds limit,
                                                    int stop) {
  Reap();
  std::vector<Result<std::string>> results(commands.size(), Error{Errc::kInternal, "", ""});
  std::vector<Child> children;
  for (size_t i = 0; i < commands.size(); ++i) {
    const Command& command = commands[i];
    if (stuck_.contains(command.key)) {
      results[i] = Error{Errc::kTimeout, fmt::format("{} for {} still hangs", command.words[0], command.key), ""};
      continue;
    }
    if (!command.root_request.empty() && RootHelperSocket() >= 0) {
      Result<UniqueFd> output = AskRoot(command.root_request);
      if (output.ok()) {
        children.push_back({i, kHelpers, *std::move(output), ""});
      } else {
        results[i] = output.error();
      }
      continue;
    }
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      results[i] = ErrnoError("pipe");
      continue;
    }
    Child child{i, -1, UniqueFd(ends[0]), ""};
    const UniqueFd theirs(ends[1]);
    const Result<pid_t> pid = SpawnApart({.program = command.words[0],
                                          .arguments = command.words,
                                          .descriptors = {{theirs.get(), STDOUT_FILENO}},
                                          .is_quiet = true});
    if (!pid.ok()) {
      results[i] = pid.error();
      continue;
    }
    child.pid = *pid;
    children.push_back(std::move(child));
  }
  const auto until = Clock::now() + limit;
  // A command is over when it closes its output, or says too much; then, at the latest at the limit, it is ended.
  const auto finish = [&](Child& child, std::optional<Error> error) {
    const std::string& key = commands[child.index].key;
    if (child.pid != kHelpers && (error || !Collect(child.pid, kAfterKill))) {
      kill(-child.pid, SIGKILL);
      if (!Collect(child.pid, kAfterKill)) stuck_[key] = child.pid;
    }
    results[child.index] = error ? Result<std::string>(*error) : Result<std::string>(std::move(child.text));
    child.output.reset();
  };
  while (!children.empty()) {
    std::vector<pollfd> waiting{{stop, POLLIN, 0}};
    for (const Child& child : children) waiting.push_back({child.output.get(), POLLIN, 0});
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    poll(waiting.data(), waiting.size(), static_cast<int>(std::max<int64_t>(0, left.count())));
    const bool stopped = (waiting[0].revents & POLLIN) != 0;
    const bool late = Clock::now() >= until;
    for (size_t i = 0; i < children.size(); ++i) {
      Child& child = children[i];
      if (waiting[i + 1].revents != 0) {
        std::array<char, 65536> buffer;
        const ssize_t n = read(child.output.get(), buffer.data(), buffer.size());
        if (n > 0) child.text.append(buffer.data(), static_cast<size_t>(n));
        if (n == 0 || (n < 0 && errno != EINTR)) finish(child, std::nullopt);
        if (n > 0 && child.text.size() > kMaxOutputBytes)
          finish(child, Error{Errc::kCorrupt, commands[child.index].words[0] + " says too much", ""});
      }
      if (child.output && (stopped || late)) {
        finish(child, Error{Errc::kTimeout,
                            fmt::format("{} for {} took more than {} s", commands[child.index].words[0],
                                        commands[child.index].key, limit.count() / 1000.0),
                            ""});
      }
    }
    std::erase_if(children, [](const Child& child) { return !child.output; });
  }
  return results;
}

}  // namespace attune::sensor
