#pragma once
/// The names of a place in the code, as a reader wants to see them.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model/source.h"
#include "symbols/symbolizer.h"

namespace attune::analysis {

struct CodePlace {
  std::string name;      ///< "solver+0x1234"; "": no place
  std::string function;  ///< "": not known; may end with symbols::kNoSymbols
  std::string file;
  int64_t line = model::kAbsent;
  std::string module;       ///< path; "": not known
  std::string below;        ///< function with a name that leads to one without; "": not known
  model::ElementId id = 0;  ///< site id; 0: no place

  bool HasSymbol() const { return !function.empty() && !function.ends_with(symbols::kNoSymbols); }
};

/// "solver (4711)" of "/opt/solver -n 4": several of a name are told apart.
std::string ProcessName(const model::Element& process);

/// Whether the file is of the compiler or of a library: what is inlined from there is not what a reader looks for.
bool IsSystemHeader(std::string_view file);

/// Selects the frame of a site to show. Frames come innermost first: takes the first that is no system header's
/// (std::lock_guard and its like are inlined into what a reader looks for), else the outermost. nullptr: no frames.
const model::Site* ShownFrame(std::span<const model::Site> frames);

/// Names sites by the rows of `sites`, and by others that replace them. @thread any, once made
class SiteNames {
 public:
  /// @param meta must outlive this  @param names further rows of `sites` (NameSites), by id
  SiteNames(const model::Metadata& meta, std::span<const model::Site> names);

  CodePlace PlaceOf(model::ElementId site) const;
  /// Innermost first; empty: there are no rows of it.
  std::span<const model::Site> FramesOf(model::ElementId site) const;

 private:
  const model::Metadata& meta_;
  std::unordered_map<model::ElementId, std::vector<model::Site>> frames_;  ///< innermost first
};

/// Every process has sites of its own: tells which of them are one place in one file.
class SamePlaces {
 public:
  /// @param names must outlive this
  explicit SamePlaces(const SiteNames& names) : names_(&names) {}
  explicit SamePlaces(SiteNames&& names) = delete;
  /// The site that stands for all that are the same place: the one that was asked for first.
  model::ElementId Of(model::ElementId site);
  /// Whether what is used there has something in common. It has not where the place is not known, nor in headers of the
  /// system: std::mutex::lock() of a program without optimisation is every mutex's.
  bool Joins(model::ElementId site) const;

 private:
  const SiteNames* names_;
  std::map<std::tuple<std::string, std::string, std::string>, model::ElementId> first_;  ///< by module, build, offset
  std::unordered_map<model::ElementId, model::ElementId> known_;
};

/// "work (solver.c:34)", or as much of it as is known. Of a long function the parameters are left out.
std::string PlaceText(const CodePlace& place);

}  // namespace attune::analysis
