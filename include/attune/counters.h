#pragma once
/// Counters: count events of the calling thread round regions of a program. C11, and C++17 or later.
///
///   #include <attune/counters.h>
///
///   attune_counters* counters = attune_counters_open("cycles,instructions,@ipc");
///   const int step = attune_counters_region(counters, "step");
///   for (int i = 0; i < 1000; ++i) {
///     attune_counters_begin(counters, step);
///     Step(i);
///     attune_counters_end(counters);
///   }
///   attune_counters_print(counters, stderr);
///   attune_counters_close(counters);
///
/// Link with -lattune_counters. It needs no attune that runs; under `attune run` the regions are also markers
/// (attune/probe.h), with their times, and their counts are series of the recording.
///
/// **Events** are those of `attune counters` (docs/counters.md): perf's names, units, raw numbers, libpfm4's; a group
/// of events with its metrics is "@NAME" (`attune list groups`).
///
/// **Threads.** What attune_counters_open() or attune_counters_clone() returns belongs to the thread that called it:
/// all else must be called by that thread, but for attune_counters_clone() and attune_counters_total(). A thread ends
/// its regions and closes its counters before it ends: regions that are open then are not in the sums.
///
/// **fork().** Counters are of the process that opened them. In its child begin, end and read fail (-1), sums are those
/// up to the fork; attune_counters_clone() makes counters of the child's own.
///
/// **Cost.** Descriptors are opened by open and clone alone. begin and end read all events at once: by a read() for
/// each PMU, or without a system call where the kernel permits that (x86: /sys/bus/event_source/devices/cpu/rdpmc;
/// arm64: kernel.perf_user_access). They allocate nothing, take no lock and do not print.
///
/// **Errors.** A function that cannot do what it is for returns NULL or -1, and attune_counters_error() says why. An
/// event that this machine does not have is left out where others are there: attune_counters_why() says why.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_COUNTERS_API __attribute__((visibility("default")))

/// Values of one thread: events, then metrics.
enum { ATTUNE_COUNTERS_MAX = 30 };
/// Regions of one setup; regions in one another.
enum { ATTUNE_COUNTERS_REGIONS = 256, ATTUNE_COUNTERS_DEPTH = 32 };

/// Counters of one thread.
typedef struct attune_counters attune_counters;

/// Counts of a region, in the order of attune_counters_name().
typedef struct attune_counted {
  uint64_t calls;                      ///< times that it ended
  uint64_t ns;                         ///< wall time between begin and end
  double counts[ATTUNE_COUNTERS_MAX];  ///< events in their units; metrics of the sums, NAN where there is none
} attune_counted;

/// A point in time with what was counted since the counters were opened.
typedef struct attune_count_sample {
  uint64_t t_ns;  ///< CLOCK_MONOTONIC
  int64_t tag;    ///< given by the caller
  double counts[ATTUNE_COUNTERS_MAX];
} attune_count_sample;

/// Opens counters of the calling thread, which count from now on. @param events names with commas between; "" and NULL:
/// task-clock and page-faults  @return NULL: see attune_counters_error()
ATTUNE_COUNTERS_API attune_counters* attune_counters_open(const char* events);
/// The same for all that runs on CPUs. @param cpus as in "0-3,8"; NULL: all. Needs the right to count others
ATTUNE_COUNTERS_API attune_counters* attune_counters_open_cpus(const char* events, const char* cpus);
/// Counters of the same events and regions for the calling thread.
ATTUNE_COUNTERS_API attune_counters* attune_counters_clone(const attune_counters* of);
/// Their counts stay in attune_counters_total(). NULL is allowed.
ATTUNE_COUNTERS_API void attune_counters_close(attune_counters* counters);

/// Why the calling thread's last function failed; valid until its next one.
ATTUNE_COUNTERS_API const char* attune_counters_error(void);
/// Events that are not counted and metrics that are not computed, a line each; "": none.
ATTUNE_COUNTERS_API const char* attune_counters_why(const attune_counters* counters);

