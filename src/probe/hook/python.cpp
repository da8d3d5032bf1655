#include "probe/hook/python.h"

#include <errno.h>
#include <string.h>

#include "probe/core.h"
#include "wire/python.h"

namespace attune::probe::hook {
namespace {

using wire::PythonCode;
using wire::PythonFrame;
using wire::PythonText;

struct Interpreter {
  uint64_t start, end;  ///< address range of its module; 0: there is none
  uint64_t code_type;
  const wire::PythonThread* (*thread)();
};
constinit Interpreter g_interpreter = {};

template <class Begin>
const Begin* At(uint64_t address) {
  return reinterpret_cast<const Begin*>(address);
}

// Caches of one word an entry, so that threads and signal handlers always read a whole one. A word is an address of 47
// bits and something that tells apart what lies there one after the other.
constexpr uint64_t kAddressMask = (uint64_t{1} << 47) - 1;
constexpr uint64_t kMultiplier = UINT64_C(0x9e3779b97f4a7c15);

/// Whether files of code are of Python's library, by the address of the name: bit 0.
constexpr uint32_t kFiles = 512;
constinit uint64_t g_files[kFiles] = {};
/// Instructions that the session was told of. What finds no place is not told.
constexpr uint32_t kTold = 4096, kMaxProbes = 16;
constinit uint64_t g_told[kTold] = {};

/// @param to has room for a name of the ring and a zero
void CopyText(uint64_t address, char* to, size_t room) {
  to[0] = '\0';
  if (address == 0) return;
  const auto* text = At<PythonText>(address);
  if (!text->IsCompact()) return;
  wire::WritePythonText(At<uint8_t>(address + text->Offset()), text->CharacterBytes(),
                        static_cast<uint64_t>(text->length), to, room);
}

bool LookUpFile(uint64_t address) {
  char path[wire::kRingMaxNameBytes + 1];
  CopyText(address, path, sizeof path);
  return wire::IsPythonLibrary(path, strlen(path));
}

bool IsOfLibrary(const PythonCode* code) {
  const uint64_t address = code->file;
  if (address == 0 || address > kAddressMask) return false;
  const auto length = static_cast<uint64_t>(At<PythonText>(address)->length);
  const uint64_t word = address | length << 47;
  uint64_t* place = &g_files[address * kMultiplier >> 55];
  const uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
  if (__builtin_expect((known & ~uint64_t{1}) == word, 1)) return (known & 1) != 0;
  const bool is_library = LookUpFile(address);
  __atomic_store_n(place, word | static_cast<uint64_t>(is_library), __ATOMIC_RELAXED);
  return is_library;
}

int32_t LineOf(const PythonCode* code, uint64_t index) {
  if (code->lines == 0) return 0;
  const auto* lines = At<wire::PythonBytes>(code->lines);
  return lines->size <= 0 ? 0
                          : wire::PythonLine(reinterpret_cast<const uint8_t*>(lines + 1),
                                             static_cast<uint64_t>(lines->size), code->first_line, index);
}

bool Tell(const PythonCode* code, uint64_t instruction, uint64_t index) {
  char text[wire::kRingMaxNameBytes + 1];
  CopyText(code->qualified_name, text, sizeof text);
  const uint32_t function = RegisterName(text);
  CopyText(code->file, text, sizeof text);
  const uint32_t file = RegisterName(text);
  if (function <= wire::kRingNameAlign || file <= wire::kRingNameAlign) return false;  // no room
  const uint64_t values[3] = {instruction, static_cast<uint32_t>(LineOf(code, index)), file};
  return EmitIfRoom(wire::EventKind::kSource, 0, function, values, 3);
}

/// @return whether the session knows the instruction, or was told of it now
bool IsKnown(const PythonCode* code, uint64_t instruction, uint64_t index) {
  const uint64_t tag = (code->qualified_name ^ code->file << 4 ^ static_cast<uint32_t>(code->first_line)) * kMultiplier;
  const uint64_t word = instruction | (tag >> 47) << 47;
  const uint64_t hash = instruction * kMultiplier >> 40;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    uint64_t* place = &g_told[(hash + probe) % kTold];
    const uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (__builtin_expect(known == word, 1)) return true;
    if (known != 0 && (known & kAddressMask) != instruction) continue;
    if (!Tell(code, instruction, index)) return false;
    __atomic_store_n(place, word, __ATOMIC_RELAXED);
    return true;
  }
  return false;
}

struct Place {
  const PythonCode* code = nullptr;
  uint64_t instruction = 0;
  uint64_t index = 0;
};

/// The program's own innermost function; if all are of the library, the innermost of these.
Place FindPlace(const PythonFrame* frame) {
  constexpr int kMostFrames = 64;
  Place place;
  for (int i = 0; i < kMostFrames && frame != nullptr; ++i, frame = At<PythonFrame>(frame->previous)) {
    const auto* code = At<PythonCode>(frame->code);
    if (code == nullptr || code->type != g_interpreter.code_type) break;
    const uint64_t index = wire::PythonInstruction(frame->code, *code, frame->instruction);
    if (index == UINT64_MAX || frame->instruction > kAddressMask) continue;  // a function that has not begun
    const bool is_library = IsOfLibrary(code);
    if (place.code == nullptr || !is_library) place = {code, frame->instruction, index};
    if (!is_library) break;
  }
  return place;
}

bool HasLayouts(const void* code_type, const void* frame_type) {
  const auto* code = static_cast<const wire::PythonType*>(code_type);
  const auto* frame = static_cast<const wire::PythonType*>(frame_type);
  return code->basic_bytes == wire::kPythonCodeBytes && code->item_bytes == wire::kPythonInstructionBytes &&
         frame->basic_bytes == wire::kPythonFrameObjectBytes;
}

const PythonFrame* FrameOfThread() {
  const wire::PythonThread* thread = g_interpreter.thread();
  if (thread == nullptr || thread->c_frame == 0) return nullptr;
  return At<PythonFrame>(At<wire::PythonCFrame>(thread->c_frame)->frame);
}

/// "": none that is ASCII
const char* NameOf(const PythonCode* code) {
  const uint64_t name = code->qualified_name;
  return name != 0 && At<PythonText>(name)->IsAscii() ? At<char>(name + PythonText::kAsciiBytes) : "";
}

bool IsOneOf(const char* name, const char* first, const char* second) {
  return strcmp(name, first) == 0 || strcmp(name, second) == 0;
}

/// SemLock.__enter__ and SemLock.__exit__ of multiprocessing, whose semaphores have the same methods as its locks.
bool IsMethodOfSharedLock(const PythonFrame* frame, const PythonCode* code) {
  if (!IsOneOf(NameOf(code), "SemLock.__enter__", "SemLock.__exit__")) return false;
  const auto* self = At<wire::PythonObject>(frame->first_local);
  const auto* type = self != nullptr ? At<wire::PythonType>(self->type) : nullptr;
  const char* class_name = type != nullptr ? At<char>(type->name) : nullptr;
  return class_name != nullptr && IsOneOf(class_name, "Lock", "RLock");
}

}  // namespace

