#include "probe/hook/caller.h"

#include <string.h>

#include "probe/hook/function_name.h"
#include "probe/hook/module.h"
#include "probe/hook/python.h"
#include "probe/hook/unwind.h"

namespace attune::probe::hook {
namespace {

using wire::SyncKind;

/// Owner of a place in the code, in four bits.
enum class CodeOf : uint8_t {
  kProgram = 0,  ///< or a library that is no part of the language's
  kLibrary = 1,
  kFuture = 2,  ///< a library's, and says what it waits for
  kOnce = 3,
  kBarrier = 4,
  kPython = 5,  ///< the interpreter's: the program is what it executes
};

constinit bool g_has_cpp = false;

struct Code {
  CodeOf of = CodeOf::kProgram;
  FrameRule rule;
};

// A cache of places: one word for each, so that threads and signal handlers always read a whole one.
// address 47 bits | rule is of the frame pointer 1 | frame's offset / 8: 8 | saved frame pointer / 8: 4 | CodeOf 4
constexpr uint32_t kPlaces = 2048;
constinit uint64_t g_places[kPlaces] = {};
constexpr uint64_t kAddressMask = (uint64_t{1} << 47) - 1;

uint64_t Pack(uint64_t pc, const Code& code) {
  const uint64_t offset = code.rule.is_known ? code.rule.offset / 8 : 0;
  return pc | static_cast<uint64_t>(code.rule.is_of_bp) << 47 | offset << 48 |
         static_cast<uint64_t>(code.rule.saved_bp / 8) << 56 | static_cast<uint64_t>(code.of) << 60;
}

bool StartsWith(const char* text, const char* start) { return strncmp(text, start, strlen(start)) == 0; }

/// Libraries whose functions lock and wait for their callers.
bool IsWrappingLibrary(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  constexpr const char* kLibraries[] = {"libstdc++.so",       "libc++.so",      "libc.so",
                                        "libpthread.so",      "libtbb.so",      "libgcc_s.so",
                                        "libboost_thread.so", "libglib-2.0.so", "libattune_probe.so"};
  for (const char* library : kLibraries) {
    if (StartsWith(name, library)) return true;
  }
  return false;
}

/// Whether a function that is compiled into the program is of such a library all the same: of a header.
bool IsOfHeader(const char* name) {
  // These call what the program gives them, which optimisation puts into them.
  constexpr const char* kCallers[] = {"_ZNSt17_Function_handler", "_ZNSt6thread11_State_impl", "_ZNSt6thread8_Invoker",
                                      "_ZSt8__invoke", "_ZSt13__invoke_impl"};
  for (const char* caller : kCallers) {
    if (StartsWith(name, caller)) return false;
  }
  if (StartsWith(name, "__gthread") || StartsWith(name, "__glibcxx")) return true;
  if (!StartsWith(name, "_Z")) return false;
  name += 2;
  while (*name == 'Z' || *name == 'N' || *name == 'K' || *name == 'L') ++name;  // local, nested, const, internal
  constexpr const char* kNamespaces[] = {"St", "9__gnu_cxx", "3tbb", "5boost"};
  for (const char* start : kNamespaces) {
    if (StartsWith(name, start)) return true;
  }
  const char* reserved = name;  // names that begin with two underscores are the implementation's
  while (*reserved >= '0' && *reserved <= '9') ++reserved;
  return reserved != name && StartsWith(reserved, "__");
}

CodeOf MeaningOf(const char* name) {
  if (strstr(name, "__atomic_futex_unsigned") != nullptr || strstr(name, "_State_base") != nullptr ||
      strstr(name, "_Async_state") != nullptr)
    return CodeOf::kFuture;
  if (strstr(name, "__cxa_guard_acquire") != nullptr) return CodeOf::kOnce;
  if (strstr(name, "St5latch") != nullptr || strstr(name, "St7barrier") != nullptr ||
      strstr(name, "__tree_barrier") != nullptr)
    return CodeOf::kBarrier;
  return CodeOf::kLibrary;
}

Code LookUp(uint64_t pc) {
  Code code;
  ModuleBounds bounds;
  if (!FindBounds(pc - 1, bounds)) return code;
  if (IsInterpreter(bounds)) code.of = CodeOf::kPython;
  code.rule = FindFrameRule(bounds, pc);
  if (!code.rule.is_known) return code;
  if (code.of == CodeOf::kPython) return code;
  const bool is_wrapping = IsWrappingLibrary(bounds.path);
  // Headers' functions are functions of their own without optimisation, where all have frame pointers; with it, some
  // of C++'s are.
  if (!is_wrapping && !code.rule.is_of_bp && !g_has_cpp) return code;
  char name[192];
  const bool has_name = FindFunctionName(bounds, pc - 1, name, sizeof name);
  if (is_wrapping || (has_name && IsOfHeader(name))) code.of = has_name ? MeaningOf(name) : CodeOf::kLibrary;
  return code;
}

[[gnu::noinline]] uint64_t LookUpAndKeep(uint64_t pc, uint64_t* place) {
  const uint64_t word = Pack(pc, LookUp(pc));
  __atomic_store_n(place, word, __ATOMIC_RELAXED);
  return word;
}

uint64_t WordAt(uint64_t pc) {
  if (__builtin_expect(pc == 0 || pc > kAddressMask, 0)) return 0;
  uint64_t* place = &g_places[(pc ^ pc >> 11) % kPlaces];
  const uint64_t word = __atomic_load_n(place, __ATOMIC_RELAXED);
  return __builtin_expect((word & kAddressMask) == pc, 1) ? word : LookUpAndKeep(pc, place);
}

/// Each lock asks for it: a Code would go through memory, in pieces that a processor waits for when it reads the whole.
CodeOf OwnerAt(uint64_t pc) { return static_cast<CodeOf>(WordAt(pc) >> 60); }

#if defined(__x86_64__)  // elsewhere callers are not followed

Code Unpack(uint64_t word) {
  const auto offset = static_cast<uint32_t>(word >> 48 & 0xff) * 8;
  return {.of = static_cast<CodeOf>(word >> 60),
          .rule = {.is_known = offset != 0,
                   .is_of_bp = (word >> 47 & 1) != 0,
                   .offset = offset,
                   .saved_bp = static_cast<uint32_t>(word >> 56 & 0xf) * 8}};
}

Code CodeAt(uint64_t pc) { return Unpack(WordAt(pc)); }

bool EndsSearch(CodeOf of) { return of == CodeOf::kProgram || of == CodeOf::kPython; }

SyncKind ToKind(CodeOf of) {
  switch (of) {
    case CodeOf::kFuture: return SyncKind::kFuture;
    case CodeOf::kOnce: return SyncKind::kOnce;
    case CodeOf::kBarrier: return SyncKind::kBarrier;
    default: return SyncKind::kNone;
  }
}

/// @param frame of the hook's caller
Caller FollowCallers(Frame frame) {
  constexpr int kMostFrames = 48;
  Caller caller{.site = frame.pc};
  for (int i = 0; i < kMostFrames; ++i) {
    const Code code = CodeAt(frame.pc);
    if (!code.rule.is_known) break;  // begin of a thread
    if (EndsSearch(code.of)) return {frame.pc, caller.meaning};
    if (code.of != CodeOf::kLibrary) caller.meaning = ToKind(code.of);
    if (!StepToCaller(code.rule, frame)) break;
  }
  return caller;  // a thread of the library's own
}

#endif

}  // namespace

void PrepareToFindCallers() {
  g_has_cpp = FindExported("__cxa_guard_acquire") != nullptr;
  PrepareToFindPython();
}

Caller FindCaller(uint64_t site) {
#if defined(__x86_64__)
  if (__builtin_expect(EndsSearch(OwnerAt(site)), 1)) return {.site = site};
  Frame frame;
  __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                   : "=&r"(frame.pc), "=&r"(frame.sp), "=&r"(frame.bp));
  constexpr int kMostOwnFrames = 16;
  for (int i = 0; i < kMostOwnFrames; ++i) {
    if (!StepToCaller(CodeAt(frame.pc).rule, frame)) break;
    if (frame.pc == site) return FollowCallers(frame);
  }
#endif
  return {.site = site};
}

uint64_t CallSite(uint64_t object, uint64_t site) {
  if (__builtin_expect(OwnerAt(site) == CodeOf::kProgram, 1)) return site;
  return InterpretedSite(object, FindCaller(site).site);
}

uint64_t InterpretedSite(uint64_t object, uint64_t site) {
  return __builtin_expect(OwnerAt(site) == CodeOf::kPython, 0) ? PythonSite(object, site) : site;
}

}  // namespace attune::probe::hook
