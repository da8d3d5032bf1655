#pragma once
/// Kernels: what Graph::AddKernel() makes of fetches, stores, options and a lambda. The compiler sees the loop over a
/// range of instances with the body in it; the library decides which ranges. Part of attune/flow.h.

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "attune/flow/access.h"
#include "attune/flow/capability.h"
#include "attune/flow/slice.h"

namespace attune::flow {

namespace detail {

struct SliceInfo {
  int field = 0;
  const void* graph = nullptr;
  AgeKind kind = AgeKind::kNone;
  int64_t age = 0;
  int rank = 1;
  std::array<int, kMaxRank> variable = {};  ///< for each dimension: a variable, kFixedIndex or kWhole
  std::array<int64_t, kMaxRank> offset = {};
  bool element = false;
  int64_t element_bytes = 0;
};

/// Instances [begin, end) of one kernel and age, in the order of their index variables, the last one innermost.
struct RangeContext {
  void* engine = nullptr;
  void* worker = nullptr;  ///< nullptr: a thread that is no worker
  KernelAge* instances = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t executed = 0;                   ///< set by the range function: instances whose result counts
  int64_t stored_bytes[kMaxSlices] = {};  ///< set by the range function: bytes stored by Out, by store
  bool stored_by_out = false;             ///< some are not 0
  bool alternate = false;                 ///< run the alternate of a deadline
  bool timed = false;
  std::atomic<int64_t>* progress = nullptr;  ///< with a time limit: gets the number of each instance before it runs
  uint64_t body_ticks = 0;                   ///< where timed: of all pieces of the range
  int64_t body_pieces = 0;                   ///< where timed: each was timed by itself
};
using RangeFunction = void (*)(const void* kernel, RangeContext& context);

/// Code of a kernel for machines with a capability.
struct ImplementationInfo {
  Capability capability = Capability::kCpu;
  RangeFunction run = nullptr;
  std::shared_ptr<const void> body;  ///< the object that `run` gets
};

struct KernelInfo {
  std::string name;
  bool aged = false;
  int variables = 0;
  std::array<int64_t, kMaxRank> bound = {-1, -1, -1, -1};  ///< of Range(); -1: bound by fetches
  std::vector<SliceInfo> fetches;
  std::vector<SliceInfo> stores;
  bool ordered = false;
  bool stops = false;
  bool effects = false;
  int64_t deadline_ns = 0;                          ///< 0: none
  std::vector<ImplementationInfo> implementations;  ///< the first one is for every machine
};

/// The instances of a kernel at one age. The library has more behind it.
struct KernelAge {
  FieldAge* in[kMaxSlices] = {};
  FieldAge* out[kMaxSlices] = {};
  int64_t age = 0;
  int64_t low[kMaxRank] = {};               ///< smallest index of each variable
  int64_t count[kMaxRank] = {};             ///< how many follow
  std::atomic<uint8_t>* decided = nullptr;  ///< with a deadline: an instance each, 0 until a result counts
};

uint64_t Ticks();
/// To be called in a handler: makes the current exception the error of the instance and ends the run.
void ReportException(RangeContext& context, const int64_t* index);
void ReportStoredTwice(RangeContext& context, const int64_t* index, const FieldAge& age, const int64_t* element);
void StopAfter(RangeContext& context);
void FinishSource(RangeContext& context);
/// Whether this body's result is the first of the instance. @pre a kernel with a deadline
bool Decide(RangeContext& context, int64_t instance);

struct OrderedTag {};
struct StopsTag {};
struct EffectsTag {};
template <int V>
struct RangeItem {
  int64_t bound;
};
template <typename Alternate>
struct DeadlineItem {
  int64_t ns;
  Alternate alternate;
};
template <Capability C, typename Body>
struct ImplementationItem {
  Body body;
};

}  // namespace detail

/// One age at a time, ascending; then the body may have state (a mutable lambda without index variables).
inline constexpr detail::OrderedTag kOrdered;
/// The kernel may call Stop().
inline constexpr detail::StopsTag kStops;
/// The kernel has effects of its own: it runs although nobody reads what it stores.
inline constexpr detail::EffectsTag kEffects;
/// The index variable runs from 0 to bound - 1, where no fetch binds it; it has no values where `bound` is not above 0.
template <int V>
constexpr auto Range(IndexVar<V>, int64_t bound) {
  return detail::RangeItem<V>{std::max<int64_t>(bound, 0)};
}
/// Without a result of an instance so long after it could start, `alternate` runs with the same arguments, age and
/// index, and its result counts; the late one is discarded when it comes. For kernels that store single elements.
template <typename Rep, typename Period, typename Alternate>
auto Deadline(std::chrono::duration<Rep, Period> limit, Alternate alternate) {
  return detail::DeadlineItem<Alternate>{std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count(),
                                         std::move(alternate)};
}

/// Another body of the kernel, which runs instead of the last one on machines that have the capability; the most
/// capable one is chosen when a run starts (RunOptions::implementation). The loop over instances is compiled for it
/// together with what the compiler can inline into it, so the same lambda can be given twice. Code that uses intrinsics
/// needs the compiler's attribute besides: [](float v) __attribute__((target(ATTUNE_FLOW_AVX2))) { ... }. Where a
/// machine cannot have the capability at all, the item has no effect. Results may differ in their last bit: products
/// and sums become one operation.
template <Capability C, typename Body>
auto For(Body body) {
  static_assert(C != Capability::kCpu, "attune::flow: the body for every machine stands last, without For()");
  return detail::ImplementationItem<C, Body>{std::move(body)};
}

/// The instance that runs; a first parameter that a body may have.
template <bool Aged, int Variables, bool Stops, bool IsSource>
class Instance {
 public:
  int64_t Age() const
    requires Aged
  {
    return context_->instances->age;
  }
  /// Value of index variable V: 0 for x, 1 for y, ...
  template <int V = 0>
  int64_t Index() const {
    static_assert(V < Variables, "attune::flow: the kernel has no such index variable");
    return index_[V];
  }
  /// Ages above this one do not start; this one is completed.
  void Stop() const
    requires Stops
  {
    detail::StopAfter(*context_);
  }
  /// This age of the source stores nothing, and there are no further ones.
  void Finish() const
    requires IsSource
  {
    detail::FinishSource(*context_);
  }

