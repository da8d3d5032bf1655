#include "model/knob.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/cpu_set.h"

namespace attune::model {
namespace {

std::string ListOf(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

Error BadValue(const Knob& knob, std::string_view text) {
  return {Errc::kInvalidArgument, fmt::format("{}: '{}' is no value for it", knob.name, text),
          "it takes " + RangeOf(knob)};
}

}  // namespace

bool IsKnobName(std::string_view name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string_view::npos;
}

std::string_view ToString(KnobType type) {
  constexpr std::array<std::string_view, 5> kWords{"integer", "switch", "word", "cpus", "text"};
  return kWords.at(static_cast<size_t>(type));
}

std::string_view ToString(KnobScope scope) {
  constexpr std::array<std::string_view, 3> kWords{"thread", "process", "machine"};
  return kWords.at(static_cast<size_t>(scope));
}

std::string_view ToString(KnobUndo undo) {
  constexpr std::array<std::string_view, 3> kWords{"exact", "equivalent", "none"};
  return kWords.at(static_cast<size_t>(undo));
}

std::string RangeOf(const Knob& knob) {
  switch (knob.type) {
    case KnobType::kInteger:
      return fmt::format("{} to {}{}{}", knob.low, knob.high, knob.unit.empty() ? "" : " ", knob.unit);
    case KnobType::kSwitch: return "on or off";
    case KnobType::kWord: return ListOf(knob.words);
    case KnobType::kCpus: return "a list of CPUs, as 0-3,7";
    case KnobType::kText: return "a value of its type";
  }
  return {};
}

Result<std::string> CheckValue(const Knob& knob, std::string_view text) {
  switch (knob.type) {
    case KnobType::kInteger: {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || value < knob.low || value > knob.high)
        return BadValue(knob, text);
      return std::to_string(value);
    }
    case KnobType::kSwitch:
      if (text != "on" && text != "off") return BadValue(knob, text);
      return std::string(text);
    case KnobType::kWord:
      if (std::ranges::find(knob.words, text) == knob.words.end()) return BadValue(knob, text);
      return std::string(text);
    case KnobType::kCpus: {
      const auto cpus = CpuSet::Parse(text);
      if (!cpus.ok() || cpus->empty()) return BadValue(knob, text);
      return cpus->ToString();
    }
    case KnobType::kText: return std::string(text);
  }
  return BadValue(knob, text);
}

std::string PermanentText(const Knob& knob, std::string_view value) {
  std::string text = knob.permanent;
  constexpr std::string_view kMark = "{value}";
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + value.size()))
    text.replace(at, kMark.size(), value);
  return text;
}

}  // namespace attune::model
