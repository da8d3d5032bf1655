#pragma once
/// The names of all classes of findings, collected from the sources when attune is built.

#include <span>
#include <string_view>

namespace attune::analysis {

/// In the order of the alphabet, none twice.
std::span<const std::string_view> FindingClassNames();

}  // namespace attune::analysis
