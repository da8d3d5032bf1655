#include "session/core/run_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/level.h"

namespace attune::session {
namespace {

constexpr std::string_view kOff = "off";

/// @param what how errors call it
Result<int64_t> ParseNs(const OptionRow& row, const std::string& text, std::string_view what) {
  if (row.type == OptionType::kDuration) return ParseDurationNs(text, what, row.low, row.high);
  return ParseIntervalNs(text, what, row.low, row.high);
}

/// As one word of a shell.
std::string Word(const std::string& text) {
  constexpr std::string_view kPlain = "@%+=:,./-_";
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Shown(const OptionRow& row, const std::string& text) {
  return Word(row.type == OptionType::kSink ? text.substr(0, text.find('=')) : text);
}

}  // namespace

OptionValues::OptionValues() {
  for (size_t row = 0; row < kRunOptions.size(); ++row) {
    switch (KindOf(kRunOptions[row])) {
      case 0: values_[row] = false; break;
      case 1: values_[row] = std::string(); break;
      default: values_[row] = std::vector<std::string>();
    }
  }
}

bool OptionValues::IsOn(size_t row) const {
  if (const bool* on = std::get_if<bool>(&values_[row])) return *on;
  if (const auto* text = std::get_if<std::string>(&values_[row])) return !text->empty();
  return !std::get<2>(values_[row]).empty();
}

bool OptionValues::Take(const OptionSetting& setting) {
  const size_t row = FindOption(setting.name);
  if (row == kRunOptions.size() || IsGiven(row)) return false;
  if (bool* on = std::get_if<bool>(&values_[row])) *on = setting.on;
  if (auto* text = std::get_if<std::string>(&values_[row])) *text = setting.values.front();
  if (auto* texts = std::get_if<std::vector<std::string>>(&values_[row])) *texts = setting.values;
  off_[row] = !IsOn(row);
  return true;
}

std::vector<std::string> WordsOf(const OptionRow& row) {
  return row.type == OptionType::kLevel ? model::LevelNames() : std::vector<std::string>();
}

Status CheckOption(const OptionRow& row, const std::string& text) {
  switch (row.type) {
    case OptionType::kIntervalOrOff:
      if (text == kOff) return {};
      [[fallthrough]];
    case OptionType::kInterval:
    case OptionType::kDuration: ATTUNE_CHECK_OK(ParseNs(row, text, "it")); break;
    case OptionType::kSize: ATTUNE_CHECK_OK(ParseBytes(text, "it")); break;
    case OptionType::kLevel: ATTUNE_CHECK_OK(model::ParseLevel(text)); break;
    default: break;
  }
  return {};
}

Result<std::optional<int64_t>> OptionNs(const OptionValues& values, OptionId<1> option) {
  const OptionRow& row = kRunOptions[option.row];
  const std::string& text = values.Text(option);
  if (text.empty() || (row.type == OptionType::kIntervalOrOff && text == kOff)) return std::optional<int64_t>();
  ATTUNE_TRY(const int64_t ns, ParseNs(row, text, fmt::format("--{}", row.name)));
  return std::optional<int64_t>(ns);
}

Status PrepareProgram(const OptionValues& values, pid_t pid) {
  for (size_t row = 0; row < kRunOptions.size(); ++row) {
    const OptionRow& option = kRunOptions[row];
    if (option.prepare == nullptr || !values.IsOn(row)) continue;
    const auto* texts = std::get_if<std::vector<std::string>>(&values.at(row));
    const auto* text = std::get_if<std::string>(&values.at(row));
    for (const std::string& value : texts != nullptr ? *texts : std::vector{text != nullptr ? *text : ""}) {
      if (const Status done = option.prepare(pid, value); !done.ok())
        return done.error().WithContext(fmt::format("--{}", option.name));
    }
  }
  return {};
}

std::string CommandLineOf(std::string_view command, const OptionValues& values,
                          const std::vector<std::string>& program) {
  std::string line = fmt::format("attune {}", command);
  for (size_t row = 0; row < kRunOptions.size(); ++row) {
    const OptionRow& option = kRunOptions[row];
    // The values of files stand here already.
    if (!values.IsOn(row) || option.name == "console-file") continue;
    const OptionValue& value = values.at(row);
    if (std::holds_alternative<bool>(value)) line += fmt::format(" --{}", option.name);
    if (const auto* text = std::get_if<std::string>(&value))
      line += fmt::format(" --{} {}", option.name, Shown(option, *text));
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& text : *texts) line += fmt::format(" --{} {}", option.name, Shown(option, text));
    }
  }
  if (!program.empty()) line += " --";
  for (const std::string& word : program) line += " " + Word(word);
  return line;
}

}  // namespace attune::session
