#include "symbols/debug_function.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace attune::symbols {

std::string Demangled(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

const char* CompilerName(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (dwarf_attr_integrate(function, kind, &attribute) != nullptr) return dwarf_formstring(&attribute);
  }
  return dwarf_diename(function);
}

std::string SourceFile(Dwarf_Die* unit, Dwarf_Die* function, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word number = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr_integrate(function, attribute, &found), &number) != 0 ||
      dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count) {
    return "";
  }
  const char* file = dwarf_filesrc(files, number, nullptr, nullptr);
  return file != nullptr ? file : "";
}

}  // namespace attune::symbols
