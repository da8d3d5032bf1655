#include "analysis/places/own_place.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::analysis::own_place_test {
namespace {

using model::ElementId;

class Code {
 public:
  ElementId Add(const std::string& module, const std::string& function, const std::string& file = "") {
    meta_.sites.push_back(
        {.id = ++last_, .address = 16, .line = 1, .function = function, .file = file, .module = module});
    return last_;
  }
  ElementId PlaceOf(const std::vector<ElementId>& path) const { return OwnPlaceOf(path, SiteNames(meta_, {})); }

 private:
  model::Metadata meta_;
  ElementId last_ = 0;
};

TEST(OwnPlace, IsTheProgramsCallerOfALibrary) {
  Code code;
  const ElementId start = code.Add("/usr/bin/solver", "_start");
  const ElementId step = code.Add("/usr/bin/solver", "step", "solver.cpp");
  const ElementId copy = code.Add("/usr/lib/x86_64-linux-gnu/libc.so.6", "memcpy");
  const ElementId kernel = code.Add("[kernel]", "asm_exc_page_fault");
  EXPECT_EQ(code.PlaceOf({start, step, copy, kernel}), step);
  EXPECT_EQ(code.PlaceOf({start, copy}), start);
  EXPECT_EQ(code.PlaceOf({copy, kernel}), kernel) << "no code of its own is known";
  EXPECT_EQ(code.PlaceOf({}), 0u);
}

TEST(OwnPlace, IsNoHeaderOfTheSystem) {
  Code code;
  const ElementId step = code.Add("/opt/work/solver", "step", "solver.cpp");
  const ElementId vector = code.Add("/opt/work/solver", "std::vector<int>::operator[]", "/usr/include/c++/12/vector");
  EXPECT_EQ(code.PlaceOf({step, vector}), step);
  EXPECT_EQ(code.PlaceOf({vector}), vector);
}

TEST(OwnPlace, IsInALibraryOfItsOwnToo) {
  Code code;
  const ElementId step = code.Add("/opt/work/solver", "step");
  const ElementId plugin = code.Add("/opt/work/plugin.so", "filter");
  const ElementId probe = code.Add("/opt/lib/attune/libattune_probe.so.0", "pthread_mutex_lock");
  EXPECT_EQ(code.PlaceOf({step, plugin, probe}), plugin);
  EXPECT_FALSE(IsSystemModule("/usr/bin/xz"));
  EXPECT_TRUE(IsSystemModule("/lib/x86_64-linux-gnu/libc.so.6"));
}

TEST(OwnPlace, IsTheProgramsOwnPythonAndNotItsInterpreter) {
  Code code;
  const ElementId start = code.Add("/usr/bin/python3.11", "Py_BytesMain");
  const ElementId step = code.Add("/opt/work/solver.py", "step", "/opt/work/solver.py");
  const ElementId library = code.Add("/opt/python/lib/python3.11/random.py", "Random.shuffle");
  const ElementId add = code.Add("/usr/bin/python3.11", "PyLong_Add");
  const ElementId kernel = code.Add("[kernel]", "asm_exc_page_fault");
  const ElementId extension = code.Add("/opt/work/fast.so", "step_fast");
  EXPECT_EQ(code.PlaceOf({start, step, library, add, kernel}), step);
  EXPECT_EQ(code.PlaceOf({start, step, extension, add}), extension);
  EXPECT_EQ(code.PlaceOf({start, add}), add) << "nothing is known of what it executes";
}

TEST(OwnPlace, IsNotWhereEachThreadBegins) {
  Code code;
  const ElementId begin = code.Add("/usr/lib/x86_64-linux-gnu/libc.so.6", "start_thread");
  const ElementId nameless = code.Add("/usr/lib/x86_64-linux-gnu/liblzma.so.5", "");
  EXPECT_EQ(code.PlaceOf({begin, nameless}), nameless);
}

TEST(OwnPlace, WithoutNamesIsTheInnermost) {
  Code code;
  const ElementId outer = code.Add("/lib/libx.so", "libx.so+0x10 (no symbols)");
  const ElementId inner = code.Add("", "");
  EXPECT_EQ(code.PlaceOf({outer, inner}), inner);
}

}  // namespace
}  // namespace attune::analysis::own_place_test
