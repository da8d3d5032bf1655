#include "session/core/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/units.h"

namespace attune::session {
namespace {

constexpr size_t kMaxNumbers = 16;

/// The first word of `line`, which it loses.
std::string_view TakeWord(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(std::min(line.find_first_not_of(" \t", end), line.size()));
  return word;
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

size_t CountWords(std::string_view line) {
  size_t words = 0;
  while (!TakeWord(line).empty()) ++words;
  return words;
}

Result<std::vector<int64_t>> ParseNumbers(std::string_view line, size_t expected, const Verb& verb) {
  std::vector<int64_t> numbers;
  while (!line.empty() && numbers.size() < kMaxNumbers) {
    const std::string_view word = TakeWord(line);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not a number", verb.name, word), verb.Grammar()};
    }
    numbers.push_back(number);
  }
  if (numbers.size() != expected || !line.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: {} numbers expected", verb.name, expected), verb.Grammar()};
  }
  return numbers;
}

/// The numbers that a verb begins with; the line loses them.
Status TakeNumbers(std::string_view& line, VerbCall& call) {
  const std::vector<Argument>& arguments = call.verb->arguments;
  const auto is_number = [](const Argument& argument) { return argument.kind == ArgumentKind::kNumber; };
  const auto expected = static_cast<size_t>(std::ranges::find_if_not(arguments, is_number) - arguments.begin());
  if (expected == 0) return {};
  std::string_view behind;
  if (expected < arguments.size()) {
    behind = line;
    for (size_t i = 0; i < expected; ++i) TakeWord(behind);
  }
  const std::string_view part = TrimEnd(line.substr(0, line.size() - behind.size()));
  ATTUNE_TRY(const std::vector<int64_t> numbers, ParseNumbers(part, expected, *call.verb));
  call.values.assign(numbers.begin(), numbers.end());
  line = behind;
  return {};
}

Result<Value> ParseFile(std::string_view text, const Verb& verb) {
  if (text == "off") return Value(Off{});
  if (!text.starts_with('/')) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not an absolute path", verb.name, text),
                 "the session runs in a folder of its own; `attune ctl` and the control FIFO complete the path"};
  }
  return Value(std::string(text));
}

Value ParseSink(std::string_view text) {
  const bool off = text == "off" || text.starts_with("off ");
  if (!off) return std::string(text);
  TakeWord(text);
  return Off{std::string(text)};
}

/// @param call with the values of the arguments before this one
Result<Value> ParseValue(const Argument& argument, std::string_view text, const VerbCall& call) {
  switch (argument.kind) {
    case ArgumentKind::kText:
    case ArgumentKind::kSensor: return Value(std::string(text));
    case ArgumentKind::kFile: return ParseFile(text, *call.verb);
    case ArgumentKind::kSink: return ParseSink(text);
    case ArgumentKind::kLevel: {
      ATTUNE_TRY(const Level level, model::ParseLevel(text));
      return Value(level);
    }
    case ArgumentKind::kInterval: {
      const std::string sensor = call.values.empty() ? "" : call.Text(call.values.size() - 1);
      ATTUNE_TRY(const int64_t interval_ns,
                 ParseInterval(text, call.verb->name + (sensor.empty() ? "" : " of " + sensor)));
      return Value(interval_ns);
    }
    case ArgumentKind::kAlarm: {
      analysis::AlarmSettings settings;
      ATTUNE_CHECK_OK(analysis::AddAlarmSetting(text, settings));
      return Value(std::move(settings));
    }
    case ArgumentKind::kNumber: break;
  }
  return Error{Errc::kInternal, call.verb->name + ": numbers stand before other arguments", ""};
}

}  // namespace

std::string VerbCall::Text(size_t index) const {
  const auto* text = std::get_if<std::string>(&values.at(index));
  return text == nullptr ? "" : *text;
}

bool Verb::Permits(Role role) const { return std::ranges::find(roles, role) != roles.end(); }

std::string Verb::Grammar() const {
  std::string text = name;
  for (const Argument& argument : arguments)
    text += argument.optional ? fmt::format(" [{}]", argument.name) : " " + argument.name;
  return text;
}

std::function<Result<Reply>(const VerbCall&)> Plainly(std::function<Status(const VerbCall&)> run) {
  return [run = std::move(run)](const VerbCall& call) -> Result<Reply> {
    ATTUNE_CHECK_OK(run(call));
    return Reply(OkReply());
  };
}

void VerbRegistry::Add(std::vector<Verb> verbs) {
  std::ranges::move(verbs, std::back_inserter(verbs_));
  std::ranges::stable_sort(verbs_, {}, &Verb::rank);
}

const Verb* VerbRegistry::Find(std::string_view name) const {
  const auto found = std::ranges::find(verbs_, name, &Verb::name);
  return found == verbs_.end() ? nullptr : &*found;
}

std::vector<std::string> VerbRegistry::Names(Role role) const {
  std::vector<std::string> names;
  for (const Verb& verb : verbs_) {
    if (verb.Permits(role)) names.push_back(verb.name);
  }
  return names;
}

Result<VerbCall> VerbRegistry::Parse(std::string_view line) const {
  line = TrimEnd(line);
  const std::string_view name = TakeWord(line);
  VerbCall call{.verb = Find(name)};
  if (call.verb == nullptr) {
    const std::vector<std::string> names = Names(Role::kOwner);
    const std::string nearest = DidYouMean(name, names);
    return Error{Errc::kInvalidArgument, fmt::format("there is no command '{}'", name),
                 nearest.empty() ? fmt::format("commands are {}", fmt::join(names, ", ")) : nearest};
  }
  const std::vector<Argument>& arguments = call.verb->arguments;
  if (arguments.empty() && !line.empty())
    return Error{Errc::kInvalidArgument, fmt::format("{} takes no arguments", name), ""};
  if (line.empty() && !std::ranges::all_of(arguments, &Argument::optional))
    return Error{Errc::kInvalidArgument, fmt::format("{} needs something after it", name), call.verb->Grammar()};
  ATTUNE_CHECK_OK(TakeNumbers(line, call));
  while (call.values.size() < arguments.size()) {
    const Argument& argument = arguments[call.values.size()];
    const size_t behind = arguments.size() - call.values.size() - 1;
    if (argument.optional && CountWords(line) <= behind) {
      call.values.emplace_back();
      continue;
    }
    const std::string_view text = behind == 0 ? std::exchange(line, {}) : TakeWord(line);
    ATTUNE_TRY(Value value, ParseValue(argument, text, call));
    call.values.push_back(std::move(value));
  }
  return call;
}

Result<Reply> VerbRegistry::Do(Role role, std::string_view name, std::vector<Value> values, int64_t t_ns) const {
  const Verb* verb = Find(name);
  if (verb == nullptr || !verb->Permits(role) || values.size() != verb->arguments.size())
    return Error{Errc::kInvalidArgument, fmt::format("'{}' may not be used here", name), ""};
  return verb->run({.verb = verb, .values = std::move(values), .t_ns = t_ns});
}

std::string OkReply() { return R"({"ok":true})"; }

}  // namespace attune::session
