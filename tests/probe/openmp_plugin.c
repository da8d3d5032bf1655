// A library with an OpenMP runtime that the program which loads it has not.

long plugin_count(int threads, int times) {
  long total = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < times; ++i) {
#pragma omp critical
    ++total;
  }
  return total;
}
