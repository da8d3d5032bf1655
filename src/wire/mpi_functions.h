#pragma once
/// The functions of MPI by the numbers that rings and recordings have. The list is catalog/mpi.txt, which only grows.

#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

/// "MPI_Send"; "" where there is no such function.
const char* MpiFunctionName(uint64_t number);

}  // namespace attune::wire
#endif
