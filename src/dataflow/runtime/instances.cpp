#include "dataflow/runtime/instances.h"

#include <algorithm>

namespace attune::flow::detail {

std::string RunBase::FieldText(int field, int64_t age) const {
  const FieldInfo& info = graph_.fields[static_cast<size_t>(field)];
  return info.aged ? info.name + "(" + std::to_string(age) + ")" : info.name;
}

Error RunBase::ErrorAt(const InstanceId& instance, ErrorKind kind, const std::string& what) const {
  const KernelInfo& info = graph_.kernels[static_cast<size_t>(instance.kernel)];
  Error error;
  error.kind = kind;
  error.kernel = info.name;
  if (info.aged) error.age = instance.age;
  error.what = "kernel '" + info.name + "'";
  if (info.aged) error.what += ", age " + std::to_string(instance.age);
  for (int v = 0; v < info.variables && kind != ErrorKind::kExtents; ++v) {
    error.index.push_back(instance.index[v]);
    error.what += (v == 0 ? ", index [" : "][") + std::to_string(instance.index[v]);
  }
  if (!error.index.empty()) error.what += "]";
  error.what += ": " + what;
  return error;
}

Error RunBase::ErrorAt(const Instances& instances, const int64_t* index, ErrorKind kind,
                       const std::string& what) const {
  InstanceId id{instances.kernel, instances.age, {}};
  std::copy_n(index, graph_.kernels[static_cast<size_t>(id.kernel)].variables, id.index);
  return ErrorAt(id, kind, what);
}

}  // namespace attune::flow::detail
