#pragma once
/// CPython 3.11's data in memory about the functions that its threads execute: as much of it as says where they are.
///
/// The layouts are those of ordinary 64-bit builds (Include/cpython/code.h and Include/internal/pycore_frame.h
/// of 3.11). The probe reads them in its own process, the session in the observed one's memory.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace attune::wire {

/// `Py_Version` of the interpreters that these layouts are of: [kPythonFirst, kPythonBehind). 3.11.0 and 3.11.1 show
/// frames that they are about to free.
constexpr uint64_t kPythonFirst = 0x030b02f0, kPythonBehind = 0x030c0000;

/// Begin of every object.
struct PythonObject {
  uint64_t references;
  uint64_t type;
};

/// Begin of a type's object.
struct PythonType {
  uint64_t references, type, size, name;
  int64_t basic_bytes, item_bytes;
};
/// `basic_bytes` of the types of code and of frames, by which a build with other layouts shows.
constexpr int64_t kPythonCodeBytes = 184, kPythonFrameObjectBytes = 120;

/// Begin of a thread's state (PyThreadState).
struct PythonThread {
  uint64_t previous, next, interpreter;
  int32_t is_initialized, is_static, recursion_left, recursion_limit, headroom, tracing, tracing_what;
  uint64_t c_frame;
};

/// A variable of each call of _PyEval_EvalFrameDefault, on the thread's stack (_PyCFrame).
struct PythonCFrame {
  uint8_t is_traced;
  uint64_t frame;     ///< the innermost that this call executes; 0: none
  uint64_t previous;  ///< PythonCFrame of the call around it, or the thread's first one
};

/// A function's frame (_PyInterpreterFrame). One call of _PyEval_EvalFrameDefault executes several, as one Python
/// function calls another.
struct PythonFrame {
  uint64_t function, globals, builtins, locals, code, object;
  uint64_t previous;     ///< the caller's; 0: none
  uint64_t instruction;  ///< the last that was begun
  int32_t stack_top;
  uint8_t is_entry;  ///< the outermost of its call of _PyEval_EvalFrameDefault
  uint8_t owner;
  uint64_t first_local;  ///< a method's object, if the function is a method
};

/// A function's code (PyCodeObject), followed by its instructions of two bytes each.
struct PythonCode {
  uint64_t references, type;
  int64_t instructions;
  uint64_t constants, names, exceptions;
  int32_t flags;
  int16_t warmup, line_entry_bytes;
  int32_t arguments, positional, keywords, stack_size, first_line, locals, plain_locals, plain_cells, cells, free_cells;
  uint64_t local_names, local_kinds;
  uint64_t file, name, qualified_name;  ///< texts
  uint64_t lines;                       ///< bytes (PythonLine)
  uint64_t weak_references, code_bytes, line_array;
  int32_t first_traceable;
  uint64_t extra;
};
static_assert(offsetof(PythonThread, c_frame) == 56 && offsetof(PythonFrame, first_local) == 72 &&
              offsetof(PythonCode, first_line) == 72 && sizeof(PythonCode) == kPythonCodeBytes);

constexpr uint64_t kPythonInstructionBytes = 2;

/// Index of an instruction in its function. UINT64_MAX: it is none of it
/// @param code address of the function's code, of which `begin` is a copy
constexpr uint64_t PythonInstruction(uint64_t code, const PythonCode& begin, uint64_t address) {
  const uint64_t first = code + sizeof(PythonCode);
  const uint64_t index = (address - first) / kPythonInstructionBytes;
  return address >= first && begin.instructions > 0 && index < static_cast<uint64_t>(begin.instructions) ? index
                                                                                                         : UINT64_MAX;
}

/// Begin of a `bytes` object; its bytes follow.
struct PythonBytes {
  uint64_t references, type;
  int64_t size;
  int64_t hash;
};

