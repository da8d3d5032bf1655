#pragma once
/// The lines of source code around a place, for who looks at it.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/places/site_names.h"
#include "base/result.h"
#include "model/source.h"
#include "symbols/symbolizer.h"

namespace attune::analysis {

struct SourceText {
  std::string function;
  std::string file;        ///< as the debug information names it, and other documents
  std::string path;        ///< that was read
  int64_t line = 0;        ///< number of the place's line, from 1
  int64_t first_line = 1;  ///< number of the first of `lines`
  int64_t lines_in_all = 0;
  std::vector<std::string> lines;
  bool is_newer = false;  ///< the file was changed after the program was built: lines may have moved
};

/// The text around a site, at most kSourceLines lines to each side. Only a file is read that the debug information of
/// the site's program names: that program must be here, and by its build-id be the one that ran (TrustPaths::kYes: or
/// have none).
/// @return kNotFound with why: no such site, the program or its debug information is not here, nor is the source file
/// @cost that of Symbolizer::Resolve, and of reading a file
Result<SourceText> ReadSourceText(const model::Metadata& meta, symbols::Symbolizer& symbolizer, TrustPaths trust,
                                  model::ElementId site);
inline constexpr int64_t kSourceLines = 400;

std::string ToJson(const SourceText& text);

}  // namespace attune::analysis
