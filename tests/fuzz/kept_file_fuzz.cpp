// Files of kept fields: any bytes may be given to `attune p2g dump`.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "dataflow/kept/reader.h"

using namespace attune::flow::kept;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const attune::UniqueFd descriptor(::memfd_create("kept", MFD_CLOEXEC));
  if (!descriptor || ::write(descriptor.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  File file;
  std::string problem;
  if (!file.Open(descriptor.get(), &problem)) {
    if (problem.empty()) __builtin_trap();
    return 0;
  }
  for (const SingleElement& element : file.elements()) {
    const FieldDescription& field = file.program().fields[static_cast<size_t>(element.field)];
    static_cast<void>(ValueText(field, reinterpret_cast<const std::byte*>(element.value.data())));
  }
  for (const AgeEntry& age : file.ages()) {
    AgeContents contents;
    if (!file.Read(age, &contents, &problem)) continue;
    const FieldDescription& field = file.program().fields[static_cast<size_t>(age.field)];
    for (int64_t i = 0; i < age.elements; i += 1 + age.elements / 16) {
      static_cast<void>(ElementName(field, age, i));
      if (contents.Has(i)) static_cast<void>(ValueText(field, contents.values.data() + i * field.element_bytes));
    }
    static_cast<void>(TypeText(field));
  }
  return 0;
}
