#pragma once
/// Markers: name regions, counters and messages of a program for attune. C11, and C++17 or later.
///
///   #include <attune/probe.h>
///
///   void Compress(Block* block) {
///     ATTUNE_REGION("compress");                      // from here to the end of the scope
///     ATTUNE_COUNTER("queue.length", queue_length);   // a value that a chart can show
///     ATTUNE_SEND("writer", block->bytes, block->id); // a message; its receiver calls
///   }                                                 // ATTUNE_RECEIVE("writer", bytes, id)
///
/// Link with -lattune_probe (shared or static; a static one needs nothing but libc). Run under `attune run`, the
/// markers appear in the recording, its charts and its report. Run without attune, or at level off, they do nothing.
///
/// **Cost** (x86-64 virtual machine, `./dev bench`): off, a load and a predicted branch, well under 1 ns; on, one read
/// of the cycle counter (10 to 20 ns) and about 3 ns. A name is looked up once for each place in the code.
///
/// **Threads.** Every function and macro may be called from any thread, from signal handlers, in children made by fork
/// and vfork, before main and in destructors. None blocks, allocates, prints, throws, makes a system call or changes
/// errno.
///
/// **Arguments** of the macros are evaluated only when the marker is recorded, so they must have no side effects that
/// the program needs: ATTUNE_COUNTER("queue", Push(item)) would push nothing without attune.
///
/// **Errors.** There are none for the caller. Lost events (the session was too slow, too many threads, too many names)
/// are counted and reported.
///
/// **Names** are UTF-8 of at most 255 bytes (longer ones are cut), and the same text is the same name everywhere in the
/// program. Control characters are shown as '?'. A program has room for some thousands of names (64 KiB in all);
/// markers with further names are recorded without a name. So do not put numbers into names: use values.
///
/// Two switches, to be defined before the header is included:
///   ATTUNE_DISABLE   every marker compiles to nothing (arguments are not evaluated); nothing is linked
///   ATTUNE_OPTIONAL  the program is not linked with the library, and uses it if it is preloaded (LD_PRELOAD).
///                    For position-independent code (the default of today's compilers). Off costs one branch more.

#include <stdint.h>

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__GNUC__)
#ifndef ATTUNE_DISABLE
#define ATTUNE_DISABLE 1 /* no probe for this platform */
#endif
#endif

/// Recording levels. Markers are recorded at every level but off.
enum {
  ATTUNE_LEVEL_OFF = 0,
  ATTUNE_LEVEL_PROFILE = 1,
  ATTUNE_LEVEL_BLAME = 2,
  ATTUNE_LEVEL_TRACE = 3,
  ATTUNE_LEVEL_STAMPED = 4
};

/// A registered name; 0: no name. Valid as long as the process lives, and in its children by fork.
typedef uint32_t attune_name_t;

#ifndef ATTUNE_DISABLE

#ifdef ATTUNE_OPTIONAL
#define ATTUNE_IMPORT_ __attribute__((visibility("default"), weak))
#else
#define ATTUNE_IMPORT_ __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The stable binary interface. Programs use the macros and functions below, because these functions do work even at
/// level off.
ATTUNE_IMPORT_ extern const uint32_t* attune_probe_level;
ATTUNE_IMPORT_ attune_name_t attune_probe_name(const char* text);
ATTUNE_IMPORT_ void attune_probe_region_begin(attune_name_t name);
ATTUNE_IMPORT_ void attune_probe_region_end(attune_name_t name);
ATTUNE_IMPORT_ void attune_probe_instant(attune_name_t name);
ATTUNE_IMPORT_ void attune_probe_instant_value(attune_name_t name, int64_t value);
ATTUNE_IMPORT_ void attune_probe_counter(attune_name_t name, int64_t value);
ATTUNE_IMPORT_ void attune_probe_send(attune_name_t name, uint64_t bytes, uint64_t tag);
ATTUNE_IMPORT_ void attune_probe_receive(attune_name_t name, uint64_t bytes, uint64_t tag);
ATTUNE_IMPORT_ uint64_t attune_probe_channel_begin(void);
ATTUNE_IMPORT_ void attune_probe_channel_send(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin);
ATTUNE_IMPORT_ void attune_probe_channel_recv(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin);
ATTUNE_IMPORT_ void attune_probe_idle(int is_idle);

