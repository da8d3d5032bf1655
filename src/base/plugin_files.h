#pragma once
/// Files by which others add something to attune: where they are looked for, and which are trusted.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune {

/// The folders of one kind ("sensors", "sinks"), in the order in which they are asked:
/// $XDG_CONFIG_HOME/attune/KIND (~/.config), /etc/attune/KIND, and attune's own (`own`/attune/KIND beside the folder of
/// the program). @param own "share" for what is the same on every machine, else "lib"
std::vector<std::string> PluginFolders(std::string_view kind, std::string_view own);

/// A file that adds something, called like what it adds.
struct PluginFile {
  std::string name;  ///< file name without folder and ending
  std::string file;
};
/// All files with one of the endings (".so"), by name; the first of a name counts. Files that somebody else could have
/// written (not the user's or root's, or writable by others) are left out.
std::vector<PluginFile> FindPluginFiles(const std::vector<std::string>& folders,
                                        const std::vector<std::string_view>& endings);

/// An argument of -s or --sink: "NAME" or "NAME=REST".
struct NameAndRest {
  std::string name;
  std::string rest;  ///< "": nothing given
};
NameAndRest SplitAtEquals(std::string_view text);

/// A plug-in that somebody chose.
struct PluginChoice {
  std::string name;
  std::string file;  ///< absolute path
  std::string argument;

  bool operator==(const PluginChoice&) const = default;
};
/// "NAME[=ARGUMENT]", or "FILE.so[=ARGUMENT]". Errors: kInvalidArgument with the nearest names.
/// @param what names the option in errors: "--sink"  @param kind "sink", as `attune list sinks` calls them
Result<PluginChoice> FindPlugin(std::string_view text, std::string_view what, std::string_view kind,
                                const std::vector<std::string>& folders);
/// All that an option chose, each once. @param find as FindPlugin(), with the text and `what`
Result<std::vector<PluginChoice>> ChoosePlugins(
    const std::vector<std::string>& texts, std::string_view what,
    const std::function<Result<PluginChoice>(std::string_view text, std::string_view what)>& find);

}  // namespace attune
