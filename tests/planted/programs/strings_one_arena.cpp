// Two parsers build lists of strings, and the program has limited the allocator to one arena itself.
// planted: class=allocator-contention function=ParseRecords tolerance=none
// planted: environment=GLIBC_TUNABLES=glibc.malloc.tcache_count=0

#include <malloc.h>

#include <list>
#include <string>
#include <thread>

#include "planted.h"

namespace {
std::size_t ParseRecords(int records) {
  std::size_t size = 0;
  // <- cause: begin
  for (int i = 0; i < records; ++i) {
    std::list<std::string> fields;
    for (int field = 0; field < 20; ++field) fields.emplace_back(40 + (i * field) % 200, 'x');
    for (const std::string& field : fields) size += field.size();
  }
  // <- cause: end
  return size;
}
}  // namespace

int main() {
  mallopt(M_ARENA_MAX, 1);
  std::thread first([] { (void)ParseRecords(120000); });
  (void)ParseRecords(120000);
  first.join();
  return write_truth();
}
