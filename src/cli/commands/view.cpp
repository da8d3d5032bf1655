#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "analysis/report/comparison.h"
#include "base/listen_address.h"
#include "base/timer.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "live/server.h"
#include "session/host/launch.h"
#include "session/host/page_analyses.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

constexpr int64_t kMaxDurationNs = 365LL * 24 * 3'600'000'000'000;

struct Options {
  std::string file;
  std::string other;
  std::string listen;
  std::string tls_cert;
  std::string tls_key;
  std::string duration;
  bool open = false;
};

/// Hands the address to the desktop's browser. That it fails is said and nothing more: the address is on the screen.
void OpenInBrowser(const std::string& url) {
  std::string opener = "xdg-open";
  std::string address = url;
  char* arguments[] = {opener.data(), address.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, opener.c_str(), nullptr, nullptr, arguments, environ);
  int status = 0;
  if (error == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  PrintError({Errc::kUnavailable, "no browser could be opened", "install xdg-utils, or open the address yourself"});
}

std::string FileName(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Result<int> Run(const Options& options) {
  int64_t duration_ns = 0;
  if (!options.duration.empty()) {
    ATTUNE_TRY(duration_ns, ParseDurationNs(options.duration, "--for", 1'000'000, kMaxDurationNs));
  }
  ATTUNE_TRY(const ListenAddress listen, ParseListenAddress(options.listen, "--listen"));
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  std::unique_ptr<model::Source> other;
  if (!options.other.empty()) {
    ATTUNE_TRY(other, store::OpenRecording(options.other));
  }

  session::BlockLauncherSignals();  // before the server's threads: they are waited for below
  live::ServerOptions server_options;
  server_options.address = listen.address;
  server_options.port = listen.port;
  server_options.title = FileName(options.file);
  server_options.reopen = "attune view " + options.file;
  server_options.tls_cert = options.tls_cert;
  server_options.tls_key = options.tls_key;
  server_options.open_recording = [](const std::string& path) { return store::OpenRecording(path); };
  server_options.compare = analysis::CompareToJson;
  server_options.analyse = [title = server_options.title](model::Source& analysed, bool trusted) {
    return session::MakePageAnalyses(analysed, trusted ? session::SourceIs::kRecording : session::SourceIs::kForeign,
                                     trusted ? title : "");
  };
  server_options.compare_with = other.get();
  server_options.compare_with_title = FileName(options.other);
  ATTUNE_TRY(const auto server, live::Server::Start(*source, server_options));

  PrintDamage(*source);
  if (other != nullptr) PrintDamage(*other);
  std::printf("%s\n", server->Url().c_str());
  ATTUNE_CHECK_OK(FinishOutput());
  if (isatty(STDOUT_FILENO) == 1) std::fprintf(stderr, "Ctrl-C ends it\n");
  if (options.open) OpenInBrowser(server->Url());

  std::vector<session::Watch> watches;
  UniqueFd timer;
  if (duration_ns > 0) {
    ATTUNE_TRY(timer, MakeTimer(duration_ns));
    watches.push_back({timer.get(), [] { return false; }});
  }
  ATTUNE_TRY([[maybe_unused]] const int signal, session::WaitForEnd(watches));
  server->Stop();
  return 0;
}

}  // namespace

Command MakeViewCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "view";
  command.rank = 120;
  command.summary = "look at a recording on a page in the browser";
  command.description =
      "Serves the same page as attune live, on a recording, and prints its address; ends with Ctrl-C, SIGTERM or after "
      "--for. A recording that still grows is followed.\n\n"
      "With two recordings the page opens with what changed from the first to the second, as attune compare says it.";
  command.positionals = {
      {"FILE", "The recording", &options->file, true, Complete::kRecording},
      {"OTHER", "Another recording, to compare the first one with", &options->other, false, Complete::kRecording}};
  command.options = {
      {"--listen", "ADDRESS:PORT",
       "Where to serve. Default: 127.0.0.1 and any free port; other than loopback needs --tls-cert and --tls-key",
       &options->listen},
      {"--tls-cert", "FILE", "Certificate chain for --listen, PEM", &options->tls_cert, Complete::kFile},
      {"--tls-key", "FILE", "Private key for --listen, PEM", &options->tls_key, Complete::kFile},
      {"--for", "TIME", "End after this time (30s, 5m)", &options->duration},
      {"--open", "", "Also open the address in the desktop's browser", &options->open},
  };
  command.examples = {{"attune view job.attune --open", "in your browser"},
                      {"attune view before.attune after.attune", "side by side: what changed"},
                      {"attune view job.attune --listen 127.0.0.1:8080", "on a port of your choice, as for ssh -L"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
