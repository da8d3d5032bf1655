// What the probe believes of a library (src/probe/mpi/abi.h), against that library's own header.

#include <mpi.h>

#include <cstddef>

#include "probe/mpi/abi.h"

#ifdef OPEN_MPI
using Abi = attune::probe::mpi::OpenMpi;
static_assert(offsetof(Abi::Status, cancelled) == offsetof(MPI_Status, _cancelled));
static_assert(offsetof(Abi::Status, bytes) == offsetof(MPI_Status, _ucount));
#else
using Abi = attune::probe::mpi::Mpich;
static_assert(offsetof(Abi::Status, bytes_low) == offsetof(MPI_Status, count_lo));
static_assert(offsetof(Abi::Status, bytes_high_and_cancelled) == offsetof(MPI_Status, count_hi_and_cancelled));
static_assert(Abi::kWorld == MPI_COMM_WORLD && Abi::kSelf == MPI_COMM_SELF);
static_assert(Abi::kNoCommunicator == MPI_COMM_NULL && Abi::kNoRequest == MPI_REQUEST_NULL);
#endif

static_assert(sizeof(Abi::Status) == sizeof(MPI_Status) && alignof(Abi::Status) == alignof(MPI_Status));
static_assert(offsetof(Abi::Status, source) == offsetof(MPI_Status, MPI_SOURCE));
static_assert(offsetof(Abi::Status, tag) == offsetof(MPI_Status, MPI_TAG));
static_assert(offsetof(Abi::Status, error) == offsetof(MPI_Status, MPI_ERROR));
static_assert(sizeof(Abi::Handle) == sizeof(MPI_Comm) && sizeof(Abi::Handle) == sizeof(MPI_Request));
static_assert(sizeof(Abi::Handle) == sizeof(MPI_Datatype) && sizeof(Abi::Handle) == sizeof(MPI_Message));
static_assert(sizeof(Abi::Handle) == sizeof(MPI_Group));
static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t));
static_assert(Abi::kAnySource == MPI_ANY_SOURCE && Abi::kProcNull == MPI_PROC_NULL && Abi::kRoot == MPI_ROOT);
static_assert(Abi::kUndefined == MPI_UNDEFINED && MPI_SUCCESS == 0);
static_assert(Abi::kTruncated == MPI_ERR_TRUNCATE && Abi::kInStatus == MPI_ERR_IN_STATUS);
static_assert(Abi::kPending == MPI_ERR_PENDING);
static_assert(Abi::kCart == MPI_CART && Abi::kGraph == MPI_GRAPH && Abi::kDistGraph == MPI_DIST_GRAPH);
static_assert(Abi::kNamedType == MPI_COMBINER_NAMED && Abi::kThreadMultiple == MPI_THREAD_MULTIPLE);

// Where the header's are addresses, which no compiler compares: mpi_test would see wrong ones at once.
bool IsSame() {
  return reinterpret_cast<const void*>(Abi::StatusIgnore()) == MPI_STATUS_IGNORE &&
         reinterpret_cast<const void*>(Abi::StatusIgnore()) == MPI_STATUSES_IGNORE && Abi::InPlace() == MPI_IN_PLACE;
}
