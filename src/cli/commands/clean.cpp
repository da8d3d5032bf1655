#include <fmt/format.h>

#include <cstdio>

#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "session/core/session_folders.h"

namespace attune::cli {
namespace {

using Json = nlohmann::ordered_json;
using session::Abandoned;
using session::AbandonedFolder;
using session::SessionFolders;

struct CleanOptions {
  bool dry_run = false;
  bool json = false;
};

Json FoldersJson(const SessionFolders& folders, bool dry_run) {
  Json json{{"dry_run", dry_run}, {"bytes", 0}, {"living", folders.living}, {"abandoned", Json::array()}};
  uint64_t bytes = 0;
  for (const AbandonedFolder& folder : folders.abandoned) {
    const bool is_removed = !dry_run && folder.removed.ok();
    if (dry_run || is_removed) bytes += folder.bytes;
    json["abandoned"].push_back({{"path", folder.path},
                                 {"what", folder.is_rings ? "rings" : "session"},
                                 {"bytes", folder.bytes},
                                 {"removed", is_removed}});
  }
  json["bytes"] = bytes;
  return json;
}

void PrintFolders(const SessionFolders& folders, bool dry_run) {
  const char* done = dry_run ? "would remove" : "removed";
  uint64_t bytes = 0;
  size_t count = 0;
  for (const AbandonedFolder& folder : folders.abandoned) {
    if (!folder.removed.ok()) continue;
    ++count;
    bytes += folder.bytes;
    std::printf("%s %s (%s, %s)\n", done, Printable(folder.path).c_str(),
                folder.is_rings ? "rings" : "a session's folder", FormatBytes(folder.bytes).c_str());
  }
  if (folders.abandoned.empty()) {
    std::printf("nothing is left of dead sessions");
  } else {
    std::printf("%s %zu folder%s, %s", done, count, count == 1 ? "" : "s", FormatBytes(bytes).c_str());
  }
  if (!folders.living.empty())
    std::printf("; %zu session%s left alone: %s", folders.living.size(), folders.living.size() == 1 ? "" : "s",
                folders.living.size() == 1 ? "it lives" : "they live");
  std::printf("\n");
}

Result<int> Clean(const CleanOptions& options) {
  ATTUNE_TRY(const SessionFolders folders,
             session::CollectAbandoned(options.dry_run ? Abandoned::kKeep : Abandoned::kRemove));
  if (options.json) {
    ATTUNE_CHECK_OK(PrintJson(FoldersJson(folders, options.dry_run)));
  } else {
    PrintFolders(folders, options.dry_run);
    ATTUNE_CHECK_OK(FinishOutput());
  }
  for (const AbandonedFolder& folder : folders.abandoned) ATTUNE_CHECK_OK(folder.removed);
  return 0;
}

}  // namespace

Command MakeCleanCommand() {
  auto options = std::make_shared<CleanOptions>();
  Command command;
  command.name = "clean";
  command.rank = 155;
  command.summary = "remove what killed sessions have left";
  command.description =
      "Removes the folders of your sessions that have ended without doing so themselves, with their temporary "
      "recordings, and the shared memory of their rings. The next session does the same when it starts. What belongs "
      "to a session that lives is left alone: it holds a lock. Recordings that were kept are not touched.\n\n"
      "The exit code is 0, also where nothing was left, unless something could not be removed.";
  command.options = {{"--dry-run", "", "Only say what would be removed", &options->dry_run},
                     {"--json", "", "As one JSON document", &options->json}};
  command.examples = {{"attune clean --dry-run", "what is left, and how much it takes"}, {"attune clean", "remove it"}};
  command.run = [options] { return Clean(*options); };
  return command;
}

}  // namespace attune::cli
