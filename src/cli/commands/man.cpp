#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/help/completion.h"

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

Command MakeManCommand() {
  auto folder = std::make_shared<std::string>("man");
  Command command;
  command.name = "man";
  command.rank = 180;
  command.hidden = true;
  command.summary = "write the manual pages";
  command.options = {{"--out", "DIR", "Folder for attune.1 and one page a subcommand. Default: man", folder.get()}};
  command.run = [folder] { return WriteManual(*folder); };
  return command;
}

}  // namespace attune::cli
