#include "symbols/kernel_symbols.h"

#include <gtest/gtest.h>

namespace attune::symbols {
namespace {

TEST(KernelSymbols, FunctionsOfTheKernelAndOfItsModules) {
  const KernelSymbols symbols = KernelSymbols::Parse(
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T _text\n"
      "ffffffff81000100 t do_one_initcall\n"
      "ffffffff81000180 d a_variable\n"
      "ffffffffc0000000 t virtnet_poll\t[virtio_net]\n"
      "ffffffff81000200 W weak_function\n"
      "ffffffff81000300 T\n"
      "nonsense\n");
  EXPECT_EQ(symbols.FunctionAt(0xffffffff80ffffff), "");
  EXPECT_EQ(symbols.FunctionAt(0xffffffff81000000), "_stext") << "the first of several names";
  EXPECT_EQ(symbols.FunctionAt(0xffffffff810001ff), "do_one_initcall") << "data is no function";
  EXPECT_EQ(symbols.FunctionAt(0xffffffff81000200), "weak_function");
  EXPECT_EQ(symbols.FunctionAt(0xffffffffc0000010), "virtnet_poll") << "without its module";
}

TEST(KernelSymbols, HiddenAddressesAreNone) {
  EXPECT_TRUE(KernelSymbols::Parse("0000000000000000 T _stext\n0000000000000000 t other\n").empty());
  EXPECT_TRUE(KernelSymbols::Parse("").empty());
  EXPECT_EQ(KernelSymbols().FunctionAt(1), "");
}

}  // namespace
}  // namespace attune::symbols
