// Markers in C++: scopes left by exceptions, regions as objects, names made at run time, constructors of statics.
#include <attune/probe.h>

#include <stdexcept>
#include <string>

namespace {

struct Early {
  Early() { ATTUNE_INSTANT("before main"); }
  ~Early() { ATTUNE_INSTANT("after main"); }
} early;

void Throws() {
  ATTUNE_REGION("throws");
  throw std::runtime_error("left");
}

template <class T>
T Twice(T value) {
  ATTUNE_REGION("template");
  return value + value;
}

}  // namespace

int main() {
  try {
    Throws();
  } catch (const std::runtime_error&) {
    ATTUNE_INSTANT("caught");
  }
  for (int i = 0; i < 3; ++i) {
    if (i == 1) continue;
    ATTUNE_REGION("loop");
  }
  {
    attune::Region region("object");
    region.End();
    ATTUNE_INSTANT("after the object");
  }
  for (int i = 0; i < 2; ++i) attune::Region region(("worker " + std::to_string(i)).c_str());
  const auto lambda = [] { ATTUNE_COUNTER("in a lambda", 1); };
  lambda();
  return Twice(1) + static_cast<int>(Twice(1.0)) == 4 ? 0 : 1;
}
