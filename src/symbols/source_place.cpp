#include "symbols/source_place.h"

#include <dwarf.h>

#include <optional>
#include <utility>

#include "symbols/debug_function.h"

namespace attune::symbols {
namespace {

SourcePlace PlaceOfLine(Dwarf_Line* line) {
  SourcePlace place;
  const char* file = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  place.file = file != nullptr ? file : "";
  if (line != nullptr) dwarf_lineno(line, &place.line);
  return place;
}

/// The file that a function is written in. Those that gcc makes of regions say it by their first line alone.
std::string OwnFile(Dwarf_Die* unit, Dwarf_Die* function) {
  std::string file = SourceFile(unit, function, DW_AT_decl_file);
  Dwarf_Addr entry = 0;
  if (file.empty() && dwarf_entrypc(function, &entry) == 0) file = PlaceOfLine(dwarf_getsrc_die(unit, entry)).file;
  return file;
}

/// Whether a function of that file is inlined in a scope.
bool HasInlinedFrom(Dwarf_Die* unit, Dwarf_Die& scope, const std::string& file) {
  bool has = false;
  ForEachChild(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (has || (tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine)) return;
    has = (tag == DW_TAG_inlined_subroutine && SourceFile(unit, &child, DW_AT_decl_file) == file) ||
          HasInlinedFrom(unit, child, file);
  });
  return has;
}

/// The line of the innermost function of a chain at another address of it.
SourcePlace LineOf(Dwarf_Die* unit, std::span<Dwarf_Die> chain, Dwarf_Addr address) {
  std::vector<Dwarf_Die> other = {chain.front()};
  AddInlined(other.front(), address, other);
  if (other.size() < chain.size() || dwarf_dieoffset(&other[chain.size() - 1]) != dwarf_dieoffset(&chain.back())) {
    return {};
  }
  return other.size() > chain.size() ? CallSiteOf(unit, &other[chain.size()])
                                     : PlaceOfLine(dwarf_getsrc_die(unit, address));
}

/// The first line in `file` of the innermost function of a chain behind an address.
std::optional<SourcePlace> NextLine(Dwarf_Die* unit, std::span<Dwarf_Die> chain, Dwarf_Addr address,
                                    const std::string& file) {
  constexpr int kMostRows = 64;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return std::nullopt;
  int looked_at = 0;
  for (size_t i = 0; i < count && looked_at < kMostRows; ++i) {
    Dwarf_Addr at = 0;
    if (dwarf_lineaddr(dwarf_onesrcline(lines, i), &at) != 0 || at <= address || dwarf_haspc(&chain.front(), at) <= 0)
      continue;
    ++looked_at;
    SourcePlace place = LineOf(unit, chain, at);
    if (place.file == file && place.line > 0) return place;
  }
  return std::nullopt;
}

}  // namespace

void AddInlined(Dwarf_Die& scope, Dwarf_Addr address, std::vector<Dwarf_Die>& chain) {
  ForEachChild(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if ((tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine) || dwarf_haspc(&child, address) <= 0) return;
    if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
    AddInlined(child, address, chain);
  });
}

SourcePlace CallSiteOf(Dwarf_Die* unit, Dwarf_Die* inlined) {
  SourcePlace place{.file = SourceFile(unit, inlined, DW_AT_call_file)};
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0)
    place.line = static_cast<int>(line);
  return place;
}

SourcePlace PlaceOf(Dwarf_Die* unit, std::span<Dwarf_Die> chain, Dwarf_Addr address) {
  SourcePlace place = PlaceOfLine(dwarf_getsrc_die(unit, address));
  const std::string own_file = OwnFile(unit, &chain.back());
  if (own_file.empty() || place.file.empty() || place.file == own_file) return place;
  // A part of the function that is included has lines of another file, too.
  if (!HasInlinedFrom(unit, chain.back(), place.file)) return place;
  return NextLine(unit, chain, address, own_file).value_or(std::move(place));
}

}  // namespace attune::symbols
