#pragma once
/// The hooks of all functions of MPI, generated from catalog/mpi.txt.

#include "probe/mpi/collective.h"
#include "probe/mpi/completion.h"
#include "probe/mpi/lifetime.h"
#include "probe/mpi/point_to_point.h"

namespace attune::probe::mpi {
namespace {

#include "mpi_hooks.inc"

}  // namespace
}  // namespace attune::probe::mpi
