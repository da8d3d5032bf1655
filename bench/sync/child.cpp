#include "sync/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace attune::bench {
namespace {

std::pair<UniqueFd, UniqueFd> Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) Fail("no pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

std::vector<std::string> Command(const Target::Options& options) {
  std::vector<std::string> command = options.launcher;
  command.insert(command.end(), {ATTUNE_SYNC_TARGET, options.name, std::to_string(options.cpus[0]),
                                 std::to_string(options.cpus[1]), std::to_string(options.threads)});
  return command;
}

}  // namespace

void Fail(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

Folder::Folder(const std::string& where) : path_(where + "/attune-bench-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) Fail("cannot make a folder in " + where);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment) : name_(command[0]) {
  auto [stdin_end, in] = Pipe();
  auto [out, stdout_end] = Pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, stdin_end.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, stdout_end.get(), 1);
  std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
  arguments.push_back(nullptr);
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  const int error = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(fmt::format("cannot start {}: {}", name_, std::strerror(error)));
  in_ = std::move(in);
  out_ = std::move(out);
}

Child::~Child() {
  in_.reset();
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::fprintf(stderr, "%s: %s did not end well\n", program_invocation_short_name, name_.c_str());
  std::_Exit(1);  // not exit(): other children may be waited for by destructors of statics
}

void Child::Tell(const std::string& line) const {
  const std::string text = line + '\n';
  if (::write(in_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) Fail(name_ + " takes nothing");
}

std::string Child::Answer() const {
  std::string line;
  for (char c = 0; ::read(out_.get(), &c, 1) == 1;) {
    if (c == '\n') return line;
    line += c;
  }
  Fail(name_ + " gives no answer");
}

std::vector<int> FirstCpus() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) Fail("cannot see which CPUs there are");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

Target::Target(const Options& options) : child_(Command(options), options.environment) {}

Target::Round Target::Run(uint64_t operations) const {
  child_.Tell(std::to_string(operations));
  const std::string answer = child_.Answer();
  int64_t ns = 0;
  long switches = 0;
  int single_threaded = 0;
  Round round;
  if (std::sscanf(answer.c_str(), "%ld %ld %d %d", &ns, &switches, &round.threads, &single_threaded) != 4)
    Fail("not understood: " + answer);
  round.ns = static_cast<double>(ns) / static_cast<double>(operations);
  round.switches = switches;
  round.single_threaded = single_threaded != 0;
  return round;
}

}  // namespace attune::bench
