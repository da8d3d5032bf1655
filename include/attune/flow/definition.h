#pragma once
/// From the items of Graph::AddKernel() to a function that runs a range of instances. Internal part of attune/flow.h.

#include "attune/flow/kernel.h"

/// Functions that are compiled for a capability, with all that can be inlined into them.
#if defined(__clang__)
#define ATTUNE_FLOW_COMPILED_FOR(sets) __attribute__((target(sets), flatten))
#else
#define ATTUNE_FLOW_COMPILED_FOR(sets) __attribute__((target(sets), optimize("O3"), flatten))
#endif

namespace attune::flow::detail {

// ---- the items of a kernel

template <typename Item>
inline constexpr bool kIsFetches = false;
template <typename... S>
inline constexpr bool kIsFetches<Fetches<S...>> = true;
template <typename Item>
inline constexpr bool kIsStores = false;
template <typename... S>
inline constexpr bool kIsStores<Stores<S...>> = true;
template <typename Item>
inline constexpr int kRangeOf = -1;
template <int V>
inline constexpr int kRangeOf<RangeItem<V>> = V;
template <typename Item>
inline constexpr bool kIsDeadline = false;
template <typename Alternate>
inline constexpr bool kIsDeadline<DeadlineItem<Alternate>> = true;
template <typename Item>
inline constexpr bool kIsImplementation = false;
template <Capability C, typename Body>
inline constexpr bool kIsImplementation<ImplementationItem<C, Body>> = true;
template <typename Item, Capability Wanted>
inline constexpr bool kIsFor = false;
template <Capability Wanted, typename Body>
inline constexpr bool kIsFor<ImplementationItem<Wanted, Body>, Wanted> = true;
template <typename Item>
inline constexpr bool kIsItem =
    kIsFetches<Item> || kIsStores<Item> || kRangeOf<Item> >= 0 || kIsDeadline<Item> || kIsImplementation<Item> ||
    std::is_same_v<Item, OrderedTag> || std::is_same_v<Item, StopsTag> || std::is_same_v<Item, EffectsTag>;

template <typename Wanted, typename... Items>
inline constexpr bool kHas = (std::is_same_v<Wanted, Items> || ...);

inline auto SlicesOf() { return std::tuple<>{}; }
template <template <typename> typename Is, typename Item>
auto SlicesIf(const Item& item) {
  if constexpr (Is<Item>::value) {
    return item.slices;
  } else {
    return std::tuple<>{};
  }
}
template <typename Item>
struct IsFetchesType : std::bool_constant<kIsFetches<Item>> {};
template <typename Item>
struct IsStoresType : std::bool_constant<kIsStores<Item>> {};

template <typename Item>
auto AlternateOf(const Item& item) {
  if constexpr (kIsDeadline<Item>) {
    return std::tuple(item.alternate);
  } else {
    return std::tuple<>{};
  }
}

// ---- what the types say about a kernel

template <typename S>
constexpr int MaxVariable() {
  int most = -1;
  for (int dim = 0; dim < S::kRank; ++dim) most = S::Dim(dim) > most ? S::Dim(dim) : most;
  return most;
}
template <typename Slices>
struct Shape;
template <typename... S>
struct Shape<std::tuple<S...>> {
  static constexpr int kMaxVariable = [] {
    int most = -1;
    ((most = MaxVariable<S>() > most ? MaxVariable<S>() : most), ...);
    return most;
  }();
  static constexpr bool kAged = ((S::kAge == AgeKind::kVariable) || ...);
  static constexpr bool kAllElements = (S::kElement && ...);
  static constexpr bool Mentions([[maybe_unused]] int variable) { return (S::Mentions(variable) || ...); }
  /// Each slice of single elements names all variables, else several instances store the same element.
  static constexpr bool NameAll(int variables) {
    bool all = true;
    [[maybe_unused]] const auto check = [&all, variables]<typename Slice>(std::type_identity<Slice>) {
      for (int v = 0; v < variables; ++v) all = all && (!Slice::kElement || Slice::Mentions(v));
    };
    (check(std::type_identity<S>{}), ...);
    return all;
  }
  static constexpr bool kEveryAged = ((S::kAge == AgeKind::kVariable) && ...);
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
struct StoredOf {
  using Type = T;
};
template <typename T>
struct StoredOf<std::optional<T>> {
  using Type = T;
};

/// Argument of a body for a store that it does not return.
template <typename S>
using WriterArgument = std::conditional_t<S::kElement, Cell<typename S::Value>&, typename SliceWriter<S>::OutType&>;

/// Signatures of a body: with or without the instance, and with what it stores or returning it.
template <typename Body, typename Inst, typename Fetched, typename Stored>
struct Call;
template <typename Body, typename Inst, typename... F, typename... S>
struct Call<Body, Inst, std::tuple<F...>, std::tuple<S...>> {
  enum class Form { kNone, kInstanceOut, kInstance, kOut, kPlain };
  /// Step by step: each question is asked only where those before have no answer, as asking compiles the body of a
  /// generic lambda. `auto&` as the only parameter is the instance.
  static constexpr Form FormOf() {
    if constexpr (std::is_invocable_v<Body, Inst&, F..., S...>) {
      return Form::kInstanceOut;
    } else if constexpr (sizeof...(S) == 1 && std::is_invocable_v<Body, Inst&, F...>) {
      return Form::kInstance;
    } else if constexpr (std::is_invocable_v<Body, F..., S...>) {
      return Form::kOut;
    } else if constexpr (sizeof...(S) > 0 && std::is_invocable_v<Body, F...>) {
      return Form::kPlain;
    } else {
      return Form::kNone;
    }
  }
  static constexpr bool kInstanceOut = FormOf() == Form::kInstanceOut;
  static constexpr bool kInstance = FormOf() == Form::kInstance;
  static constexpr bool kPlain = FormOf() == Form::kPlain;
  static constexpr bool kPossible = FormOf() != Form::kNone;
  static constexpr bool kTakesInstance = kInstanceOut || kInstance;
  static constexpr bool kReturns = kInstance || kPlain;

