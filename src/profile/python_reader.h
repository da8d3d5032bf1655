#pragma once
/// The functions of Python that a thread of CPython 3.11 executed when it was sampled (wire/python.h).
///
/// A call of _PyEval_EvalFrameDefault has the address of its function's code and that of the next instruction in
/// variables of its own: in registers and on the stack, both of which come with the sample. So the innermost function
/// and its line are those of the sample. What these addresses stand for, and which functions called it, is read from
/// the process's memory a moment later: code lives as long as its function; that of callers is right unless the thread
/// has been called from elsewhere meanwhile.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/stack_unwinder.h"
#include "wire/python.h"

namespace attune::profile {

struct PythonPlace {
  std::string function;  ///< with its class: "Queue.get"
  std::string file;
  int32_t line = 0;    ///< 0: not known
  bool spins = false;  ///< in a loop that only another thread or process can end

  bool operator==(const PythonPlace&) const = default;
};

/// Reads bytes of a process. @return false: they are not all there
using ReadProcess = std::function<bool(uint64_t address, std::span<std::byte> into)>;

/// Reader of one process. Nothing that is read is trusted. Bounded: beyond kMaxCodes functions, or kMaxBytes of their
/// lines and instructions, further ones are not known. @thread one at a time
class PythonReader {
 public:
  static constexpr size_t kMaxCodes = 16'384, kMaxBytes = 32u << 20, kMaxFrames = 256, kMaxCallers = 4096;

  /// @param code_type address of PyCode_Type
  PythonReader(uint64_t code_type, ReadProcess read) : code_type_(code_type), read_(std::move(read)) {}

  /// Functions that a call of _PyEval_EvalFrameDefault executes, innermost first; empty: not found.
  /// @param words its frame on the stack, the last ones at its caller's  @cost 5 us, and 2 us a function
  std::vector<PythonPlace> PlacesOf(std::span<const uint64_t> words, const FrameRegisters& registers);

  /// For a process with the same memory: a child made by fork.
  PythonReader CopyFor(ReadProcess read) const;

 private:
  struct Code {
    wire::PythonCode begin{};
    std::string function, file;
    std::vector<uint8_t> lines;
    std::vector<uint8_t> instructions;

    size_t Bytes() const { return lines.size() + instructions.size(); }
  };

  template <class Value>
  std::optional<Value> Read(uint64_t address) const;
  std::string ReadText(uint64_t address) const;
  const Code* CodeAt(uint64_t address);
  std::optional<Code> ReadCode(uint64_t address, const wire::PythonCode& begin) const;
  uint64_t FindCode(std::span<const uint64_t> words, const FrameRegisters& registers, uint64_t& instruction);
  uint64_t FindFrame(std::span<const uint64_t> words, uint64_t code);
  void AddCallers(uint64_t at, std::optional<wire::PythonFrame> frame, uint64_t code_address,
                  std::vector<PythonPlace>& places);
  PythonPlace PlaceAt(uint64_t address, const Code& code, uint64_t instruction) const;

  uint64_t code_type_;
  ReadProcess read_;
  std::unordered_map<uint64_t, Code> codes_;                                   ///< by address
  size_t bytes_ = 0;                                                           ///< bytes of all of them
  std::map<std::pair<uint64_t, uint64_t>, std::vector<PythonPlace>> callers_;  ///< by addresses of frame and code
  // Positions of the interpreter's variables, counted from the end of the frame.
  size_t code_word_ = 0;               ///< 0: not known yet
  std::map<size_t, int> frame_words_;  ///< how often it was right
  int frame_misses_ = 0;               ///< in a row, of what was learnt
};

}  // namespace attune::profile
