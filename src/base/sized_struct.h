#pragma once
/// Structs of C interfaces that begin with their own size, so that members can be added at their end.

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace attune {

/// Copies a foreign struct: its first `size` bytes, and zeros for members that an older version lacks.
template <class T>
T Sized(const T* foreign) {
  static_assert(std::is_trivially_copyable_v<T>);
  T own{};
  std::memcpy(&own, foreign, std::min<size_t>(foreign->size, sizeof own));
  return own;
}

}  // namespace attune
