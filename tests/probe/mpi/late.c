// Loads what uses MPI when it runs, so that nothing but that sees the library.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) return fprintf(stderr, "%s\n", dlerror()), 90;
  int (*run)(void) = (int (*)(void))dlsym(plugin, "run");
  if (run == NULL || dlsym(RTLD_DEFAULT, "MPI_Init") != NULL) return 91;
  return run();
}
