#pragma once
/// The id of MPI_COMM_WORLD, which all of its processes compute without a message.

#include <stdint.h>

namespace attune::probe::mpi {

/// A hash of data that the launcher gives to all processes: name or key of the job, or the address of MPICH's own
/// launcher. Not 0. @cost reads the environment and /proc, about 20 us
uint64_t WorldId();

}  // namespace attune::probe::mpi
