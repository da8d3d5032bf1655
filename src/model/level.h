#pragma once
/// How much the probes inside a program record.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/table.h"

namespace attune::model {

/// Each records what the ones before it do. docs/waits.md, docs/trace.md
enum class Level : uint32_t { kOff = 0, kProfile = 1, kBlame = 2, kTrace = 3, kStamped = 4 };
template <>
struct Words<Level> {
  static constexpr std::array<std::string_view, 5> kAll{"off", "profile", "blame", "trace", "stamped"};
};

std::vector<std::string> LevelNames();
/// Error: kInvalidArgument with the levels that there are.
Result<Level> ParseLevel(std::string_view text);

}  // namespace attune::model
