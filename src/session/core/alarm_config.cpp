#include "session/core/alarm_config.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/host_root.h"
#include "base/toml_table.h"
#include "base/units.h"
#include "base/user_file.h"

namespace attune::session {
namespace {

using analysis::AlarmRule;
using analysis::AlarmSetting;
using analysis::AlarmSettings;

constexpr size_t kMaxFileBytes = 256u << 10;
constexpr int64_t kLongestForNs = 24 * 3'600'000'000'000;

/// Reads the file's tables; mistakes go where the tables send them.
class Reader {
 public:
  explicit Reader(TomlMistakes& mistakes) : mistakes_(mistakes) {}

  AlarmSettings Read(const toml::table& root) {
    for (const auto& [group, node] : root) {
      if (const toml::table* table = node.as_table()) {
        ReadGroup(std::string(group.str()), *table);
      } else {
        mistakes_.Add(node.source(), fmt::format("'{}' is no alarm", group.str()),
                      "as in memory.low = \"10 %\"; `attune alarms --list` shows the names");
      }
    }
    return std::move(settings_);
  }

 private:
  void ReadGroup(const std::string& group, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name = group + "." + std::string(key.str());
      const Result<const AlarmRule*> rule = analysis::FindAlarmRule(name);
      if (!rule.ok()) {
        Add(node, rule.error());
      } else if (const toml::table* more = node.as_table()) {
        ReadRule(**rule, *more);
      } else {
        ReadValue(**rule, node);
      }
    }
  }

  /// memory.low = "10 %"
  void ReadValue(const AlarmRule& rule, const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
      if (const Status added = analysis::AddAlarmSetting(fmt::format("{}={}", rule.name, *text), settings_);
          !added.ok())
        Add(node, added.error());
    } else if (const auto threshold = Threshold(rule, node)) {
      settings_[std::string(rule.name)] = {.on = true, .threshold = threshold};
    }
  }

  /// [memory.low] with its keys
  void ReadRule(const AlarmRule& rule, const toml::table& table) {
    TomlTable keys(table, fmt::format("[{}]", rule.name), mistakes_);
    AlarmSetting setting;
    // A threshold alone turns the rule on.
    if (keys.Has("on") || keys.Has("threshold")) setting.on = keys.Flag("on", true);
    if (keys.Has("threshold")) setting.threshold = Threshold(rule, *table.get("threshold"));
    if (keys.Has("clear")) setting.clear = Threshold(rule, *table.get("clear"));
    if (keys.Has("for")) setting.for_ns = Duration(keys.Text("for", "0s"), *table.get("for"));
    keys.Finish();
    const analysis::TunedRule tuned = analysis::Tune(rule, setting);
    if (rule.condition.above ? tuned.clear > tuned.threshold : tuned.clear < tuned.threshold)
      keys.Fail("clear", "lies beyond the threshold: the alarm would be cleared while it is raised");
    settings_[std::string(rule.name)] = setting;
  }

  std::optional<double> Threshold(const AlarmRule& rule, const toml::node& node) {
    std::string text = node.value_exact<std::string>().value_or("");
    if (const auto number = node.value<double>(); number && !node.is_string()) text = fmt::format("{}", *number);
    const Result<double> value = analysis::ParseAlarmThreshold(rule, text);
    if (value.ok()) return *value;
    Add(node, value.error());
    return std::nullopt;
  }

  std::optional<int64_t> Duration(const std::string& text, const toml::node& node) {
    if (text == "0s" || text == "0") return 0;
    const Result<int64_t> value = ParseDurationNs(text, "for", 1, kLongestForNs);
    if (value.ok()) return *value;
    Add(node, value.error());
    return std::nullopt;
  }

  void Add(const toml::node& node, const Error& error) { mistakes_.Add(node.source(), error.message, error.hint); }

  TomlMistakes& mistakes_;
  AlarmSettings settings_;
};

}  // namespace

Result<AlarmSettings> ParseAlarmFile(std::string_view text, const std::string& file) {
  if (text.size() > kMaxFileBytes) return Error{Errc::kInvalidArgument, file + " is too large", ""};
  return ReadToml(text, file, "docs/alarms.md",
                  [](const toml::table& root, TomlMistakes& mistakes) { return Reader(mistakes).Read(root); });
}

Result<AlarmSettings> ChooseAlarms(const std::string& file, const std::vector<std::string>& options) {
  AlarmSettings settings;
  const std::string chosen = file.empty() ? ConfigFile("alarms.toml") : std::filesystem::absolute(file).string();
  // The default file need not be there; one that somebody named must.
  if (!file.empty() || (!chosen.empty() && HostRoot().Exists(chosen))) {
    const auto text = ReadUserFile(chosen, kMaxFileBytes);
    if (!text.ok()) return text.error().WithContext("--alarms");
    ATTUNE_TRY(settings, ParseAlarmFile(*text, chosen));
  }
  for (const std::string& option : options) {
    if (const Status added = analysis::AddAlarmSetting(option, settings); !added.ok())
      return added.error().WithContext("--alarm");
  }
  return settings;
}

}  // namespace attune::session
