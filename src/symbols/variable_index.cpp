#include "symbols/variable_index.h"

#include <dwarf.h>
#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cctype>

#include "symbols/debug_function.h"
#include "symbols/module_symbols.h"
#include "symbols/variable_path.h"

namespace attune::symbols {
namespace {

/// pthread_rwlock_t and std::shared_mutex; others are smaller.
constexpr uint64_t kLargestLock = 56;
constexpr int kMaxScopeDepth = 32;  // of scopes: a damaged file may have a circle

/// "f::lock" of "f(int)::lock", "lock" of "(anonymous namespace)::lock" and of "lock.0", as a C compiler calls a static
/// one inside a function.
std::string Shown(std::string name) {
  const size_t dot = name.rfind('.');
  const bool is_number = dot != std::string::npos && dot > 0 && dot + 1 < name.size() &&
                         std::all_of(name.begin() + static_cast<ptrdiff_t>(dot) + 1, name.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  if (is_number) name.resize(dot);
  std::string shown;
  int depth = 0;
  for (const char c : name) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) shown += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  while (shown.starts_with("::")) shown.erase(0, 2);
  constexpr std::string_view kNameless = "::::";
  for (size_t at = 0; (at = shown.find(kNameless)) != std::string::npos;) shown.erase(at, 2);
  return shown;
}

template <typename Visit>
void ForEachVariable(Dwarf_Die& scope, const Visit& visit, int depth = 0) {
  if (depth > kMaxScopeDepth) return;
  ForEachChild(scope, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable: visit(child); break;
      case DW_TAG_subprogram:
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_lexical_block: ForEachVariable(child, visit, depth + 1); break;
      default: break;
    }
  });
}

}  // namespace

VariableIndex::VariableIndex(Dwfl_Module* module) : module_(module) {
  ForEachSymbol(module, [this](const ModuleSymbol& symbol) {
    const bool is_variable = GELF_ST_TYPE(symbol.entry.st_info) == STT_OBJECT && symbol.entry.st_shndx != SHN_UNDEF;
    if (is_variable && symbol.entry.st_size != 0)
      symbols_.push_back({symbol.begin, symbol.begin + symbol.entry.st_size, symbol.number});
  });
  std::ranges::sort(symbols_, {}, &Symbol::begin);
}

/// Variables do not overlap.
const VariableIndex::Symbol* VariableIndex::Find(Dwarf_Addr address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  if (after == symbols_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

void VariableIndex::ReadTypes() {
  types_.emplace();
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
    ForEachVariable(*unit, [&](Dwarf_Die& variable) {
      if (const auto found = PlaceOfVariable(variable)) types_->emplace(found->address + bias, found->type);
    });
  }
}

std::string VariableIndex::At(Dwarf_Addr address) {
  const Symbol* symbol = Find(address);
  if (symbol == nullptr) return "";
  std::string name = Shown(Demangled(SymbolName(module_, symbol->number)));
  const uint64_t offset = address - symbol->begin;
  if (offset == 0 && symbol->end - symbol->begin <= kLargestLock) return name;
  if (!types_) ReadTypes();
  const auto type = types_->find(symbol->begin);
  std::optional<std::string> steps;
  if (type != types_->end()) steps = StepsTo(type->second, offset, kLargestLock);
  if (steps) return name + *steps;
  return offset == 0 ? name : name + fmt::format("+{:#x}", offset);
}

}  // namespace attune::symbols
