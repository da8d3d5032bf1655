#include "profile/python_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "profile/python_spinning.h"

namespace attune::profile {
namespace {

constexpr uint64_t kLeastAddress = 4096, kMostAddress = uint64_t{1} << 47;
constexpr uint64_t kAlignment = 8;
/// A frame of _PyEval_EvalFrameDefault has some fifty.
constexpr size_t kMostWords = 128;
constexpr int kSure = 16;         ///< times that a word was right
constexpr int kMostMisses = 250;  ///< most functions have returned by the time of reading: a second's samples
constexpr uint64_t kMostTextCharacters = 1024, kMostLineBytes = 256u << 10, kMostInstructions = 64u << 10;

bool IsObject(uint64_t address) {
  return address >= kLeastAddress && address < kMostAddress && address % kAlignment == 0;
}

bool IsSame(const wire::PythonCode& one, const wire::PythonCode& other) {
  return one.instructions == other.instructions && one.first_line == other.first_line && one.file == other.file &&
         one.qualified_name == other.qualified_name && one.lines == other.lines;
}

}  // namespace

template <class Value>
std::optional<Value> PythonReader::Read(uint64_t address) const {
  Value value{};
  if (!IsObject(address) || !read_(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

std::string PythonReader::ReadText(uint64_t address) const {
  std::array<std::byte, sizeof(wire::PythonText)> head{};
  if (!IsObject(address) || !read_(address, std::span(head).first(wire::PythonText::kAsciiBytes))) return {};
  wire::PythonText text;
  std::memcpy(&text, head.data(), sizeof text);
  const uint32_t bytes = text.CharacterBytes();
  if (!text.IsCompact() || (bytes != 1 && bytes != 2 && bytes != 4)) return {};
  const uint64_t length = std::min(static_cast<uint64_t>(text.length), kMostTextCharacters);
  std::vector<uint8_t> characters(length * bytes);
  if (!read_(address + text.Offset(), std::as_writable_bytes(std::span(characters)))) return {};
  std::string written(length * 4 + 1, '\0');
  written.resize(wire::WritePythonText(characters.data(), bytes, length, written.data(), written.size()));
  return written;
}

std::optional<PythonReader::Code> PythonReader::ReadCode(uint64_t address, const wire::PythonCode& begin) const {
  Code code{.begin = begin,
            .function = ReadText(begin.qualified_name),
            .file = ReadText(begin.file),
            .lines = {},
            .instructions = {}};
  const auto lines = Read<wire::PythonBytes>(begin.lines);
  if (code.function.empty() || code.file.empty() || !lines) return std::nullopt;
  if (lines->size < 0 || static_cast<uint64_t>(lines->size) > kMostLineBytes) return std::nullopt;
  code.lines.resize(static_cast<size_t>(lines->size));
  if (!read_(begin.lines + sizeof *lines, std::as_writable_bytes(std::span(code.lines)))) return std::nullopt;
  code.instructions.resize(std::min(static_cast<uint64_t>(begin.instructions), kMostInstructions) *
                           wire::kPythonInstructionBytes);
  if (!read_(address + sizeof begin, std::as_writable_bytes(std::span(code.instructions)))) code.instructions.clear();
  return code;
}

/// Known code stays known once it is freed, or the process is gone: it was there when the sample was taken.
const PythonReader::Code* PythonReader::CodeAt(uint64_t address) {
  const auto known = codes_.find(address);
  const Code* const before = known != codes_.end() ? &known->second : nullptr;
  const auto begin = Read<wire::PythonCode>(address);
  if (!begin || begin->type != code_type_ || begin->instructions <= 0) return before;
  if (before != nullptr && IsSame(before->begin, *begin)) return before;
  auto code = ReadCode(address, *begin);
  if (!code || codes_.size() >= kMaxCodes || bytes_ + code->Bytes() > kMaxBytes) return before;
  bytes_ += code->Bytes();
  if (before != nullptr) bytes_ -= before->Bytes();
  return &(codes_[address] = *std::move(code));
}

PythonPlace PythonReader::PlaceAt(uint64_t address, const Code& code, uint64_t instruction) const {
  const uint64_t index = wire::PythonInstruction(address, code.begin, instruction);
  const int32_t line = wire::PythonLine(code.lines.data(), code.lines.size(), code.begin.first_line, index);
  // Behind a jump nothing of its target has been begun.
  const bool spins = IsPythonSpinning(code.instructions, index) || IsPythonSpinning(code.instructions, index + 1);
  return {
      .function = code.function, .file = code.file, .line = line > 0 ? line : code.begin.first_line, .spins = spins};
}

/// The address of the first instruction is among the variables, and that of the next one.
/// @return 0: they are not
uint64_t PythonReader::FindCode(std::span<const uint64_t> words, const FrameRegisters& registers,
                                uint64_t& instruction) {
  const auto next_in = [&](uint64_t first, const Code& code, size_t but) -> uint64_t {
    const uint64_t bytes = static_cast<uint64_t>(code.begin.instructions) * wire::kPythonInstructionBytes;
    const auto is_next = [&](uint64_t value) { return value > first && value - first <= bytes; };
    for (const std::optional<uint64_t>& value : registers) {
      if (value && is_next(*value)) return *value;
    }
    for (size_t i = 0; i < words.size(); ++i) {
      if (i != but && is_next(words[i])) return words[i];
    }
    return 0;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (code_word_ != 0 && words.size() - i != code_word_) continue;
    const uint64_t address = words[i] - sizeof(wire::PythonCode);
    const Code* const code = IsObject(address) ? CodeAt(address) : nullptr;
    const uint64_t next = code != nullptr ? next_in(words[i], *code, i) : 0;
    if (next == 0) continue;
    code_word_ = words.size() - i;
    instruction = next - wire::kPythonInstructionBytes;
    return address;
  }
  return 0;
}

/// @return address of the frame that executed the code; 0: it is not known
uint64_t PythonReader::FindFrame(std::span<const uint64_t> words, uint64_t code) {
  const auto is_frame = [&](uint64_t address) {
    const auto frame = Read<wire::PythonFrame>(address);
    return frame && (code != 0 ? frame->code == code : IsObject(frame->code) && CodeAt(frame->code) != nullptr);
  };
  const auto best = [&]() -> uint64_t {
    const auto most = std::ranges::max_element(frame_words_, {}, [](const auto& each) { return each.second; });
    return most != frame_words_.end() && most->first <= words.size() ? words[words.size() - most->first] : 0;
  };
  // Other words look like it for a while: what was right most often is it, until it is wrong again and again.
  const bool is_learnt = std::ranges::any_of(frame_words_, [](const auto& each) { return each.second >= kSure; });
  if (is_learnt) {
    const uint64_t address = best();
    // A process that is gone teaches nothing.
    const bool is_there = IsObject(address) && Read<wire::PythonFrame>(address);
    if (is_there || !IsObject(address)) frame_misses_ = is_there && is_frame(address) ? 0 : frame_misses_ + 1;
    if (frame_misses_ < kMostMisses) return address;
    frame_words_.clear();
    frame_misses_ = 0;
  }
  // A variable of type PythonCFrame: another one follows it, or that of the thread's state.
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (!IsObject(words[i]) || !is_frame(words[i])) continue;
    const auto outer = Read<wire::PythonCFrame>(words[i + 1]);
    if (!outer || (outer->frame != 0 && !Read<wire::PythonFrame>(outer->frame))) continue;
    ++frame_words_[words.size() - i];
  }
  return best();
}

/// Appends the callers. Without `frame`, those that the same function had there last.
/// @param frame as it is now; none: another function has it by now, or the process is gone
void PythonReader::AddCallers(uint64_t at, std::optional<wire::PythonFrame> frame, uint64_t code_address,
                              std::vector<PythonPlace>& places) {
  const std::pair key(at, code_address);
  if (!frame) {
    if (const auto known = callers_.find(key); known != callers_.end())
      places.insert(places.end(), known->second.begin(), known->second.end());
    return;
  }
  while (frame->is_entry == 0 && places.size() < kMaxFrames) {
    const auto caller = Read<wire::PythonFrame>(frame->previous);
    const Code* const code = caller ? CodeAt(caller->code) : nullptr;
    if (code == nullptr) break;
    places.push_back(PlaceAt(caller->code, *code, caller->instruction));
    frame = caller;
  }
  if (callers_.size() >= kMaxCallers) callers_.clear();
  callers_[key].assign(places.begin() + 1, places.end());
}

std::vector<PythonPlace> PythonReader::PlacesOf(std::span<const uint64_t> words, const FrameRegisters& registers) {
  std::vector<PythonPlace> places;
  if (words.size() > kMostWords) return places;
  uint64_t instruction = 0;
  uint64_t address = FindCode(words, registers, instruction);
  const uint64_t at = FindFrame(words, address);
  const auto frame = at != 0 ? Read<wire::PythonFrame>(at) : std::nullopt;
  if (address == 0 && frame) {
    address = frame->code;
    instruction = frame->instruction;
  }
  const Code* const code = address != 0 ? CodeAt(address) : nullptr;
  if (code == nullptr) return places;
  places.push_back(PlaceAt(address, *code, instruction));
  if (at != 0) AddCallers(at, frame && frame->code == address ? frame : std::nullopt, address, places);
  return places;
}

PythonReader PythonReader::CopyFor(ReadProcess read) const {
  PythonReader copy(*this);
  copy.read_ = std::move(read);
  return copy;
}

}  // namespace attune::profile
