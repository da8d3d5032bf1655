#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "session/tuning/by_hand.h"

namespace attune::cli {
namespace {

struct Options {
  std::string function;
  std::vector<std::string> arguments;
  std::string pid;
  std::string returns = "int";
  std::string limit = "10s";
  bool anywhere = false;
  bool json = false;
};

using session::CallReturns;
constexpr std::array<std::pair<std::string_view, CallReturns>, 6> kReturns{{{"int", CallReturns::kInt},
                                                                            {"long", CallReturns::kLong},
                                                                            {"bool", CallReturns::kBool},
                                                                            {"double", CallReturns::kDouble},
                                                                            {"text", CallReturns::kText},
                                                                            {"nothing", CallReturns::kNothing}}};

Result<CallReturns> ReturnsOf(const std::string& word) {
  std::string words;
  for (const auto& [name, returns] : kReturns) {
    if (name == word) return returns;
    words += (words.empty() ? "" : ", ") + std::string(name);
  }
  return Error{Errc::kInvalidArgument, fmt::format("--returns: '{}' is not understood", word), "it takes " + words};
}

Result<int> Run(const Options& options) {
  constexpr int64_t kLeastNs = 1'000'000, kMostNs = 600'000'000'000;
  ATTUNE_TRY(const CallReturns returns, ReturnsOf(options.returns));
  ATTUNE_TRY(const int64_t limit_ns, ParseDurationNs(options.limit, "--limit", kLeastNs, kMostNs));
  ATTUNE_TRY(const pid_t pid, session::ParseProcess(options.pid));
  if (pid == 0) return Error{Errc::kInvalidArgument, "no process is named", "say which one: -p PID"};
  ATTUNE_TRY(const std::string result,
             session::CallByHand(pid, options.function, options.arguments, returns, limit_ns, options.anywhere));
  if (options.json) {
    nlohmann::ordered_json object{{"function", options.function}, {"result", nullptr}};
    if (returns == CallReturns::kText) object["result"] = result;
    // inf and nan are no JSON.
    else if (returns != CallReturns::kNothing)
      object["result"] = nlohmann::json::parse(result, nullptr, false);
    if (object["result"].is_discarded()) object["result"] = result;
    return PrintJson(object);
  }
  if (returns != CallReturns::kNothing) std::puts(Printable(result).c_str());
  return FinishOutput();
}

}  // namespace

Command MakeCallCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "call";
  command.rank = 95;
  command.summary = "have a running program call one of its functions";
  command.description =
      "A thread of the program is stopped where it holds no lock of the C library or of the function's own library, "
      "calls the function, and goes on as it was: all registers, and the system call that it was in. A function that "
      "crashes or does not return is given up. What the function does is not undone.\n\n"
      "Arguments: 5 and 0x10 are whole numbers, 2.0 is a double, anything else is the address of that text, which is "
      "there while the function runs. At most six of a kind.";
  command.positionals = {
      {"FUNCTION", "Its name, as ns::Name in C++; LIBRARY!NAME where several files have it", &options->function},
      {"ARGUMENT", "What it is called with", &options->arguments, false}};
  command.options = {
      {"-p,--pid", "PID", "The process", &options->pid},
      {"--returns",
       "TYPE",
       "What it returns: int, long, bool, double, text or nothing. Default: int",
       &options->returns,
       Complete::kNothing,
       {"int", "long", "bool", "double", "text", "nothing"}},
      {"--limit", "TIME", "How long to wait for a safe place, and then for the function. Default: 10s",
       &options->limit},
      {"--anywhere", "", "Also by a thread that is in the function's own library, which may hold its locks",
       &options->anywhere},
      {"--json", "", "As a JSON object", &options->json}};
  command.examples = {{"attune call openblas_set_num_threads 1 -p 4711 --returns nothing", "a setter of a library"},
                      {"attune call malloc_trim 0 -p $(pgrep -n python3)", "give free memory back"},
                      {"attune call dlopen /opt/agent.so 2 -p 4711 --returns long", "load a library; 2 is RTLD_NOW"}};
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
