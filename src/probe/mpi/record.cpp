#include "probe/mpi/record.h"

#include <dlfcn.h>

#include "probe/hook/module.h"

namespace attune::probe::mpi {

namespace {

/// Sizes of the library's own types, which live as long as it: a table that only grows.
struct Size {
  uint64_t key;
  uint64_t bytes;
};
constexpr uint32_t kSizes = 256;
constexpr uint32_t kMaxProbes = 8;
constexpr uint64_t kTaken = 2;
constinit Size g_sizes[kSizes] = {};

uint32_t Hash(uint64_t key) { return static_cast<uint32_t>(key * UINT64_C(0x9e3779b97f4a7c15) >> 56); }

void KeepSize(uint64_t key, uint64_t bytes) {
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    Size& size = g_sizes[(Hash(key) + probe) % kSizes];
    uint64_t seen = 0;
    if (!__atomic_compare_exchange_n(&size.key, &seen, kTaken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      if (seen == key) return;
      continue;
    }
    size.bytes = bytes;
    __atomic_store_n(&size.key, key, __ATOMIC_RELEASE);
    return;
  }
}

template <class Abi>
uint64_t AskSize(typename Abi::Handle type) {
  int64_t bytes = 0;
  if (Helper<Abi>::Type_size_x()(type, &bytes) != 0 || bytes < 0) return 0;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  const bool is_known = Helper<Abi>::Type_get_envelope()(type, &integers, &addresses, &types, &combiner) == 0;
  if (is_known && combiner == Abi::kNamedType) KeepSize(Abi::Key(type), static_cast<uint64_t>(bytes));
  return static_cast<uint64_t>(bytes);
}

/// Early, as what threads look for.
[[gnu::constructor(103)]] void FindCpu() {
  const int saved_errno = errno;
  const auto* offset = static_cast<const int64_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  constexpr int64_t kCpuId = 4;  // offset in struct rseq
  if (offset != nullptr && size != nullptr && *size != 0) hook::g_cpu_offset = *offset + kCpuId;
  errno = saved_errno;
}

/// A program may end without MPI_Finalize.
[[gnu::destructor]] void TellLastReceive() {
  if (HasLateReceive()) TellEndedWaits(g_thread);
}

}  // namespace

void Call::CountNothing() {
  if (reinterpret_cast<uintptr_t>(g_thread) <= 1) return;
  hook::TellModule(hook::Address(site_));  // the table is full, and no entry was made for it
  end_ = Ticks();
}

void TellRequest(const Call& call, const Request& request, uint64_t since) {
  const auto when = [&call] { return call.End(); };
  const uint32_t place = PlaceOf(request.communicator);
  const uint64_t both = uint64_t{request.peer} << 32 | static_cast<uint32_t>(request.tag);
  if (request.kind == RequestKind::kCollective) {
    EmitAt(when, wire::EventKind::kCollective, request.function, place, request.post, both, request.bytes,
           request.bytes_received, hook::Address(request.site), since);
  } else {
    const auto kind =
        request.kind == RequestKind::kSend ? wire::EventKind::kMessageSent : wire::EventKind::kMessageReceived;
    EmitAt(when, kind, request.function, place, request.post, both, request.bytes, hook::Address(request.site), since,
           hook::Address(call.Site()));
  }
}

template <class Abi>
uint64_t SizeOf(typename Abi::Handle type) {
  const uint64_t key = Abi::Key(type);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const Size& size = g_sizes[(Hash(key) + probe) % kSizes];
    const uint64_t seen = __atomic_load_n(&size.key, __ATOMIC_ACQUIRE);
    if (seen == key) return size.bytes;
    if (seen == 0) break;
  }
  const KeptErrno kept;
  return AskSize<Abi>(type);
}

template uint64_t SizeOf<OpenMpi>(OpenMpi::Handle);
template uint64_t SizeOf<Mpich>(Mpich::Handle);

}  // namespace attune::probe::mpi
