#pragma once
/// Arguments of the body of a kernel: views of what it fetches, cells and outs of what it stores, and itself. Part of
/// attune/flow.h.

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "attune/flow/slice.h"
#include "attune/flow/storage.h"

namespace attune::flow {

namespace detail {

struct RangeContext;

/// Throws what the run reports as an error of the instance.
[[noreturn]] void ThrowHole(const FieldAge& age, int64_t position);
[[noreturn]] void ThrowColumn(const FieldAge& age);
[[noreturn]] void ThrowStoredTwice(const FieldAge& age, const int64_t* index);

/// Elements [begin, end) of an age are stored: lets the instances run that only waited for them. @pre one dimension
void Notify(RangeContext& context, FieldAge* age, int64_t begin, int64_t end);

/// Collects neighbours, so that a run of stores is one message.
class Notifier {
 public:
  Notifier(RangeContext& context, FieldAge* age) : context_(&context), age_(age) {}
  void Stored(int64_t begin, int64_t end) {
    if (age_->stream_count == 0) return;
    if (begin == end_) {
      end_ = end;
      return;
    }
    Flush();
    begin_ = begin;
    end_ = end;
  }
  void Flush() {
    if (begin_ < end_) Notify(*context_, age_, begin_, end_);
    begin_ = end_ = 0;
  }

 private:
  RangeContext* context_;
  FieldAge* age_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

/// True where nobody stored. @pre the age is complete. Pure and not inline: around a load of an atomic, compilers take
/// extents and strides from memory again.
[[gnu::pure, gnu::noinline]] inline bool IsHole(const std::atomic<uint64_t>* written, int64_t position) {
  return !IsWritten(written, position);
}

}  // namespace detail

/// A slice of a complete age: a whole field, a row, a column. Valid until the instance ends.
/// @thread any. Reading an index beyond the extents, or a hole, ends the run with an error.
template <typename T, int Rank>
class View {
 public:
  using Value = T;

  /// 1 + the largest stored index.
  int64_t Extent(int dim = 0) const {
    if (dim < 0 || dim >= Rank) [[unlikely]]
      detail::ThrowNoDimension(dim, Rank);
    return extent_[static_cast<size_t>(dim)];
  }
  /// Elements within the extents.
  int64_t size() const {
    int64_t count = 1;
    for (int dim = 0; dim < Rank; ++dim) count *= Extent(dim);
    return count;
  }

  template <typename... Index>
  const T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "attune::flow: a view takes one index for each of its dimensions");
    int64_t position = first_;
    int dim = 0;
    ((position += Step(dim, static_cast<int64_t>(index)), ++dim), ...);
    return At(position);
  }
  /// An element, or of several dimensions the view of the rest.
  decltype(auto) operator[](int64_t index) const {
    if constexpr (Rank == 1) {
      return At(first_ + Step(0, index));
    } else {
      View<T, Rank - 1> rest;
      rest.age_ = age_;
      rest.data_ = data_;
      rest.written_ = written_;
      rest.first_ = first_ + Step(0, index);
      for (size_t dim = 1; dim < Rank; ++dim) {
        rest.extent_[dim - 1] = extent_[dim];
        rest.stride_[dim - 1] = stride_[dim];
        rest.dim_[dim - 1] = dim_[dim];
      }
      return rest;
    }
  }
  /// Whether the element is within the extents and stored; for sparse fields.
  template <typename... Index>
  bool Has(Index... index) const {
    int64_t position = first_;
    size_t dim = 0;
    bool inside = true;
    ((inside = inside && index >= 0 && index < extent_[dim], position += index * stride_[dim], ++dim), ...);
    return inside && (written_ == nullptr || detail::IsWritten(written_, position));
  }

  /// The elements of a view of one dimension whose elements are neighbours in memory (not of a column).
  /// @throws an error of the instance where there is a hole, or a column
  const T* data() const
    requires(Rank == 1)
  {
    if (stride_[0] != 1) detail::ThrowColumn(*age_);
    if (written_ != nullptr) {
      for (int64_t i = 0; i < extent_[0]; ++i) At(first_ + i);
    }
    return data_ + first_;
  }
  const T* begin() const
    requires(Rank == 1)
  {
    return data();
  }
  const T* end() const
    requires(Rank == 1)
  {
    return data() + extent_[0];
  }

 private:
  template <typename, int>
  friend class View;
  template <typename S>
  friend class SliceReader;

