#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "model/knob_file.h"
#include "session/tuning/by_hand.h"

namespace attune::cli {
namespace {

struct Options {
  std::string knob;
  std::string pid;
  bool json = false;
};

Result<int> Run(const Options& options) {
  ATTUNE_TRY(const pid_t pid, session::ParseProcess(options.pid));
  ATTUNE_TRY(const std::vector<model::Knob> knobs, session::KnobsOf(pid));
  model::Knob variable;
  ATTUNE_TRY(const model::Knob* knob, session::KnobOrVariable(knobs, options.knob, variable));
  ATTUNE_TRY(const auto settings, session::GetByHand(*knob, pid));
  if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const model::KnobSetting& setting : settings)
      rows.push_back({{"knob", knob->name}, {"place", setting.place}, {"value", setting.value}});
    return PrintJson(rows);
  }
  TextTable table({{"of"}, {knob->name, TextTable::Align::kLeft, TextTable::Narrow::kWhole}});
  for (const model::KnobSetting& setting : settings)
    table.AddRow(
        {setting.place.empty() ? (pid == 0 ? "the machine" : "the process") : setting.place, Printable(setting.value)});
  std::fputs(table.ToString(0, TerminalWidth(stdout)).c_str(), stdout);
  return FinishOutput();
}

}  // namespace

Command MakeGetCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "get";
  command.rank = 92;
  command.summary = "print what a knob of a running program is set to";
  command.description = "Knobs are what attune can change of a program while it runs (attune list knobs).";
  command.positionals = {{"KNOB", "Its name, or variable:EXPRESSION", &options->knob}};
  command.options = {{"-p,--pid", "PID", "The process; not needed for knobs of the machine", &options->pid},
                     {"--json", "", "As a JSON array", &options->json}};
  command.examples = {{"attune get cpu.affinity -p 4711", "the CPUs that each thread of a process may run on"},
                      {"attune get machine.huge-pages", "a knob of the machine"},
                      {"attune get 'variable:config.workers[0].batch' -p 4711", "a variable of the program's source"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
