#include "cli/p2g/toolchain.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/child_process.h"
#include "base/host_root.h"
#include "base/own_files.h"
#include "base/text.h"
#include "base/version.h"
#include "base/whole_file.h"
#include "session/host/launch.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKept = 64;
constexpr const char* kLibrary = "libattune_flow.a";

std::vector<std::string> WordsOf(const char* variable) {
  std::vector<std::string> words;
  const char* text = std::getenv(variable);
  for (const std::string_view word : Split(text == nullptr ? "" : text, " \t\n"))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

/// FNV-1a, twice with other beginnings. The folder is the user's own, so nobody makes collisions on purpose.
class ContentHash {
 public:
  void Add(std::string_view text) {
    for (const char c : text) Byte(static_cast<unsigned char>(c));
    Byte(0);
  }
  /// A file's size and time of change stand for what is in it.
  void AddFile(const fs::path& file) {
    struct stat status = {};
    if (stat(file.c_str(), &status) != 0) return;
    Add(fmt::format("{} {} {}.{}", file.string(), status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
  }
  std::string Text() const { return fmt::format("{:016x}{:016x}", one_, other_); }

 private:
  void Byte(unsigned char byte) {
    one_ = (one_ ^ byte) * 0x100000001b3;
    other_ = (other_ ^ byte ^ (one_ >> 56)) * 0x100000001b3;
  }
  uint64_t one_ = 0xcbf29ce484222325;
  uint64_t other_ = 0x84222325cbf29ce4;
};

std::vector<std::string> CommandLine(const Toolchain& toolchain, const CompileJob& job) {
  std::vector<std::string> words = toolchain.compiler;
  words.insert(words.end(), {"-std=c++20", "-O2", "-g1", "-Wall", "-isystem", toolchain.include_folder});
  words.insert(words.end(), {"-iquote", job.own_folder.empty() ? "." : job.own_folder});
  const std::vector<std::string> own = WordsOf("CXXFLAGS");
  words.insert(words.end(), own.begin(), own.end());
  return words;
}

std::string HashOf(const Toolchain& toolchain, const CompileJob& job) {
  ContentHash hash;
  hash.Add(kVersion);
  hash.Add(job.cpp);
  for (const std::string& word : CommandLine(toolchain, job)) hash.Add(word);
  for (const std::string& word : WordsOf("LDFLAGS")) hash.Add(word);
  hash.AddFile(toolchain.compiler[0]);
  hash.AddFile(toolchain.library);
  std::vector<fs::path> headers = {fs::path(toolchain.include_folder) / "attune/flow.h"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(toolchain.include_folder) / "attune/flow", error))
    headers.push_back(entry.path());
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) hash.AddFile(header);
  return hash.Text();
}

Result<std::string> CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (cache != nullptr && cache[0] == '/')
    folder = cache;
  else if (home != nullptr && home[0] == '/')
    folder = fs::path(home) / ".cache";
  else
    return Error{Errc::kUnavailable, "there is no folder for compiled programs", "set HOME or XDG_CACHE_HOME"};
  folder = folder / "attune" / "p2g";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return ErrnoError("making " + folder.string(), error.value());
  chmod(folder.c_str(), 0700);
  return folder.string();
}

/// Removes what was used longest ago.
void Prune(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    files.emplace_back(entry.last_write_time(error), entry.path());
  if (files.size() <= 2 * kKept) return;
  std::sort(files.begin(), files.end());
  // A program and its C++ are two files.
  for (size_t i = 0; i < files.size() - 2 * kKept; ++i) fs::remove(files[i].second, error);
}

Status RunCompiler(std::vector<std::string> words, const std::string& name, const sigset_t& program_mask) {
  ATTUNE_TRY(session::Child child,
             session::Child::Fork({.program = std::move(words), .environment = {}}, program_mask));
  ATTUNE_CHECK_OK(child.Go());
  ATTUNE_TRY(const session::ExitStatus status, child.Wait({}));
  if (status.signal != 0 && child.was_asked_to_end()) session::DieLike(status.signal);
  if (status.signal != 0)
    return Error{Errc::kTargetFailed, fmt::format("the C++ compiler was ended by signal {}", status.signal), ""};
  if (status.code == 0) return {};
  return Error{Errc::kCorrupt, fmt::format("{}: the C++ compiler reports errors", name),
               "they are in the native code, with lines of the program; attune p2g emit shows the C++"};
}

}  // namespace

Result<Toolchain> FindToolchain() {
  Toolchain toolchain;
  toolchain.compiler = WordsOf("CXX");
  if (toolchain.compiler.empty()) toolchain.compiler = {"c++"};
  const std::string found = FindProgram(toolchain.compiler[0], std::getenv("PATH"));
  if (found.empty())
    return Error{Errc::kUnavailable, fmt::format("there is no C++ compiler '{}'", toolchain.compiler[0]),
                 "install g++ or clang, or name it: CXX=/path/to/c++"};
  toolchain.compiler[0] = found;
  ATTUNE_TRY(const std::string self, HostRoot().ReadLink("/proc/self/exe"));
  const fs::path prefix = fs::path(self).parent_path().parent_path();
  toolchain.library = FindOwnLibrary(kLibrary);
  toolchain.include_folder = (prefix / "include").string();
  if (toolchain.library.empty() || access((toolchain.include_folder + "/attune/flow/program.h").c_str(), R_OK) != 0)
    return Error{
        Errc::kUnavailable, "attune's library for dataflow programs is not installed",
        fmt::format("install libattune-dev; {} and attune/flow.h are looked for below {}", kLibrary, prefix.string())};
  return toolchain;
}

Result<bool> IsCompiledProgram(const std::string& path) {
  ATTUNE_TRY(const std::string folder, CacheFolder());
  std::error_code error;
  // The program gives its path without links.
  const fs::path real = fs::canonical(folder, error);
  return !error && fs::path(path).parent_path() == real && access(path.c_str(), X_OK) == 0;
}

Result<std::string> CompiledProgram(const Toolchain& toolchain, const CompileJob& job, const sigset_t& program_mask) {
  ATTUNE_TRY(const std::string folder, CacheFolder());
  const std::string program = fmt::format("{}/{}-{}", folder, job.name, HashOf(toolchain, job));
  std::error_code error;
  if (!job.has_own_headers && access(program.c_str(), X_OK) == 0) {
    // Used now: Prune() removes others first.
    fs::last_write_time(program, fs::file_time_type::clock::now(), error);
    fs::last_write_time(program + ".cpp", fs::file_time_type::clock::now(), error);
    return program;
  }
  const std::string made = fmt::format("{}.{}", program, getpid());
  ATTUNE_CHECK_OK(ReplaceFile(program + ".cpp", job.cpp));
  std::vector<std::string> words = CommandLine(toolchain, job);
  words.insert(words.end(), {"-o", made, program + ".cpp", toolchain.library, "-pthread"});
  const std::vector<std::string> linking = WordsOf("LDFLAGS");
  words.insert(words.end(), linking.begin(), linking.end());
  const Status compiled = RunCompiler(std::move(words), job.name, program_mask);
  if (!compiled.ok()) {
    fs::remove(made, error);
    return compiled.error();
  }
  fs::rename(made, program, error);
  if (error) return ErrnoError("renaming " + made, error.value());
  Prune(folder);
  return program;
}

}  // namespace attune::cli
