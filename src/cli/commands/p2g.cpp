#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "attune/flow/capability.h"
#include "base/user_file.h"
#include "base/whole_file.h"
#include "cli/command.h"
#include "cli/p2g/kept_file.h"
#include "cli/p2g/program_graph.h"
#include "cli/p2g/toolchain.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "dataflow/language/checks.h"
#include "dataflow/language/emitter.h"
#include "dataflow/language/parser.h"
#include "session/host/launch.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
namespace language = flow::language;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxBytes = size_t{4} << 20;

struct Options {
  std::string action;
  std::string file;
  std::vector<std::string> more;  ///< positionals behind the file
  std::string output;
  std::string threads, until, scheduler, nodes, perturb, ahead, memory, max_extent, implementation, kernel_timeout,
      keep;
  std::string program, kernel, age, index, unroll;
  bool checksum = false;
  bool follow_machine = false;
  bool costs = false;
  bool json = false;
  bool kernels = false;
  bool graphml = false;
  bool gdb = false;
};

/// Options with their values, of those that have one.
std::vector<std::string> WordsOf(const std::vector<std::pair<const char*, const std::string*>>& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options) {
    if (!value->empty()) words.insert(words.end(), {name, *value});
  }
  return words;
}

/// Options of `run` that the program gets, as it was given them.
std::vector<std::string> ProgramOptions(const Options& options) {
  std::vector<std::string> words = WordsOf({{"--threads", &options.threads},
                                            {"--until", &options.until},
                                            {"--scheduler", &options.scheduler},
                                            {"--nodes", &options.nodes},
                                            {"--perturb", &options.perturb},
                                            {"--ahead", &options.ahead},
                                            {"--memory", &options.memory},
                                            {"--max-extent", &options.max_extent},
                                            {"--kernel-timeout", &options.kernel_timeout},
                                            {"--keep", &options.keep}});
  if (options.checksum) words.emplace_back("--checksum");
  if (options.costs) words.emplace_back("--costs");
  if (options.follow_machine) words.emplace_back("--follow-machine");
  return words;
}

/// Options that say which instance `replay` runs.
std::vector<std::string> InstanceOptions(const Options& options) {
  return WordsOf({{"--kernel", &options.kernel}, {"--age", &options.age}, {"--index", &options.index}});
}

struct Loaded {
  std::string text;
  language::ProgramText program;
  std::vector<language::Diagnostic> diagnostics;
  size_t errors = 0;
};

Result<Loaded> Load(const std::string& file) {
  Loaded loaded;
  ATTUNE_TRY(loaded.text, ReadUserFile(file, kMaxBytes));
  language::Diagnostics diagnostics;
  loaded.program = language::Parse(loaded.text, diagnostics);
  if (!diagnostics.has_errors()) language::Check(loaded.program, diagnostics);
  loaded.diagnostics = diagnostics.Sorted();
  for (const language::Diagnostic& each : loaded.diagnostics)
    loaded.errors += each.severity == language::Severity::kError ? 1 : 0;
  return loaded;
}

std::string Counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Error WrongProgram(const Loaded& loaded, const std::string& file) {
  return {Errc::kCorrupt, fmt::format("{}: {}", file, Counted(loaded.errors, "error")), ""};
}

/// A program without errors. What was found is printed on standard error.
Result<Loaded> LoadRight(const std::string& file) {
  ATTUNE_TRY(Loaded loaded, Load(file));
  for (const language::Diagnostic& each : loaded.diagnostics)
    std::fputs(language::Format(each, file, loaded.text).c_str(), stderr);
  if (loaded.errors > 0) return WrongProgram(loaded, file);
  return loaded;
}

std::string NameOf(const std::string& file) {
  const std::string name = fs::path(file).stem().string();
  return name.empty() ? "program" : name;
}

/// The program itself is not written over.
Status KeepsProgram(const std::string& file, const std::string& written, const char* option) {
  std::error_code error;
  if (written.empty() || (written != file && !fs::equivalent(written, file, error))) return {};
  return Error{Errc::kInvalidArgument, fmt::format("{} would be overwritten", file),
               fmt::format("give another file to {}", option)};
}

