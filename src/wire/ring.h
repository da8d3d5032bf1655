#pragma once
/// The ring file: the shared memory in which an observed program writes events for its session. Plain data, C11 and
/// C++, libc only.
///
/// One file for each program image: a memfd whose descriptor the program sends by ATTUNE_RING_SOCKET_NAME, else a file
/// in the ring folder (ATTUNE_RING_FOLDER_VARIABLE). The program writes it through a shared mapping; the session uses
/// pread and pwrite only, so that a file that is truncated or overwritten on purpose can give wrong bytes but no fault.
///
///   0              RingHeader, one page
///   names_offset   names_bytes: RingName records, append-only
///   slots_offset   slot_count x RingSlot
///   tables_offset  slot_count x sync_entries x SyncEntry: the counts of slot i (wire/sync.h)
///   rings_offset   slot_count x ring_words x u64: the ring of slot i starts at rings_offset + i * ring_words * 8
///   definitions_offset  kTraceDefinitions x TraceDefinition (wire/trace.h), where trace_words > 0
///   traces_offset  slot_count x trace_words x u64: the trace of slot i
///
/// Sizes follow from slot_count, ring_words, names_bytes, sync_entries and trace_words alone (RingComputeLayout). The
/// file is sparse: header, names and slots are backed when it is created; table and ring of a slot before its `ready`
/// is set; the definitions and its trace before its `trace_ready`. The program touches nothing that is not backed.
/// A lack of memory therefore costs events, which are counted, and never kills the program.
///
/// **Slot.** The single-producer ring of one thread. A thread claims the lowest slot that is ready and free with one
/// compare-and-swap (no system call). The end of the thread frees the slot, and the next owner continues at its head.
/// A kThreadStart record names the thread to which the following records belong.
///
/// **Positions** (head, tail) count u64 words since the slot was made, never wrap (2^64) and index by `&
/// (ring_words-1)`. tail <= head <= tail + ring_words.
///
/// **Record.** word 0 is {u8 kind, u8 words, u16 aux, u32 name}, then words-1 more:
///
///   kRegionBegin, kRegionEnd   2: time
///   kInstant                   2: time | 3: time, value
///   kCounter                   3: time, value
///   kSend, kReceive            4: time, bytes, tag
///   kThreadStart               3: time, pid << 32 | tid
///   kThreadEnd                 2: time
///   kDropped                   4: time of the first lost event, count, time of the event that follows
///   kWait                      5: time of its end, object, site, ticks waited; aux: SyncKind
///   kShortWaits                5: as kWait, of the last of them; ticks waited in all
///   kHandOver                  4: time, object, site; aux: SyncKind
///   kOtherWait                 6: time of its end, object, site, ticks waited, tid; aux: SyncKind. It is in no table
///   kLockOrder                 6: time, object, site, held object, site of its acquisition; aux: SyncKind |
///                              SyncKind of the held object << 8
///   kSyncTotal                 8: time, object, site, count, wait, hold, contended << 32 | holds; aux: SyncKind
///                              | lowest 8 bits of sync_owner << 8. The final values of a table entry of an ending
///                              thread; the entry is then empty
///   kModule                    8: time, first address, address behind the last, load bias, up to 20 bytes of
///                              build-id; name: its path; aux: bytes of the build-id, 0: none. Addresses in this
///                              range belong to it until another module takes their place
///   kSource                    5: time, site, line (0: not known), id of the file's name; name: the function's. Of a
///                              site that is code which an interpreter executes
///   kKnob                      6: time, address of an int64_t, least value, largest value, id of its unit's name;
///                              name: its own; aux: 1: changed at safe points alone that the program declares
///   kRank, kCommunicator, kMessageSent, kMessageReceived, kCollective
///                              4 to 8: wire/message.h
///   kPadding                   1
///
/// `time` is in the unit of RingHeader::clock. `name` is an offset into the names area, 0 for none.
///
/// **Memory order.** The program stores the words, then head with release. The session loads head (pread), fences with
/// acquire, loads the words (pread), fences, stores tail (pwrite). The program loads tail with acquire before it reuses
/// space. The kernel's copies are ordinary loads and stores of the same CPU in program order, so the fences order them.
/// The kernel does not promise that a copy of 8 aligned bytes is one access, so nothing depends on it: the session
/// takes the smaller of two loads of head (a torn value that is too large needs a carry in between, and the second load
/// comes after it); the program uses tail only if tail_check is its complement; all other words that the session
/// writes change in their lowest byte only.

