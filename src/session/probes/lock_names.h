#pragma once
/// Names of locks, barriers and other objects that lie in variables of the program: "mutex book.lock" in place of
/// "mutex 0x5581c0a01040". Those on a heap or a stack keep their addresses.

#include <cstdint>
#include <memory>
#include <string>

#include "model/schema.h"
#include "session/core/registry.h"
#include "symbols/symbolizer.h"

namespace attune::session {

/// Looks up by a thread of its own, which reads symbols, and debug information only for what lies inside of larger
/// variables. @thread any
class LockNames {
 public:
  /// @param registry outlives this
  explicit LockNames(Registry& registry);
  /// Waits for names a moment longer, since a program may have ended at once.
  ~LockNames();
  LockNames(const LockNames&) = delete;
  LockNames& operator=(const LockNames&) = delete;

  /// @param lock its element as it is published  @param what "mutex"  @param address in the module's file
  void Add(const model::Element& lock, std::string what, symbols::CodeModule module, uint64_t address);

 private:
  struct Work;

  static void Run(const std::shared_ptr<Work>& work);

  std::shared_ptr<Work> work_;  ///< its thread ends after the file that it is at, however long that takes
};

}  // namespace attune::session