/// Exit code 1 says that results differ: what cannot be compared has another one.
Error NotCompared(const Error& error) { return {Errc::kInvalidArgument, error.message, error.hint}; }

// ---- the actions

Result<int> CheckFile(const Options& options) {
  if (options.json) {
    ATTUNE_TRY(const Loaded loaded, Load(options.file));
    Json rows = Json::array();
    for (const language::Diagnostic& each : loaded.diagnostics)
      rows.push_back({{"file", options.file},
                      {"line", each.at.line},
                      {"column", each.at.column},
                      {"severity", each.severity == language::Severity::kError ? "error" : "warning"},
                      {"message", each.message},
                      {"hint", each.hint}});
    ATTUNE_TRY(const int code, PrintJson(rows));
    return loaded.errors > 0 ? 1 : code;
  }
  ATTUNE_TRY(const Loaded loaded, LoadRight(options.file));
  const std::string text =
      fmt::format("{}: {}, {}, {}", options.file, Counted(loaded.program.fields.size(), "field"),
                  Counted(loaded.program.kernels.size(), "kernel"), Counted(loaded.diagnostics.size(), "warning"));
  std::printf("%s\n", Printable(text).c_str());
  return FinishOutput();
}

Result<int> GraphOf(const Options& options) {
  ATTUNE_CHECK_OK(KeepsProgram(options.file, options.output, "-o"));
  ATTUNE_TRY(const Loaded loaded, LoadRight(options.file));
  ATTUNE_TRY(const std::string text, GraphText(loaded.program, NameOf(options.file),
                                               {options.kernels, options.unroll, options.graphml, options.json}));
  if (options.output.empty()) {
    std::fputs(text.c_str(), stdout);
    return FinishOutput();
  }
  ATTUNE_CHECK_OK(WriteFile(options.output, text));
  return 0;
}

Result<int> Emit(const Options& options) {
  ATTUNE_CHECK_OK(KeepsProgram(options.file, options.output, "-o"));
  ATTUNE_TRY(const Loaded loaded, LoadRight(options.file));
  const std::string where = options.output.empty() ? NameOf(options.file) + ".cpp" : options.output;
  const std::string cpp = language::EmitCpp(loaded.program, options.file, where);
  if (options.output.empty()) {
    std::fputs(cpp.c_str(), stdout);
    return FinishOutput();
  }
  ATTUNE_CHECK_OK(WriteFile(options.output, cpp));
  return 0;
}

bool HasOwnHeaders(const language::ProgramText& program) {
  for (const language::Native& native : program.prologue) {
    for (size_t i = 0; i + 2 < native.tokens.size(); ++i) {
      if (native.tokens[i].text == "#" && native.tokens[i + 1].text == "include" &&
          native.tokens[i + 2].kind == language::NativeToken::Kind::kText)
        return true;
    }
  }
  return false;
}

Result<std::string> Compile(const Options& options, const sigset_t& program_mask) {
  ATTUNE_TRY(const Loaded loaded, LoadRight(options.file));
  ATTUNE_TRY(const Toolchain toolchain, FindToolchain());
  CompileJob job;
  job.name = NameOf(options.file);
  job.cpp = language::EmitCpp(loaded.program, options.file, job.name + ".cpp");
  job.own_folder = fs::path(options.file).parent_path().string();
  job.has_own_headers = HasOwnHeaders(loaded.program);
  return CompiledProgram(toolchain, job, program_mask);
}

