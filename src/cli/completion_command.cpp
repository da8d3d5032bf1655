#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace attune::cli {
namespace {

Status WriteFile(const std::string& path, const std::string& text) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return ErrnoError("writing " + path);
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError("writing " + path);
    done += static_cast<size_t>(written);
  }
  return {};
}

Result<int> WriteManual(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return ErrnoError("making the folder " + folder);
  for (const ManualPage& page : ManualPages(MakeAllCommands()))
    ATTUNE_CHECK_OK(WriteFile(folder + "/" + page.name, page.text));
  return 0;
}

}  // namespace

Command MakeCompletionCommand() {
  auto shell = std::make_shared<std::string>();
  Command command;
  command.name = "completion";
  command.summary = "print the completion script of a shell";
  command.description =
      "Subcommands, options, sensors, levels, formats, sessions and recordings are completed; from the observed "
      "program's name on, its own command line is.";
  command.positionals = {{"SHELL", "bash, zsh or fish", shell.get(), true, Complete::kShell}};
  command.examples = {
      {"source <(attune completion bash)", "in this shell; put it into ~/.bashrc for every shell"},
      {"attune completion zsh > ~/.zfunc/_attune", "for zsh, with ~/.zfunc in $fpath"},
      {"attune completion fish > ~/.config/fish/completions/attune.fish", "for fish"},
  };
  command.run = [shell]() -> Result<int> {
    ATTUNE_TRY(const std::string script, CompletionScript(*shell, MakeAllCommands()));
    std::fwrite(script.data(), 1, script.size(), stdout);
    return FinishOutput();
  };
  return command;
}

Command MakeManCommand() {
  auto folder = std::make_shared<std::string>("man");
  Command command;
  command.name = "man";
  command.hidden = true;
  command.summary = "write the manual pages";
  command.options = {{"--out", "DIR", "Folder for attune.1 and one page a subcommand. Default: man", folder.get()}};
  command.run = [folder] { return WriteManual(*folder); };
  return command;
}

}  // namespace attune::cli