/// Begin of a text (PyCompactUnicodeObject). What is ASCII has no part behind `wide`: its characters are there.
struct PythonText {
  uint64_t references, type;
  int64_t length;  ///< characters
  int64_t hash;
  uint32_t state;
  uint64_t wide;
  int64_t utf8_bytes;
  uint64_t utf8;
  int64_t wide_length;

  static constexpr uint64_t kAsciiBytes = 48;

  /// Bytes of a character: 1, 2 or 4.
  uint32_t CharacterBytes() const { return state >> 2 & 7; }
  /// Whether the characters follow.
  bool IsCompact() const { return (state >> 5 & 1) != 0 && length >= 0; }
  bool IsAscii() const { return (state >> 6 & 1) != 0; }
  /// From the begin of the object to its characters.
  uint64_t Offset() const { return IsAscii() ? kAsciiBytes : sizeof(PythonText); }
};
static_assert(sizeof(PythonText) == 72 && offsetof(PythonText, utf8_bytes) == PythonText::kAsciiBytes);

/// Writes characters as UTF-8, as many as there is room for, and a zero behind them. What cannot be written is '?'.
/// @param bytes of a character: 1, 2 or 4  @param room at least 1  @return bytes written, without the zero
inline size_t WritePythonText(const uint8_t* characters, uint32_t bytes, uint64_t length, char* to, size_t room) {
  size_t written = 0;
  for (uint64_t i = 0; i < length; ++i) {
    uint32_t c = 0;
    memcpy(&c, characters + i * bytes, bytes);  // little endian, as the layouts are
    if (c < ' ' || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = '?';
    const size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (written + size >= room) break;
    constexpr uint8_t kFirst[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t at = size - 1; at > 0; --at, c >>= 6) to[written + at] = static_cast<char>(0x80 | (c & 0x3f));
    to[written] = static_cast<char>(kFirst[size] | c);
    written += size;
  }
  to[written] = '\0';
  return written;
}

/// The line of an instruction, by the table that PEP 657 describes (Objects/locations.md of CPython). 0: none is said.
/// @param index of the instruction  @cost 1 ns a byte of the table
inline int32_t PythonLine(const uint8_t* table, uint64_t bytes, int32_t first_line, uint64_t index) {
  int64_t line = first_line;
  uint64_t begin = 0;
  for (uint64_t at = 0; at < bytes;) {
    const uint8_t head = table[at++];
    const unsigned form = head >> 3 & 15;
    constexpr unsigned kNoColumns = 13, kLong = 14, kNone = 15, kFirstOfLines = 10;
    if (form == kLong || form == kNoColumns) {
      uint64_t delta = 0;
      for (unsigned shift = 0; at < bytes && shift < 36; shift += 6) {
        delta |= static_cast<uint64_t>(table[at] & 63) << shift;
        if ((table[at++] & 64) == 0) break;
      }
      line += (delta & 1) != 0 ? -static_cast<int64_t>(delta >> 1) : static_cast<int64_t>(delta >> 1);
    } else if (form >= kFirstOfLines && form != kNone) {
      line += form - kFirstOfLines;
    }
    begin += (head & 7) + 1;
    if (index < begin) return form == kNone || line <= 0 || line > INT32_MAX ? 0 : static_cast<int32_t>(line);
    while (at < bytes && (table[at] & 0x80) == 0) ++at;  // the columns
  }
  return 0;
}

/// Whether a file is of Python's own library or of an installed package, and no program's own: below lib/python3*, or
/// frozen into the interpreter. @param path need not end with a zero
inline bool IsPythonLibrary(const char* path, size_t bytes) {
  constexpr char kFolder[] = "/lib/python3", kFrozen[] = "<frozen ";
  if (bytes >= sizeof kFrozen - 1 && memcmp(path, kFrozen, sizeof kFrozen - 1) == 0) return true;
  for (size_t at = 0; at + sizeof kFolder - 1 <= bytes; ++at) {
    if (memcmp(path + at, kFolder, sizeof kFolder - 1) == 0) return true;
  }
  return false;
}

}  // namespace attune::wire
