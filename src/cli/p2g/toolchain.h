#pragma once
/// Compiles the C++ that is made of P2G programs, and keeps what was compiled.

#include <csignal>
#include <string>
#include <vector>

#include "base/result.h"

namespace attune::cli {

/// The C++ compiler, and attune's headers and library beside the attune that runs: in the tree where it is installed,
/// or where it was built.
struct Toolchain {
  std::vector<std::string> compiler;  ///< $CXX, or c++; its first word is a path
  std::string include_folder;
  std::string library;
};

/// Error: kUnavailable where there is no compiler, or no headers and library.
Result<Toolchain> FindToolchain();

struct CompileJob {
  std::string name;        ///< of the program, for its file
  std::string cpp;         ///< its C++
  std::string own_folder;  ///< where it finds headers in quotes
  bool has_own_headers = false;
};

/// Compiles, unless the same text was compiled before with the same compiler and attune. Programs lie in
/// $XDG_CACHE_HOME/attune/p2g or ~/.cache/attune/p2g; the last 64 are kept.
/// @param program_mask signals that are blocked in the compiler
/// @return the program's path. Errors: kCorrupt: the compiler reports errors, which it has printed; kUnavailable, kIo
Result<std::string> CompiledProgram(const Toolchain& toolchain, const CompileJob& job, const sigset_t& program_mask);

/// Whether the path is that of a program that CompiledProgram() has made and keeps.
Result<bool> IsCompiledProgram(const std::string& path);

}  // namespace attune::cli
