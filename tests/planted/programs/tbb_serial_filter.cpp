// A pipeline of TBB does nearly all of its work in a stage that is serial.
// planted: class=serial-section|serialisation function=Encode|operator() needs=oneapi/tbb.h libraries=tbb options=-O0
// planted: tolerance=none

#include <oneapi/tbb.h>

#include "planted.h"

namespace {
int Encode(int frame) {
  COMPUTE_US(5000);  // <- cause
  return frame;
}
}  // namespace

int main() {
  int next = 0;
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&next](tbb::flow_control& control) {
           if (next == 250) control.stop();
           return next++;
         }) & tbb::make_filter<int, int>(tbb::filter_mode::parallel, [](int frame) {
           COMPUTE_US(500);
           return frame;
         }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [](int frame) { Encode(frame); }));
  return write_truth();
}
