#pragma once
/// What a program gets from whoever starts it, and the session changes for itself. What the console starts shall have
/// it as it was where attune was started.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace attune::console {

struct Inherited {
  mode_t file_mask = 0022;
  std::string cpus;         ///< where it may run, in the kernel's list format
  uint64_t open_files = 0;  ///< soft limit

  /// Of this process. @pre no other thread makes files
  static Inherited Now();
  /// For another process of ours, which reads them with Parse().
  std::string ToText() const;
  /// @param text "18 0-3 1024"
  static Result<Inherited> Parse(const std::string& text);
  /// From now on this process has them. What cannot be had again is left.
  void Restore() const;
};

}  // namespace attune::console