  static auto ResultType() {
    if constexpr (kInstance) {
      return std::type_identity<std::invoke_result_t<Body, Inst&, F...>>{};
    } else if constexpr (kPlain) {
      return std::type_identity<std::invoke_result_t<Body, F...>>{};
    } else {
      return std::type_identity<void>{};
    }
  }
  using Result = typename decltype(ResultType())::type;
};

template <typename Slices, int V>
struct ReadersOf;
template <typename... S, int V>
struct ReadersOf<std::tuple<S...>, V> {
  using Readers = std::tuple<Reader<S, V>...>;
  using Arguments = std::tuple<typename Reader<S, V>::Argument...>;
};
template <typename Slices>
struct WritersOf;
template <typename... S>
struct WritersOf<std::tuple<S...>> {
  using Arguments = std::tuple<WriterArgument<S>...>;
};

/// A kernel with the types of all that it is made of.
template <typename FetchTuple, typename StoreTuple, typename BodyT, typename AlternateTuple, int V, bool Ordered,
          bool Stops>
class Definition {
 public:
  using FetchShape = Shape<FetchTuple>;
  using StoreShape = Shape<StoreTuple>;
  static constexpr bool kAged = FetchShape::kAged || StoreShape::kAged;
  static constexpr bool kSource = kAged && !FetchShape::kAged;
  /// Only the bodies of ordered kernels without index variables may have state.
  static constexpr bool kMayChange = Ordered && V == 0;
  using Inst = Instance<kAged, V, Stops, kSource>;
  using Body = std::conditional_t<kMayChange, BodyT, const BodyT>;
  using How =
      Call<Body&, Inst, typename ReadersOf<FetchTuple, V>::Arguments, typename WritersOf<StoreTuple>::Arguments>;
  static constexpr size_t kFetches = std::tuple_size_v<FetchTuple>;
  static constexpr size_t kStores = std::tuple_size_v<StoreTuple>;
  static constexpr bool kHasAlternate = std::tuple_size_v<AlternateTuple> > 0;