/// Number of values.
ATTUNE_COUNTERS_API size_t attune_counters_size(const attune_counters* counters);
/// As they were asked for. NULL: there is no such value
ATTUNE_COUNTERS_API const char* attune_counters_name(const attune_counters* counters, size_t value);
/// "ns", "GHz", ...; "": a number.
ATTUNE_COUNTERS_API const char* attune_counters_unit(const attune_counters* counters, size_t value);
/// Whether it can be read without a system call now.
ATTUNE_COUNTERS_API int attune_counters_reads_in_user_space(const attune_counters* counters);

/// Counts since the counters were opened. @param counts attune_counters_size() values  @return 0, or -1
ATTUNE_COUNTERS_API int attune_counters_read(attune_counters* counters, double* counts);

/// A region by its name, the same for all clones. @return its number, or -1: there are too many
ATTUNE_COUNTERS_API int attune_counters_region(attune_counters* counters, const char* name);
/// The region begins. Regions nest: the inner ones' counts are also the outer one's. @return 0; -1: too many are in one
/// another, or there is no such region
ATTUNE_COUNTERS_API int attune_counters_begin(attune_counters* counters, int region);
/// The region that began last ends. @return 0; -1: none began
ATTUNE_COUNTERS_API int attune_counters_end(attune_counters* counters);
/// Sums of this thread. @return 0, or -1: there is no such region
ATTUNE_COUNTERS_API int attune_counters_result(const attune_counters* counters, int region, attune_counted* counted);
/// Sums of all clones, also of those that are closed.
ATTUNE_COUNTERS_API int attune_counters_total(const attune_counters* counters, int region, attune_counted* counted);
/// A table of all regions of all clones.
ATTUNE_COUNTERS_API void attune_counters_print(const attune_counters* counters, FILE* stream);

/// Room for samples; when it is full the oldest ones go. @return 0, or -1: no memory
ATTUNE_COUNTERS_API int attune_counters_keep_samples(attune_counters* counters, size_t samples);
/// Takes a sample now. @return 0, or -1
ATTUNE_COUNTERS_API int attune_counters_sample(attune_counters* counters, int64_t tag);
/// Hands over the oldest samples and forgets them. @return their number, at most `room`
ATTUNE_COUNTERS_API size_t attune_counters_take_samples(attune_counters* counters, attune_count_sample* samples,
                                                        size_t room);
/// Samples that went because there was no room.
ATTUNE_COUNTERS_API uint64_t attune_counters_lost_samples(const attune_counters* counters);

#ifdef __cplusplus
}  // extern "C"

namespace attune {

/// Counters of the thread that makes the object; false where they could not be opened: attune_counters_error() says
/// why.
class Counters {
 public:
  explicit Counters(const char* events) : counters_(attune_counters_open(events)) {}
  Counters(Counters&& other) noexcept : counters_(other.counters_) { other.counters_ = nullptr; }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters() { attune_counters_close(counters_); }

  /// The same events and regions, for the calling thread.
  Counters Clone() const { return Counters(counters_ == nullptr ? nullptr : attune_counters_clone(counters_)); }
  explicit operator bool() const { return counters_ != nullptr; }
  attune_counters* get() const { return counters_; }

 private:
  explicit Counters(attune_counters* counters) : counters_(counters) {}
  attune_counters* counters_;
};

/// A region from here to the end of the scope.
class CountedRegion {
 public:
  CountedRegion(const Counters& counters, int region)
      : counters_(counters.get()), began_(counters && attune_counters_begin(counters_, region) == 0) {}
  CountedRegion(const CountedRegion&) = delete;
  CountedRegion& operator=(const CountedRegion&) = delete;
  ~CountedRegion() {
    if (began_) attune_counters_end(counters_);
  }

 private:
  attune_counters* counters_;
  bool began_;
};

}  // namespace attune
#endif
