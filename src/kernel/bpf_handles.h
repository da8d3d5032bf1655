#pragma once
/// libbpf's objects as owned pointers, and its errors as ours.

#include <bpf/libbpf.h>

#include <memory>
#include <string_view>

#include "base/result.h"

namespace attune::kernel {

struct ObjectCloser {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct LinkDestroyer {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using ObjectHandle = std::unique_ptr<bpf_object, ObjectCloser>;
using LinkHandle = std::unique_ptr<bpf_link, LinkDestroyer>;

/// kPermission with a hint, or kUnavailable. @param error_number positive
Error BpfError(std::string_view what, int error_number);

}  // namespace attune::kernel
