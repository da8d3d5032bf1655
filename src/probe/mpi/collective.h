#pragma once
/// Collective operations, blocking and non-blocking.

#include "probe/mpi/record.h"

namespace attune::probe::mpi {

/// How the bytes of a rank follow from the arguments.
enum class Shape : uint8_t {
  kAllgather,
  kAllgatherv,
  kAllreduce,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kScatter,
  kScatterv,
};

/// The arguments from which amounts are computed, by the standard's names. Arguments that a function lacks are 0.
template <class Abi>
struct Blocks {
  Shape shape;
  const void* sendbuf = nullptr;
  int sendcount = 0;
  const int* sendcounts = nullptr;
  typename Abi::Handle sendtype = {};
  const typename Abi::Handle* sendtypes = nullptr;
  const void* recvbuf = nullptr;
  int recvcount = 0;
  const int* recvcounts = nullptr;
  typename Abi::Handle recvtype = {};
  const typename Abi::Handle* recvtypes = nullptr;
  int count = 0;
  typename Abi::Handle datatype = {};
  int root = -1;

  bool IsInPlace() const { return sendbuf == Abi::InPlace(); }
};

struct Amounts {
  uint64_t sent = 0;
  uint64_t received = 0;
};

/// The participants of an operation, from the view of this rank.
struct Circle {
  uint64_t from = 0;    ///< ranks that it receives a block from
  uint64_t to = 0;      ///< ranks that it gives a block to
  int rank = 0;         ///< its index among them; -1: not among them
  uint64_t beside = 0;  ///< ranks of its own group
  int rank_beside = 0;  ///< its index among these
  bool is_root = false;
  bool is_outside = false;  ///< it takes no part in an operation between two groups
};

template <class Abi>
inline uint64_t Sum(const int* counts, uint64_t ranks, typename Abi::Handle type) {
  uint64_t elements = 0;
  for (uint64_t i = 0; i < ranks; ++i) elements += static_cast<uint64_t>(counts[i] > 0 ? counts[i] : 0);
  return elements == 0 ? 0 : elements * SizeOf<Abi>(type);
}

template <class Abi>
inline uint64_t Sum(const int* counts, uint64_t ranks, const typename Abi::Handle* types) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < ranks; ++i) bytes += BytesOf<Abi>(counts[i], types[i]);
  return bytes;
}

/// The neighbours in a topology.
template <class Abi>
inline Circle NeighboursOf(typename Abi::Handle comm, int rank) {
  const KeptErrno kept;
  Circle circle;
  int topology = 0, from = 0, to = 0, is_weighted = 0;
  if (Helper<Abi>::Topo_test()(comm, &topology) != 0) return circle;
  if (topology == Abi::kCart && Helper<Abi>::Cartdim_get()(comm, &from) == 0) {
    from *= 2;
    to = from;
  } else if (topology == Abi::kGraph) {
    Helper<Abi>::Graph_neighbors_count()(comm, rank, &from);
    to = from;
  } else if (topology == Abi::kDistGraph) {
    Helper<Abi>::Dist_graph_neighbors_count()(comm, &from, &to, &is_weighted);
  }
  circle.from = static_cast<uint64_t>(from);
  circle.to = static_cast<uint64_t>(to);
  return circle;
}

template <class Abi>
inline Circle CircleOf(const Communicator* communicator, typename Abi::Handle comm, const Blocks<Abi>& blocks) {
  if (blocks.shape >= Shape::kNeighborAllgather && blocks.shape <= Shape::kNeighborAlltoallw)
    return NeighboursOf<Abi>(comm, communicator->rank);
  Circle circle;
  circle.from = static_cast<uint64_t>(communicator->PeerCount());
  circle.to = circle.from;
  circle.rank = communicator->IsBetweenGroups() ? -1 : communicator->rank;
  circle.beside = static_cast<uint64_t>(communicator->Size());
  circle.rank_beside = communicator->rank;
  circle.is_root = communicator->IsBetweenGroups() ? blocks.root == Abi::kRoot : blocks.root == communicator->rank;
  circle.is_outside = communicator->IsBetweenGroups() && blocks.root == Abi::kProcNull;
  return circle;
}

/// Amounts of an operation with a root.
template <class Abi>
inline Amounts RootedAmounts(const Blocks<Abi>& b, const Circle& circle) {
  if (circle.is_outside) return {};
  const bool gives = !circle.is_root || circle.rank >= 0;  // the root between two groups is not one of those
  switch (b.shape) {
    case Shape::kBcast: {
      const uint64_t bytes = BytesOf<Abi>(b.count, b.datatype);
      return circle.is_root ? Amounts{bytes, 0} : Amounts{0, bytes};
    }
    case Shape::kReduce: {
      const uint64_t bytes = BytesOf<Abi>(b.count, b.datatype);
      return {gives ? bytes : 0, circle.is_root ? bytes : 0};
    }
    case Shape::kGather: {
      const uint64_t block = circle.is_root ? BytesOf<Abi>(b.recvcount, b.recvtype) : 0;
      const uint64_t own = b.IsInPlace() ? block : gives ? BytesOf<Abi>(b.sendcount, b.sendtype) : 0;
      return {own, block * circle.from};
    }
    case Shape::kGatherv: {
      const uint64_t all = circle.is_root ? Sum<Abi>(b.recvcounts, circle.from, b.recvtype) : 0;
      const uint64_t own = !b.IsInPlace()     ? (gives ? BytesOf<Abi>(b.sendcount, b.sendtype) : 0)
                           : circle.rank >= 0 ? BytesOf<Abi>(b.recvcounts[circle.rank], b.recvtype)
                                              : 0;
      return {own, all};
    }
    default: {
      const bool is_equal = b.shape == Shape::kScatter;
      const uint64_t all = !circle.is_root ? 0
                           : is_equal      ? BytesOf<Abi>(b.sendcount, b.sendtype) * circle.to
                                           : Sum<Abi>(b.sendcounts, circle.to, b.sendtype);
      if (b.recvbuf != Abi::InPlace()) return {all, gives ? BytesOf<Abi>(b.recvcount, b.recvtype) : 0};
      const int own = is_equal ? b.sendcount : circle.rank >= 0 ? b.sendcounts[circle.rank] : 0;
      return {all, BytesOf<Abi>(own, b.sendtype)};
    }
  }
}

