#include "probe/hook/real.h"

#include <dlfcn.h>
#include <errno.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {
namespace {

template <class Function>
void Find(Function& function, Function missing, const char* name, const char* version) {
  void* found = version[0] != '\0' ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);  // another architecture's oldest version
  __atomic_store_n(&function, found != nullptr ? reinterpret_cast<Function>(found) : missing, __ATOMIC_RELAXED);
}

/// Result of a function that this C library does not have.
template <class Result>
Result NotThere() {
  if constexpr (__is_same(Result, FILE*) || __is_same(Result, void*)) {
    errno = ENOSYS;
    return nullptr;
  } else {
    return static_cast<Result>(ENOSYS);
  }
}

#define ATTUNE_FIRST_CALL(result, name, parameters, arguments, version) \
  result First_##name parameters {                                      \
    Resolve();                                                          \
    return g_real.name arguments;                                       \
  }                                                                     \
  result Missing_##name parameters { return NotThere<result>(); }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
ATTUNE_HOOKS(ATTUNE_FIRST_CALL)
#pragma GCC diagnostic pop
#undef ATTUNE_FIRST_CALL

}  // namespace

#define ATTUNE_FIRST_POINTER(result, name, parameters, arguments, version) &First_##name,
constinit Real g_real = {ATTUNE_HOOKS(ATTUNE_FIRST_POINTER)};
#undef ATTUNE_FIRST_POINTER

void Resolve() {
  const int saved_errno = errno;
#define ATTUNE_FIND(result, name, parameters, arguments, version) Find(g_real.name, &Missing_##name, #name, version);
  ATTUNE_HOOKS(ATTUNE_FIND)
#undef ATTUNE_FIND
  PrepareModules();
  errno = saved_errno;
}

bool IsInPlace() { return true; }

}  // namespace attune::probe::hook