Result<int> Build(const Options& options) {
  const fs::path output =
      options.output.empty() ? fs::path(options.file).replace_extension() : fs::path(options.output);
  ATTUNE_CHECK_OK(KeepsProgram(options.file, output.string(), "-o"));
  std::error_code error;
  const fs::file_type type = fs::symlink_status(output, error).type();
  if (type != fs::file_type::not_found && type != fs::file_type::regular && type != fs::file_type::symlink)
    return Error{Errc::kInvalidArgument, fmt::format("{} is no regular file", output.string()), "give -o PROGRAM"};
  ATTUNE_TRY(const std::string program, Compile(options, session::BlockLauncherSignals()));
  // By another name, so that a program that runs can be replaced.
  const fs::path made = output.string() + fmt::format(".{}", getpid());
  fs::copy_file(program, made, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(made, output, error);
  if (!error) return 0;
  std::error_code ignored;
  fs::remove(made, ignored);
  return ErrnoError("writing " + output.string(), error.value());
}

/// Runs a program as a process of its own. @return its exit code; it ends as that process where a signal ended it
Result<int> RunWords(std::vector<std::string> words, const sigset_t& program_mask) {
  session::LaunchOptions launch;
  launch.program = std::move(words);
  ATTUNE_TRY(session::Child child, session::Child::Fork(launch, program_mask));
  ATTUNE_CHECK_OK(child.Go());
  ATTUNE_TRY(const session::ExitStatus status, child.Wait({}));
  if (status.signal != 0) session::DieLike(status.signal);
  return status.code;
}

Result<int> RunProgramOf(const Options& options) {
  ATTUNE_CHECK_OK(KeepsProgram(options.file, options.keep, "--keep"));
  const sigset_t program_mask = session::BlockLauncherSignals();
  ATTUNE_TRY(const std::string program, Compile(options, program_mask));
  std::vector<std::string> words = ProgramOptions(options);
  words.insert(words.begin(), program);
  if (!options.implementation.empty()) words.insert(words.end(), {"--implementation", options.implementation});
  return RunWords(std::move(words), program_mask);
}

/// The program that replays instances of a kept file: what attune compiled for that run, or what --program says. A file
/// may come from anywhere, so a program that it names is run only where attune has put it.
Result<std::string> ReplayProgram(const Options& options, const sigset_t& program_mask) {
  if (fs::path(options.program).extension() == ".p2g") {
    Options compiled = options;
    compiled.file = options.program;
    return Compile(compiled, program_mask);
  }
  if (!options.program.empty()) return fs::absolute(options.program).string();
  ATTUNE_TRY(const std::string program, ProgramOfKept(options.file));
  ATTUNE_TRY(const bool is_compiled, IsCompiledProgram(program));
  if (is_compiled) return program;
  return Error{
      Errc::kNotFound,
      fmt::format("the program that has written {} is not among those that attune keeps: {}", options.file, program),
      "give it with --program, as NAME.p2g or as what was built of it"};
}

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=+:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Result<int> Replay(const Options& options) {
  const sigset_t program_mask = session::BlockLauncherSignals();
  const Result<std::string> program = ReplayProgram(options, program_mask);
  if (!program.ok()) return NotCompared(program.error());
  std::vector<std::string> words = {*program, "--replay", options.file};
  const std::vector<std::string> instance = InstanceOptions(options);
  words.insert(words.end(), instance.begin(), instance.end());
  if (!options.implementation.empty()) words.insert(words.end(), {"--implementation", options.implementation});
  if (!options.gdb) return RunWords(std::move(words), program_mask);
  std::string command = "gdb --args";
  for (const std::string& word : words) command += " " + ShellWord(word);
  std::printf("%s\n", Printable(command).c_str());
  return FinishOutput();
}

Result<int> Dump(const Options& options) {
  if (options.more.size() > 2)
    return Error{Errc::kInvalidArgument, "dump takes a field and an age", "attune p2g dump FILE FIELD AGE"};
  return DumpKept(options.file, options.more, options.json);
}

Result<int> Diff(const Options& options) {
  if (options.more.size() != 1)
    return Error{Errc::kInvalidArgument, "diff takes two files", "attune p2g diff FILE OTHER"};
  Result<int> compared = DiffKept(options.file, options.more[0], options.json);
  if (!compared.ok()) return NotCompared(compared.error());
  return compared;
}

/// Options that an action may have, as bits.
enum Takes { kNone = 0, kOutput = 1, kRunOptions = 2, kJson = 4, kGraph = 8, kInstance = 16, kCode = 32, kMore = 64 };

/// Actions on a program or a kept file, and their options.
struct Action {
  const char* name;
  const char* help;
  int takes;
  Result<int> (*run)(const Options& options);
};
constexpr Action kActions[] = {
    {"check", "errors and warnings, without compiling", kJson, CheckFile},
    {"build", "compile it, into the file of -o, or of the program's name without .p2g", kOutput, Build},
    {"run", "compile it where that is needed, and run it", kRunOptions | kCode, RunProgramOf},
    {"graph", "its kernels and fields as a graph, in DOT, GraphML or JSON", kOutput | kJson | kGraph, GraphOf},
    {"emit", "the C++ that is made of it", kOutput, Emit},
    {"dump", "of a file of run --keep: fields, ages of FIELD, elements of FIELD and AGE", kJson | kMore, Dump},
    {"diff", "of two such files: the first field, age and index that differs", kJson | kMore, Diff},
    {"replay", "of such a file: run one instance again, and compare what it stores", kInstance | kCode, Replay},
};

/// The first option that an action does not take; empty: all is well.
std::string Superfluous(const Options& options, int takes) {
  const auto first = [](const std::vector<std::string>& words) { return words.empty() ? "" : words[0]; };
  std::vector<std::string> replay = InstanceOptions(options);
  if (!options.program.empty()) replay.emplace_back("--program");
  if (options.gdb) replay.emplace_back("--gdb");
  const std::pair<int, std::string> given[] = {{kOutput, options.output.empty() ? "" : "-o"},
                                               {kJson, options.json ? "--json" : ""},
                                               {kGraph, options.kernels           ? "--kernels"
                                                        : options.graphml         ? "--graphml"
                                                        : !options.unroll.empty() ? "--unroll"
                                                                                  : ""},
                                               {kRunOptions, first(ProgramOptions(options))},
                                               {kCode, options.implementation.empty() ? "" : "--implementation"},
                                               {kInstance, first(replay)},
                                               {kMore, first(options.more)}};
  for (const auto& [bit, option] : given) {
    if (!option.empty() && (takes & bit) == 0) return option;
  }
  return "";
}

Result<int> Run(const Options& options) {
  for (const Action& action : kActions) {
    if (options.action != action.name) continue;
    const std::string superfluous = Superfluous(options, action.takes);
    if (superfluous.empty()) return action.run(options);
    return Error{Errc::kInvalidArgument, fmt::format("{} has no meaning for '{}'", superfluous, action.name),
                 "attune p2g --help says what belongs to which"};
  }
  std::string names;
  for (const Action& action : kActions) names += (names.empty() ? "" : ", ") + std::string(action.name);
  return Error{Errc::kInvalidArgument, fmt::format("there is nothing like '{}' to do with a program", options.action),
               names};
}

std::vector<std::string> CapabilityNames() {
  std::vector<std::string> names;
  for (const flow::CapabilityInfo& each : flow::kCapabilities) names.emplace_back(each.name);
  return names;
}

std::vector<Option> OptionsInto(Options* options) {
  return {
      {"-o,--output", "FILE", "build, graph, emit: the file to write", &options->output, Complete::kFile},
      {"--threads", "N", "run: worker threads; default: one a CPU", &options->threads},
      {"--until", "N", "run: the last age; default: none", &options->until},
      {"--scheduler",
       "S",
       "run: guided (the default), off, fixed:N or fuse:K1+K2",
       &options->scheduler,
       Complete::kNothing,
       {"guided", "off"}},
      {"--nodes",
       "GROUPS",
       "run: groups of CPUs that share an age, as in 0-3;4-7, or off; default: the NUMA nodes",
       &options->nodes,
       Complete::kNothing,
       {"off"}},
      {"--implementation", "CAPABILITY",
       "run, replay: code of kernels that have several; default: the most capable one that this machine can run",
       &options->implementation, Complete::kNothing, CapabilityNames()},
      {"--kernel-timeout", "DURATION",
       "run: the most that an instance may take; else the program ends with exit code 4", &options->kernel_timeout},
      {"--keep", "FILE", "run: keep the contents of all fields by age, for dump, diff and replay", &options->keep,
       Complete::kFile},
      {"--perturb", "SEED", "run: a random schedule, to see that results do not depend on it", &options->perturb},
      {"--ahead", "N", "run: how many ages of a field may be there at a time; default: 16", &options->ahead},
      {"--memory", "BYTES", "run: no further age starts while fields have more", &options->memory},
      {"--max-extent", "N", "run: the largest extent of a field", &options->max_extent},
      {"--checksum", "", "run: print a checksum of each field, on standard error", &options->checksum},
      {"--costs", "", "run: print what each kernel cost, on standard error", &options->costs},
      {"--follow-machine", "", "run, under attune: make room while an alarm of memory, heat or cpu.others is raised",
       &options->follow_machine},
      {"--kernel", "NAME", "replay: the kernel; default: the instance at which the run failed or timed out",
       &options->kernel},
      {"--age", "N", "replay: the age of the instance, of kernels that have one", &options->age},
      {"--index", "I", "replay: the index of the instance, as in 42 or 3,4", &options->index},
      {"--program", "PROGRAM", "replay: NAME.p2g or what was built of it; default: what has written the file",
       &options->program, Complete::kFile},
      {"--gdb", "", "replay: print the command that runs the instance in gdb", &options->gdb},
      {"--kernels", "", "graph: from kernel to kernel, without fields", &options->kernels},
      {"--unroll", "AGE", "graph: each age of kernels and fields by itself, up to this one", &options->unroll},
      {"--graphml", "", "graph: as GraphML", &options->graphml},
      {"--json", "", "check, graph, dump, diff: as JSON", &options->json},
  };
}

}  // namespace

