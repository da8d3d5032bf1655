// A library without symbols but for what it exports. It says where in its functions it is called back.

#define ATTUNE_EXPORT extern "C" __attribute__((visibility("default"), noinline))

using Note = void (*)(int what, const void* address);

namespace {

__attribute__((noinline)) void Say(Note note, int what) {
  note(what, __builtin_return_address(0));
  __asm__ volatile("");  // no tail call
}

__attribute__((noinline)) void First(Note note) {
  Say(note, 1);
  Say(note, 2);
  __asm__ volatile("");
}

__attribute__((noinline)) void Second(Note note) {
  Say(note, 3);
  __asm__ volatile("");
}

}  // namespace

ATTUNE_EXPORT void stripped_exported(Note note) {
  First(note);
  Second(note);
  Say(note, 4);
  __asm__ volatile("");
}
