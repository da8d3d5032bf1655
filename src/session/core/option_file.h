#pragma once
/// Options in TOML files: tables of a console file, and the file of a user's defaults.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/toml_table.h"
#include "session/core/run_options.h"

namespace attune::session {

inline constexpr size_t kMaxDefaultsBytes = 64u << 10;

/// "run.toml:12:9"
std::string PlaceIn(std::string_view file, const toml::source_region& where);

/// The system ends a text at a NUL.
void CheckWords(TomlTable& table, std::string_view key, const toml::node* node);

/// Asks a table for every option that has one of the places; Finish() is the caller's. TomlMistakes go where those of
/// `asked` go, too. @param places OptionPlace, any of them  @param file for the settings' places
std::vector<OptionSetting> ReadOptions(TomlTable& asked, const toml::table& table, unsigned places,
                                       std::string_view file, TomlMistakes& mistakes);

/// Settings of a file of defaults for one of run, record, live and stat: options at its top hold for all that have
/// them, those of [run], [record], [live] and [stat] go before them. @param text foreign bytes  @param file how errors
/// call it; they also name line and column, also of what is wrong for others
Result<std::vector<OptionSetting>> ParseDefaults(std::string_view text, std::string_view file, OptionPlace command);

/// Path of the user's defaults: ATTUNE_DEFAULTS (empty: none), $XDG_CONFIG_HOME/attune/defaults.toml or
/// ~/.config/attune/defaults.toml. Only the first must be there; empty: there is no file.
std::string DefaultsFile();
/// @param file DefaultsFile(); empty: there are none
Result<std::vector<OptionSetting>> ReadDefaults(const std::string& file, OptionPlace command);

}  // namespace attune::session
