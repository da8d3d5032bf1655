// Links compiled eBPF programs into one object, at build time: libbpf reads and searches the kernel's type information
// once for each object that it loads, and that is most of what loading costs.
//
//     link_objects OUTPUT OBJECT...

#include <bpf/libbpf.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: link_objects OUTPUT OBJECT...\n", stderr);
    return 2;
  }
  bpf_linker* linker = bpf_linker__new(argv[1], nullptr);
  int error = linker == nullptr ? -1 : 0;
  for (int i = 2; i < argc && error == 0; ++i) error = bpf_linker__add_file(linker, argv[i], nullptr);
  if (error == 0) error = bpf_linker__finalize(linker);
  bpf_linker__free(linker);
  if (error != 0) std::fprintf(stderr, "link_objects: %s cannot be linked (%d)\n", argv[1], error);
  return error == 0 ? 0 : 1;
}