constinit bool g_has_python = false;

bool IsPythonLock(uint64_t site) {
  const PythonFrame* frame = FrameOfThread();
  if (frame == nullptr) return false;
  const auto* code = At<PythonCode>(frame->code);
  if (code == nullptr || code->type != g_interpreter.code_type) return false;
  if (site >= g_interpreter.start && site < g_interpreter.end) return !IsOfLibrary(code);
  const auto* caller = At<PythonFrame>(frame->previous);
  const auto* callers = caller != nullptr ? At<PythonCode>(caller->code) : nullptr;
  // The library's queues keep such a lock while they wait for what comes.
  return IsOfLibrary(code) && IsMethodOfSharedLock(frame, code) && callers != nullptr &&
         callers->type == g_interpreter.code_type && !IsOfLibrary(callers);
}

bool IsPythonFuture(uint64_t site) {
  if (site < g_interpreter.start || site >= g_interpreter.end) return false;
  constexpr int kMostFrames = 6;  // Condition.wait, Event.wait, ApplyResult.wait, ApplyResult.get
  const PythonFrame* frame = FrameOfThread();
  for (int i = 0; i < kMostFrames && frame != nullptr; ++i, frame = At<PythonFrame>(frame->previous)) {
    const auto* code = At<PythonCode>(frame->code);
    if (code == nullptr || code->type != g_interpreter.code_type || !IsOfLibrary(code)) return false;
    const char* name = NameOf(code);
    // Its other calls are for locks of a moment.
    if (i == 0 && strcmp(name, "Condition.wait") != 0) return false;
    if (IsOneOf(name, "Future.result", "ApplyResult.get")) return true;
  }
  return false;
}

void PrepareToFindPython() {
  const auto* version = static_cast<const unsigned long*>(FindExported("Py_Version"));
  if (version == nullptr || *version < wire::kPythonFirst || *version >= wire::kPythonBehind) return;
  const void* code_type = FindExported("PyCode_Type");
  const void* frame_type = FindExported("PyFrame_Type");
  const void* thread = FindExported("PyGILState_GetThisThreadState");
  ModuleBounds bounds;
  if (code_type == nullptr || frame_type == nullptr || thread == nullptr || !HasLayouts(code_type, frame_type) ||
      !FindBounds(reinterpret_cast<uintptr_t>(thread), bounds))
    return;
  g_interpreter = {.start = bounds.start,
                   .end = bounds.end,
                   .code_type = reinterpret_cast<uintptr_t>(code_type),
                   .thread = reinterpret_cast<const wire::PythonThread* (*)()>(reinterpret_cast<uintptr_t>(thread))};
  g_has_python = true;
}

bool IsInterpreter(const ModuleBounds& bounds) {
  if (g_interpreter.start == 0) return false;
  return bounds.start == g_interpreter.start || strstr(bounds.path, "/lib-dynload/") != nullptr;
}

uint64_t PythonSite(uint64_t object, uint64_t site) {
  if (object >= g_interpreter.start && object < g_interpreter.end) return site;
  const Place place = FindPlace(FrameOfThread());
  if (place.code == nullptr) return site;
  const int saved_errno = errno;
  const bool is_known = IsKnown(place.code, place.instruction, place.index);
  errno = saved_errno;
  return is_known ? place.instruction : site;
}

}  // namespace attune::probe::hook
