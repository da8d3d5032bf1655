#pragma once
/// The differences between the two binary interfaces of MPI, as far as the probe uses them. Nothing comes from an
/// mpi.h, so that one build serves both. tests/probe/mpi_abi.cpp compares each value with those of both libraries.

#include <stddef.h>
#include <stdint.h>

namespace attune::probe::mpi {

/// Values of the loaded library that are not known at build time. Keys: see Abi::Key.
struct Predefined {
  uint64_t world, self, no_communicator;
  uint64_t no_request;
  uint64_t done_request;  ///< shared handle of operations that were complete at their begin; 0: there is no single one
};
extern Predefined g_predefined;

/// Open MPI 2 and later: handles are addresses.
struct OpenMpi {
  using Handle = void*;
  struct Status {
    int source, tag, error, cancelled;
    size_t bytes;
  };
  static constexpr int kAnySource = -1, kProcNull = -2, kRoot = -4, kUndefined = -32766;
  static constexpr int kTruncated = 15, kInStatus = 18, kPending = 19;
  static constexpr int kCart = 1, kGraph = 2, kDistGraph = 3;
  static constexpr int kNamedType = 0;
  static constexpr int kThreadMultiple = 3;

  static uint64_t Key(Handle handle) { return reinterpret_cast<uintptr_t>(handle); }
  static Handle FromKey(uint64_t key) { return reinterpret_cast<Handle>(key); }
  static Status* StatusIgnore() { return nullptr; }
  static const void* InPlace() { return reinterpret_cast<const void*>(1); }
  static uint64_t Bytes(const Status& status) { return status.bytes; }
  static bool IsCancelled(const Status& status) { return status.cancelled != 0; }
  /// Whether the handle is the shared one of complete requests.
  static bool IsDone(uint64_t key) { return key == g_predefined.done_request; }
};

/// MPICH 3.1 and later, and those who keep to its ABI (Intel MPI, MVAPICH2, Cray MPICH): handles are numbers.
struct Mpich {
  using Handle = int;
  struct Status {
    int bytes_low, bytes_high_and_cancelled, source, tag, error;
  };
  static constexpr int kAnySource = -2, kProcNull = -1, kRoot = -3, kUndefined = -32766;
  static constexpr int kTruncated = 14, kInStatus = 17, kPending = 18;
  static constexpr int kGraph = 1, kCart = 2, kDistGraph = 3;
  static constexpr int kNamedType = 1;
  static constexpr int kThreadMultiple = 3;
  static constexpr int kWorld = 0x44000000, kSelf = 0x44000001, kNoCommunicator = 0x04000000, kNoRequest = 0x2c000000;

  static uint64_t Key(Handle handle) { return static_cast<uint32_t>(handle); }
  static Handle FromKey(uint64_t key) { return static_cast<Handle>(key); }
  static Status* StatusIgnore() { return reinterpret_cast<Status*>(1); }
  static const void* InPlace() { return reinterpret_cast<const void*>(-1); }
  static uint64_t Bytes(const Status& status) {
    return static_cast<uint32_t>(status.bytes_low) |
           static_cast<uint64_t>(static_cast<uint32_t>(status.bytes_high_and_cancelled) >> 1) << 32;
  }
  static bool IsCancelled(const Status& status) { return (status.bytes_high_and_cancelled & 1) != 0; }
  /// The highest two bits of a handle are the kind of its object; 1 is a predefined one.
  static bool IsDone(uint64_t key) { return key >> 30 == 1; }
};

}  // namespace attune::probe::mpi
