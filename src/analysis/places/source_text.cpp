#include "analysis/places/source_text.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/documents/json_rows.h"
#include "analysis/places/code_place.h"
#include "base/user_file.h"

namespace attune::analysis {
namespace {

constexpr off_t kMaxFileBytes = 8 << 20;
constexpr size_t kMaxLineBytes = 1000;

Error NotHere(std::string message) { return {Errc::kNotFound, std::move(message), ""}; }

/// The frame to show at a site (ShownFrame), looked up in the program itself.
Result<model::Site> PlaceInCode(const model::Site& site, symbols::Symbolizer& symbolizer, TrustPaths trust) {
  if (!site.module.starts_with('/') || site.address == model::kAbsent)
    return NotHere("it is not known which file this code is of");
  if (site.build_id.empty() && trust == TrustPaths::kNo)
    return NotHere(fmt::format("{} has no build-id: it is not known whether it is the file that ran", site.module));
  ATTUNE_TRY(const auto frames, symbolizer.Resolve({site.module, site.build_id}, static_cast<uint64_t>(site.address)));
  std::vector<model::Site> rows;
  for (const symbols::CodeFrame& frame : frames)
    rows.push_back({.line = frame.line, .function = frame.function, .file = frame.file});
  const model::Site* shown = ShownFrame(rows);
  if (shown == nullptr || shown->file.empty() || shown->line <= 0)
    return NotHere(fmt::format("{} has no debug information (build with -g)", site.module));
  return *shown;
}

/// Absolute path at which the compiler found a source file.
Result<std::string> PathOf(const std::string& file, const model::Site& site, symbols::Symbolizer& symbolizer) {
  if (file.starts_with('/')) return file;
  const Result<std::string> folder =
      symbolizer.CompileFolder({site.module, site.build_id}, static_cast<uint64_t>(site.address));
  if (!folder.ok()) return folder.error();
  if (!folder->starts_with('/')) return NotHere(fmt::format("it is not known in which folder {} is", file));
  return fmt::format("{}/{}", *folder, file);
}

/// The file's bytes, or an error that names it.
Result<std::string> ReadText(const std::string& path, struct stat& status) {
  const Result<UniqueFd> opened = OpenUserFile(path);
  if (!opened.ok())
    return NotHere(opened.error().code == Errc::kNotFound ? fmt::format("{} is not here", path)
                                                          : opened.error().message);
  const UniqueFd& file = *opened;
  if (fstat(file.get(), &status) != 0 || status.st_size > kMaxFileBytes)
    return NotHere(fmt::format("{} is no source file", path));
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file.get(), text.data() + size, text.size() - size);
    if (count <= 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return text;
}

bool WasChangedAfter(const struct stat& source, const std::string& module) {
  struct stat built{};
  return stat(module.c_str(), &built) == 0 && source.st_mtime > built.st_mtime;
}

}  // namespace

Result<SourceText> ReadSourceText(const model::Metadata& meta, symbols::Symbolizer& symbolizer, TrustPaths trust,
                                  model::ElementId id) {
  const auto site = std::find_if(meta.sites.begin(), meta.sites.end(), [id](const auto& row) { return row.id == id; });
  if (site == meta.sites.end()) return NotHere("there is no such place");
  ATTUNE_TRY(const model::Site place, PlaceInCode(*site, symbolizer, trust));
  ATTUNE_TRY(const std::string path, PathOf(place.file, *site, symbolizer));
  struct stat status{};
  ATTUNE_TRY(const std::string bytes, ReadText(path, status));
  SourceText text{.function = place.function, .file = place.file, .path = path, .line = place.line, .lines = {}};
  text.first_line = std::max<int64_t>(1, place.line - kSourceLines);
  text.is_newer = WasChangedAfter(status, site->module);
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    ++text.lines_in_all;
    if (text.lines_in_all >= text.first_line && text.lines_in_all <= place.line + kSourceLines)
      text.lines.push_back(bytes.substr(at, std::min(end - at, kMaxLineBytes)));
    at = end + 1;
  }
  return text;
}

std::string ToJson(const SourceText& text) {
  return JsonText({{"function", text.function},
                   {"path", text.path},
                   {"file", text.file},
                   {"line", text.line},
                   {"first_line", text.first_line},
                   {"lines_in_all", text.lines_in_all},
                   {"is_newer", text.is_newer},
                   {"lines", text.lines}});
}

}  // namespace attune::analysis
