#include "symbols/program_entry.h"

#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <memory>

#include "base/unique_fd.h"

extern "C" void _start();

namespace attune::symbols {
namespace {

std::optional<ProgramEntry> EntryOf(const char* path) {
  elf_version(EV_CURRENT);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(fd.get(), ELF_C_READ, nullptr), &elf_end);
  return ReadProgramEntry(elf.get());
}

TEST(ProgramEntry, OfThisProgram) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "of x86-64 only";
#endif
  uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        *static_cast<uint64_t*>(into) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &base);
  const auto entry = EntryOf("/proc/self/exe");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->start + base, reinterpret_cast<uint64_t>(&_start));
  EXPECT_NE(entry->main, 0u);
}

TEST(ProgramEntry, LibrariesHaveNone) {
  EXPECT_FALSE(ReadProgramEntry(nullptr));
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        if (info->dlpi_name[0] == '/') {
          EXPECT_FALSE(EntryOf(info->dlpi_name)) << info->dlpi_name;
        }
        return 0;
      },
      nullptr);
}

}  // namespace
}  // namespace attune::symbols
