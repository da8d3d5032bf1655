#include "symbols/outlined_regions.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <string_view>
#include <utility>

#include "symbols/debug_function.h"

namespace attune::symbols {
namespace {

constexpr std::string_view kOutlined = ".omp_";

/// The code of a unit's functions: by the place of a function's description, all descriptions of its code, also of what
/// is inlined.
using Bodies = std::map<Dwarf_Off, std::vector<Dwarf_Die>>;

void AddBodies(Dwarf_Die& scope, Bodies& bodies) {
  ForEachChild(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
      Dwarf_Attribute attribute;
      Dwarf_Die origin = child;
      if (dwarf_attr(&child, DW_AT_abstract_origin, &attribute) != nullptr) dwarf_formref_die(&attribute, &origin);
      bodies[dwarf_dieoffset(&origin)].push_back(child);
    }
    AddBodies(child, bodies);
  });
}

/// The lines of a unit's code, by address.
class LineRows {
 public:
  explicit LineRows(Dwarf_Die& unit) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
    for (size_t i = 0; i < count; ++i) {
      Row row{.address = 0, .line = 0, .at = dwarf_onesrcline(lines, i)};
      if (dwarf_lineaddr(row.at, &row.address) == 0 && dwarf_lineno(row.at, &row.line) == 0) rows_.push_back(row);
    }
    std::ranges::stable_sort(rows_, {}, &Row::address);
  }

  /// The last line of a file in a function's code; 0: there is none.
  int Last(Dwarf_Die& body, const std::string& file) const {
    int last = 0;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t range = 0; (range = dwarf_ranges(&body, range, &base, &begin, &end)) > 0;) {
      for (auto row = std::ranges::lower_bound(rows_, begin, {}, &Row::address);
           row != rows_.end() && row->address < end; ++row) {
        if (row->line <= last) continue;
        const char* name = dwarf_linesrc(row->at, nullptr, nullptr);
        if (name != nullptr && file == name) last = row->line;
      }
    }
    return last;
  }

 private:
  struct Row {
    Dwarf_Addr address;
    int line;
    Dwarf_Line* at;
  };
  std::vector<Row> rows_;
};

}  // namespace

bool IsOutlinedRegion(Dwarf_Die* function) {
  const char* name = CompilerName(function);
  return name != nullptr && std::string_view(name).starts_with(kOutlined);
}

OutlinedRegions::OutlinedRegions(Dwarf_Die unit) : unit_(unit) {
  Bodies bodies;
  AddBodies(unit_, bodies);
  const LineRows rows(unit_);
  ForEachFunction(unit_, [&](Dwarf_Die& die) {
    Function function{.die = die, .file = "", .first_line = 0, .last_line = 0};
    const auto own = bodies.find(dwarf_dieoffset(&die));  // none: it is the code of one described elsewhere
    if (own == bodies.end() || dwarf_hasattr(&die, DW_AT_declaration) != 0 || IsOutlinedRegion(&die) ||
        dwarf_decl_line(&die, &function.first_line) != 0) {
      return;
    }
    function.file = SourceFile(&unit_, &die, DW_AT_decl_file);
    for (Dwarf_Die& body : own->second)
      function.last_line = std::max(function.last_line, rows.Last(body, function.file));
    functions_.push_back(std::move(function));
  });
  std::ranges::stable_sort(functions_, {}, &Function::first_line);
}

/// The function that begins last before a line; not if it is over by then, and one around it is not (a lambda before
/// the region).
const OutlinedRegions::Function* OutlinedRegions::Around(const std::string& file, int line) const {
  const Function* nearest = nullptr;
  const auto after = std::ranges::upper_bound(functions_, line, {}, &Function::first_line);
  for (const Function& function : std::ranges::subrange(functions_.begin(), after) | std::views::reverse) {
    if (file.empty() || function.file != file) continue;
    if (function.last_line >= line) return &function;
    if (nearest == nullptr) nearest = &function;
  }
  return nearest;
}

std::string OutlinedRegions::NameOf(Dwarf_Die* region) {
  int line = 0;
  if (dwarf_decl_line(region, &line) != 0) return "";
  const std::string file = SourceFile(&unit_, region, DW_AT_decl_file);
  const Function* const around = Around(file, line);
  if (around == nullptr) return "";
  Dwarf_Die die = around->die;
  std::string name = Demangled(CompilerName(&die));
  const bool is_ambiguous = std::ranges::any_of(functions_, [&](Function& other) {
    return other.first_line == around->first_line && other.file == file && Demangled(CompilerName(&other.die)) != name;
  });
  if (is_ambiguous) {
    const char* short_name = dwarf_diename(&die);
    name = short_name != nullptr ? short_name : "";
    name.resize(std::min(name.find('<'), name.size()));
  }
  if (name.empty()) return "";
  return name +
         (name.ends_with(')') || name.find(") ") != std::string::npos ? " [clone .omp_outlined]" : ".omp_outlined");
}

}  // namespace attune::symbols
