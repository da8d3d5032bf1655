#include "probe/mpi/hooks.h"

namespace attune::probe::mpi {

template <>
void* HookFor<Mpich>(uint16_t function) {
  return HookOf<Mpich>(function);
}

}  // namespace attune::probe::mpi