  Instance(detail::RangeContext& context, const int64_t* index) : context_(&context), index_(index) {}

 private:
  detail::RangeContext* context_;
  const int64_t* index_;
};

namespace detail {

/// Element of a slice without whole dimensions, along the innermost variable.
template <typename S, int V>
class ElementReader {
 public:
  using T = typename S::Value;
  static constexpr int kInner = V - 1;
  static constexpr bool kMoves = V > 0 && S::Mentions(kInner);
  static constexpr bool kNeighbours = kMoves && S::Dim(S::kRank - 1) == kInner;

  /// @param length is made shorter, so that all elements lie in one piece
  void Prepare(const S& slice, FieldAge* age, const int64_t* index, int64_t* length) {
    age_ = age;
    if constexpr (S::kRank == 1) {
      const int64_t element =
          S::Dim(0) >= 0 ? index[S::Dim(0) >= 0 ? S::Dim(0) : 0] + slice.offset[0] : slice.offset[0];
      if (S::Dim(0) < 0 && element >= age->extent[0]) ThrowOutside(*age, 0, element);
      const Piece piece = Locate(*age, element);
      data_ = reinterpret_cast<const T*>(piece.data) + piece.position;
      written_ = piece.written;
      position_ = piece.position;
      stride_ = kMoves ? 1 : 0;
      if (kMoves && piece.length < *length) *length = piece.length;
    } else {
      int64_t position = 0;
      stride_ = 0;
      for (int dim = 0; dim < S::kRank; ++dim) {
        const int variable = S::Dim(dim);
        const int64_t element = (variable >= 0 ? index[variable] : 0) + slice.offset[static_cast<size_t>(dim)];
        if (variable < 0 && element >= age->extent[dim]) ThrowOutside(*age, dim, element);
        position += element * age->stride[dim];
        if (V > 0 && variable == kInner) stride_ += age->stride[dim];
      }
      data_ = reinterpret_cast<const T*>(age->first.data) + position;
      written_ = age->first.written;
      position_ = position;
    }
  }
  const T& Arg(int64_t j) const {
    if constexpr (!kMoves) return *data_;
    if constexpr (kNeighbours && S::kRank == 1) return data_[j];
    return data_[j * stride_];
  }
  bool has_holes() const { return age_->has_holes.load(std::memory_order_relaxed); }
  /// False: a hole of a sparse field. @throws a hole of another one
  bool Present(int64_t j) const {
    const int64_t position = position_ + j * stride_;
    if (!has_holes() || IsWritten(written_, position)) return true;
    if (!age_->sparse) ThrowHole(*age_, position);
    return false;
  }

 private:
  FieldAge* age_ = nullptr;
  const T* data_ = nullptr;
  std::atomic<uint64_t>* written_ = nullptr;
  int64_t position_ = 0;
  int64_t stride_ = 0;
};

}  // namespace detail

/// Makes the view that a body gets for a slice with whole dimensions.
template <typename S>
class SliceReader {
 public:
  using T = typename S::Value;
  static constexpr int kDims = S::WholeDims();

