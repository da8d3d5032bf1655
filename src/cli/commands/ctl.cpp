#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal/control_fifo.h"
#include "cli/terminal/output.h"
#include "model/level.h"
#include "session/core/control.h"
#include "session/core/job.h"
#include "session/host/components.h"

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
  std::string verb;
  std::vector<std::string> arguments;
};

/// The first argument of a verb, which completion offers behind its name.
Following FirstArgumentOf(const session::Verb& verb) {
  using session::ArgumentKind;
  switch (verb.arguments.front().kind) {
    case ArgumentKind::kLevel: return {verb.name, Complete::kNothing, model::LevelNames()};
    case ArgumentKind::kSensor: return {verb.name, Complete::kSensor};
    case ArgumentKind::kFile: return {verb.name, Complete::kFile};
    case ArgumentKind::kSink: return {verb.name, Complete::kSink};
    default: return {verb.name};
  }
}

Result<int> Run(const CtlOptions& options) {
  std::string line = options.verb;
  for (const std::string& word : options.arguments) line += " " + word;
  if (line.find('\n') != std::string::npos) return Error{Errc::kInvalidArgument, "a command is one line", ""};
  line = CompletedCommand(line);
  ATTUNE_CHECK_OK(session::SessionVerbs().Parse(line));
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
  const std::vector<std::string> names = session::SessionVerbs().Names(session::Role::kOwner);
  command.description = "Commands:\n";
  std::vector<Following> then;
  for (const std::string& name : names) {
    const session::Verb& verb = *session::SessionVerbs().Find(name);
    command.description += fmt::format("{} - {}\n", verb.Grammar(), verb.help);
    if (!verb.arguments.empty()) then.push_back(FirstArgumentOf(verb));
    if (!verb.example.empty()) command.examples.push_back({"attune ctl " + verb.example, verb.example_meaning});
  }
  command.description += "\nattune list sessions shows the sessions.";
  command.options = {
      {"--session", "ID", "Which session, where several are running", &options->session, Complete::kSession}};
  command.positionals = {{"COMMAND", "The command", &options->verb, true, Complete::kNothing, names, then},
                         {"ARGUMENT", "What it needs", &options->arguments, false, Complete::kNothing}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
