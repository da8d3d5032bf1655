#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "model/knob_file.h"
#include "session/tuning/by_hand.h"

namespace attune::cli {
namespace {

struct Options {
  std::string setting;
  std::string pid;
  std::string allow;
};

Result<int> Run(const Options& options) {
  const size_t equals = options.setting.find('=');
  if (equals == std::string::npos)
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is not KNOB=VALUE", options.setting),
                 "as in attune set cpu.nice=5 -p 4711"};
  ATTUNE_TRY(const pid_t pid, session::ParseProcess(options.pid));
  ATTUNE_TRY(const std::vector<model::Knob> knobs, session::KnobsOf(pid));
  model::Knob variable;
  ATTUNE_TRY(const model::Knob* knob, session::KnobOrVariable(knobs, options.setting.substr(0, equals), variable));
  ATTUNE_TRY(const std::string value, model::CheckValue(*knob, options.setting.substr(equals + 1)));
  if (knob->scope == model::KnobScope::kMachine && options.allow != "machine")
    return Error{Errc::kInvalidArgument, fmt::format("{} also changes what other programs get", knob->name),
                 "--allow machine sets it all the same"};
  ATTUNE_TRY(const auto before, session::SetByHand(*knob, pid, value));
  for (const model::KnobSetting& setting : before)
    Say(fmt::format("{}{}: {} -> {}", knob->name, setting.place.empty() ? "" : " of " + setting.place, setting.value,
                    value));
  const bool is_of_process = knob->scope != model::KnobScope::kMachine;
  Say(fmt::format("attune restore{} undoes it", is_of_process ? fmt::format(" -p {}", pid) : ""));
  return 0;
}

}  // namespace

Command MakeSetCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "set";
  command.rank = 94;
  command.summary = "turn a knob of a running program by hand";
  command.description =
      "Sets a knob (attune list knobs) of a process, in each of its threads or sockets, and notes what was there "
      "before: attune restore undoes it. variable:EXPRESSION in place of a knob is a variable of the program's source: "
      "a "
      "number, an enumeration or an array of char, by name, member and index.";
  command.positionals = {{"KNOB=VALUE", "The knob, or variable:EXPRESSION, and its value", &options->setting}};
  command.options = {{"-p,--pid", "PID", "The process; not needed for knobs of the machine", &options->pid},
                     {"--allow", "machine", "Also knobs that other programs feel", &options->allow}};
  command.examples = {{"attune set cpu.affinity=0-1 -p 4711", "let all threads of a process use two CPUs"},
                      {"attune set socket.no-delay=on -p $(pgrep -n nginx)", "no waiting for acknowledgements"},
                      {"attune set variable:config.batch=64 -p 4711", "a variable of the program's source"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
