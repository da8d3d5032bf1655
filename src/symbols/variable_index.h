#pragma once
/// Variables of a module by address, with the member that lies there: "shards[3].lock".

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::symbols {

class VariableIndex {
 public:
  /// @param module lives longer  @cost 0.1 us a symbol
  explicit VariableIndex(Dwfl_Module* module);

  /// The object that begins or lies at an address: its variable's name as it is written in the source, without the
  /// parameters of functions around it, then members and indices where debug information has them, else "+0x28".
  /// "": no variable is there. What is no larger than a lock is taken as a whole.
  /// @param address as libdwfl counts it
  /// @cost the first one inside of a larger variable: 1 s for each 100 MB of debug information
  std::string At(Dwarf_Addr address);

 private:
  struct Symbol {
    Dwarf_Addr begin, end;
    int number;  ///< in the module
  };

  const Symbol* Find(Dwarf_Addr address) const;
  void ReadTypes();

  Dwfl_Module* module_;
  std::vector<Symbol> symbols_;                           ///< by begin
  std::optional<std::map<Dwarf_Addr, Dwarf_Die>> types_;  ///< of variables, by address
};

}  // namespace attune::symbols
