// A program whose addresses are looked up by symbolizer_test. Line numbers of it are in that test.

#include <cstdio>
#include <cstdlib>

namespace shapes {

[[gnu::noinline]] void Note(void* caller, const char* what) { std::printf("%s %p\n", what, caller); }

// Says where it returns to.
[[gnu::noinline]] void Say(const char* what) {
  Note(__builtin_return_address(0), what);
  __asm__ volatile("");  // no tail call
}

[[gnu::always_inline]] inline void Inner(const char* what) {
  Say(what);  // line 17
}

[[gnu::always_inline]] inline void Outer(const char* what) {
  Inner(what);  // line 21
}

[[gnu::noinline]] void Area(int side) {
  Outer("inlined");  // line 25
  if (side > 0) __asm__ volatile("");
}

[[gnu::noinline]] void Plain() {
  Say("plain");  // line 30
  __asm__ volatile("");
}

[[gnu::noinline, noreturn]] void Last() {
  Say("last");  // line 35
  std::exit(0);
}

}  // namespace shapes

int main() {
  std::printf("main %p\n", reinterpret_cast<void*>(&main));
  shapes::Plain();
  shapes::Area(1);
  shapes::Last();
}
