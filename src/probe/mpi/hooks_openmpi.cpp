#include "probe/mpi/hooks.h"

namespace attune::probe::mpi {

template <>
void* HookFor<OpenMpi>(uint16_t function) {
  return HookOf<OpenMpi>(function);
}

}  // namespace attune::probe::mpi
