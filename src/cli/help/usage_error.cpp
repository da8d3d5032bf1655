#include "cli/help/usage_error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/child_process.h"
#include "base/units.h"
#include "cli/help/completion.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

struct Habit {
  std::string_view word;
  std::string_view instead;
};

/// Other tools' name for it, as the first word of a command line.
constexpr Habit kSubcommandHabits[] = {
    {"attach", "a process that runs is watched with: attune run -p PID"},
    {"-p", "a process that runs is watched with: attune run -p PID"},
    {"--pid", "a process that runs is watched with: attune run -p PID"},
    {"top", "attune live shows a page, attune stat prints rows"},
    {"watch", "attune live shows a page, attune stat prints rows"},
    {"diff", "two recordings are compared with: attune compare BEFORE AFTER"},
    {"trace", "every acquisition and release, in order: attune run --level trace -- PROGRAM"},
    {"profile", "where a program computes and waits: attune run -- PROGRAM"},
    {"script", "attune export and attune query print what a recording holds"},
    {"dump", "attune export and attune query print what a recording holds"},
    {"show", "attune report says what a recording holds, attune view shows it"},
    {"open", "attune view shows a recording in the browser"},
    {"ls", "attune list shows sensors; attune list recordings, attune list sessions"},
    {"ps", "attune list sessions shows what runs"},
    {"status", "attune ctl status says what a session does, attune info --status what the machine does"},
    {"stop", "attune ctl stop ends a session"},
    {"pause", "attune ctl pause"},
    {"label", "attune ctl label TEXT"},
    {"check", "attune doctor checks what attune can use here"},
    {"version", "attune --version"},
    {"-v", "attune --version"},
};

/// Options of other tools that attune does without.
constexpr Habit kOptionHabits[] = {
    {"-a", "without a program it is the whole machine: leave it out"},
    {"--all-cpus", "without a program it is the whole machine: leave it out"},
    {"-g", "call stacks are recorded anyhow: leave it out"},
    {"-n", "give the time instead: --for 10s"},
    {"--count", "give the time instead: --for 10s"},
    {"-I", "-i TIME is the time between two samples, with its unit: -i 100ms"},
    {"-F", "-i 100Hz is the rate of sampling, --cpu-samples 250Hz that of where programs compute"},
    {"--duration", "--for TIME is how long: --for 10s"},
    {"-t", "--for TIME is how long: --for 10s"},
    {"--color", "colours are there on a terminal only; NO_COLOR=1 turns them off"},
    {"--no-color", "colours are there on a terminal only; NO_COLOR=1 turns them off"},
    {"--input", "the recording is given by its name alone: leave the option out"},
};

template <size_t size>
std::string HabitHint(std::string_view word, const Habit (&habits)[size]) {
  for (const Habit& habit : habits) {
    if (habit.word == word) return std::string(habit.instead);
  }
  return "";
}

/// The newest recording of this folder; "": there is none.
std::string NewestRecording() {
  std::error_code error;
  fs::path newest;
  fs::file_time_type newest_time{};
  for (fs::directory_iterator entry(".", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code no_time;
    const auto time = entry->last_write_time(no_time);
    if (entry->path().extension() != ".attune" || no_time || (!newest.empty() && time <= newest_time)) continue;
    newest = entry->path();
    newest_time = time;
  }
  return newest.filename().string();
}

const Command* Find(const std::vector<Command>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

/// The first word behind the subcommand that looks like an option and is none of it; "" if there is none.
std::string UnknownOption(const Command& command, int argc, char** argv) {
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string name(argv[i], std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('=')).size());
    if (!name.starts_with('-') || name == "-") continue;
    const auto is_it = [&](const Option& option) {
      const std::vector<std::string> flags = FlagNames(option);
      return std::find(flags.begin(), flags.end(), name) != flags.end();
    };
    const auto option = std::find_if(command.options.begin(), command.options.end(), is_it);
    if (option == command.options.end()) return name;
    const bool value_follows = !std::holds_alternative<bool*>(option->target) && name == argv[i];
    if (value_follows) ++i;
  }
  return "";
}

bool ReadsRecordings(const Command& command) {
  return !command.positionals.empty() && command.positionals.front().complete == Complete::kRecording;
}

std::string HowTo(const std::string& subcommand) {
  return "attune " + (subcommand.empty() ? "" : subcommand + " ") + "--help shows the usage";
}

Error UnknownOptionError(const Command& command, const std::string& option) {
  std::vector<std::string> flags;
  for (const Option& candidate : command.options) {
    for (const std::string& flag : FlagNames(candidate)) flags.push_back(flag);
  }
  // One letter is near to every other one.
  std::string hint = option.size() > 2 ? DidYouMean(option, flags) : "";
  if (hint.empty()) hint = HabitHint(option, kOptionHabits);
  if (hint.empty() && option == "-i" && ReadsRecordings(command)) hint = HabitHint("--input", kOptionHabits);
  return {Errc::kInvalidArgument, "attune " + command.name + " has no option '" + option + "'",
          hint.empty() ? HowTo(command.name) : hint};
}

Error SurplusError(const Command& command) {
  return {Errc::kInvalidArgument, "attune " + command.name + " takes fewer arguments", HowTo(command.name)};
}

}  // namespace

bool IsProgram(const std::string& name) { return !FindProgram(name, std::getenv("PATH")).empty(); }

Error UnknownSubcommand(const std::string& word, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (!command.hidden) names.push_back(command.name);
  }
  const Error error{Errc::kInvalidArgument, "there is no subcommand '" + word + "'",
                    HabitHint(word, kSubcommandHabits)};
  if (!error.hint.empty()) return error;
  if (const std::string nearest = DidYouMean(word, names); !nearest.empty())
    return {error.code, error.message, nearest};
  const std::string program = IsProgram(word) ? word : "PROGRAM";
  return {error.code, error.message, "attune --help lists them; a program is run with: attune run -- " + program};
}

Error DescribeUsageError(const std::string& why, bool surplus, const std::vector<Command>& commands, int argc,
                         char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty())
    return {Errc::kInvalidArgument, "no subcommand given", "begin with: attune run -- PROGRAM; " + HowTo("")};
  const Command* known = Find(commands, first);
  if (known == nullptr && first[0] != '-') return UnknownSubcommand(first, commands);
  if (known == nullptr) {
    const std::string hint = HabitHint(first, kSubcommandHabits);
    return {Errc::kInvalidArgument, "attune itself has no option '" + first + "'",
            hint.empty() ? "options follow the subcommand; " + HowTo("") : hint};
  }
  if (!surplus) {
    const std::string newest = ReadsRecordings(*known) && why == "FILE is required" ? NewestRecording() : "";
    return {Errc::kInvalidArgument, why,
            newest.empty() ? HowTo(first) : fmt::format("the newest here: attune {} {}", first, newest)};
  }
  const std::string option = UnknownOption(*known, argc, argv);
  return option.empty() ? SurplusError(*known) : UnknownOptionError(*known, option);
}

}  // namespace attune::cli