  Definition(FetchTuple fetches, StoreTuple stores, BodyT body, AlternateTuple alternate)
      : fetches_(std::move(fetches)),
        stores_(std::move(stores)),
        body_(std::move(body)),
        alternate_(std::move(alternate)) {}

  static constexpr void Check() {
    static_assert(kFetches <= kMaxSlices && kStores <= kMaxSlices,
                  "attune::flow: a kernel has at most 8 fetches and 8 stores");
    static_assert(
        !kAged || kStores == 0 || StoreShape::kEveryAged,
        "attune::flow: a kernel with an age variable stores into ages of it, as in field(a), or it would store twice");
    static_assert(StoreShape::NameAll(V),
                  "attune::flow: a stored element must name every index variable, or it would be stored twice");
    static_assert(
        How::kPossible,
        "attune::flow: the body cannot be called: it takes [auto& instance,] what is fetched (const T& or View<T, N>), "
        "then Cell<T>& "
        "or Out<T, N>& for each store unless it returns the only one; without kOrdered it must not be mutable");
    if constexpr (How::kReturns) {
      static_assert(kStores == 1 && StoreShape::kAllElements,
                    "attune::flow: a body can return only one store of a single element: take Cell<T>& or Out<T, N>&");
      using Value = typename std::tuple_element_t<0, StoreTuple>::Value;
      static_assert(std::is_convertible_v<typename StoredOf<typename How::Result>::Type, Value>,
                    "attune::flow: what the body returns is not of the type of the field that it is stored into");
    }
    if constexpr (kHasAlternate) {
      using Alternate = std::tuple_element_t<0, AlternateTuple>;
      using Other = Call<const Alternate&, Inst, typename ReadersOf<FetchTuple, V>::Arguments,
                         typename WritersOf<StoreTuple>::Arguments>;
      static_assert(StoreShape::kAllElements && kStores > 0,
                    "attune::flow: a kernel with a deadline stores single elements");
      static_assert(Other::kPossible && Other::kReturns == How::kReturns,
                    "attune::flow: the alternate of a deadline takes and returns what the body does");
    }
  }

  template <Capability C>
  static constexpr RangeFunction RunFor() {
#if defined(__x86_64__)
    if constexpr (C == Capability::kAvx2) return &RunAvx2;
    if constexpr (C == Capability::kAvx512) return &RunAvx512;
#endif
    if constexpr (C == Capability::kCpu) return &Run;
  }

 private:
  static void Run(const void* self, RangeContext& context) {
    const_cast<Definition*>(static_cast<const Definition*>(self))->RunRange(context);
  }
#if defined(__x86_64__)
  ATTUNE_FLOW_COMPILED_FOR(ATTUNE_FLOW_AVX2) static void RunAvx2(const void* self, RangeContext& context) {
    const_cast<Definition*>(static_cast<const Definition*>(self))->RunRange(context);
  }
  ATTUNE_FLOW_COMPILED_FOR(ATTUNE_FLOW_AVX512) static void RunAvx512(const void* self, RangeContext& context) {
    const_cast<Definition*>(static_cast<const Definition*>(self))->RunRange(context);
  }
#endif

  /// Instances store what they return, one after the other, and nothing can take that back.
  static constexpr bool kBulk =
      !kHasAlternate && ((kStores == 0 && !How::kReturns) || (How::kReturns && !kIsOptional<typename How::Result>)) &&
      [] {
        if constexpr (kStores == 1) {
          using S = std::tuple_element_t<0, StoreTuple>;
          return V == 0 || S::Dim(S::kRank - 1) == V - 1;
        } else {
          return kStores == 0;
        }
      }();

  void RunRange(RangeContext& context) {
    const KernelAge& instances = *context.instances;
    int64_t index[kMaxRank] = {};
    int64_t next = context.begin;
    int64_t rest = next;
    for (int v = V - 1; v > 0; --v) {
      index[v] = instances.low[v] + rest % instances.count[v];
      rest /= instances.count[v];
    }
    if constexpr (V > 0) index[0] = instances.low[0] + rest;
    while (next < context.end) {
      int64_t length = context.end - next;
      if constexpr (V > 1) {
        const int64_t in_row = instances.low[V - 1] + instances.count[V - 1] - index[V - 1];
        length = length < in_row ? length : in_row;
      }
      if (!RunPiece(context, index, next, &length)) return;
      next += length;
      if constexpr (V > 0) index[V - 1] += length;
      for (int v = V - 1; v > 0 && index[v] == instances.low[v] + instances.count[v]; --v) {
        index[v] = instances.low[v];
        ++index[v - 1];
      }
    }
  }

