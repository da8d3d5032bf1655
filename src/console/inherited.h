#pragma once
/// Settings that a program inherits from its starter, and that the session changes for itself. The console's programs
/// shall have them as they were where attune was started.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace attune::console {

struct Inherited {
  mode_t file_mask = 0022;
  std::string cpus;         ///< CPUs that it may run on, in the kernel's list format
  uint64_t open_files = 0;  ///< soft limit

  /// Settings of this process. @pre no other thread makes files
  static Inherited Now();
  /// For another process of ours, which reads them with Parse().
  std::string ToText() const;
  /// @param text "18 0-3 1024"
  static Result<Inherited> Parse(const std::string& text);
  /// From now on this process has them. What cannot be had again is left.
  void Restore() const;
};

}  // namespace attune::console
