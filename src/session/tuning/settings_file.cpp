#include "session/tuning/settings_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml_table.h"
#include "base/user_file.h"
#include "model/knob_file.h"

namespace attune::session {
namespace {
constexpr size_t kMostSettingsBytes = 1 << 20;
}

Result<std::vector<KnobChoice>> ParseSettings(std::string_view text, std::string_view file,
                                              std::span<const model::Knob> knobs) {
  return ReadToml(text, file, "docs/tuning.md", [&](const toml::table& root, TomlMistakes& mistakes) {
    TomlTable table(root, "the file", mistakes);
    std::vector<KnobChoice> settings;
    for (const toml::table* node : table.Tables("set")) {
      TomlTable row(*node, "[[set]]", mistakes);
      KnobChoice choice{row.RequiredText("knob"), row.RequiredText("value"), row.Text("finding", "")};
      row.Finish();
      if (mistakes.any()) break;
      const auto knob = model::FindKnob(knobs, choice.knob);
      if (!knob.ok()) {
        row.Fail("knob", knob.error().message, knob.error().hint);
      } else if (const auto value = model::CheckValue(**knob, choice.value); !value.ok()) {
        row.Fail("value", value.error().message, value.error().hint);
      } else {
        choice.value = *value;
      }
      settings.push_back(std::move(choice));
    }
    table.Finish();
    return settings;
  });
}

Result<std::vector<KnobChoice>> ReadSettings(const std::string& file) {
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMostSettingsBytes));
  ATTUNE_TRY(const std::vector<model::Knob> knobs, model::AllKnobs());
  return ParseSettings(text, file, knobs);
}

std::string FindingClassOf(std::string_view id) { return std::string(id.substr(0, id.find(' '))); }

std::string SettingsText(std::span<const KnobChoice> settings, std::string_view of) {
  std::string text = fmt::format("# What attune tune kept of: {}\n", CleanText(of));
  for (const KnobChoice& choice : settings) {
    text += fmt::format("\n[[set]]\nknob = \"{}\"\nvalue = \"{}\"\n", choice.knob, choice.value);
    if (!choice.finding.empty()) text += fmt::format("finding = \"{}\"\n", choice.finding);
  }
  return text;
}

}  // namespace attune::session
