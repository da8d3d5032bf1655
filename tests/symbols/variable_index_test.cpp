// Names of what lies at the addresses of variables of this program.

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "symbols/symbolizer.h"

extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier): the linker's

pthread_mutex_t g_plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t g_own = PTHREAD_MUTEX_INITIALIZER;

namespace bank {

struct Base {
  long number = 0;
  std::mutex guard;
};
struct Book : Base {
  char title[40] = {};
  std::mutex lock;
  std::condition_variable changed;
  union {
    pthread_rwlock_t pages;
    char bytes[64];
  };
};
struct Shelf {
  Book books[2][3];
  std::shared_mutex access;
};

Book book;
Shelf shelf;
std::array<std::mutex, 8> shards;
struct Vault {
  static std::mutex door;
};
std::mutex Vault::door;

namespace {
std::mutex hidden;
}

std::mutex& Local(int) {
  static std::mutex once;
  return once;
}

}  // namespace bank

namespace attune::symbols {
namespace {

std::string NameOf(const void* address) {
  Symbolizer symbolizer;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  const auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(&__executable_start);
  const auto name = symbolizer.Variable({path, ""}, offset);
  return name.ok() ? *name : name.error().message;
}

TEST(VariableIndex, WholeVariablesHaveTheirNames) {
  EXPECT_EQ(NameOf(&g_plain), "g_plain");
  EXPECT_EQ(NameOf(&g_own), "g_own");
  EXPECT_EQ(NameOf(&bank::hidden), "bank::hidden");
  EXPECT_EQ(NameOf(&bank::Vault::door), "bank::Vault::door");
  EXPECT_EQ(NameOf(&bank::Local(1)), "bank::Local::once");
}

TEST(VariableIndex, MembersAndElementsAreNamedBehindTheirVariable) {
  EXPECT_EQ(NameOf(&bank::book.lock), "bank::book.lock");
  EXPECT_EQ(NameOf(&bank::book.guard), "bank::book.guard") << "of the base class";
  EXPECT_EQ(NameOf(&bank::book.changed), "bank::book.changed");
  EXPECT_EQ(NameOf(&bank::book.pages), "bank::book.pages") << "of a union without a name";
  EXPECT_EQ(NameOf(&bank::shelf.access), "bank::shelf.access");
  EXPECT_EQ(NameOf(&bank::shelf.books[1][2].lock), "bank::shelf.books[1][2].lock");
  EXPECT_EQ(NameOf(&bank::shards[5]), "bank::shards._M_elems[5]");
}

TEST(VariableIndex, WhatIsNoVariableHasNoName) {
  const int on_stack = 0;
  EXPECT_EQ(NameOf(&on_stack), "");
  EXPECT_EQ(NameOf(reinterpret_cast<const void*>(&NameOf)), "");
}

}  // namespace
}  // namespace attune::symbols
