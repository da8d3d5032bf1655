#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal/control_fifo.h"
#include "cli/terminal/output.h"
#include "session/core/control.h"
#include "session/core/job.h"

namespace attune::cli {

Result<session::ControlClient> ConnectTo(const session::SessionInfo& info) {
  // It is listed a moment before it listens, and a moment longer than it does.
  constexpr std::chrono::milliseconds kPatience{2000};
  auto client = session::ControlClient::Connect(info.folder + "/ctl", kPatience);
  if (client.ok()) return client;
  return Error{Errc::kNotFound, "session " + info.id + " takes no commands any more", "it is about to end"};
}

namespace {

struct CtlOptions {
  std::string session;
  std::vector<std::string> words;
};

Result<int> Run(const CtlOptions& options) {
  std::string line;
  for (const std::string& word : options.words) line += (line.empty() ? "" : " ") + word;
  if (line.find('\n') != std::string::npos) return Error{Errc::kInvalidArgument, "a command is one line", ""};
  line = CompletedCommand(line);
  ATTUNE_TRY([[maybe_unused]] const session::ControlCommand checked, session::ParseControlLine(line));
  ATTUNE_TRY(const session::SessionInfo session, session::FindSession(options.session));
  ATTUNE_TRY(session::ControlClient client, ConnectTo(session));
  ATTUNE_TRY(const std::string reply, client.Ask(line));
  if (reply != session::OkReply()) std::printf("%s\n", reply.c_str());
  return FinishOutput();
}

}  // namespace

Command MakeCtlCommand() {
  auto options = std::make_shared<CtlOptions>();
  Command command;
  command.name = "ctl";
  command.rank = 50;
  command.summary = "steer a running session: labels, levels, intervals, pause";
  command.description = "Commands:\n" + session::ControlGrammar() + "\nattune list sessions shows the sessions.";
  command.options = {
      {"--session", "ID", "Which session, where several are running", &options->session, Complete::kSession}};
  command.positionals = {{"COMMAND", "The command and what it needs", &options->words, true, Complete::kNothing}};
  command.examples = {
      {"attune ctl label \"second phase\"", "a label in the recording, at this moment"},
      {"attune ctl interval vmstat 1ms", "sample one sensor faster from now on"},
      {"attune ctl record phase2.attune", "from now on also into a file; `record off` ends it"},
      {"attune ctl status", "what the session does, as JSON"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
