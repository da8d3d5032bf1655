#pragma once
/// Rules for programs that the probe library must not be preloaded into. The session applies them to the observed
/// program, the probe to the children of that program.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

namespace attune::wire {

/// Why the probe library is not preloaded into a program that another one starts. Index into
/// RingHeader::left_alone.
enum class LeftAlone : uint8_t {
  kSanitizer = 0,       ///< its runtime must be the first library
  kOtherLibrary = 1,    ///< its C library is not glibc
  kOtherProcessor = 2,  ///< or word size
  kNoProbe = 3,         ///< the program cannot read the probe library: another root folder, another user
  kScarceMemory = 4,    ///< MemoryIsScarce()
};

/// The probe takes at most one part in so many of a limited address space.
constexpr uint64_t kScarceParts = 256;

/// Whether the memory limits of this process and its children (ulimit -v, -d) are so low that the probe library could
/// take memory that a program needs.
inline bool MemoryIsScarce() {
  constexpr rlim_t kLeastAddressSpace = kScarceParts * (4u << 20);  // library, first rings, what the loader needs
  constexpr rlim_t kLeastData = kScarceParts * (256u << 10);
  rlimit space, data;
  return getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
         space.rlim_cur < kLeastAddressSpace || data.rlim_cur < kLeastData;
}

constexpr const char* kProbeLibraryName = "libattune_probe.so";

/// A path without its folders. @param length of `path`; becomes that of the result
inline const char* BaseName(const char* path, size_t* length) {
  size_t at = *length;
  while (at > 0 && path[at - 1] != '/') --at;
  *length -= at;
  return path + at;
}

inline bool StartsWith(const char* text, size_t length, const char* start) {
  const size_t wanted = strlen(start);
  return length >= wanted && memcmp(text, start, wanted) == 0;
}

/// A sanitizer runtime that ends the program if another library was loaded before it.
inline bool IsSanitizer(const char* library, size_t length) {
  const char* name = BaseName(library, &length);
  return StartsWith(name, length, "libasan.so") || StartsWith(name, length, "libtsan.so") ||
         StartsWith(name, length, "libhwasan.so") || StartsWith(name, length, "libclang_rt.");
}

inline bool IsGlibcLoader(const char* interpreter, size_t length) {
  const char* name = BaseName(interpreter, &length);
  return StartsWith(name, length, "ld-linux") || StartsWith(name, length, "ld64.so") ||
         StartsWith(name, length, "ld.so");
}

inline bool IsMuslLoader(const char* path, size_t length) {
  const char* name = BaseName(path, &length);
  return StartsWith(name, length, "ld-musl");
}

/// Whether an entry of LD_PRELOAD is the probe library, wherever it lies.
inline bool IsProbeLibrary(const char* entry, size_t length) {
  const char* name = BaseName(entry, &length);
  const size_t known = strlen(kProbeLibraryName);  // a version follows
  return length >= known && memcmp(name, kProbeLibraryName, known) == 0;
}

}  // namespace attune::wire
