#pragma once

namespace attune::cli {

inline constexpr const char* kVersion = ATTUNE_VERSION;

}  // namespace attune::cli
