#pragma once
/// A console file: one run of a program, as the page's form and `attune run --console-file` know it. TOML, described in
/// docs/console.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/core/run_options.h"

namespace attune::console {

inline constexpr size_t kMaxConsoleFileBytes = 64u << 10;

/// Programs of MPI are started by its launcher.
struct MpiChoice {
  int64_t ranks = 0;
  std::string implementation;  ///< "openmpi", "mpich", or the launcher's name or path; empty: the mpirun on the PATH
  std::string hosts;           ///< a file that names them; empty: this one
  std::vector<std::string> arguments;  ///< more of the launcher's
  std::string place;                   ///< position of the table, for errors
};

struct RunDescription {
  std::string program;
  std::vector<std::string> arguments;
  std::string folder;  ///< its working folder, as written: empty or relative to the file's own folder
  std::string input;   ///< its standard input, relative to `folder`; empty: attune's own
  std::vector<std::pair<std::string, std::string>> environment;
  int64_t openmp_threads = 0;  ///< 0: not said
  bool is_mpi = false;
  MpiChoice mpi;
  std::vector<session::OptionSetting> observe;  ///< options of `attune run`
};

/// @param text foreign bytes  @param file how errors call it; they also name line and column
Result<RunDescription> ParseConsoleFile(std::string_view text, std::string_view file);
/// A file that says the same, without its comments.
std::string ToToml(const RunDescription& run);
/// For the page: the keys are those of the file.
std::string ToJson(const RunDescription& run);

/// Command to start: the program with its arguments, or the launcher of MPI that starts it. Looks for that on the PATH.
/// @return kNotFound: no such launcher is here
Result<std::vector<std::string>> CommandOf(const RunDescription& run);
/// `environment`, and what the choice of a library adds.
std::vector<std::pair<std::string, std::string>> EnvironmentOf(const RunDescription& run);

}  // namespace attune::console
