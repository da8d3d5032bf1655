#include "base/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace attune {

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i) three = three << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kLetters[three >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace attune
