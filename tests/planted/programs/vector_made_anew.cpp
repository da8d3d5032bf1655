// Each query makes a std::vector of 40 MB for its marks, of which it needs a page here and there, and drops it.
// planted: class=page-faults function=MarkReached options=-O0 tolerance=none

#include <vector>

#include "planted.h"

namespace {
std::size_t MarkReached(std::size_t start) {
  std::vector<char> is_reached(40 << 20);  // <- cause
  std::size_t count = 0;
  // <- cause: begin
  for (std::size_t at = start; at < is_reached.size(); at += 4099) {
    is_reached[at] = 1;
    ++count;
  }
  // <- cause: end
  return count;
}
}  // namespace

int main() {
  std::size_t marks = 0;
  const long long before_ns = now_ns();
  for (std::size_t query = 0; now_ns() - before_ns < 1300000000LL; ++query) marks += MarkReached(query % 4096);
  return write_truth() + (marks == 0);
}
