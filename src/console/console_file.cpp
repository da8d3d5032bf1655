#include "console/console_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "base/child_process.h"
#include "base/toml_table.h"
#include "session/core/option_file.h"

namespace attune::console {
namespace {

constexpr int64_t kMostRanks = 1'000'000;
constexpr int64_t kMostThreads = 100'000;
constexpr const char* kThreadsVariable = "OMP_NUM_THREADS";

/// Reads the file's tables; mistakes go where the tables send them.
class Reader {
 public:
  Reader(std::string_view file, TomlMistakes& mistakes) : file_(file), mistakes_(mistakes) {}

  RunDescription Read(const toml::table& root) {
    TomlTable table(root, "the file", mistakes_);
    RunDescription run;
    run.program = table.RequiredText("program");
    run.arguments = table.Texts("arguments");
    run.folder = table.Text("folder", "");
    run.input = table.Text("input", "");
    for (const char* key : {"program", "folder", "input", "arguments"}) session::CheckWords(table, key, root.get(key));
    if (const toml::table* environment = table.Table("environment")) ReadEnvironment(*environment, run);
    if (const toml::table* openmp = table.Table("openmp")) ReadOpenMp(*openmp, run);
    if (const toml::table* mpi = table.Table("mpi")) ReadMpi(*mpi, run);
    if (const toml::table* observe = table.Table("observe")) ReadObserve(*observe, run);
    table.Finish();
    return run;
  }

 private:
  void ReadEnvironment(const toml::table& table, RunDescription& run) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto value = node.value_exact<std::string>();
      if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
        mistakes_.Add(key.source(), fmt::format("[environment]: '{}' is no name of a variable", name));
      } else if (!value || value->find('\0') != std::string::npos) {
        mistakes_.Add(node.source(), fmt::format("[environment]: '{}' is not a text", name),
                      fmt::format("numbers too stand in quotes: {} = \"4\"", name));
      } else {
        run.environment.emplace_back(name, *value);
      }
    }
  }

  void ReadOpenMp(const toml::table& table, RunDescription& run) {
    TomlTable openmp(table, "[openmp]", mistakes_);
    run.openmp_threads = openmp.RequiredInteger("threads", 1, kMostThreads);
    openmp.Finish();
    if (std::ranges::any_of(run.environment, [](const auto& variable) { return variable.first == kThreadsVariable; }))
      openmp.Fail("threads", fmt::format("and {} of [environment] say the same twice", kThreadsVariable),
                  "leave one of them out");
  }

  void ReadMpi(const toml::table& table, RunDescription& run) {
    TomlTable mpi(table, "[mpi]", mistakes_);
    run.is_mpi = true;
    run.mpi.ranks = mpi.RequiredInteger("ranks", 1, kMostRanks);
    run.mpi.implementation = mpi.Text("implementation", "");
    run.mpi.hosts = mpi.Text("hosts", "");
    run.mpi.arguments = mpi.Texts("arguments");
    run.mpi.place = session::PlaceIn(file_, table.source());
    for (const char* key : {"implementation", "hosts", "arguments"}) session::CheckWords(mpi, key, table.get(key));
    mpi.Finish();
  }

  void ReadObserve(const toml::table& table, RunDescription& run) {
    TomlTable observe(table, "[observe]", mistakes_);
    run.observe = session::ReadOptions(observe, table, session::kInConsoleFile, file_, mistakes_);
    observe.Finish();
  }

  const std::string file_;
  TomlMistakes& mistakes_;
};

/// A text as TOML and JSON both write it, in ASCII.
std::string Quoted(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  // Escapes what JSON leaves as it is, and TOML does not. Other planes are one number in TOML and two in JSON.
  std::string result;
  for (size_t at = 0; at < quoted.size(); ++at) {
    const auto number = [&](size_t from) { return std::strtoul(quoted.substr(from, 4).c_str(), nullptr, 16); };
    if (quoted[at] == '\x7f') {
      result += "\\u007f";
    } else if (quoted[at] == '\\' && quoted[at + 1] == 'u' && (number(at + 2) & 0xfc00) == 0xd800) {
      result += fmt::format("\\U{:08x}", 0x10000 + ((number(at + 2) & 0x3ff) << 10) + (number(at + 8) & 0x3ff));
      at += 11;
    } else {
      result += quoted[at];
      if (quoted[at] == '\\') result += quoted[++at];
    }
  }
  return result;
}

std::string Quoted(std::span<const std::string> texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
  return "[" + list + "]";
}

size_t KindOf(const session::OptionSetting& setting) {
  return session::KindOf(session::kRunOptions[session::FindOption(setting.name)]);
}

