// Asks whether there is MPI, as programs do that may be used with it or without.
#include <dlfcn.h>
#include <stdio.h>

__attribute__((weak)) int MPI_Initialized(int* flag);
__attribute__((weak)) int MPI_Send(const void*, int, void*, int, int, void*);

int main(void) {
  printf("%d %d %d\n", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL, dlsym(RTLD_DEFAULT, "PMPI_Send") != NULL,
         dlsym(RTLD_DEFAULT, "mpi_send_") != NULL);
  printf("%d %d\n", MPI_Initialized != NULL, MPI_Send != NULL);
  return 0;
}
