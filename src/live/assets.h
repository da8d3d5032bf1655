#pragma once
/// The page's files, built into the binary. Defined by web/CMakeLists.txt: from the built page, or, without npm, from
/// web/placeholder.cpp.

#include <span>
#include <string_view>

namespace attune::live {

struct Asset {
  std::string_view path;          ///< "/index.html", "/assets/index-1a2b3c.js"
  std::string_view content_type;  ///< "text/html; charset=utf-8"
  std::string_view bytes;
  bool gzip = false;  ///< `bytes` are compressed
};

std::span<const Asset> Assets();

/// The page as one file, for a recording that is exported (exported_page.h): the answers go where kAnswersMark stands.
/// Empty: built without npm.
std::string_view ExportedPage();
inline constexpr std::string_view kAnswersMark = "<!-- answers -->";

}  // namespace attune::live
