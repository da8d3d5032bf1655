// Unwind rules and their expressions: any file may be loaded into a program.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "symbols/call_frames.h"
#include "symbols/code_image.h"
#include "symbols/frame_expression.h"

using namespace attune::symbols;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kStart = 0x1000;
  const auto bytes = std::as_bytes(std::span(data, size));
  CallFrames frames(
      [&](uint64_t address, std::span<std::byte> into) {
        if (address < kStart || address - kStart > size || into.size() > size - (address - kStart)) return false;
        if (!into.empty()) std::memcpy(into.data(), data + (address - kStart), into.size());
        return true;
      },
      kStart);
  const FrameValues values{.read_register = [](uint64_t column) { return std::optional(column * 8); },
                           .read_memory = [](uint64_t address) { return std::optional(address ^ kStart); }};
  for (uint64_t address = 0; address < 4 * kStart; address += 61) {
    const auto rules = frames.At(address);
    if (!rules) continue;
    if (rules->return_column >= kFrameColumns || rules->registers.size() > kFrameColumns) __builtin_trap();
    if (rules->cfa_is_expression)
      (void)EvaluateFrameExpression(frames.Expression(rules->cfa_value), std::nullopt, values);
    for (const FrameColumn& column : rules->registers) {
      if (column.column >= kFrameColumns) __builtin_trap();
      (void)EvaluateFrameExpression(frames.Expression(column.rule.value), address, values);
    }
  }
  (void)EvaluateFrameExpression(bytes, std::nullopt, values);
  if (const auto image = CodeImage::Of(bytes); image.ok()) {
    if (image->bytes() > size) __builtin_trap();
    (void)image->AddressOf(0);
  }
  return 0;
}
