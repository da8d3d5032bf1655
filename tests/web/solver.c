// Two threads that compute, each its own way: one relaxes a grid and measures how far it is from rest, the other one
// transforms a signal. With frame pointers, so that call paths are whole. Usage: solver SECONDS

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline))

enum { kSide = 200, kSignal = 1024 };

static double grid[kSide][kSide];
static double signal_in[kSignal], signal_out[kSignal];
static volatile double result;
static double end_s;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

KEPT static void relax(void) {
  for (int y = 1; y < kSide - 1; ++y)
    for (int x = 1; x < kSide - 1; ++x)
      grid[y][x] = 0.25 * (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]);
}

KEPT static double residual(void) {
  double sum = 0;
  for (int y = 1; y < kSide; ++y)
    for (int x = 1; x < kSide; ++x) sum += sqrt(fabs(grid[y][x] - grid[y - 1][x - 1]));
  return sum;
}

KEPT static void solve(void) {
  for (int i = 0; i < 20; ++i) relax();
  result = residual();
}

KEPT static void transform(void) {
  for (int k = 0; k < kSignal; k += 16) {
    double sum = 0;
    for (int i = 0; i < kSignal; ++i) sum += signal_in[i] * cos(6.283185307179586 * k * i / kSignal);
    signal_out[k] = sum;
  }
  result = signal_out[0];
}

static void* run_solver(void* unused) {
  while (now_s() < end_s) solve();
  return unused;
}

static void* run_transform(void* unused) {
  while (now_s() < end_s) transform();
  return unused;
}

int main(int argc, char** argv) {
  end_s = now_s() + (argc > 1 ? atof(argv[1]) : 2);
  for (int i = 0; i < kSide; ++i) grid[0][i] = 100;
  for (int i = 0; i < kSignal; ++i) signal_in[i] = i % 17;
  pthread_t threads[2];
  void* (*const functions[2])(void*) = {run_solver, run_transform};
  const char* const names[2] = {"solver", "transform"};
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, functions[i], NULL) != 0) return 1;
    pthread_setname_np(threads[i], names[i]);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
