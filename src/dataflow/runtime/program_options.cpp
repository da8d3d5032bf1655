#include "dataflow/runtime/program_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace attune::flow::detail {
namespace {

constexpr int64_t kAny = INT64_MAX;

/// An option with a number.
struct NumberOption {
  std::string_view name;
  int64_t least;
  int64_t most;
  void (*set)(ProgramOptions& options, int64_t value);
};
constexpr NumberOption kNumbers[] = {
    {"--threads", 1, 256,
     [](ProgramOptions& options, int64_t value) { options.run.threads = static_cast<int>(value); }},
    {"--until", 0, kAny / 4, [](ProgramOptions& options, int64_t value) { options.run.until = value; }},
    {"--perturb", 1, kAny,
     [](ProgramOptions& options, int64_t value) { options.run.perturb = static_cast<uint64_t>(value); }},
    {"--ahead", 1, kAny / 4, [](ProgramOptions& options, int64_t value) { options.run.ahead = value; }},
    {"--memory", 1, kAny, [](ProgramOptions& options, int64_t value) { options.run.memory = value; }},
    {"--max-extent", 1, int64_t{1} << 40,
     [](ProgramOptions& options, int64_t value) { options.run.max_extent = value; }},
    {"--age", 0, kAny / 4, [](ProgramOptions& options, int64_t value) { options.replay.age = value; }},
};

bool ReadNumber(std::string_view text, int64_t least, int64_t most, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= least && *value <= most;
}

/// "2s", "0.5s", "40ms"; at most a day.
bool ReadDuration(std::string_view text, std::chrono::nanoseconds* value) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
                                                            {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  for (const auto& [name, ns] : kUnits) {
    if (unit != name || number * ns < 1e6 || number * ns > 24 * 3600e9) continue;
    *value = std::chrono::nanoseconds(static_cast<int64_t>(number * ns));
    return true;
  }
  return false;
}

/// "42" or "3,4".
bool ReadIndex(std::string_view text, std::vector<int64_t>* index) {
  index->clear();
  while (index->size() < kMaxRank) {
    const size_t comma = text.find(',');
    int64_t value = 0;
    if (!ReadNumber(text.substr(0, comma), 0, kAny / 4, &value)) return false;
    index->push_back(value);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

/// An option without a value.
struct Flag {
  std::string_view name;
  void (*set)(ProgramOptions& options);
};
constexpr Flag kFlags[] = {
    {"--checksum", [](ProgramOptions& options) { options.run.checksum = true; }},
    {"--costs", [](ProgramOptions& options) { options.costs = true; }},
    {"--follow-machine", [](ProgramOptions& options) { options.run.follow_machine = true; }},
};

/// An option with a text. `set` returns what it takes, where it does not take that.
struct TextOption {
  std::string_view name;
  const char* (*set)(ProgramOptions& options, std::string_view value);
};
constexpr TextOption kTexts[] = {
    {"--scheduler",
     [](ProgramOptions& options, std::string_view value) {
       options.run.scheduler = value;
       return static_cast<const char*>(nullptr);
     }},
    {"--nodes",
     [](ProgramOptions& options, std::string_view value) {
       options.run.nodes = value;
       return value.empty() ? "groups of CPUs, as in 0-3;4-7, or off" : nullptr;
     }},
    {"--implementation",
     [](ProgramOptions& options, std::string_view value) {
       options.run.implementation = value;
       return value.empty() ? "the name of a capability" : nullptr;
     }},
    {"--kernel-timeout",
     [](ProgramOptions& options, std::string_view value) {
       return ReadDuration(value, &options.run.kernel_timeout) ? nullptr
                                                               : "a time from 1ms to 24h, as in 500ms, 2s or 1.5min";
     }},
    {"--keep",
     [](ProgramOptions& options, std::string_view value) {
       options.run.keep = value;
       return value.empty() ? "the name of a file" : nullptr;
     }},
    {"--replay",
     [](ProgramOptions& options, std::string_view value) {
       options.replay.file = value;
       return value.empty() ? "the name of a file that --keep has written" : nullptr;
     }},
    {"--kernel",
     [](ProgramOptions& options, std::string_view value) {
       options.replay.kernel = value;
       return value.empty() ? "the name of a kernel" : nullptr;
     }},
    {"--index",
     [](ProgramOptions& options, std::string_view value) {
       return ReadIndex(value, &options.replay.index) ? nullptr : "a number for each index variable, as in 42 or 3,4";
     }},
};

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

bool SetValue(std::string_view name, std::string_view value, ProgramOptions* options, std::string* problem) {
  for (const NumberOption& option : kNumbers) {
    if (option.name != name) continue;
    int64_t number = 0;
    if (ReadNumber(value, option.least, option.most, &number)) {
      option.set(*options, number);
      return true;
    }
    *problem = std::string(name) + " takes a number from " + std::to_string(option.least) + " to " +
               std::to_string(option.most) + ", not " + Quoted(value);
    return false;
  }
  for (const TextOption& option : kTexts) {
    if (option.name != name) continue;
    const char* wanted = option.set(*options, value);
    if (wanted != nullptr) *problem = std::string(name) + " takes " + wanted + ", not " + Quoted(value);
    return wanted == nullptr;
  }
  return false;
}

bool IsKnown(std::string_view name) {
  for (const NumberOption& option : kNumbers) {
    if (option.name == name) return true;
  }
  for (const TextOption& option : kTexts) {
    if (option.name == name) return true;
  }
  return false;
}

/// Options that belong together.
bool Fits(const ProgramOptions& options, std::string* problem) {
  const ReplayRequest& replay = options.replay;
  if (replay.file.empty() && (!replay.kernel.empty() || replay.age >= 0 || !replay.index.empty()))
    *problem = "--kernel, --age and --index say which instance --replay FILE runs";
  if (!replay.file.empty() && replay.kernel.empty() && (replay.age >= 0 || !replay.index.empty()))
    *problem = "--age and --index belong to a kernel: give --kernel NAME";
  if (!replay.file.empty() && !options.run.keep.empty()) *problem = "--replay keeps nothing: leave --keep out";
  return problem->empty();
}

}  // namespace

std::optional<ProgramOptions> ReadProgramOptions(const std::vector<std::string_view>& words, std::string* problem) {
  ProgramOptions options;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto flag = std::ranges::find(kFlags, words[i], &Flag::name);
    if (flag != std::end(kFlags)) {
      flag->set(options);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string_view name = words[i].substr(0, equals);
    if (!IsKnown(name)) {
      *problem = "there is no option " + Quoted(name) + ":";
      for (const Flag& each : kFlags) *problem += " " + std::string(each.name) + ",";
      problem->pop_back();
      for (const NumberOption& option : kNumbers) *problem += ", " + std::string(option.name);
      for (const TextOption& option : kTexts) *problem += ", " + std::string(option.name);
      return {};
    }
    if (equals == std::string_view::npos && i + 1 == words.size()) {
      *problem = std::string(name) + " needs a value";
      return {};
    }
    const std::string_view value = equals == std::string_view::npos ? words[++i] : words[i].substr(equals + 1);
    if (!SetValue(name, value, &options, problem)) return {};
  }
  if (!Fits(options, problem)) return {};
  return options;
}

}  // namespace attune::flow::detail