  /// `length` instances that differ in the innermost variable; fewer where memory ends. @return false: the run has
  /// failed
  bool RunPiece(RangeContext& context, int64_t* index, int64_t first, int64_t* length) {
    int64_t j = 0;
    try {
      typename ReadersOf<FetchTuple, V>::Readers readers;
      bool has_holes = false;
      const auto prepare = [&]<size_t... F>(std::index_sequence<F...>) {
        (std::get<F>(readers).Prepare(std::get<F>(fetches_), context.instances->in[F], index, length), ...);
        has_holes = (std::get<F>(readers).has_holes() || ... || false);
      };
      prepare(std::make_index_sequence<kFetches>());
      if constexpr (kBulk) {
        if (!has_holes) [[likely]]
          return RunBulk(context, index, first, &j, length, readers);
      }
      return RunSingly(context, index, first, &j, *length, readers);
    } catch (...) {
      if constexpr (V > 0) index[V - 1] += j;
      ReportException(context, index);
      return false;
    }
  }

  static void AddBody(RangeContext& context, uint64_t begin) {
    context.body_ticks += Ticks() - begin;
    ++context.body_pieces;
  }

  template <typename Readers>
  [[gnu::always_inline]] decltype(auto) CallBody(Inst& instance, const Readers& readers, int64_t j) {
    const auto call = [&]<size_t... F>(std::index_sequence<F...>) -> decltype(auto) {
      if constexpr (How::kTakesInstance) {
        return static_cast<Body&>(body_)(instance, std::get<F>(readers).Arg(j)...);
      } else {
        return static_cast<Body&>(body_)(std::get<F>(readers).Arg(j)...);
      }
    };
    return call(std::make_index_sequence<kFetches>());
  }

  /// The end of what runs in one loop from `j` on: all, but with a time limit one instance, whose number the watchdog
  /// gets.
  static int64_t EndOfLoop(RangeContext& context, int64_t first, int64_t j, int64_t length) {
    if (context.progress == nullptr) [[likely]]
      return length;
    context.progress->store(first + j, std::memory_order_relaxed);
    return j + 1;
  }

  template <typename Readers>
  bool RunBulk(RangeContext& context, int64_t* index, int64_t first, int64_t* at, int64_t* length,
               const Readers& readers) {
    const int64_t start = V > 0 ? index[V > 0 ? V - 1 : 0] : 0;
    Inst instance(context, index);
    const auto count_up = [&](int64_t j) {
      if constexpr (How::kTakesInstance && V > 0) {
        index[V - 1] = start + j;
      } else {
        *at = j;
      }
    };
    if constexpr (kStores == 0) {
      const uint64_t begin = context.timed ? Ticks() : 0;
      for (int64_t j = 0; j < *length;) {
        const int64_t end = EndOfLoop(context, first, j, *length);
        for (; j < end; ++j) {
          count_up(j);
          CallBody(instance, readers, j);
        }
      }
      if (context.timed) AddBody(context, begin);
      if constexpr (V > 0) index[V - 1] = start;
    } else {
      using S = std::tuple_element_t<0, StoreTuple>;
      using Place = ElementPlace<S, V>;
      FieldAge* age = context.instances->out[0];
      int64_t element[kMaxRank];
      Place::Element(std::get<0>(stores_), index, 0, element);
      const Piece piece = Place::Find(age, element);
      if (piece.data == nullptr) [[unlikely]]
        return RunSingly(context, index, first, at, *length = 1, readers);
      if (piece.length < *length) *length = piece.length;
      const int64_t twice = ClaimRange(piece.written, piece.position, *length);
      if (twice >= 0) [[unlikely]] {
        const int64_t j = twice - piece.position;
        element[S::kRank - 1] += j;
        if constexpr (V > 0) index[V - 1] = start + j;
        ReportStoredTwice(context, index, *age, element);
        return false;
      }
      auto* stored = reinterpret_cast<typename S::Value*>(piece.data) + piece.position;
      const int64_t count = *length;
      const uint64_t begin = context.timed ? Ticks() : 0;
      int64_t j = 0;
      try {
        while (j < count) {
          const int64_t end = EndOfLoop(context, first, j, count);
          for (; j < end; ++j) {
            if constexpr (How::kTakesInstance && V > 0) index[V - 1] = start + j;
            stored[j] = static_cast<typename S::Value>(CallBody(instance, readers, j));
          }
        }
      } catch (...) {
        // The elements of those that have not run stay unwritten.
        UnclaimRange(piece.written, piece.position + j, count - j);
        *at = j;
        if constexpr (How::kTakesInstance && V > 0) index[V - 1] = start;
        throw;
      }
      if (context.timed) AddBody(context, begin);
      if constexpr (How::kTakesInstance && V > 0) index[V - 1] = start;
      if constexpr (S::kRank == 1) {
        if (age->stream_count != 0) Notify(context, age, element[0], element[0] + count);
      }
    }
    context.executed += *length;
    return true;
  }

