#pragma once
/// What all processes of one MPI_COMM_WORLD agree to call it without a message.

#include <stdint.h>

namespace attune::probe::mpi {

/// A hash of what the launcher gave to all of them: a job's name or key, or where MPICH's own launcher is to be
/// reached. Not 0. @cost reads the environment and /proc, about 20 us
uint64_t WorldId();

}  // namespace attune::probe::mpi