  int64_t Step(int dim, int64_t index) const {
    const auto d = static_cast<size_t>(dim);
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent_[d])) [[unlikely]]
      detail::ThrowOutside(*age_, dim_[d], index);
    return index * stride_[d];
  }
  const T& At(int64_t position) const {
    if (written_ != nullptr && detail::IsHole(written_, position)) [[unlikely]]
      detail::ThrowHole(*age_, position);
    return data_[position];
  }

  const detail::FieldAge* age_ = nullptr;
  const T* data_ = nullptr;
  const std::atomic<uint64_t>* written_ = nullptr;  ///< of an age with holes
  int64_t first_ = 0;
  std::array<int64_t, Rank> extent_ = {};
  std::array<int64_t, Rank> stride_ = {};
  std::array<int, Rank> dim_ = {};  ///< of the field
};

/// A single element that an instance stores by assigning to it. Not assigned: not stored.
template <typename T>
class Cell {
 public:
  Cell& operator=(const T& value) {
    value_ = value;
    assigned_ = true;
    return *this;
  }
  bool assigned() const { return assigned_; }
  const T& value() const { return value_; }

 private:
  T value_{};
  bool assigned_ = false;
};

/// Whole dimensions that an instance stores, element by element. What is put is stored at once, and once.
/// @thread that of the instance. A second put of an element ends the run with an error.
template <typename T, int Rank>
class Out {
 public:
  /// Stores an element; the index of each whole dimension.
  template <typename... Index>
  void put(const T& value, Index... index) {
    static_assert(sizeof...(Index) == Rank, "attune::flow: put takes the value and one index for each whole dimension");
    int64_t at[detail::kMaxRank];
    for (int dim = 0; dim < detail::kMaxRank; ++dim) at[dim] = fixed_[static_cast<size_t>(dim)];
    size_t which = 0;
    ((at[dim_[which++]] = static_cast<int64_t>(index)), ...);
    PutAt(value, at);
  }
  /// Stores `count` neighbours from `first` on. @pre one whole dimension, the field has one dimension
  void put_range(const T* values, int64_t count, int64_t first = 0)
    requires(Rank == 1)
  {
    int64_t at[detail::kMaxRank];
    for (int dim = 0; dim < detail::kMaxRank; ++dim) at[dim] = fixed_[static_cast<size_t>(dim)];
    if (age_->rank != 1) {
      for (int64_t i = 0; i < count; ++i) {
        at[dim_[0]] = first + i;
        PutAt(values[i], at);
      }
      return;
    }
    for (int64_t done = 0; done < count;) {
      const detail::Piece piece = detail::PlaceForStore(age_, first + done);
      const int64_t length = count - done < piece.length ? count - done : piece.length;
      const int64_t twice = detail::ClaimRange(piece.written, piece.position, length);
      if (twice >= 0) {
        at[0] = first + done + twice - piece.position;
        detail::ThrowStoredTwice(*age_, at);
      }
      std::memcpy(piece.data + piece.position * static_cast<int64_t>(sizeof(T)), values + done,
                  static_cast<size_t>(length) * sizeof(T));
      notifier_.Stored(first + done, first + done + length);
      done += length;
    }
    stored_ += count;
  }

  Out(detail::RangeContext& context, detail::FieldAge* age) : age_(age), notifier_(context, age) {}
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

 private:
  template <typename S>
  friend class SliceWriter;

  void PutAt(const T& value, const int64_t* at) {
    ++stored_;
    if (age_->rank == 1) {
      const detail::Piece piece = detail::PlaceForStore(age_, at[0]);
      if (detail::ClaimRange(piece.written, piece.position, 1) >= 0) detail::ThrowStoredTwice(*age_, at);
      reinterpret_cast<T*>(piece.data)[piece.position] = value;
      notifier_.Stored(at[0], at[0] + 1);
      return;
    }
    int64_t position = 0;
    bool inside = true;
    for (int dim = 0; dim < age_->rank; ++dim) {
      inside = inside && static_cast<uint64_t>(at[dim]) < static_cast<uint64_t>(age_->room[dim]);
      if (inside) position += at[dim] * age_->stride[dim];
    }
    if (!inside) [[unlikely]] {
      if (!detail::Overflow(age_, at, &value)) detail::ThrowStoredTwice(*age_, at);
      return;
    }
    if (detail::ClaimRange(age_->first.written, position, 1) >= 0) detail::ThrowStoredTwice(*age_, at);
    reinterpret_cast<T*>(age_->first.data)[position] = value;
  }

  detail::FieldAge* age_;
  detail::Notifier notifier_;
  int64_t stored_ = 0;  ///< elements
  std::array<int64_t, detail::kMaxRank> fixed_ = {};
  std::array<size_t, Rank> dim_ = {};
};

}  // namespace attune::flow