#ifdef __cplusplus
}
#endif

/// The level now; the session may change it at any time. @cost two loads
static inline uint32_t attune_level(void) {
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_level) return ATTUNE_LEVEL_OFF;
#endif
  return __atomic_load_n(__atomic_load_n(&attune_probe_level, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/// Whether markers are recorded now, for code that computes a value only for attune.
static inline int attune_on(void) { return __builtin_expect(attune_level() != ATTUNE_LEVEL_OFF, 0) != 0; }

/// Registers or finds a name at run time; 0 while nothing is recorded. @cost a hash look-up: keep the result if that
/// matters, but do not keep 0
static inline attune_name_t attune_name(const char* text) { return attune_on() ? attune_probe_name(text) : 0; }

/// The markers with a name from attune_name(). The macros below are shorter where the name is a literal.

/// A region of work of this thread begins, or ends. Regions nest; a pair must be in one thread.
static inline void attune_region_begin(attune_name_t name) {
  if (attune_on()) attune_probe_region_begin(name);
}
static inline void attune_region_end(attune_name_t name) {
  if (attune_on()) attune_probe_region_end(name);
}
/// An event at this moment.
static inline void attune_instant(attune_name_t name) {
  if (attune_on()) attune_probe_instant(name);
}
/// An event at this moment, with a value.
static inline void attune_instant_value(attune_name_t name, int64_t value) {
  if (attune_on()) attune_probe_instant_value(name, value);
}
/// A quantity of the process has this value from now on. The caller fixes the unit; say it in the name ("pool.bytes").
/// INT64_MIN is reserved and shown as missing.
static inline void attune_counter(attune_name_t name, int64_t value) {
  if (attune_on()) attune_probe_counter(name, value);
}
/// A message of so many bytes goes into, or came out of, a channel (a queue, a pipe, a connection). `tag` tells
/// messages of one channel apart; a send and the receive with the same channel and tag are one message.
static inline void attune_send(attune_name_t channel, uint64_t bytes, uint64_t tag) {
  if (attune_on()) attune_probe_send(channel, bytes, tag);
}
static inline void attune_receive(attune_name_t channel, uint64_t bytes, uint64_t tag) {
  if (attune_on()) attune_probe_receive(channel, bytes, tag);
}

/// Messages through a program's own channel that attune cannot observe (shared memory, a device). The channel has the
/// same name in all of its processes. Both sides report each message with their time for it; it becomes an edge of the
/// task graph (docs/task-graph.md):
///
///   uint64_t begin = attune_channel_begin();
///   PutIntoSharedMemory(block);                                    // may wait for room
///   ATTUNE_CHANNEL_SEND("blocks", block->bytes, block->id, begin);
///
/// The receiver does the same around its call, with ATTUNE_CHANNEL_RECV. Sends and receives of one channel with the
/// same tag are paired in the order of their begins.
///
/// @return begin of the call; 0: nothing is recorded now, and the message will not be
static inline uint64_t attune_channel_begin(void) { return attune_on() ? attune_probe_channel_begin() : 0; }
/// Reports that the message was sent. @param channel 0: nothing is recorded  @param begin of attune_channel_begin()
static inline void attune_channel_send(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  if (begin != 0 && channel != 0 && attune_on()) attune_probe_channel_send(channel, bytes, tag, begin);
}
/// Reports that the message was received.
static inline void attune_channel_recv(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  if (begin != 0 && channel != 0 && attune_on()) attune_probe_channel_recv(channel, bytes, tag, begin);
}

/// This thread, of a pool, has no work from here to attune_idle_end(), and waits until it is woken, by a condition, a
/// semaphore or a futex. Such a wait is shown as idle, and is no loss to be found. Calls do not nest.
/// @cost a call and a store, also at level off
static inline void attune_idle_begin(void) {
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_idle) return;
#endif
  attune_probe_idle(1);
}
static inline void attune_idle_end(void) {
#ifdef ATTUNE_OPTIONAL
  if (!&attune_probe_idle) return;
#endif
  attune_probe_idle(0);
}

/// The name of a place in the code, registered when it first runs while markers are recorded.
static inline attune_name_t attune_site_(attune_name_t* site, const char* text) {
  attune_name_t name = __atomic_load_n(site, __ATOMIC_ACQUIRE);
  if (__builtin_expect(name == 0, 0)) {
    name = attune_probe_name(text);
    __atomic_store_n(site, name, __ATOMIC_RELEASE);
  }
  return name;
}
#define ATTUNE_SITE_(text)                  \
  __extension__({                           \
    static attune_name_t attune_site_id_;   \
    attune_site_(&attune_site_id_, (text)); \
  })
#define ATTUNE_IF_ON_(call) \
  do {                      \
    if (attune_on()) call;  \
  } while (0)

/// The same markers with a literal name, registered once for each place.
#define ATTUNE_REGION_BEGIN(text) ATTUNE_IF_ON_(attune_probe_region_begin(ATTUNE_SITE_(text)))
#define ATTUNE_REGION_END(text) ATTUNE_IF_ON_(attune_probe_region_end(ATTUNE_SITE_(text)))
#define ATTUNE_INSTANT(text) ATTUNE_IF_ON_(attune_probe_instant(ATTUNE_SITE_(text)))
#define ATTUNE_INSTANT_VALUE(text, value) ATTUNE_IF_ON_(attune_probe_instant_value(ATTUNE_SITE_(text), (value)))
#define ATTUNE_COUNTER(text, value) ATTUNE_IF_ON_(attune_probe_counter(ATTUNE_SITE_(text), (value)))
#define ATTUNE_SEND(text, bytes, tag) ATTUNE_IF_ON_(attune_probe_send(ATTUNE_SITE_(text), (bytes), (tag)))
#define ATTUNE_RECEIVE(text, bytes, tag) ATTUNE_IF_ON_(attune_probe_receive(ATTUNE_SITE_(text), (bytes), (tag)))
#define ATTUNE_CHANNEL_SEND(text, bytes, tag, begin) \
  ATTUNE_IF_ON_(attune_channel_send(ATTUNE_SITE_(text), (bytes), (tag), (begin)))
#define ATTUNE_CHANNEL_RECV(text, bytes, tag, begin) \
  ATTUNE_IF_ON_(attune_channel_recv(ATTUNE_SITE_(text), (bytes), (tag), (begin)))

/// The state of a scope: its name, and a bit above it that is set if the region began.
static inline uint64_t attune_scope_begin_(attune_name_t name) {
  attune_probe_region_begin(name);
  return (UINT64_C(1) << 32) | name;
}
static inline void attune_scope_end_(const uint64_t* scope) {
  const attune_name_t name = *scope & UINT32_MAX;
  if (__builtin_expect(*scope != 0, 0)) attune_probe_region_end(name);
}
#define ATTUNE_JOIN_INNER_(a, b) a##b
#define ATTUNE_JOIN_(a, b) ATTUNE_JOIN_INNER_(a, b)

/// A region from here to the end of the enclosing scope, however it is left (return, break, goto; exceptions and
/// cancellation too, in C where it is compiled with -fexceptions). What began while attune was watching also ends,
/// whatever the level is by then.
#define ATTUNE_REGION(text)                                                                          \
  __attribute__((cleanup(attune_scope_end_))) const uint64_t ATTUNE_JOIN_(attune_scope_, __LINE__) = \
      attune_on() ? attune_scope_begin_(ATTUNE_SITE_(text)) : 0

#else /* ATTUNE_DISABLE */

static inline uint32_t attune_level(void) { return ATTUNE_LEVEL_OFF; }
static inline int attune_on(void) { return 0; }
static inline attune_name_t attune_name(const char* text) { return (void)text, 0u; }
static inline void attune_region_begin(attune_name_t name) { (void)name; }
static inline void attune_region_end(attune_name_t name) { (void)name; }
static inline void attune_instant(attune_name_t name) { (void)name; }
static inline void attune_instant_value(attune_name_t name, int64_t value) { (void)name, (void)value; }
static inline void attune_counter(attune_name_t name, int64_t value) { (void)name, (void)value; }
static inline void attune_send(attune_name_t name, uint64_t bytes, uint64_t tag) { (void)name, (void)bytes, (void)tag; }
static inline void attune_receive(attune_name_t name, uint64_t bytes, uint64_t tag) {
  (void)name, (void)bytes, (void)tag;
}
static inline uint64_t attune_channel_begin(void) { return 0; }
static inline void attune_channel_send(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  (void)channel, (void)bytes, (void)tag, (void)begin;
}
static inline void attune_channel_recv(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  (void)channel, (void)bytes, (void)tag, (void)begin;
}
static inline void attune_idle_begin(void) {}
static inline void attune_idle_end(void) {}

/* Arguments are checked and count as used, but are not evaluated. */
#define ATTUNE_NOTHING_(arguments) \
  do {                             \
    if (0) {                       \
      arguments;                   \
    }                              \
  } while (0)
#define ATTUNE_REGION_BEGIN(text) ATTUNE_NOTHING_((void)(text))
#define ATTUNE_REGION_END(text) ATTUNE_NOTHING_((void)(text))
#define ATTUNE_INSTANT(text) ATTUNE_NOTHING_((void)(text))
#define ATTUNE_INSTANT_VALUE(text, value) ATTUNE_NOTHING_(((void)(text), (void)(value)))
#define ATTUNE_COUNTER(text, value) ATTUNE_NOTHING_(((void)(text), (void)(value)))
#define ATTUNE_SEND(text, bytes, tag) ATTUNE_NOTHING_(((void)(text), (void)(bytes), (void)(tag)))
#define ATTUNE_RECEIVE(text, bytes, tag) ATTUNE_NOTHING_(((void)(text), (void)(bytes), (void)(tag)))
#define ATTUNE_CHANNEL_SEND(text, bytes, tag, begin) \
  ATTUNE_NOTHING_(((void)(text), (void)(bytes), (void)(tag), (void)(begin)))
#define ATTUNE_CHANNEL_RECV(text, bytes, tag, begin) \
  ATTUNE_NOTHING_(((void)(text), (void)(bytes), (void)(tag), (void)(begin)))
#define ATTUNE_REGION(text) ATTUNE_NOTHING_((void)(text))

#endif /* ATTUNE_DISABLE */

#ifdef __cplusplus
namespace attune {

/// A region as an object, for a name that is known at run time only, or one that begins and ends in other places than a
/// scope. Must end in the thread where it began. ATTUNE_REGION("name") is the short form for a scope.
class Region {
 public:
  explicit Region(attune_name_t name) : name_(name), began_(attune_on() != 0) {
    if (began_) attune_region_begin(name_);
  }
  explicit Region(const char* name) : Region(attune_name(name)) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { End(); }

  /// Ends it now instead of at the end of its life. Further calls do nothing.
  void End() {
    if (!began_) return;
    began_ = false;
#ifndef ATTUNE_DISABLE
    attune_probe_region_end(name_);
#endif
  }

 private:
  attune_name_t name_;
  bool began_;
};

/// attune_idle_begin() to attune_idle_end(), for a scope.
class Idle {
 public:
  Idle() { attune_idle_begin(); }
  ~Idle() { attune_idle_end(); }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
};

}  // namespace attune
#endif
