#pragma once
#include <utility>

#include "model/table.h"

namespace attune::model {

/// A place in a program's code; several rows of one id where the code there was inlined.
struct Site {
  ElementId id = 0;
  int64_t frame = 0;
  int64_t address = kAbsent;
  int64_t line = kAbsent;
  bool inlined = false;
  std::string function;
  std::string file;
  std::string module;
  std::string build_id;

  bool operator==(const Site&) const = default;

  /// More functions than any compiler inlines at one place.
  static constexpr int64_t kMaxFrame = 1000;
  std::pair<ElementId, int64_t> Key() const { return {id, frame}; }
  bool Check() const { return id != 0 && frame >= 0 && frame <= kMaxFrame; }

  static constexpr Table kTable{19};
  static constexpr TableText kText{.name = "sites",
                                   .about = "a place in the code; several rows where the code there was inlined",
                                   .storage = Storage::kReplaced,
                                   .key = "id",
                                   .is_on_page = false};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Site::id, "id", Role::kElement, "", "its element"),
                 Col(&Site::frame, "frame", Role::kInteger, "", "0: the innermost, which is inlined into 1, and so on"),
                 Col(&Site::function, "function", Role::kText, "", "empty: not known, or not looked up (yet)"),
                 Col(&Site::file, "file", Role::kText, "", "of the source"),
                 Col(&Site::address, "address", Role::kInteger, "",
                     "in the module's file, behind the call; NULL: the module is not known"),
                 Col(&Site::line, "line", Role::kInteger, "", "NULL: not known, or not looked up (yet)"),
                 Col(&Site::inlined, "inlined", Role::kFlag, "", "into the frame that follows"),
                 Col(&Site::module, "module", Role::kText, "", "path of the program or library; empty: not known"),
                 Col(&Site::build_id, "build_id", Role::kText, "", "of the module, hexadecimal; empty: it has none"));
  }
};

}  // namespace attune::model
