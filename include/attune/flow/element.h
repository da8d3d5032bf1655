#pragma once
/// Kinds of elements, so that what a run has kept can be read without the program. Part of attune/flow.h.

#include <cstdint>
#include <type_traits>

namespace attune::flow {

enum class ElementKind : uint8_t {
  kBytes,  ///< a struct, or another type that is no number
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
};

namespace detail {

template <typename T>
constexpr ElementKind KindOf() {
  constexpr int kBits = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : sizeof(T) == 8 ? 3 : -1;
  if constexpr (std::is_same_v<T, bool>) return ElementKind::kBool;
  if constexpr (std::is_same_v<T, float>) return ElementKind::kFloat32;
  if constexpr (std::is_same_v<T, double>) return ElementKind::kFloat64;
  if constexpr (std::is_integral_v<T> && kBits >= 0) {
    const ElementKind least = std::is_signed_v<T> ? ElementKind::kInt8 : ElementKind::kUint8;
    return static_cast<ElementKind>(static_cast<int>(least) + kBits);
  }
  return ElementKind::kBytes;
}

}  // namespace detail
}  // namespace attune::flow