  /// One instance after the other: bodies that may withhold a store, store several, or race with a deadline; holes.
  template <typename Readers>
  bool RunSingly(RangeContext& context, int64_t* index, int64_t first, int64_t* at, int64_t length,
                 const Readers& readers) {
    const int64_t start = V > 0 ? index[V > 0 ? V - 1 : 0] : 0;
    const uint64_t begin = context.timed ? Ticks() : 0;
    for (int64_t j = 0; j < length; ++j) {
      *at = j;
      if (context.progress != nullptr) context.progress->store(first + j, std::memory_order_relaxed);
      const auto present = [&]<size_t... F>(std::index_sequence<F...>) {
        return (std::get<F>(readers).Present(j) && ... && true);
      };
      if (!present(std::make_index_sequence<kFetches>())) continue;
      if constexpr (V > 0) index[V - 1] = start + j;
      // The index of the error is that of the instance, from here on.
      *at = 0;
      if (!RunOne(context, index, first + j, j, readers)) return false;
      if constexpr (V > 0) index[V - 1] = start;
    }
    if (context.timed) AddBody(context, begin);
    return true;
  }

  template <typename Readers>
  bool RunOne(RangeContext& context, const int64_t* index, int64_t number, int64_t j, const Readers& readers) {
    Inst instance(context, index);
    if constexpr (kHasAlternate) {
      if (!context.alternate && context.instances->decided[number].load(std::memory_order_relaxed) != 0) return true;
    }
    if constexpr (How::kReturns) {
      using Value = typename std::tuple_element_t<0, StoreTuple>::Value;
      std::optional<Value> result;
      const auto run = [&](auto& body) {
        const auto call = [&]<size_t... F>(std::index_sequence<F...>) {
          if constexpr (How::kTakesInstance &&
                        std::is_invocable_v<decltype(body), Inst&, decltype(std::get<F>(readers).Arg(j))...>) {
            return body(instance, std::get<F>(readers).Arg(j)...);
          } else {
            return body(std::get<F>(readers).Arg(j)...);
          }
        };
        auto value = call(std::make_index_sequence<kFetches>());
        if constexpr (kIsOptional<decltype(value)>) {
          if (value) result = static_cast<Value>(*value);
        } else {
          result = static_cast<Value>(value);
        }
      };
      RunEither(context, run);
      if (!Counts(context, number)) return true;
      ++context.executed;
      return !result || StoreElement<0>(context, index, *result);
    } else {
      return RunWithWriters(context, index, number, j, readers, std::make_index_sequence<kStores>());
    }
  }

  template <typename Runner>
  void RunEither(RangeContext& context, const Runner& run) {
    if constexpr (kHasAlternate) {
      if (context.alternate) return run(std::as_const(std::get<0>(alternate_)));
    }
    run(static_cast<Body&>(body_));
  }
  static bool Counts(RangeContext& context, int64_t number) {
    if constexpr (kHasAlternate) return context.alternate || Decide(context, number);
    return true;
  }

