/// In a static program, of which the linker has made the program's calls those of our functions, and ours those of the
/// C library (--wrap).

#include <errno.h>
#include <sys/auxv.h>

#include "probe/hook/module.h"
#include "probe/hook/real.h"

namespace attune::probe::hook {

#define ATTUNE_WRAPPED(result, name, parameters, arguments, version) \
  extern "C" result Wrapped_##name parameters __asm__("__real_" #name);
ATTUNE_HOOKS(ATTUNE_WRAPPED)
#undef ATTUNE_WRAPPED

#define ATTUNE_WRAPPED_POINTER(result, name, parameters, arguments, version) &Wrapped_##name,
constinit Real g_real = {ATTUNE_HOOKS(ATTUNE_WRAPPED_POINTER)};
#undef ATTUNE_WRAPPED_POINTER

// Says so of the program's file, also where that is stripped: analysis/program_file.cpp looks for it.
__asm__(R"(
  .pushsection .note.attune, "a", %note
  .balign 4
  .long 7, 4, 1
  .asciz "attune"
  .balign 4
  .long 1
  .popsection
)");

void Resolve() {
  const int saved_errno = errno;
  PrepareModules();
  errno = saved_errno;
}

bool IsInPlace() { return getauxval(AT_BASE) == 0; }  // no loader

}  // namespace attune::probe::hook
