#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "session/core/limits.h"
#include "session/host/host_session.h"
#include "session/host/membership.h"
#include "session/host/small_memory.h"

namespace attune::session {

void RunHostSession(const SessionOptions& options, const Job& job, int ready_fd) {
  LeaveLimits();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  KeepMemorySmall();
  bool refused = false;
  Result<std::unique_ptr<HostSession>> session = Error{Errc::kNoSpace, "", ""};
  try {
    session = HostSession::Start(options, job, refused);
  } catch (const std::exception& error) {  // no memory, or no thread
    session = Error{Errc::kNoSpace, fmt::format("starting the session: {}", error.what()), ""};
  }
  std::string line;
  if (session.ok()) {
    const nlohmann::json notes = (*session)->notes();
    line =
        fmt::format(R"({{"ok":true,"notes":{},"info":{}}})",
                    notes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ToJson((*session)->info()));
  } else {
    nlohmann::json reply = nlohmann::json::parse(ErrorReply(session.error()));
    reply["refused"] = refused;
    line = reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  line += '\n';
  const bool told = write(ready_fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(ready_fd);
  if (session.ok() && told) (*session)->Run();
}

}  // namespace attune::session
