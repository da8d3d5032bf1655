#pragma once
/// Numbers and names as people and files write them for events.

#include <cstdint>
#include <optional>
#include <string_view>

namespace attune::counter {

/// "60", "0x3c". nullopt: it is no number, or not one of 64 bits
std::optional<uint64_t> EventNumber(std::string_view text);

/// The same name, whatever the case of its letters.
bool IsSameName(std::string_view a, std::string_view b);

}  // namespace attune::counter
