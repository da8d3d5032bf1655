#include "session/core/option_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include "base/host_root.h"
#include "base/user_file.h"

namespace attune::session {
namespace {

constexpr const char* kVariable = "ATTUNE_DEFAULTS";

Status CheckValues(const OptionRow& row, std::span<const std::string> values) {
  for (const std::string& value : values) ATTUNE_CHECK_OK(CheckOption(row, value));
  return {};
}

bool IsOf(const OptionSetting& setting, OptionPlace command) {
  return (kRunOptions[FindOption(setting.name)].places & command) != 0;
}

}  // namespace

std::string PlaceIn(std::string_view file, const toml::source_region& where) {
  return fmt::format("{}:{}:{}", file, where.begin.line, where.begin.column);
}

void CheckWords(TomlTable& table, std::string_view key, const toml::node* node) {
  const auto has_nul = [](const toml::node& text) {
    return text.value_exact<std::string>().value_or("").find('\0') != std::string::npos;
  };
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr ? has_nul(*node) : std::any_of(array->begin(), array->end(), has_nul))
    table.Fail(key, "has a character of number 0, which no program can be given");
}

std::vector<OptionSetting> ReadOptions(TomlTable& asked, const toml::table& table, unsigned places,
                                       std::string_view file, TomlMistakes& mistakes) {
  std::vector<OptionSetting> settings;
  for (const OptionRow& row : kRunOptions) {
    // At the top of the file of defaults, `live` is the table.
    const bool is_table = places == kInDefaults && std::ranges::any_of(kOptionCommands, [&row](const auto& command) {
                            return command.first == row.name;
                          });
    if ((row.places & places) != places || is_table || !asked.Has(row.name)) continue;
    const toml::node& node = *table.get(row.name);
    OptionSetting setting{.name = std::string(row.name), .values = {}, .place = PlaceIn(file, node.source())};
    if (row.type == OptionType::kSwitch) {
      setting.on = asked.Flag(row.name, false);
    } else if (row.many) {
      setting.values = asked.Texts(row.name);
    } else {
      setting.values = {asked.Text(row.name, "")};
    }
    CheckWords(asked, row.name, &node);
    if (const Status good = CheckValues(row, setting.values); !good.ok())
      mistakes.Add(node.source(), fmt::format("{} {}: {}", asked.title(), row.name, good.error().message),
                   good.error().hint);
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<std::vector<OptionSetting>> ParseDefaults(std::string_view text, std::string_view file, OptionPlace command) {
  ATTUNE_TRY(const toml::table root, ParseToml(text, file));
  TomlMistakes mistakes(std::string(file), "docs/command-line.md");
  TomlTable top(root, "the file", mistakes);
  std::vector<OptionSetting> chosen;
  for (const auto& [name, place] : kOptionCommands) {
    const toml::table* table = top.Table(name);
    if (table == nullptr) continue;
    TomlTable asked(*table, fmt::format("[{}]", name), mistakes);
    std::vector<OptionSetting> settings = ReadOptions(asked, *table, kInDefaults | place, file, mistakes);
    asked.Finish();
    if (place == command) chosen = std::move(settings);
  }
  for (OptionSetting& setting : ReadOptions(top, root, kInDefaults, file, mistakes)) {
    if (IsOf(setting, command) && std::ranges::find(chosen, setting.name, &OptionSetting::name) == chosen.end())
      chosen.push_back(std::move(setting));
  }
  top.Finish();
  if (mistakes.any()) return mistakes.first();
  return chosen;
}

std::string DefaultsFile() {
  if (const char* named = std::getenv(kVariable)) {
    std::error_code ignored;
    return *named == '\0' ? "" : std::filesystem::absolute(named, ignored).string();
  }
  const std::string usual = ConfigFile("defaults.toml");
  return !usual.empty() && HostRoot().Exists(usual) ? usual : "";
}

Result<std::vector<OptionSetting>> ReadDefaults(const std::string& file, OptionPlace command) {
  if (file.empty()) return std::vector<OptionSetting>();
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMaxDefaultsBytes));
  return ParseDefaults(text, file, command);
}

}  // namespace attune::session
