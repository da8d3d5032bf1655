// A region in which gcc gives a call the line of an inlined function of a header; outlined_regions_test compiles it,
// and looks for its lines.
#include "ordered.h"

static void visit(int count) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < count; ++i) {
    const long long before = ordered_clock();
#pragma omp ordered
    {
      ordered_sum += ordered_clock() - before;  // line 11
    }
  }
}

int ordered_count(void) {
  visit(8);
  return (int)ordered_sum;
}