#include <stddef.h>
#include <stdint.h>

#include "wire/sync.h"
#include "wire/trace.h"

#ifdef __cplusplus
namespace attune::wire {
#endif

#define ATTUNE_RING_MAGIC UINT64_C(0x30474e4952545441)        /* "ATTRING0" */
#define ATTUNE_RING_CONFIG_MAGIC UINT64_C(0x304746434e525441) /* "ATRNCFG0" */

/* The environment of an observed program. */
#define ATTUNE_RING_FOLDER_VARIABLE \
  "ATTUNE_RINGS"                             /* absolute path of the ring folder: 0700, owned by the program's user */
#define ATTUNE_LEVEL_VARIABLE "ATTUNE_LEVEL" /* level to start with: off, profile (default), blame, trace, stamped */
#define ATTUNE_RING_CONFIG_NAME "config"     /* optional file in the ring folder: a RingConfig */
/* Optional stream socket in the ring folder. A program sends its ring there: one byte, and the descriptor of a memfd
   whose size is sealed. */
#define ATTUNE_RING_SOCKET_NAME "socket"

enum {
  kRingVersion = 8,
  kRingHeaderBytes = 4096,
  kRingSlotBytes = 256,
  kRingNameAlign = 8,
  kRingMaxNameBytes = 255,
  kRingMaxRecordWords = 8,
  kRingMaxBuildIdBytes = 20,  ///< longer ones are left out
  /// Words reserved for a thread's last kDropped and kThreadEnd; events leave them free.
  kRingReservedWords = 8,
  kRingDefaultSlots = 128,
  kRingMaxSlots = 1024,
  kRingDefaultWords = 32768,  ///< 256 KiB: 16384 region events between two reads
  kRingMinWords = 512,        ///< one page
  kRingMaxWords = 1 << 22,
  kRingDefaultNamesBytes = 65536,
  kRingMinNamesBytes = 4096,
  kRingMaxNamesBytes = 1 << 20,
  kRingUsualSyncEntries = 512,  ///< 32 KiB: objects x places of a thread
  kRingMinSyncEntries = 64,     ///< one page
  kRingMaxSyncEntries = kMaxSyncEntries,
  kRingMinReadySlots = 4,  ///< backed at attach: one for each CPU and one more, within these limits
  kRingMaxReadySlots = 8,
  kRingMaxOwnSlots = kRingDefaultSlots,  ///< slots that the program may back itself if threads find none ready
  kRingBudgetParts = 4,  ///< a program may take 1/4 of the session's remaining memory budget without a request
};

/// The text of the first name (id kRingNameAlign), used for all names that do not fit any more.
#define ATTUNE_RING_NO_ROOM_NAME "(no room for more names)"

/// RingHeader::level. Markers are recorded at every level but off.
enum { kRingLevelOff = 0, kRingLevelProfile = 1, kRingLevelBlame = 2, kRingLevelTrace = 3, kRingLevelStamped = 4 };

/// Value of RingHeader::mutex_level in a measurement window, else the level: acquisitions of free mutexes bypass the
/// probe and are only counted, all call sites together, so that the program contends as if unobserved (docs/waits.md).
enum { kRingMutexesPass = 5 };

/// RingHeader::clock: ReadTsc() of wire/tsc.h, or CLOCK_MONOTONIC in nanoseconds where the TSC cannot be trusted.
enum { kRingClockTsc = 0, kRingClockMonotonic = 1 };

/// Number of reasons in wire::LeftAlone.
enum { kRingLeftAloneReasons = 5 };

/// RingSlot::state.
enum { kRingSlotFree = 0, kRingSlotClaimed = 1 };

/// RingCall::function without a function: loads the int64_t at the address of the first argument; the second one also
/// stores the second argument there. Both give the value of before.
enum { kRingCallLoad = 1, kRingCallStore = 2 };

/// A function that the session has a thread of the program call, at the next call of a hook that is a safe point
/// (probe/hook/command.h). One at a time. `taken` is stored before RingHeader::command is looked at once more, and the
/// session looks at it after it has written another number: so it knows whether a call that nobody needs any more is
/// still made.
typedef struct RingCall {
  // Written by the session.
  uint64_t function;  ///< address; 0: nothing is to be called
  int64_t arguments[2];
  uint64_t not_from;  ///< code of the library that the function is in: calls from there are no safe point
  uint64_t not_to;
  uint8_t pad0[64 - 40];

  // Written by the program.
  uint32_t taken;  ///< number of the command that a thread carries out, or has carried out
  uint32_t done;   ///< the same, stored behind `result`
  int64_t result;  ///< return value of the function
  uint8_t pad1[64 - 16];
} RingCall;

/// Loops of OpenMP of which the session can choose how they are shared out.
enum RingLoops {
  kRingLoopsRuntime = 1,  ///< schedule(runtime)
  kRingLoopsDynamic = 2,  ///< schedule(dynamic) or schedule(guided)
};

/// RingHeader::machine_alarms.
enum RingAlarms {
  kRingAlarmMemory = 1,
  kRingAlarmHeat = 2,
  kRingAlarmLoad = 4,
};

/// First page of the file. `magic` is stored last, with release: until then the file is being set up.
typedef struct RingHeader {
  // Written once by the program.
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint32_t names_offset;
  uint32_t names_bytes;
  uint32_t slots_offset;
  uint32_t slot_bytes;
  uint32_t slot_count;
  uint32_t ring_words;  ///< a power of two
  uint64_t rings_offset;
  int32_t pid;  ///< process id of the program that made the file; children made by fork write to it too
  uint32_t clock;
  uint64_t start_ticks;      ///< start time of `pid`, field 22 of /proc/PID/stat; 0: not known
  uint64_t attach_ticks;     ///< `clock` when the file was made
  int64_t attach_monotonic;  ///< CLOCK_MONOTONIC at the same moment, nanoseconds
  uint64_t tables_offset;
  uint32_t sync_entries;  ///< a power of two; 0: locks and waits are not recorded
  uint32_t trace_words;   ///< per slot, a power of two; 0: there are no traces
  uint8_t pad0[128 - 104];

  // Written by the session (also by the program, once).
  uint32_t level;
  uint32_t mutex_level;      ///< the level for pthread_mutex_lock: `level`, or kRingMutexesPass
  uint64_t budget_bytes;     ///< memory that the program may take for further slots
  uint32_t openmp_team;      ///< threads that a parallel region gets at most; 0: as many as it asks for
  uint32_t command;          ///< number of the last one in RingHeader::call; written behind it
  uint32_t openmp_chunk;     ///< iterations that a thread takes at once of a dynamic or guided loop; 0: as it asks for
  uint32_t openmp_schedule;  ///< omp_sched_t of loops whose schedule is chosen at run time; 0: as the program asks for
  uint32_t machine_alarms;   ///< kinds of alarms that are raised: RingAlarms
  uint32_t machine_others;   ///< CPUs that other programs have, rounded, at most 255; 0 without kRingAlarmLoad
  uint32_t machine_seconds;  ///< CLOCK_MONOTONIC when the two were written last: once a second while one is not 0
  uint8_t pad1[128 - 44];

  // Written by the program, by all of its threads.
  uint32_t names_used;         ///< allocated bytes of the names area
  uint32_t slots_used;         ///< 1 + the highest slot ever claimed
  uint64_t refused_threads;    ///< threads without a slot; a thread counts each time that it begins to lack one
  uint64_t refused_events;     ///< events of threads without a slot; in no slot's `dropped`
  uint64_t refused_names;      ///< names that did not fit; their events have the first name
  uint64_t mutex_futex_calls;  ///< waits and wake-ups of mutexes without attributes
  uint32_t takes_mutexes;      ///< 1: such mutexes are taken in place, and their futex calls counted
  uint32_t left_alone[kRingLeftAloneReasons];  ///< child programs started without the probe library, by wire::LeftAlone
  uint32_t openmp_widest;                      ///< most threads that a parallel region has asked for
  uint32_t openmp_loops;                       ///< what loops it has begun: RingLoops
  uint8_t pad2[128 - 72];

  RingCall call;
  uint8_t pad3[kRingHeaderBytes - 4 * 128];
} RingHeader;

/// One thread's ring. Owner and session write separate pairs of cache lines (CPUs prefetch two).
typedef struct RingSlot {
  // Written by the owner.
  uint32_t state;  ///< taken by compare-and-swap; the session writes free when the owner died without doing so
  int32_t pid;
  int32_t tid;
  uint32_t zero;
  uint64_t head;         ///< words committed
  uint64_t dropped;      ///< events lost because the ring was full or in use by the code that a signal interrupted
  uint64_t reported;     ///< part of `dropped` for which a kDropped record is in the ring
  uint64_t first_drop;   ///< time of the first that is not reported
  uint64_t sync_lost;    ///< acquisitions that found no room in the table, all owners together
  uint32_t sync_owner;   ///< changes whenever the table is emptied: equal values before and after a read of the table
                         ///< mean that it belongs to one owner
  uint32_t trace_pid;    ///< process of the newest words of the trace
  uint64_t trace_head;   ///< words of the trace that were reserved
  uint64_t trace_lost;   ///< events without a trace
  uint64_t trace_clock;  ///< time of its last kClock word
  uint32_t trace_tid;
  // The owner's current wait. wait_since: first 0, last the time, with release; the session stores 0 for a dead owner.
  uint32_t wait_kind;   ///< SyncKind
  uint64_t wait_since;  ///< time; 0: it does not wait
  uint64_t wait_object;
  uint64_t wait_site;
  uint32_t wait_owner;  ///< thread id of who had the lock when it was looked at last, or of who is to be joined; 0: not
                        ///< known
  uint8_t pad0[128 - 124];

  // Written by the session (ready and trace_ready also by the program, of the first slots).
  uint64_t tail;         ///< words read
  uint64_t tail_check;   ///< ~tail
  uint32_t ready;        ///< 1: the ring is backed by memory
  uint32_t trace_ready;  ///< 1: its trace and the definitions are
  uint8_t pad1[128 - 24];
} RingSlot;

/// In the names area, at a multiple of kRingNameAlign; `length` bytes follow, not terminated. A name's id is its offset
/// from names_offset; the first id is kRingNameAlign. A record that uses an id is committed after the name's bytes.
typedef struct RingName {
  uint32_t length;  ///< at most kRingMaxNameBytes
} RingName;

/// The session's settings for programs that attach later. Without it they use the defaults.
typedef struct RingConfig {
  uint64_t magic;
  uint32_t version;
  uint32_t slot_count;
  uint32_t ring_words;
  uint32_t names_bytes;
  uint32_t ready_slots;  ///< backed at attach; 0: as many as the program would choose, and more as threads come
  uint32_t clock;
  uint64_t budget_bytes;  ///< memory that the session still grants to new rings; kept up to date by the session
  uint32_t sync_entries;
  uint32_t trace_words;
  uint8_t pad[64 - 48];
} RingConfig;

/// Offsets and sizes of the parts of a ring file.
typedef struct RingLayout {
  uint64_t names_offset;
  uint64_t slots_offset;
  uint64_t tables_offset;
  uint64_t table_bytes;  ///< per slot
  uint64_t rings_offset;
  uint64_t ring_bytes;  ///< per slot
  uint64_t definitions_offset;
  uint64_t definitions_bytes;
  uint64_t traces_offset;
  uint64_t trace_bytes;  ///< per slot
  uint64_t file_bytes;
} RingLayout;

/// Whether the sizes are within the limits above; all other functions require it.
static inline int RingSizesAreValid(uint32_t slot_count, uint32_t ring_words, uint32_t names_bytes,
                                    uint32_t sync_entries, uint32_t trace_words) {
  return slot_count >= 1 && slot_count <= kRingMaxSlots && ring_words >= kRingMinWords && ring_words <= kRingMaxWords &&
         (ring_words & (ring_words - 1)) == 0 && names_bytes >= kRingMinNamesBytes &&
         names_bytes <= kRingMaxNamesBytes && names_bytes % 4096 == 0 &&
         (sync_entries == 0 || (sync_entries >= kRingMinSyncEntries && sync_entries <= kRingMaxSyncEntries &&
                                (sync_entries & (sync_entries - 1)) == 0)) &&
         (trace_words == 0 ||
          (trace_words >= kTraceMinWords && trace_words <= kTraceMaxWords && (trace_words & (trace_words - 1)) == 0));
}

/// Whether mutexes may bypass the probe at a level: a trace must be complete, and at level off there is no comparison.
static inline int RingMutexesMayPass(uint32_t level) { return level == kRingLevelProfile || level == kRingLevelBlame; }

static inline RingLayout RingComputeLayout(uint32_t slot_count, uint32_t ring_words, uint32_t names_bytes,
                                           uint32_t sync_entries, uint32_t trace_words) {
  const uint64_t page = 4096;
  const uint64_t slots_bytes = slot_count * UINT64_C(256);
  RingLayout layout;
  layout.ring_bytes = ring_words * UINT64_C(8);
  layout.table_bytes = sync_entries * UINT64_C(64);
  layout.names_offset = kRingHeaderBytes;
  layout.slots_offset = layout.names_offset + names_bytes;
  // Tables and rings start on a page, so that backing one never backs a part of another.
  layout.tables_offset = (layout.slots_offset + slots_bytes + page - 1) / page * page;
  layout.rings_offset = layout.tables_offset + slot_count * layout.table_bytes;
  layout.definitions_offset = layout.rings_offset + slot_count * layout.ring_bytes;
  layout.definitions_bytes = trace_words == 0 ? 0 : kTraceDefinitions * UINT64_C(32);
  layout.traces_offset = layout.definitions_offset + layout.definitions_bytes;
  layout.trace_bytes = trace_words * UINT64_C(8);
  layout.file_bytes = layout.traces_offset + slot_count * layout.trace_bytes;
  return layout;
}

static inline uint64_t RingWord0(uint8_t kind, uint8_t words, uint16_t aux, uint32_t name) {
  const uint64_t high = name;
  return high << 32 | kind | UINT32_C(256) * words | UINT32_C(65536) * aux;
}

#ifdef __cplusplus
static_assert(sizeof(RingHeader) == kRingHeaderBytes && offsetof(RingHeader, pad0) == 104);
static_assert(offsetof(RingHeader, level) == 128 && offsetof(RingHeader, names_used) == 256);
static_assert(offsetof(RingHeader, call) == 384 && sizeof(RingCall) == 128);
static_assert(sizeof(RingSlot) == kRingSlotBytes && offsetof(RingSlot, tail) == 128 && offsetof(RingSlot, head) == 16);
static_assert(sizeof(RingConfig) == 64);
}  // namespace attune::wire
#else
_Static_assert(sizeof(RingHeader) == kRingHeaderBytes && offsetof(RingHeader, pad0) == 104, "layout");
_Static_assert(offsetof(RingHeader, level) == 128 && offsetof(RingHeader, names_used) == 256, "layout");
_Static_assert(sizeof(RingSlot) == kRingSlotBytes && offsetof(RingSlot, tail) == 128, "layout");
_Static_assert(sizeof(RingConfig) == 64, "layout");
#endif
