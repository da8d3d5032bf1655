#pragma once
/// Output of the bytes of an export.

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace attune::exports {

/// Takes the next bytes of the result. An Error ends the export.
using ExportWriter = std::function<Status(std::string_view bytes)>;

/// Gathers bytes and hands them on in large pieces.
class ExportOutput {
 public:
  explicit ExportOutput(const ExportWriter& write) : write_(write) {}

  std::string& bytes() { return bytes_; }
  template <class... Values>
  void Append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(bytes_), format, std::forward<Values>(values)...);
  }
  /// To be called after each row. False: a write failed, nothing more need come.
  bool Drain() { return bytes_.size() < kPieceBytes || Flush(); }
  /// @return false: this or an earlier write failed; status() says why
  bool Flush() {
    if (status_.ok() && !bytes_.empty()) status_ = write_(bytes_);
    bytes_.clear();
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  static constexpr size_t kPieceBytes = 256 << 10;

  const ExportWriter& write_;
  std::string bytes_;
  Status status_;
};

}  // namespace attune::exports