template <class Abi>
inline Amounts AmountsOf(const Blocks<Abi>& b, const Circle& circle) {
  switch (b.shape) {
    case Shape::kBarrier: return {};
    case Shape::kAllreduce:
    case Shape::kScan: {
      const uint64_t bytes = BytesOf<Abi>(b.count, b.datatype);
      return {bytes, bytes};
    }
    // Between two groups each one has the other's result, spread as its own group says (MPI 3.1, 5.10).
    case Shape::kReduceScatter:
      return {Sum<Abi>(b.recvcounts, circle.beside, b.datatype),
              BytesOf<Abi>(b.recvcounts[circle.rank_beside], b.datatype)};
    case Shape::kReduceScatterBlock: {
      const uint64_t block = BytesOf<Abi>(b.recvcount, b.datatype);
      return {block * circle.beside, block};
    }
    case Shape::kAllgather:
    case Shape::kNeighborAllgather: {
      const uint64_t block = BytesOf<Abi>(b.recvcount, b.recvtype);
      return {b.IsInPlace() ? block : BytesOf<Abi>(b.sendcount, b.sendtype), block * circle.from};
    }
    case Shape::kAllgatherv:
    case Shape::kNeighborAllgatherv: {
      const uint64_t own =
          b.IsInPlace() ? BytesOf<Abi>(b.recvcounts[circle.rank], b.recvtype) : BytesOf<Abi>(b.sendcount, b.sendtype);
      return {own, Sum<Abi>(b.recvcounts, circle.from, b.recvtype)};
    }
    case Shape::kAlltoall:
    case Shape::kNeighborAlltoall: {
      const uint64_t all = BytesOf<Abi>(b.recvcount, b.recvtype) * circle.from;
      return {b.IsInPlace() ? all : BytesOf<Abi>(b.sendcount, b.sendtype) * circle.to, all};
    }
    case Shape::kAlltoallv:
    case Shape::kNeighborAlltoallv: {
      const uint64_t all = Sum<Abi>(b.recvcounts, circle.from, b.recvtype);
      return {b.IsInPlace() ? all : Sum<Abi>(b.sendcounts, circle.to, b.sendtype), all};
    }
    case Shape::kAlltoallw:
    case Shape::kNeighborAlltoallw: {
      const uint64_t all = Sum<Abi>(b.recvcounts, circle.from, b.recvtypes);
      return {b.IsInPlace() ? all : Sum<Abi>(b.sendcounts, circle.to, b.sendtypes), all};
    }
    default: return RootedAmounts(b, circle);
  }
}

template <class Abi>
inline Request CollectiveRequest(const Call& call, Communicator* communicator, typename Abi::Handle comm,
                                 const Blocks<Abi>& blocks, uint32_t sequence) {
  Amounts amounts;
  if (communicator->index != 0) amounts = AmountsOf(blocks, CircleOf(communicator, comm, blocks));
  return {.post = call.Begin(),
          .known = call.End(),
          .site = call.Site(),
          .bytes = amounts.sent,
          .bytes_received = amounts.received,
          .communicator = communicator,
          .peer = blocks.root >= 0 ? static_cast<uint32_t>(blocks.root) : UINT32_MAX,
          .tag = static_cast<int32_t>(sequence),
          .function = call.Function(),
          .kind = RequestKind::kCollective,
          .is_persistent = false,
          .is_active = true};
}

/// The sequence number of a collective operation on its communicator; 0: the communicator has no index.
inline uint32_t NextInSequence(Communicator* communicator) {
  const uint32_t sequence = __atomic_load_n(&communicator->collectives, __ATOMIC_RELAXED) + 1;
  __atomic_store_n(&communicator->collectives, sequence, __ATOMIC_RELAXED);
  return communicator->index != 0 ? sequence : 0;
}

template <class Abi, class Real>
inline int Collective(Call&& call, const Real& real, typename Abi::Handle comm, const Blocks<Abi>& blocks) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const uint32_t sequence = NextInSequence(communicator);
  const int result = call.Make(real);
  call.Count();
  if (result != 0) return result;
  const Request done = CollectiveRequest<Abi>(call, communicator, comm, blocks, sequence);
  EmitAt([&call] { return call.End(); }, wire::EventKind::kCollective, done.function, PlaceOf(communicator), done.post,
         uint64_t{done.peer} << 32 | static_cast<uint32_t>(done.tag), done.bytes, done.bytes_received,
         hook::Address(done.site));
  return result;
}

template <class Abi, class Real>
inline int Icollective(Call&& call, const Real& real, typename Abi::Handle comm, typename Abi::Handle* handle,
                       const Blocks<Abi>& blocks) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const uint32_t sequence = NextInSequence(communicator);
  const int result = call.Make(real);
  call.Count();
  if (result != 0) return result;
  const Request begun = CollectiveRequest<Abi>(call, communicator, comm, blocks, sequence);
  const uint64_t key = Abi::Key(*handle);
  if (Abi::IsDone(key)) {
    TellRequest(call, begun, 0);
  } else {
    KeepRequest(key, begun);
  }
  return result;
}

}  // namespace attune::probe::mpi