/// The PATH that the program is looked for in.
std::string PathOf(const RunDescription& run) {
  for (const auto& [name, value] : run.environment) {
    if (name == "PATH") return value;
  }
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

Result<std::string> FindLauncher(const MpiChoice& mpi, const std::string& path) {
  std::vector<std::string> names{mpi.implementation};
  if (mpi.implementation.empty()) names = {"mpirun", "mpiexec"};
  if (mpi.implementation == "openmpi") names = {"mpirun.openmpi", "orterun", "prterun"};
  if (mpi.implementation == "mpich") names = {"mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra"};
  for (const std::string& name : names) {
    if (!FindProgram(name, path.c_str()).empty()) return name;
  }
  return Error{Errc::kNotFound,
               fmt::format("{}[mpi]: no launcher of MPI is here: {}", mpi.place.empty() ? "" : mpi.place + ": ",
                           fmt::join(names, ", ")),
               "install openmpi-bin or mpich, or name the launcher: implementation = \"/opt/mpi/bin/mpirun\""};
}

}  // namespace

Result<RunDescription> ParseConsoleFile(std::string_view text, std::string_view file) {
  if (text.size() > kMaxConsoleFileBytes)
    return Error{Errc::kInvalidArgument, fmt::format("{} is larger than {} bytes", file, kMaxConsoleFileBytes),
                 "a console file describes one run: docs/console.md"};
  return ReadToml(text, file, "docs/console.md",
                  [&](const toml::table& root, TomlMistakes& mistakes) { return Reader(file, mistakes).Read(root); });
}

std::string ToToml(const RunDescription& run) {
  std::string text = fmt::format("program = {}\n", Quoted(run.program));
  if (!run.arguments.empty()) text += fmt::format("arguments = {}\n", Quoted(run.arguments));
  if (!run.folder.empty()) text += fmt::format("folder = {}\n", Quoted(run.folder));
  if (!run.input.empty()) text += fmt::format("input = {}\n", Quoted(run.input));
  if (run.openmp_threads > 0) text += fmt::format("\n[openmp]\nthreads = {}\n", run.openmp_threads);
  if (run.is_mpi) {
    text += fmt::format("\n[mpi]\nranks = {}\n", run.mpi.ranks);
    if (!run.mpi.implementation.empty()) text += fmt::format("implementation = {}\n", Quoted(run.mpi.implementation));
    if (!run.mpi.hosts.empty()) text += fmt::format("hosts = {}\n", Quoted(run.mpi.hosts));
    if (!run.mpi.arguments.empty()) text += fmt::format("arguments = {}\n", Quoted(run.mpi.arguments));
  }
  if (!run.environment.empty()) text += "\n[environment]\n";
  for (const auto& [name, value] : run.environment) text += fmt::format("{} = {}\n", Quoted(name), Quoted(value));
  if (!run.observe.empty()) text += "\n[observe]\n";
  for (const session::OptionSetting& setting : run.observe) {
    const size_t kind = KindOf(setting);
    text += fmt::format("{} = {}\n", setting.name,
                        kind == 0   ? setting.on ? "true" : "false"
                        : kind == 1 ? Quoted(setting.values.front())
                                    : Quoted(setting.values));
  }
  return text;
}

std::string ToJson(const RunDescription& run) {
  using Json = nlohmann::json;
  Json json{{"program", run.program}, {"arguments", run.arguments}, {"folder", run.folder}, {"input", run.input}};
  json["environment"] = Json::object();
  for (const auto& [name, value] : run.environment) json["environment"][name] = value;
  if (run.openmp_threads > 0) json["openmp"] = {{"threads", run.openmp_threads}};
  if (run.is_mpi)
    json["mpi"] = {{"ranks", run.mpi.ranks},
                   {"implementation", run.mpi.implementation},
                   {"hosts", run.mpi.hosts},
                   {"arguments", run.mpi.arguments}};
  json["observe"] = Json::object();
  for (const session::OptionSetting& setting : run.observe) {
    Json& value = json["observe"][setting.name];
    const size_t kind = KindOf(setting);
    if (kind == 0) value = setting.on;
    if (kind == 1) value = setting.values.front();
    if (kind == 2) value = setting.values;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<std::string>> CommandOf(const RunDescription& run) {
  std::vector<std::string> command;
  if (run.is_mpi) {
    ATTUNE_TRY(std::string launcher, FindLauncher(run.mpi, PathOf(run)));
    command = {std::move(launcher), "-n", std::to_string(run.mpi.ranks)};
    // Both implementations know this name of the option.
    if (!run.mpi.hosts.empty()) command.insert(command.end(), {"-machinefile", run.mpi.hosts});
    command.insert(command.end(), run.mpi.arguments.begin(), run.mpi.arguments.end());
  }
  command.push_back(run.program);
  command.insert(command.end(), run.arguments.begin(), run.arguments.end());
  return command;
}

std::vector<std::pair<std::string, std::string>> EnvironmentOf(const RunDescription& run) {
  auto environment = run.environment;
  if (run.openmp_threads > 0) environment.emplace_back(kThreadsVariable, std::to_string(run.openmp_threads));
  return environment;
}

}  // namespace attune::console
