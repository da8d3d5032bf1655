#include "sync/peers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace attune::bench {
namespace {

namespace fs = std::filesystem;

/// Empty: there is none.
std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  }
  return "";
}

std::string FindLibrary(const std::string& name) {
  for (const char* folder :
       {"/usr/local/lib/", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/", "/usr/lib/"}) {
    if (fs::exists(folder + name)) return folder + name;
  }
  return "";
}

Error NotInstalled(const std::string& package) {
  return {Errc::kUnavailable, fmt::format("not installed (Debian: {})", package)};
}

/// @param command run by the shell, its output nowhere
pid_t Spawn(const std::string& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  std::string text = "exec " + command;
  std::array<std::string, 2> words = {"sh", "-c"};
  char* arguments[] = {words[0].data(), words[1].data(), text.data(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "sh", &actions, nullptr, arguments, environ) != 0) Fail("cannot start a shell");
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

bool Succeeds(pid_t pid) {
  int status = 1;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether this user's daemon, or root's, is there.
bool DaemonRuns() {
  const char* home = std::getenv("HOME");
  for (const std::string& folder : {std::string("/var/run/lttng"), std::string(home ? home : "") + "/.lttng"}) {
    pid_t pid = 0;
    std::ifstream(folder + "/lttng-sessiond.pid") >> pid;
    if (pid > 0 && fs::exists(fmt::format("/proc/{}", pid))) return true;
  }
  return false;
}

}  // namespace

Result<Peer> LttngWrapper() {
  const std::string library = FindLibrary("liblttng-ust-pthread-wrapper.so.1");
  if (library.empty()) return NotInstalled("liblttng-ust1");
  return Peer{{"LD_PRELOAD=" + library}, {}};
}

Result<std::unique_ptr<LttngRecording>> LttngRecording::Start() {
  if (FindProgram("lttng").empty() || FindProgram("lttng-sessiond").empty()) return NotInstalled("lttng-tools");
  if (DaemonRuns()) return Error{Errc::kUnavailable, "a session daemon of LTTng runs already"};
  std::unique_ptr<LttngRecording> recording(new LttngRecording);
  // It is asked until it answers.
  recording->daemon_ = Spawn(fmt::format("env {} lttng-sessiond --no-kernel", recording->Environment()));
  Status created = Error{Errc::kUnavailable, ""};
  for (int tries = 0; !created.ok() && tries < 100; ++tries, ::usleep(50'000))
    created = recording->Control("create attune-bench --output=" + recording->folder_.Path());
  ATTUNE_CHECK_OK(created);
  ATTUNE_CHECK_OK(recording->Control("enable-event -u 'lttng_ust_pthread:*'"));
  ATTUNE_CHECK_OK(recording->Control("start"));
  return recording;
}

LttngRecording::~LttngRecording() {
  (void)Control("destroy attune-bench");  // with the daemon it ends anyway
  ::kill(daemon_, SIGTERM);
  ::waitpid(daemon_, nullptr, 0);
}

Status LttngRecording::Control(const std::string& arguments) const {
  if (Succeeds(Spawn(fmt::format("env {} lttng --no-sessiond {}", Environment(), arguments)))) return {};
  return Error{Errc::kUnavailable, fmt::format("lttng {} failed", arguments.substr(0, arguments.find(' ')))};
}

Result<Peer> Uftrace(const std::string& folder) {
  const std::string program = FindProgram("uftrace");
  if (program.empty()) return NotInstalled("uftrace");
  return Peer{{}, {program, "record", "--force", "--no-pager", "-d", folder + "/uftrace"}};
}

}  // namespace attune::bench
