#pragma once
/// libbpf's objects as owned pointers, and its errors as ours.

#include <bpf/libbpf.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"

namespace attune::kernel {

struct ObjectCloser {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct LinkDestroyer {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct RingFreer {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};
using RingHandle = std::unique_ptr<ring_buffer, RingFreer>;
using ObjectHandle = std::unique_ptr<bpf_object, ObjectCloser>;
using LinkHandle = std::unique_ptr<bpf_link, LinkDestroyer>;

/// The compiled process.bpf.c and schedule.bpf.c, in one object.
extern const unsigned char kLinkedObject[];
extern const std::size_t kLinkedObjectSize;

/// Gives a constant of a program its value. @param section of the constant alone  @pre the object is not loaded
template <class T>
bool SetConstant(bpf_object* object, const char* section, const T& value) {
  size_t bytes = 0;
  bpf_map* map = bpf_object__find_map_by_name(object, section);
  if (map == nullptr || bpf_map__initial_value(map, &bytes) == nullptr || bytes < sizeof value) return false;
  std::vector<unsigned char> all(bytes);  // the section may be longer, for its alignment
  std::memcpy(all.data(), &value, sizeof value);
  return bpf_map__set_initial_value(map, all.data(), bytes) == 0;
}

/// Whether programs that see processes can be loaded here, and quietly. Error: kUnavailable with what is missing
Status PrepareBpf(const HostRoot& host);

/// kPermission with a hint, or kUnavailable. @param error_number positive
Error BpfError(std::string_view what, int error_number);

}  // namespace attune::kernel