  void Prepare(const S& slice, detail::FieldAge* age, const int64_t* index, int inner) {
    view_.age_ = age;
    view_.data_ = reinterpret_cast<const T*>(age->whole.data);
    view_.written_ = age->has_holes.load(std::memory_order_relaxed) ? age->whole.written : nullptr;
    view_.first_ = 0;
    move_ = 0;
    size_t which = 0;
    for (int dim = 0; dim < S::kRank; ++dim) {
      const int64_t stride = S::kRank == 1 ? 1 : age->stride[dim];
      const int variable = S::Dim(dim);
      if (variable == detail::kWhole) {
        view_.extent_[which] = age->extent[dim];
        view_.stride_[which] = stride;
        view_.dim_[which++] = dim;
        continue;
      }
      const int64_t element = (variable >= 0 ? index[variable] : 0) + slice.offset[static_cast<size_t>(dim)];
      if (element >= age->extent[dim]) detail::ThrowOutside(*age, dim, element);
      view_.first_ += element * stride;
      if (variable == inner && inner >= 0) move_ += stride;
    }
  }
  View<T, kDims> Arg(int64_t j) const {
    View<T, kDims> view = view_;
    view.first_ += j * move_;
    return view;
  }

 private:
  View<T, kDims> view_;
  int64_t move_ = 0;  ///< of the innermost variable
};

namespace detail {

/// Reads a fetch of either kind.
template <typename S, int V>
class Reader {
 public:
  static constexpr bool kElement = S::kElement;
  using Argument = std::conditional_t<kElement, const typename S::Value&,
                                      View<typename S::Value, S::WholeDims() == 0 ? 1 : S::WholeDims()>>;

  void Prepare(const S& slice, FieldAge* age, const int64_t* index, int64_t* length) {
    if constexpr (kElement) {
      reader_.Prepare(slice, age, index, length);
    } else {
      reader_.Prepare(slice, age, index, V - 1);
    }
  }
  Argument Arg(int64_t j) const { return reader_.Arg(j); }
  bool has_holes() const {
    if constexpr (kElement) return reader_.has_holes();
    return false;
  }
  bool Present(int64_t j) const {
    if constexpr (kElement) return reader_.Present(j);
    return true;
  }

 private:
  struct Nothing {};
  using SliceReaderType =
      typename std::conditional_t<kElement, std::type_identity<Nothing>, std::type_identity<SliceReader<S>>>::type;
  std::conditional_t<kElement, ElementReader<S, V>, SliceReaderType> reader_;
};

/// Step of a stored element with the innermost variable.
template <typename S, int V>
struct ElementPlace {
  /// The element that an instance stores. @return its index, in `element`
  static void Element(const S& slice, const int64_t* index, int64_t j, int64_t* element) {
    for (int dim = 0; dim < S::kRank; ++dim) {
      const int variable = S::Dim(dim);
      element[dim] = (variable >= 0 ? index[variable] : 0) + slice.offset[static_cast<size_t>(dim)] +
                     (V > 0 && variable == V - 1 ? j : 0);
    }
  }
  /// Its address, and how many neighbours can be stored in one piece; data is nullptr outside of block 0.
  static Piece Find(FieldAge* age, const int64_t* element) {
    if constexpr (S::kRank == 1) {
      return PlaceForStore(age, element[0]);
    } else {
      int64_t position = 0;
      for (int dim = 0; dim < S::kRank; ++dim) {
        if (static_cast<uint64_t>(element[dim]) >= static_cast<uint64_t>(age->room[dim])) return {};
        position += element[dim] * age->stride[dim];
      }
      return {age->first.data, age->first.written, position, age->room[S::kRank - 1] - element[S::kRank - 1]};
    }
  }
};

}  // namespace detail

/// Makes the Out that a body gets for a slice with whole dimensions.
template <typename S>
class SliceWriter {
 public:
  using OutType = Out<typename S::Value, S::WholeDims() == 0 ? 1 : S::WholeDims()>;

  static void Prepare(OutType* out, const S& slice, const int64_t* index) {
    size_t which = 0;
    for (int dim = 0; dim < S::kRank; ++dim) {
      const int variable = S::Dim(dim);
      if (variable == detail::kWhole) {
        out->dim_[which++] = static_cast<size_t>(dim);
      } else {
        out->fixed_[static_cast<size_t>(dim)] =
            (variable >= 0 ? index[variable] : 0) + slice.offset[static_cast<size_t>(dim)];
      }
    }
  }
  static void Flush(OutType* out, detail::RangeContext& context, size_t store) {
    out->notifier_.Flush();
    context.stored_bytes[store] += out->stored_ * static_cast<int64_t>(sizeof(typename S::Value));
    context.stored_by_out = true;
  }
};

}  // namespace attune::flow
