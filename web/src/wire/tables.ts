// Made by tools/generate_tables.py of src/model/tables: where frames have the columns of each table, among the integers (ints) or
// the texts.

export const enum Table {
  Info = 1,
  Elements = 2,
  Series = 3,
  Streams = 4,
  Samples = 5,
  Events = 6,
  Labels = 7,
  Gaps = 8,
  Processes = 9,
  Clock = 10,
  Lod = 11,
  Index = 12,
  Footer = 13,
  Findings = 14,
  Decisions = 15,
  View = 16,
  Alarms = 17,
  Sync = 18,
  Sites = 19,
  Stacks = 21,
  CpuSamples = 22,
  Accesses = 23,
  Messages = 24,
  Collectives = 25,
  StateTimes = 26,
  ThreadCounts = 27,
  EventSamples = 28,
  States = 64,
  Holds = 65,
  Calls = 66,
  Arrows = 67,
}

/** a fact about the recording (src/model/info_keys.h) */
export const Info = { key: 0, value: 1 } as const;

/** a machine, CPU, device, process, thread, or a region, counter, channel that the program named */
export const Elements = { id: 0, parent: 1, kind: 2, os_id: 3, start_ns: 4, end_ns: 5, host: 0, name: 1 } as const;
export const enum ElementsKind { Machine = 1, Board = 2, Package = 3, Node = 4, Core = 5, Cpu = 6, Device = 7, Process = 8, Thread = 9, Rank = 10, Lock = 11, Channel = 12, Site = 13, Region = 14, Instant = 15, Counter = 16, Communicator = 17, Function = 18 }

/** a signal of an element */
export const Series = { id: 0, element: 1, kind: 2, scale: 3, max_per_second: 4, sum: 5, sensor: 0, signal: 1, unit: 2 } as const;
export const enum SeriesKind { Counter = 1, Updown = 2, Gauge = 3, State = 4 }
export const enum SeriesSum { Sum = 0, Mean = 1, Max = 2, None = 3 }

/** a column of a stream: series that are sampled at the same moments */
export const Streams = { stream: 0, column: 1, series: 2, interval_ns: 3 } as const;

/** the values of a stream at a moment; in SQL: one of them */
export const Samples = { t_ns: 0 } as const;

/** an event of the program (waits.md, trace.md) */
export const Events = { t_ns: 0, thread: 1, kind: 2, object: 3, site: 4, a: 5, b: 6 } as const;
export const enum EventsKind { RegionBegin = 1, RegionEnd = 2, Instant = 3, Counter = 4, Send = 5, Receive = 6, ThreadStart = 7, ThreadEnd = 8, Dropped = 9, Wait = 11, HandOver = 14, LockOrder = 16, Acquire = 17, Release = 18, Signal = 19, ShortWaits = 25, LongWait = 26 }

/** what somebody noted at a moment: attune ctl label, the page, the FIFO */
export const Labels = { t_ns: 0, text: 0 } as const;

/** rows that are not there, and why */
export const Gaps = { stream: 0, t0_ns: 1, t1_ns: 2, count: 3, reason: 4, thread: 5 } as const;
export const enum GapsReason { Missed = 1, Paused = 2, Dropped = 3, Vanished = 4, DiskFull = 5, Damaged = 6, Rolled = 7 }

/** a process that was followed; NULL: not known (yet) */
export const Processes = { id: 0, parent: 1, pid: 2, start_ns: 3, end_ns: 4, exit_code: 5, exit_signal: 6, user_ns: 7, system_ns: 8, minor_faults: 9, major_faults: 10, voluntary_switches: 11, involuntary_switches: 12, max_rss_bytes: 13, host: 0, command: 1 } as const;

/** one reading of all clocks */
export const Clock = { tsc: 0, monotonic_ns: 1, real_ns: 2 } as const;

/** samples of a stretch of time, summed up */
export const Lod = { t0_ns: 0, t1_ns: 1, count: 2 } as const;

/** a frame of the file */
export const Index = { table: 0, stream: 1, offset: 2, bytes: 3, rows: 4, first_ns: 5, last_ns: 6, sequence: 7 } as const;

/** the end of a file that was closed */
export const Footer = { index_offset: 0, index_bytes: 1 } as const;

/** a revision of what holds the program back (findings.md); the last one of an id holds */
export const Findings = { t_ns: 0, revision: 1, state: 2, t0_ns: 3, t1_ns: 4, cost_ns: 5, share_ppm: 6, object: 7, site: 8, gain_ns: 9, id: 0, class: 1, title: 2, advice: 3, evidence: 4 } as const;
export const enum FindingsState { Open = 1, Closed = 2, Withdrawn = 3 }

/** a step of tuning */
export const Decisions = { t_ns: 0, id: 1, state: 2, object: 3, t0_ns: 4, t1_ns: 5, window_ns: 6, expected_gain_ppm: 7, gain_ppm: 8, gain_low_ppm: 9, gain_high_ppm: 10, tunlet: 0, knob: 1, before: 2, after: 3, objective: 4, finding: 5, reason: 6 } as const;
export const enum DecisionsState { Advised = 1, OnTrial = 2, Kept = 3, Undone = 4, Refused = 5 }

