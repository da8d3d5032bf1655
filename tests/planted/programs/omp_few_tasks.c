// A tree of tasks has one branch that is much longer than the others, and all wait for it.
// planted: class=load-imbalance|wait-at-barrier|tail-imbalance function=visit_branch|visit_tree options=-fopenmp
// planted: compilers=gcc,clang environment=OMP_NUM_THREADS=2 tolerance=none

#include <omp.h>

#include "planted.h"

static void visit_branch(int leaves) {
  COMPUTE_US(leaves * 1000);  // <- cause
}

static void visit_tree(void) {
  // <- cause: begin
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    visit_branch(16);
#pragma omp task
    visit_branch(3);
#pragma omp taskwait
  }
  // <- cause: end
}

int main(void) {
  for (int i = 0; i < 60; ++i) visit_tree();
  return write_truth();
}
