#include "analysis/places/own_place.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "wire/python.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr std::array<std::string_view, 8> kSystemFolders = {"/lib/",     "/lib32/",     "/lib64/",     "/libx32/",
                                                            "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/"};
/// The probe, wherever it is installed.
constexpr std::string_view kProbe = "libattune_";
constexpr std::string_view kPythonEnding = ".py";

}  // namespace

bool IsProbe(std::string_view module) { return module.substr(module.rfind('/') + 1).starts_with(kProbe); }

bool IsBegin(std::string_view function) {
  constexpr std::array<std::string_view, 8> kBegins = {
      "start_thread",           "clone", "clone3", "__clone", "__clone3", "__libc_start_main",
      "__libc_start_call_main", "_start"};
  return std::ranges::find(kBegins, function) != kBegins.end();
}

bool IsSystemModule(std::string_view module) {
  if (module.starts_with('[')) return true;  // [kernel], [vdso]
  if (IsProbe(module)) return true;
  if (IsPythonSource(module) && wire::IsPythonLibrary(module.data(), module.size())) return true;
  return std::ranges::any_of(kSystemFolders, [&](std::string_view folder) { return module.starts_with(folder); });
}

bool IsPythonInterpreter(std::string_view module) {
  std::string_view file = module.substr(module.rfind('/') + 1);
  if (file.starts_with("lib")) file.remove_prefix(3);
  return file.starts_with("python3") && !file.ends_with(kPythonEnding);
}

bool IsPythonSource(std::string_view module) { return module.ends_with(kPythonEnding) || module.starts_with('<'); }

bool ExecutesPython(std::span<const ElementId> path, const SiteNames& names) {
  return std::ranges::any_of(path, [&](ElementId site) { return IsPythonSource(names.PlaceOf(site).module); });
}

ElementId OwnPlaceOf(std::span<const ElementId> path, const SiteNames& names) {
  if (path.empty()) return 0;
  ElementId in_own_module = 0, named = 0;
  const bool executes_python = ExecutesPython(path, names);
  for (const ElementId site : std::views::reverse(path)) {
    const CodePlace place = names.PlaceOf(site);
    const bool is_interpreter = executes_python && IsPythonInterpreter(place.module);
    const bool is_own = !place.module.empty() && !IsSystemModule(place.module) && !is_interpreter;
    if (is_own && !IsSystemHeader(place.file)) return site;
    if (is_own && in_own_module == 0) in_own_module = site;
    if (named == 0 && place.HasSymbol() && !IsBegin(place.function) && !IsProbe(place.module)) named = site;
  }
  return in_own_module != 0 ? in_own_module : named != 0 ? named : path.back();
}

}  // namespace attune::analysis
