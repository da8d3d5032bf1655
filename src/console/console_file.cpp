#include "console/console_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "base/toml_table.h"
#include "base/units.h"
#include "session/core/control.h"

namespace attune::console {
namespace {

constexpr int64_t kMostRanks = 1'000'000;
constexpr int64_t kMostThreads = 100'000;
constexpr const char* kThreadsVariable = "OMP_NUM_THREADS";

enum class Takes { kText, kTexts, kSwitch };

/// What `[observe]` may hold: options of `attune run`, by their names. Which file it writes and what it says are the
/// affair of whoever starts it.
struct ObserveKey {
  std::string_view name;
  Takes takes = Takes::kText;
  Status (*check)(const std::string& text) = nullptr;  ///< nullptr: whoever uses it does
};

constexpr int64_t kYearNs = 365LL * 24 * 3'600'000'000'000;

Status IsDuration(const std::string& text) {
  ATTUNE_CHECK_OK(ParseDurationNs(text, "it", 1'000'000, kYearNs));
  return {};
}
template <int64_t least, int64_t most>
Status IsInterval(const std::string& text) {
  ATTUNE_CHECK_OK(ParseIntervalNs(text, "it", least, most));
  return {};
}
Status IsCpuSampling(const std::string& text) {
  return text == "off" ? Status() : IsInterval<100'000, 1'000'000'000>(text);
}
Status IsSize(const std::string& text) {
  ATTUNE_CHECK_OK(ParseBytes(text, "it"));
  return {};
}
Status IsLevel(const std::string& text) {
  ATTUNE_CHECK_OK(model::ParseLevel(text));
  return {};
}

constexpr std::array kObserveKeys{
    ObserveKey{"level", Takes::kText, IsLevel},
    ObserveKey{"sensors", Takes::kTexts},
    ObserveKey{"interval", Takes::kText, IsInterval<kMinIntervalNs, kMaxIntervalNs>},
    ObserveKey{"for", Takes::kText, IsDuration},
    ObserveKey{"cpu-samples", Takes::kText, IsCpuSampling},
    ObserveKey{"max-size", Takes::kText, IsSize},
    ObserveKey{"trace-buffer", Takes::kText, IsSize},
    ObserveKey{"trace-stream", Takes::kSwitch},
    ObserveKey{"check-influence", Takes::kSwitch},
    ObserveKey{"no-check-influence", Takes::kSwitch},
    ObserveKey{"no-interpose", Takes::kSwitch},
    ObserveKey{"keep-awake", Takes::kSwitch},
    ObserveKey{"cpus"},
    ObserveKey{"xml"},
    ObserveKey{"every", Takes::kText, IsInterval<10'000'000, 3'600'000'000'000>},
    ObserveKey{"sink", Takes::kTexts},
    ObserveKey{"alarm", Takes::kTexts},
};

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
    for (const char* key : {"program", "folder", "input", "arguments"}) CheckWords(table, key, root.get(key));
    if (const toml::table* environment = table.Table("environment")) ReadEnvironment(*environment, run);
    if (const toml::table* openmp = table.Table("openmp")) ReadOpenMp(*openmp, run);
    if (const toml::table* mpi = table.Table("mpi")) ReadMpi(*mpi, run);
    if (const toml::table* observe = table.Table("observe")) ReadObserve(*observe, run);
    table.Finish();
    return run;
  }

 private:
  /// The system ends a text at a NUL.
  void CheckWords(TomlTable& table, std::string_view key, const toml::node* node) {
    const auto has_nul = [](const toml::node& text) {
      return text.value_exact<std::string>().value_or("").find('\0') != std::string::npos;
    };
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr ? has_nul(*node) : std::any_of(array->begin(), array->end(), has_nul))
      table.Fail(key, "has a character of number 0, which no program can be given");
  }

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
    run.mpi.place = Place(table.source());
    for (const char* key : {"implementation", "hosts", "arguments"}) CheckWords(mpi, key, table.get(key));
    mpi.Finish();
  }

  void ReadObserve(const toml::table& table, RunDescription& run) {
    TomlTable observe(table, "[observe]", mistakes_);
    for (const ObserveKey& key : kObserveKeys) {
      if (!observe.Has(key.name)) continue;
      ObserveSetting setting{std::string(key.name), {}, Place(table.get(key.name)->source())};
      if (key.takes == Takes::kSwitch) {
        if (!observe.Flag(key.name, false)) continue;
      } else if (key.takes == Takes::kTexts) {
        setting.values = observe.Texts(key.name);
      } else {
        setting.values = {observe.Text(key.name, "")};
      }
      CheckWords(observe, key.name, table.get(key.name));
      if (const Status good = Check(key, setting.values); !good.ok())
        mistakes_.Add(table.get(key.name)->source(), fmt::format("[observe] {}: {}", key.name, good.error().message),
                      good.error().hint);
      run.observe.push_back(std::move(setting));
    }
    observe.Finish();
  }

  static Status Check(const ObserveKey& key, std::span<const std::string> values) {
    if (key.check == nullptr) return {};
    for (const std::string& value : values) ATTUNE_CHECK_OK(key.check(value));
    return {};
  }

  std::string Place(const toml::source_region& where) const {
    return fmt::format("{}:{}:{}", file_, where.begin.line, where.begin.column);
  }

  const std::string file_;
  TomlMistakes& mistakes_;
};

/// A text as TOML and JSON both write it, in ASCII.
std::string Quoted(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  // What JSON leaves as it is, and TOML does not. Other planes are one number in TOML and two in JSON.
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

Takes TakesOf(std::string_view name) { return std::ranges::find(kObserveKeys, name, &ObserveKey::name)->takes; }

/// The PATH that the program is looked for in.
std::string PathOf(const RunDescription& run) {
  for (const auto& [name, value] : run.environment) {
    if (name == "PATH") return value;
  }
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

bool IsOnPath(const std::string& program, const std::string& all) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(':', at), all.size());
    const std::string folder = end > at ? all.substr(at, end - at) : ".";
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

Result<std::string> FindLauncher(const MpiChoice& mpi, const std::string& path) {
  std::vector<std::string> names{mpi.implementation};
  if (mpi.implementation.empty()) names = {"mpirun", "mpiexec"};
  if (mpi.implementation == "openmpi") names = {"mpirun.openmpi", "orterun", "prterun"};
  if (mpi.implementation == "mpich") names = {"mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra"};
  for (const std::string& name : names) {
    if (IsOnPath(name, path)) return name;
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
  for (const ObserveSetting& setting : run.observe) {
    const Takes takes = TakesOf(setting.name);
    text += fmt::format("{} = {}\n", setting.name,
                        takes == Takes::kSwitch  ? "true"
                        : takes == Takes::kTexts ? Quoted(setting.values)
                                                 : Quoted(setting.values.front()));
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
  for (const ObserveSetting& setting : run.observe) {
    Json& value = json["observe"][setting.name];
    const Takes takes = TakesOf(setting.name);
    if (takes == Takes::kSwitch) value = true;
    if (takes == Takes::kTexts) value = setting.values;
    if (takes == Takes::kText) value = setting.values.front();
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
