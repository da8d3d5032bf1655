#pragma once

#include <cstdlib>
#include <string>

namespace attune::sink {

inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace attune::sink
