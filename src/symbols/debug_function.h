#pragma once
/// Functions in debug information: what they are called, and where they are found.

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <string>

namespace attune::symbols {

/// As it is written in the source: "ns::f(int)" of "_ZN2ns1fEi"; other names as they are. @param name may be nullptr
std::string Demangled(const char* name);

/// The compiler's name: the linkage name where there is one, so that it can be demangled with its parameters.
/// nullptr: it has no name
const char* CompilerName(Dwarf_Die* function);

/// The file that an attribute (DW_AT_decl_file, DW_AT_call_file) of a function names. "": it has none. dwarf_decl_file
/// knows none with number 0, which is the first one in DWARF 5.
std::string SourceFile(Dwarf_Die* unit, Dwarf_Die* function, unsigned attribute);

template <typename Visit>
void ForEachChild(Dwarf_Die& die, const Visit& visit) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return;
  do visit(child);
  while (dwarf_siblingof(&child, &child) == 0);
}

/// The functions in a unit, a namespace or a type, and in functions.
template <typename Visit>
void ForEachFunction(Dwarf_Die& scope, const Visit& visit) {
  ForEachChild(scope, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram: visit(child); [[fallthrough]];  // a type inside it has functions of its own
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_lexical_block: ForEachFunction(child, visit); break;
      default: break;
    }
  });
}

}  // namespace attune::symbols