  template <size_t K>
  auto MakeWriter(RangeContext& context, const int64_t* index) {
    using S = std::tuple_element_t<K, StoreTuple>;
    if constexpr (S::kElement) {
      return std::make_unique<Cell<typename S::Value>>();
    } else {
      auto out = std::make_unique<typename SliceWriter<S>::OutType>(context, context.instances->out[K]);
      SliceWriter<S>::Prepare(out.get(), std::get<K>(stores_), index);
      return out;
    }
  }

  template <typename Readers, size_t... K>
  bool RunWithWriters(RangeContext& context, const int64_t* index, int64_t number, int64_t j, const Readers& readers,
                      std::index_sequence<K...>) {
    Inst instance(context, index);
    auto writers = std::tuple(MakeWriter<K>(context, index)...);
    const auto run = [&](auto& body) {
      const auto call = [&]<size_t... F>(std::index_sequence<F...>) {
        if constexpr (std::is_invocable_v<decltype(body), Inst&, decltype(std::get<F>(readers).Arg(j))...,
                                          decltype(*std::get<K>(writers))...>) {
          body(instance, std::get<F>(readers).Arg(j)..., *std::get<K>(writers)...);
        } else {
          body(std::get<F>(readers).Arg(j)..., *std::get<K>(writers)...);
        }
      };
      call(std::make_index_sequence<kFetches>());
    };
    RunEither(context, run);
    if (!Counts(context, number)) return true;
    ++context.executed;
    bool stored = true;
    [[maybe_unused]] const auto commit = [&]<size_t Which>(std::integral_constant<size_t, Which>, auto& writer) {
      using S = std::tuple_element_t<Which, StoreTuple>;
      if constexpr (S::kElement) {
        if (writer.assigned()) stored = stored && StoreElement<Which>(context, index, writer.value());
      } else {
        SliceWriter<S>::Flush(&writer, context, Which);
      }
    };
    (commit(std::integral_constant<size_t, K>{}, *std::get<K>(writers)), ...);
    return stored;
  }

  template <size_t K, typename Value>
  bool StoreElement(RangeContext& context, const int64_t* index, const Value& value) {
    using S = std::tuple_element_t<K, StoreTuple>;
    using Place = ElementPlace<S, V>;
    FieldAge* age = context.instances->out[K];
    int64_t element[kMaxRank];
    Place::Element(std::get<K>(stores_), index, 0, element);
    const Piece piece = Place::Find(age, element);
    const bool once =
        piece.data == nullptr ? Overflow(age, element, &value) : ClaimRange(piece.written, piece.position, 1) < 0;
    if (!once) {
      ReportStoredTwice(context, index, *age, element);
      return false;
    }
    if (piece.data != nullptr) reinterpret_cast<typename S::Value*>(piece.data)[piece.position] = value;
    if constexpr (S::kRank == 1) {
      if (age->stream_count != 0) Notify(context, age, element[0], element[0] + 1);
    }
    return true;
  }

