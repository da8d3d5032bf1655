#pragma once
/// Variables in debug information: found by name, then member by member to a scalar.

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "symbols/variable.h"

namespace attune::symbols {

/// "LIB!ns::table[3].size" in its parts.
struct VariablePath {
  std::string library;  ///< "LIB"; empty: any file
  std::string name;     ///< "ns::table"
  std::string steps;    ///< "[3].size"
};
VariablePath SplitVariablePath(std::string_view expression);

struct FoundVariable {
  uint64_t address = 0;  ///< in memory
  Dwarf_Die type{};
};

/// A variable of a compilation unit by its qualified name; `function::name` is a static one inside a function.
/// @param bias address in memory less that in the debug information
/// Error: kNotFound: it is not in this unit; kUnavailable: it has no address of its own (thread-local, optimised away)
Result<FoundVariable> FindInUnit(Dwarf_Die& unit, std::string_view name, uint64_t bias);

/// Address and type of a variable of a unit. nullopt: it is a declaration, or has no fixed address
std::optional<FoundVariable> PlaceOfVariable(Dwarf_Die& variable);

/// The steps from an object of a type to what lies so many bytes behind its begin: "[3].lock". An object that begins
/// there and is no larger than `whole_bytes` is not divided. nullopt: nothing is there, or it is in the middle of it
std::optional<std::string> StepsTo(Dwarf_Die type, uint64_t offset, uint64_t whole_bytes);

/// Goes the steps. Error: kInvalidArgument, with the members or the range that there is
Result<Variable> FollowSteps(const FoundVariable& found, std::string_view steps, const ReadMemory& read);

}  // namespace attune::symbols
