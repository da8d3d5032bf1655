#include "base/plugin_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/host_root.h"
#include "base/units.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

bool IsTrusted(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::vector<std::string> PluginFolders(std::string_view kind, std::string_view own) {
  std::vector<std::string> folders;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && config[0] == '/') {
    folders.push_back(fmt::format("{}/attune/{}", config, kind));
  } else if (home != nullptr && home[0] == '/') {
    folders.push_back(fmt::format("{}/.config/attune/{}", home, kind));
  }
  folders.push_back(fmt::format("/etc/attune/{}", kind));
  if (const auto self = HostRoot().ReadLink("/proc/self/exe"); self.ok())
    folders.push_back((fs::path(*self).parent_path().parent_path() / own / "attune" / kind).string());
  return folders;
}

std::vector<PluginFile> FindPluginFiles(const std::vector<std::string>& folders,
                                        const std::vector<std::string_view>& endings) {
  std::vector<PluginFile> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const fs::path& file = entry->path();
      const std::string ending = file.extension().string();
      if (std::find(endings.begin(), endings.end(), ending) == endings.end() || !IsTrusted(file)) continue;
      const std::string name = file.stem().string();
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const PluginFile& other) { return other.name == name; });
      if (!known) found.push_back({name, file.string()});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

NameAndRest SplitAtEquals(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<PluginChoice> FindPlugin(std::string_view text, std::string_view what, std::string_view kind,
                                const std::vector<std::string>& folders) {
  NameAndRest split = SplitAtEquals(text);
  if (split.name.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not NAME[=ARGUMENT]", what, text),
                 fmt::format("attune list {}s shows the names", kind)};
  }
  if (split.name.find('/') != std::string::npos || split.name.ends_with(".so")) {
    std::error_code error;
    const fs::path file = fs::absolute(split.name, error);
    if (error || ::access(file.c_str(), R_OK) != 0) return ErrnoError(fmt::format("{}: {}", what, split.name));
    return PluginChoice{file.stem().string(), file.string(), std::move(split.rest)};
  }
  std::vector<std::string> names;
  for (PluginFile& found : FindPluginFiles(folders, {".so"})) {
    if (found.name == split.name) return PluginChoice{found.name, found.file, std::move(split.rest)};
    names.push_back(std::move(found.name));
  }
  std::string hint = DidYouMean(split.name, names);
  if (!hint.empty()) hint += ' ';
  return Error{Errc::kInvalidArgument, fmt::format("{}: there is no {} '{}'", what, kind, split.name),
               hint + fmt::format("`attune list {}s` shows all", kind)};
}

Result<std::vector<PluginChoice>> ChoosePlugins(
    const std::vector<std::string>& texts, std::string_view what,
    const std::function<Result<PluginChoice>(std::string_view text, std::string_view what)>& find) {
  std::vector<PluginChoice> choices;
  for (const std::string& text : texts) {
    ATTUNE_TRY(PluginChoice choice, find(text, what));
    if (std::ranges::find(choices, choice.name, &PluginChoice::name) != choices.end())
      return Error{Errc::kInvalidArgument, fmt::format("{}: {} is given twice", what, choice.name), ""};
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace attune