  FetchTuple fetches_;
  StoreTuple stores_;
  BodyT body_;
  AlternateTuple alternate_;
};

// ---- descriptions for the library

template <typename S>
SliceInfo Describe(const S& slice) {
  SliceInfo info{slice.field,  slice.graph, S::kAge,
                 slice.age,    S::kRank,    {},
                 slice.offset, S::kElement, static_cast<int64_t>(sizeof(typename S::Value))};
  for (int dim = 0; dim < S::kRank; ++dim) info.variable[static_cast<size_t>(dim)] = S::Dim(dim);
  return info;
}

template <typename... Items>
struct Variables {
  /// Index variables that a fetch or Range() binds, as bits.
  template <typename FetchTuple>
  static constexpr int Bound() {
    int bits = 0;
    for (int v = 0; v < kMaxRank; ++v) bits |= Shape<FetchTuple>::Mentions(v) ? 1 << v : 0;
    ((bits |= kRangeOf<Items> >= 0 ? 1 << (kRangeOf<Items> < 0 ? 0 : kRangeOf<Items>) : 0), ...);
    return bits;
  }
};

/// A body of a kernel with all that it is made of, for the library.
template <Capability C, int V, bool Ordered, bool Stops, typename FetchTuple, typename StoreTuple, typename Body,
          typename AlternateTuple>
ImplementationInfo MakeImplementation(FetchTuple fetches, StoreTuple stores, Body body, AlternateTuple alternate) {
  using Made = Definition<FetchTuple, StoreTuple, Body, AlternateTuple, V, Ordered, Stops>;
  Made::Check();
  return {C, Made::template RunFor<C>(),
          std::make_shared<const Made>(std::move(fetches), std::move(stores), std::move(body), std::move(alternate))};
}

/// Definition of a kernel for the library, from the items before the body.
template <typename Body, typename... Items>
KernelInfo MakeKernel(std::string name, Body body, const Items&... items) {
  static_assert(
      (kIsItem<Items> && ...),
      "attune::flow: a kernel is made of Fetch, Store, Range, Deadline, For, kOrdered, kStops, kEffects, and last its "
      "body");
  static_assert(
      (kIsFor<Items, Capability::kAvx2> + ... + 0) <= 1 && (kIsFor<Items, Capability::kAvx512> + ... + 0) <= 1,
      "attune::flow: a kernel has one body for each capability");
  auto fetches = std::tuple_cat(std::tuple<>{}, SlicesIf<IsFetchesType>(items)...);
  auto stores = std::tuple_cat(std::tuple<>{}, SlicesIf<IsStoresType>(items)...);
  auto alternate = std::tuple_cat(std::tuple<>{}, AlternateOf(items)...);
  using FetchTuple = decltype(fetches);
  using StoreTuple = decltype(stores);
  constexpr int kBound = Variables<Items...>::template Bound<FetchTuple>();
  constexpr int kVariables = std::bit_width(static_cast<unsigned>(kBound));
  static_assert(kBound == (1 << kVariables) - 1, "attune::flow: index variables are taken in order: x, then y, then z");
  static_assert(Shape<StoreTuple>::kMaxVariable < kVariables,
                "attune::flow: an index variable is stored by that no fetch and no Range() binds");
  constexpr bool kIsOrdered = kHas<OrderedTag, Items...>;
  constexpr bool kIsStops = kHas<StopsTag, Items...>;
  KernelInfo info;
  info.name = std::move(name);
  info.aged = Shape<FetchTuple>::kAged || Shape<StoreTuple>::kAged;
  info.variables = kVariables;
  info.ordered = kIsOrdered;
  info.stops = kIsStops;
  info.effects = kHas<EffectsTag, Items...>;
  [[maybe_unused]] const auto take = [&info]<typename Item>(const Item& item) {
    if constexpr (kRangeOf<Item> >= 0) info.bound[static_cast<size_t>(kRangeOf<Item>)] = item.bound;
    if constexpr (kIsDeadline<Item>) info.deadline_ns = item.ns;
  };
  (take(items), ...);
  std::apply([&info](const auto&... slice) { (info.fetches.push_back(Describe(slice)), ...); }, fetches);
  std::apply([&info](const auto&... slice) { (info.stores.push_back(Describe(slice)), ...); }, stores);
  info.implementations.push_back(MakeImplementation<Capability::kCpu, kVariables, kIsOrdered, kIsStops>(
      fetches, stores, std::move(body), alternate));
  [[maybe_unused]] const auto add = [&]<Capability C, typename Other>(const ImplementationItem<C, Other>& item) {
    if constexpr (IsCompiled(C))
      info.implementations.push_back(
          MakeImplementation<C, kVariables, kIsOrdered, kIsStops>(fetches, stores, item.body, alternate));
  };
  [[maybe_unused]] const auto add_if = [&add]<typename Item>(const Item& item) {
    if constexpr (kIsImplementation<Item>) add(item);
  };
  (add_if(items), ...);
  return info;
}

}  // namespace attune::flow::detail

#undef ATTUNE_FLOW_COMPILED_FOR
