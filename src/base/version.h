#pragma once

namespace attune {

inline constexpr const char* kVersion = ATTUNE_VERSION;

}  // namespace attune
