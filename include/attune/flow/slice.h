#pragma once
/// Fields, ages, index variables and slices: m(a + 1)[x][all]. The shape of a slice is a type, so the compiler checks
/// it. Part of attune/flow.h.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "attune/flow/storage.h"

namespace attune::flow {

/// The age of an instance, with or without a distance: a, a + 1, a - 1.
struct AgeVar {};
struct AgeExpr {
  int64_t offset;
};
constexpr AgeExpr operator+(AgeVar, int64_t offset) { return {offset}; }
constexpr AgeExpr operator-(AgeVar, int64_t offset) { return {-offset}; }

/// An index of an instance, with or without a distance: x, x + 1, x - 1.
template <int V>
struct IndexVar {};
template <int V>
struct IndexExpr {
  int64_t offset;
};
template <int V>
constexpr IndexExpr<V> operator+(IndexVar<V>, int64_t offset) {
  return {offset};
}
template <int V>
constexpr IndexExpr<V> operator-(IndexVar<V>, int64_t offset) {
  return {-offset};
}
/// A whole dimension.
struct All {};

/// The variables: `using namespace attune::flow::vars;`
namespace vars {
inline constexpr AgeVar a;
inline constexpr IndexVar<0> x;
inline constexpr IndexVar<1> y;
inline constexpr IndexVar<2> z;
inline constexpr IndexVar<3> w;
inline constexpr All all;
}  // namespace vars

namespace detail {

enum class AgeKind { kNone, kFixed, kVariable };
/// A dimension of a slice: the number of its index variable, or one of these.
inline constexpr int kFixedIndex = -1;
inline constexpr int kWhole = -2;

template <typename T, int Rank, AgeKind Kind, int... Dims>
struct Slice {
  static constexpr int kRank = Rank;
  static constexpr AgeKind kAge = Kind;
  static constexpr int kGiven = sizeof...(Dims);
  using Value = T;

  int field = 0;
  const void* graph = nullptr;
  int64_t age = 0;  ///< fixed, or the distance from the instance's
  std::array<int64_t, kMaxRank> offset = {};

  template <int V>
  constexpr auto operator[](IndexVar<V>) const {
    return With<V>(0);
  }
  template <int V>
  constexpr auto operator[](IndexExpr<V> index) const {
    return With<V>(index.offset);
  }
  constexpr auto operator[](All) const { return With<kWhole>(0); }
  constexpr auto operator[](int64_t index) const { return With<kFixedIndex>(index); }

  /// The variable of dimension `dim`, kFixedIndex or kWhole.
  static constexpr int Dim(int dim) {
    constexpr std::array<int, sizeof...(Dims) + 1> kDims = {Dims..., kWhole};
    return dim < kGiven ? kDims[static_cast<size_t>(dim)] : kWhole;
  }
  static constexpr int WholeDims() {
    int count = 0;
    for (int dim = 0; dim < Rank; ++dim) count += Dim(dim) == kWhole ? 1 : 0;
    return count;
  }
  static constexpr bool kElement = WholeDims() == 0;
  static constexpr bool Mentions(int variable) {
    for (int dim = 0; dim < Rank; ++dim) {
      if (Dim(dim) == variable) return true;
    }
    return false;
  }

 private:
  template <int D>
  constexpr auto With(int64_t value) const {
    static_assert(sizeof...(Dims) < static_cast<size_t>(Rank),
                  "attune::flow: more indexes than the field has dimensions");
    Slice<T, Rank, Kind, Dims..., D> slice{field, graph, age, offset};
    if constexpr (sizeof...(Dims) < static_cast<size_t>(Rank)) slice.offset[sizeof...(Dims)] = value;
    return slice;
  }
};

template <typename S>
inline constexpr bool kIsSlice = false;
template <typename T, int Rank, AgeKind Kind, int... Dims>
inline constexpr bool kIsSlice<Slice<T, Rank, Kind, Dims...>> = true;

}  // namespace detail

/// Whether a field has ages.
enum class Ages : bool { kNo, kYes };

/// A field of a graph: a handle, cheap to copy. Elements are written once for each age and index; extents follow from
/// what is stored. @tparam T trivially copyable
template <typename T, int Rank = 1, Ages HasAges = Ages::kYes>
class Field {
  static_assert(std::is_trivially_copyable_v<T>, "attune::flow: elements of a field must be trivially copyable");
  static_assert(Rank >= 1 && Rank <= detail::kMaxRank, "attune::flow: a field has 1 to 4 dimensions");

 public:
  using Value = T;

  /// m(a), m(a + 1), m(0): an age of the field; indexes may follow.
  constexpr auto operator()(AgeVar) const { return Aged<detail::AgeKind::kVariable>(0); }
  constexpr auto operator()(AgeExpr age) const { return Aged<detail::AgeKind::kVariable>(age.offset); }
  constexpr auto operator()(int64_t age) const { return Aged<detail::AgeKind::kFixed>(age); }

  /// points[x]: of a field without ages.
  template <typename Index>
  constexpr auto operator[](Index index) const {
    static_assert(HasAges == Ages::kNo, "attune::flow: this field has ages: write field(a)[...]");
    return AsSlice()[index];
  }
  /// All of a field without ages.
  constexpr auto AsSlice() const {
    static_assert(HasAges == Ages::kNo, "attune::flow: this field has ages: write field(a)");
    return detail::Slice<T, Rank, detail::AgeKind::kNone>{number_, graph_, 0, {}};
  }
  int number() const { return number_; }

 private:
  friend class Graph;
  constexpr Field(int number, const void* graph) : number_(number), graph_(graph) {}

  template <detail::AgeKind Kind>
  constexpr auto Aged(int64_t age) const {
    static_assert(HasAges == Ages::kYes, "attune::flow: this field has no ages: write field[...]");
    return detail::Slice<T, Rank, Kind>{number_, graph_, age, {}};
  }

  int number_;
  const void* graph_;
};

namespace detail {

template <typename T, int Rank, Ages HasAges>
constexpr auto ToSlice(const Field<T, Rank, HasAges>& field) {
  return field.AsSlice();
}
template <typename T, int Rank, AgeKind Kind, int... Dims>
constexpr auto ToSlice(const Slice<T, Rank, Kind, Dims...>& slice) {
  return slice;
}

template <typename... Slices>
struct Fetches {
  std::tuple<Slices...> slices;
};
template <typename... Slices>
struct Stores {
  std::tuple<Slices...> slices;
};

}  // namespace detail

/// Fetch of an instance: single elements arrive as const T&, slices with whole dimensions as View.
template <typename... Slices>
constexpr auto Fetch(const Slices&... slices) {
  return detail::Fetches<decltype(detail::ToSlice(slices))...>{{detail::ToSlice(slices)...}};
}
/// Store of an instance: the value that the body returns, or a Cell (single element) or Out (whole dimensions) that
/// it gets after what it reads.
template <typename... Slices>
constexpr auto Store(const Slices&... slices) {
  return detail::Stores<decltype(detail::ToSlice(slices))...>{{detail::ToSlice(slices)...}};
}

}  // namespace attune::flow
