#include "model/knob_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/toml_table.h"
#include "base/units.h"

namespace attune::model {
namespace {

constexpr int64_t kMostSettleNs = 60'000'000'000;

template <class T, size_t n>
using Names = std::array<std::pair<std::string_view, T>, n>;
constexpr Names<KnobType, 5> kTypes{{{"integer", KnobType::kInteger},
                                     {"switch", KnobType::kSwitch},
                                     {"word", KnobType::kWord},
                                     {"cpus", KnobType::kCpus},
                                     {"text", KnobType::kText}}};
constexpr Names<KnobScope, 3> kScopes{
    {{"thread", KnobScope::kThread}, {"process", KnobScope::kProcess}, {"machine", KnobScope::kMachine}}};
constexpr Names<KnobUndo, 3> kUndos{
    {{"exact", KnobUndo::kExact}, {"equivalent", KnobUndo::kEquivalent}, {"none", KnobUndo::kNone}}};

int64_t ReadSettle(TomlTable& table) {
  const std::string text = table.Text("settle", "");
  if (text.empty()) return 0;
  const auto settle_ns = ParseDurationNs(text, "settle", 1, kMostSettleNs);
  if (settle_ns.ok()) return *settle_ns;
  table.Fail("settle", settle_ns.error().message, settle_ns.error().hint);
  return 0;
}

Knob ReadKnob(const toml::table& node, TomlMistakes& mistakes, std::string_view file) {
  TomlTable table(node, "[[knob]]", mistakes);
  Knob knob;
  knob.name = table.RequiredText("name");
  if (!IsKnobName(knob.name)) table.Fail("name", "is made of lower-case letters, digits, '.', '-' and '_'");
  knob.about = table.RequiredText("about");
  knob.type = table.Choice<KnobType>("type", kTypes, KnobType::kInteger);
  if (knob.type == KnobType::kInteger) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    knob.low = table.RequiredInteger("low", std::numeric_limits<int64_t>::min(), kMost);
    knob.high = table.RequiredInteger("high", knob.low, kMost);
  }
  if (knob.type == KnobType::kWord) {
    knob.words = table.Texts("words");
    if (knob.words.empty()) table.Fail("words", "has the words that it can be");
  }
  knob.unit = table.Text("unit", "");
  knob.scope = table.Choice<KnobScope>("scope", kScopes, KnobScope::kProcess);
  knob.actuator = table.RequiredText("actuator");
  if (const toml::table* how = table.Table("how"); how != nullptr) {
    TomlTable of_how(*how, "how", mistakes);
    for (const auto& [key, value] : *how) knob.how[std::string(key.str())] = of_how.RequiredText(key.str());
    of_how.Finish();
  }
  knob.settle_ns = ReadSettle(table);
  knob.safe_point = table.Text("safe_point", "at once");
  knob.trades = table.Text("trades", "");
  knob.risk = table.Text("risk", "");
  knob.undo = table.Choice<KnobUndo>("undo", kUndos, KnobUndo::kNone);
  knob.answers = table.Texts("answers");
  knob.permanent = table.Text("permanent", "");
  knob.file = file;
  table.Finish();
  return knob;
}

}  // namespace

Result<std::vector<Knob>> ParseKnobs(std::string_view text, std::string_view file) {
  return ReadToml(text, file, "docs/knobs.md", [&](const toml::table& root, TomlMistakes& mistakes) {
    TomlTable table(root, "the file", mistakes);
    std::vector<Knob> knobs;
    for (const toml::table* node : table.Tables("knob")) knobs.push_back(ReadKnob(*node, mistakes, file));
    table.Finish();
    return knobs;
  });
}

Result<std::vector<Knob>> AllKnobs() { return ReadCatalog<Knob>(ShippedKnobFiles(), "knobs", ParseKnobs); }

Result<const Knob*> FindKnob(std::span<const Knob> knobs, std::string_view name) {
  std::vector<std::string> names;
  for (const Knob& knob : knobs) {
    if (knob.name == name) return &knob;
    names.push_back(knob.name);
  }
  const std::string near = DidYouMean(name, names);
  return Error{Errc::kNotFound, fmt::format("there is no knob '{}'", name),
               near.empty() ? "attune list knobs lists them" : near};
}

}  // namespace attune::model
