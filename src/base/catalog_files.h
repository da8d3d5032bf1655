#pragma once
/// Things with names that attune ships in files of catalog/, and a user's own beside them.

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/user_file.h"

namespace attune {

/// A file of catalog/, as the build found it (attune_shipped_files of cmake/Attune.cmake).
struct ShippedFile {
  std::string_view name;
  std::string_view text;
};

/// A user's files of a kind, in the order in which later ones take the place of earlier ones:
/// ~/.config/attune/KIND.toml, then the files of the folder ~/.config/attune/KIND.
std::vector<std::string> UserCatalogFiles(std::string_view kind);

/// All things of a kind by name: those that are shipped, and the user's, which take the place of one of the same name.
/// @param parse (text, file) -> Result<std::vector<T>>
/// @param leave_out is told why a file of the user's is left out; empty: that is an error
/// Error: a file of the user's is wrong
template <class T, class Parse>
Result<std::vector<T>> ReadCatalog(std::span<const ShippedFile> shipped, std::string_view kind, const Parse& parse,
                                   const std::function<void(const Error&)>& leave_out = {}) {
  constexpr size_t kMostBytes = 1 << 20;
  std::vector<T> all;
  const auto add = [&all](std::vector<T> things) {
    for (T& thing : things) {
      const auto known = std::ranges::find(all, thing.name, &T::name);
      if (known == all.end()) {
        all.push_back(std::move(thing));
      } else {
        *known = std::move(thing);
      }
    }
  };
  for (const ShippedFile& file : shipped) {
    ATTUNE_TRY(std::vector<T> things, parse(file.text, file.name));
    add(std::move(things));
  }
  for (const std::string& file : UserCatalogFiles(kind)) {
    const auto text = ReadUserFile(file, kMostBytes);
    auto things = text.ok() ? parse(*text, file) : Result<std::vector<T>>(text.error());
    if (!things.ok() && !leave_out) return things.error();
    if (things.ok()) {
      add(*std::move(things));
    } else {
      leave_out(things.error());
    }
  }
  std::ranges::sort(all, {}, &T::name);
  return all;
}

}  // namespace attune