Command MakeP2gCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "p2g";
  command.rank = 107;
  command.summary = "check, compile and run dataflow programs of the P2G language";
  command.description =
      "A program is fields, which are written once for each age and index, and kernels, which fetch from them and "
      "store "
      "into them; what can run in parallel follows from that. docs/p2g.md has the language. It is compiled by $CXX, or "
      "c++ (CXXFLAGS and LDFLAGS are added), and kept in the user's cache.\n\nActions:\n";
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    names.emplace_back(action.name);
    command.description += fmt::format("{} - {}\n", action.name, action.help);
  }
  command.description +=
      "\nrun ends with the program's exit code: 0 done, 1 an instance failed, 3 instances wait for what nobody stores, "
      "4 an "
      "instance ran longer than --kernel-timeout; or by the signal that ended the program. replay ends with 0 where "
      "the "
      "instance stores what the file has, with 1 where it stores something else or fails, with 2 where it cannot be "
      "run. "
      "diff ends with 1 where something differs, with 2 where the files cannot be compared.";
  command.positionals = {{"ACTION", "What to do", &options->action, true, Complete::kNothing, names},
                         {"FILE", "The program, NAME.p2g; dump, diff, replay: a file of run --keep", &options->file,
                          true, Complete::kFile},
                         {"MORE", "dump: FIELD and AGE; diff: the other file", &options->more, false, Complete::kFile}};
  command.options = OptionsInto(options.get());
  command.examples = {
      {"attune p2g check mul2_plus5.p2g", "find what is wrong with a program"},
      {"attune p2g run mul2_plus5.p2g --until 4", "compile and run it, up to age 4"},
      {"attune p2g run kmeans.p2g --until 10 --implementation cpu", "without code for one kind of machine"},
      {"attune p2g run kmeans.p2g --until 10 --kernel-timeout 2s", "end where an instance hangs, and say which"},
      {"attune p2g build kmeans.p2g -o kmeans && attune run -- ./kmeans --until 10", "observe what it does"},
      {"attune p2g graph kmeans.p2g | dot -Tsvg > kmeans.svg", "a picture of its kernels and fields"},
      {"attune p2g run mul2_plus5.p2g --until 4 --keep golden.kept", "keep what is stored in its fields"},
      {"attune p2g dump golden.kept m_data 3", "print an age of a field"},
      {"attune p2g diff golden.kept other.kept", "find the first element in which two runs differ"},
      {"attune p2g replay golden.kept --kernel plus5 --age 2 --index 3", "run one instance on its inputs"},
      {"attune p2g replay failed.kept", "run the instance at which a run failed again"},
      {"attune p2g replay golden.kept --kernel plus5 --age 2 --index 3 --gdb", "the command that does so in gdb"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
