#include "cli/terminal/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {

namespace {

bool HasNoReader(int fd) {
  pollfd end{fd, 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

}  // namespace

void KeepStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one. Opened the wrong way round: each use fails.
    [[maybe_unused]] const int opened = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

Status FinishStream(FILE* stream) {
  const int error = std::fflush(stream) == 0 ? 0 : errno;
  if (error == 0 && std::ferror(stream) == 0) return {};
  if (error == EPIPE || HasNoReader(fileno(stream))) return ReaderGone();
  // The write that failed may be long ago, and its errno lost.
  const std::string why = error == 0       ? ""
                          : error == EBADF ? ": it is closed"
                                           : std::string(": ") + std::strerror(error);
  return Error{Errc::kIo, "not all of the output could be written" + why,
               error == 0 || error == ENOSPC ? "is there room on the disk?" : ""};
}

Error ReaderGone() { return {Errc::kIo, "nobody reads the output any more", ""}; }
bool IsReaderGone(const Error& error) { return error.message == ReaderGone().message; }

Result<int> FinishOutput() {
  ATTUNE_CHECK_OK(FinishStream(stdout));
  return 0;
}

void PrintDamage(model::Source& source) {
  const auto meta = source.Meta();
  for (const std::string& damage : meta->damage)
    std::fprintf(stderr, "%s %s\n", Styled(stderr, Style::kYellow, "attune:").c_str(), Printable(damage).c_str());
}

Result<int> PrintJson(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  return FinishOutput();
}

}  // namespace attune::cli
