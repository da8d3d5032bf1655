/* Loads the library at run time, uses it in a thread, and closes it before the thread ends. Usage: unloading LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

static void* library;

static void* Thread(void* unused) {
  uint32_t (*name)(const char*);
  void (*instant)(uint32_t);
  void* symbol = dlsym(library, "attune_probe_name");
  memcpy(&name, &symbol, sizeof(name));
  symbol = dlsym(library, "attune_probe_instant");
  memcpy(&instant, &symbol, sizeof(instant));
  instant(name("from dlopen"));
  if (dlclose(library) != 0) return &library;
  return unused; /* now the library's destructor for this thread runs */
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  library = dlopen(argv[1], RTLD_NOW);
  if (library == 0) return 3;
  pthread_t thread;
  void* failed = 0;
  if (pthread_create(&thread, 0, Thread, 0) != 0) return 4;
  pthread_join(thread, &failed);
  return failed != 0;
}
