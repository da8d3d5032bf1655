#pragma once
/// Functions that a compiler makes of OpenMP regions. gcc calls them by the function that contains the region
/// ("f._omp_fn.0"), clang all the same until its version 16 (".omp_outlined.", ".omp_outlined._debug__").

#include <elfutils/libdw.h>

#include <string>
#include <vector>

namespace attune::symbols {

/// Whether such a name says nothing of where the region is.
bool IsOutlinedRegion(Dwarf_Die* function);

/// Those of one unit, by the functions that contain them.
class OutlinedRegions {
 public:
  /// @cost that of a walk through all that the unit describes
  explicit OutlinedRegions(Dwarf_Die unit);

  /// As gcc and later versions of clang would call it: "f.omp_outlined", "ns::f(int) [clone .omp_outlined]". Of
  /// instances of a template, which cannot be told apart, the name alone. "": it is not known what contains it
  std::string NameOf(Dwarf_Die* region);

 private:
  struct Function {
    Dwarf_Die die;
    std::string file;
    int first_line;
    int last_line;  ///< that it has code of, also where it is inlined; 0: of none
  };

  const Function* Around(const std::string& file, int line) const;

  Dwarf_Die unit_;
  std::vector<Function> functions_;  // by first line
};

}  // namespace attune::symbols
