// short_threads NUMBER: as many threads, each of which computes for a moment, four at a time; then a child process that
// does the same with as many again.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* Compute(void* unused) {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 2000; ++i) sum += i;
  return unused;
}

static int Threads(int number) {
  for (int done = 0; done < number; done += 4) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) {
      if (pthread_create(&threads[i], NULL, Compute, NULL) != 0) return 1;
    }
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
  return 0;
}

int main(int argc, char** argv) {
  const int number = argc > 1 ? atoi(argv[1]) : 100;
  if (Threads(number) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) _exit(Threads(number));
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  puts("done");
  return 0;
}
