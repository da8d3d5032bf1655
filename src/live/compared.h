#pragma once
/// The recording that a client's own is compared with, and the two messages about it. What the comparison says is not
/// made here: the server is given a function (ServerOptions::compare).

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "live/loaded_file.h"
#include "live/message.h"
#include "model/source.h"

namespace attune::live {

/// @return the document that docs/compare.md describes
using CompareFunction = std::function<Result<std::string>(model::Source& before, model::Source& after, bool discrete)>;

/// @thread one at a time
class Compared {
 public:
  /// @param source must outlive this
  Compared(model::Source& source, std::string title) : source_(source), title_(std::move(title)) {}
  /// From a client's file.
  Compared(std::unique_ptr<LoadedFile> file, std::unique_ptr<model::Source> source)
      : file_(std::move(file)), owned_(std::move(source)), source_(*owned_), title_(file_->name()) {}

  /// The changes, and the metadata of this recording. @cost that of `compare`
  Result<std::string> ComparisonMessage(model::Source& before, const CompareFunction& compare, bool discrete);
  /// The lines that were asked for, with times after the start of each recording. @cost two Source::View
  std::string PairMessage(model::Source& before, const PairRequest& request);

 private:
  const std::unique_ptr<LoadedFile> file_;
  const std::unique_ptr<model::Source> owned_;
  model::Source& source_;
  const std::string title_;
};

}  // namespace attune::live