/** a point of a chart (live.md) */
export const View = { t_ns: 0, from_ns: 1, exponent: 2, count: 3, mean: 4, low: 5, high: 6 } as const;

/** an alarm that was raised, or the one of that id cleared (alarms.md) */
export const Alarms = { t_ns: 0, id: 1, state: 2, severity: 3, element: 4, series: 5, value: 6, threshold: 7, scale: 8, alarm: 0, unit: 1, text: 2, advice: 3 } as const;
export const enum AlarmsState { Raised = 1, Cleared = 2 }
export const enum AlarmsSeverity { Warning = 1, Critical = 2 }

/** what a thread did with a lock at a place in the code since its row before (waits.md) */
export const Sync = { t_ns: 0, thread: 1, object: 2, site: 3, kind: 4, count: 5, contended: 6, wait_ns: 7, hold_ns: 8, holds: 9 } as const;
export const enum SyncKind { Mutex = 1, ReadLock = 2, WriteLock = 3, SpinLock = 4, Condition = 5, Barrier = 6, Semaphore = 7, Join = 8, Wake = 9, Futex = 10, OpenMPCritical = 11, OpenMPBarrier = 12, OpenMPTaskWait = 13, OpenMPOrdered = 14, Once = 15, File = 16, MPI = 17, ThreadCreation = 18, Child = 19, Sleep = 20, Poll = 21, Future = 22, NoWork = 23 }

/** a place in the code; several rows where the code there was inlined */
export const Sites = { id: 0, frame: 1, address: 2, line: 3, inlined: 4, function: 0, file: 1, module: 2, build_id: 3 } as const;

/** calls within each other, as a tree; rows never change */
export const Stacks = { id: 0, parent: 1, site: 2 } as const;

/** where a thread was when it had used another stretch of CPU time (profile.md) */
export const CpuSamples = { t_ns: 0, thread: 1, cpu: 2, site: 3, stack: 4, weight_ns: 5 } as const;

/** memory that a thread used where a CPU sample was taken, or touched first */
export const Accesses = { t_ns: 0, thread: 1, cpu: 2, site: 3, kind: 4, address: 5, bytes: 6, page_node: 7, cpu_node: 8, weight_ns: 9 } as const;
export const enum AccessesKind { Read = 1, Write = 2, Update = 3, FirstTouch = 4 }

/** a message that rank sent to peer or received from it, begun at post_ns and complete at t_ns (messages.md) */
export const Messages = { t_ns: 0, thread: 1, rank: 2, kind: 3, function: 4, communicator: 5, peer: 6, tag: 7, bytes: 8, site: 9, post_ns: 10, wait_ns: 11, wait_site: 12, cpu: 13 } as const;
export const enum MessagesKind { Sent = 1, Received = 2 }

/** a rank's part in what all ranks of a communicator do together, from post_ns to t_ns; the parts in one have the same communicator and sequence (messages.md) */
export const Collectives = { t_ns: 0, thread: 1, rank: 2, function: 3, communicator: 4, sequence: 5, root: 6, bytes_sent: 7, bytes_received: 8, site: 9, post_ns: 10, wait_ns: 11, cpu: 12, communicator_rank: 13, communicator_size: 14 } as const;

/** what the scheduler did with a thread or CPU since its rows before */
export const StateTimes = { t_ns: 0, element: 1, state: 2, waker: 3, ns: 4, count: 5, alone_ns: 6, idle_cpus_ns: 7 } as const;
export const enum StateTimesState { Running = 1, QueuedProgram = 2, QueuedOthers = 3, QueuedWake = 4, Futex = 5, Sleep = 6, Poll = 7, Pipe = 8, Socket = 9, Device = 10, File = 11, Event = 12, Child = 13, Signal = 14, Memory = 15, Stopped = 16, Call = 17, Program = 18, Others = 19, Idle = 20, NoThread = 21 }

/** events of a thread on a CPU since its rows of the event before (--count) */
export const ThreadCounts = { t_ns: 0, element: 1, count: 2, counted_ppm: 3, cpu: 4, event: 0 } as const;

/** where a thread was when an event had occurred some more times (--event-samples, profile.md) */
export const EventSamples = { t_ns: 0, thread: 1, cpu: 2, site: 3, stack: 4, count: 5, event: 0 } as const;

/** what a thread or rank waited for in the part of the time that begins at t_ns (live.md) */
export const States = { t_ns: 0, thread: 1, kind: 2, wait_ns: 3 } as const;

/** a thread had a lock, once or several times (live.md) */
export const Holds = { t_ns: 0, thread: 1, object: 2, site: 3, kind: 4, length_ns: 5, holds: 6, held_ns: 7, open: 8 } as const;

/** a rank was in a call of MPI, or waited in a part of it (live.md) */
export const Calls = { t_ns: 0, rank: 1, state: 2, length_ns: 3, function: 4, site: 5, communicator: 6, sequence: 7 } as const;

/** a message, from its sending to when it was there (live.md) */
export const Arrows = { t_ns: 0, rank: 1, peer: 2, received_ns: 3, bytes: 4, tag: 5, communicator: 6, site: 7, waited_ns: 8 } as const;
