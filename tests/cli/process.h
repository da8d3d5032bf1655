#pragma once
/// Runs a command the way a shell does, and keeps what it printed.

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace attune::cli {

struct Outcome {
  int code = -1;  ///< 128 + signal if it was ended by one
  std::string out;
  std::string err;
};

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One argument for the shell.
inline std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// A folder for one test, removed with all that is in it.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/attune-test-XXXXXX";
    const char* made = mkdtemp(name);
    path_ = made != nullptr ? made : "";
  }
  ~TestFolder() {
    if (!path_.empty()) [[maybe_unused]]
      const int ignored = std::system(("rm -rf " + Quoted(path_)).c_str());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// @param command for sh; $ATTUNE is the binary
inline Outcome Shell(const std::string& command) {
  const TestFolder folder;
  const char* attune = std::getenv("ATTUNE_BIN");
  const std::string line = "ATTUNE=" + Quoted(attune != nullptr ? attune : "attune") + "; export ATTUNE; { " + command +
                           "\n} >" + folder / "out" + " 2>" + folder / "err" + " </dev/null";
  const int status = std::system(line.c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = ReadWholeFile(folder / "out");
  outcome.err = ReadWholeFile(folder / "err");
  return outcome;
}

inline Outcome Attune(const std::string& arguments) { return Shell("\"$ATTUNE\" " + arguments); }

}  // namespace attune::cli
