#include "symbols/symbol_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace attune::symbols::symbol_index_test {
namespace {

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                   .find_debuginfo = dwfl_standard_find_debuginfo,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = nullptr};

/// This process, as libdwfl sees it.
std::unique_ptr<Dwfl, EndDwfl> Self() {
  std::unique_ptr<Dwfl, EndDwfl> dwfl(dwfl_begin(&kCallbacks));
  EXPECT_EQ(dwfl_linux_proc_report(dwfl.get(), getpid()), 0);
  EXPECT_EQ(dwfl_report_end(dwfl.get(), nullptr, nullptr), 0);
  return dwfl;
}

bool IsFunction(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0;
}

/// Compares in the middle of some of the functions.
void ExpectTheSame(Dwfl_Module* module) {
  const SymbolIndex index(module);
  const int count = dwfl_module_getsymtab(module);
  int compared = 0;
  for (int number = 1; number < count; number += 1 + count / 200) {
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    const char* own = dwfl_module_getsym_info(module, number, &symbol, &begin, nullptr, nullptr, nullptr);
    if (own == nullptr || !IsFunction(symbol)) continue;
    const Dwarf_Addr address = begin + symbol.st_size / 2;
    const std::string name = index.At(address);
    GElf_Off offset = 0;
    const char* theirs = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    ASSERT_NE(theirs, nullptr) << own;
    ++compared;
    // Several names for one function: either may have been chosen.
    EXPECT_NE(name, "");
    EXPECT_TRUE(name == theirs || address - offset == begin) << name << ", " << theirs;
  }
  EXPECT_GT(compared, 10);
}

TEST(SymbolIndex, FindsWhatLibdwflFinds) {
  const auto dwfl = Self();
  Dwfl_Module* here = dwfl_addrmodule(dwfl.get(), reinterpret_cast<Dwarf_Addr>(&ExpectTheSame));
  Dwfl_Module* libc = dwfl_addrmodule(dwfl.get(), reinterpret_cast<Dwarf_Addr>(&getpid));
  ASSERT_NE(here, nullptr);
  ASSERT_NE(libc, nullptr);
  ExpectTheSame(here);
  ExpectTheSame(libc);
}

TEST(SymbolIndex, HasNothingOutsideOfAllSymbols) {
  const auto dwfl = Self();
  Dwfl_Module* here = dwfl_addrmodule(dwfl.get(), reinterpret_cast<Dwarf_Addr>(&ExpectTheSame));
  ASSERT_NE(here, nullptr);
  const SymbolIndex index(here);
  EXPECT_EQ(index.At(1), "");
  EXPECT_EQ(index.At(~Dwarf_Addr{0}), "");
}

}  // namespace
}  // namespace attune::symbols::symbol_index_test
