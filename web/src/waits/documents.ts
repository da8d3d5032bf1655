// Types of the documents about waits and time (docs/live.md), and names of places in the code.

/** A place in the code. */
export interface Place {
  id: number;
  /** "solver+0x1234" */
  name: string;
  /** '': not known, as the file. */
  function: string;
  file: string;
  line: number | null;
  /** A function with a name that leads to one without. */
  below?: string | null;
}

export interface WaitPlace extends Place {
  threads: number;
  waits: number;
  wait_ns: number;
  /** "mutex", "read lock"; holders have none. */
  kind?: string;
  count?: number;
}

export interface WaitObject {
  object: number;
  name: string;
  kind: string;
  pid: number | null;
  threads: number;
  count: number;
  waits: number;
  wait_ns: number;
  share: number;
  contended: number;
  hold_ns: number | null;
  sites: WaitPlace[];
  holders: WaitPlace[];
}

export interface FindingThread {
  id: number;
  pid: number | null;
  tid: number | null;
  name: string;
  seconds: number;
}

export interface Finding {
  class: string;
  /** What the class is, in words. */
  about: string;
  /** Of an MPI job: they have a timeline of their own. */
  of_ranks: boolean;
  seconds: number;
  share: number;
  site: Place | null;
  object: { id: number; name: string } | null;
  threads: FindingThread[];
  threads_in_all: number;
  caused_by: FindingThread[];
  waiters: { site: Place | null; threads: number; waits: number; seconds: number }[];
  /** Of which it is made, where that is more than `site`. */
  places: { site: Place | null; what: string }[];
  evidence: string[];
  advice: string;
  confidence: string;
}

/** A finding stays the same one while its figures change. */
export function findingKey(finding: Finding): string {
  return `${finding.class} ${finding.object?.id ?? 0} ${finding.site?.id ?? 0}`;
}

/** Who had the CPUs, as shares of their time; null: not known. */
export interface Balance {
  cpus: number;
  program: number;
  others: number | null;
  idle: number | null;
}

/** When a thread was in one state: nanoseconds by part of the time, from the part `first` on. */
export interface StateTimes {
  state: string;
  /** What events of waits say that it was. */
  waited_ns: number;
  before_ns: number;
  first: number;
  ns: number[];
}

/** What each thread did with its time (docs/account.md). */
export interface Account {
  threads: { id: number; life_seconds: number; seconds: Record<string, number>; unknown_seconds: number }[];
  threads_in_all: number;
  parts: { t0_ns: number; width_ns: number; count: number; threads: { id: number; lines: StateTimes[] }[] };
}

export interface Waits {
  /** What the program does most of the time; null: too little is known. */
  verdict: { text: string } | null;
  balance: Balance | null;
  /** null: nothing is known of any thread. */
  account: Account | null;
  findings: Finding[];
  /** The parts of the time in which each finding lost some: begin, end and what was lost, in ns; absent or empty: not known. */
  finding_times?: [number, number, number][][];
  /** null: no process with several threads waited. */
  critical_path: CriticalPath | null;
  waits: { thread_ns: number; wait_ns: number; acquisitions: number; locks: WaitObject[]; others: WaitObject[]; locks_in_all: number; others_in_all: number };
}

export interface GraphFigures {
  occurrences: number;
  waits: number;
  wait_ns: number;
  average_ns: number | null;
  min_ns: number | null;
  max_ns: number | null;
  between_ns: number | null;
  hold_ns: number | null;
}

export interface GraphThread extends GraphFigures {
  id: number;
  name: string;
  pid: number | null;
  tid: number | null;
  rank: number | null;
}

export interface GraphEvent extends GraphFigures {
  id: number;
  name: string;
  kind: string;
  pid: number | null;
  threads: number;
}

export interface GraphLink extends GraphFigures {
  thread: number;
  event: number;
  kind: string;
  site_id: number;
  site: string;
  function: string;
  file: string;
  line: number | null;
}

export interface HandOver {
  holder: number;
  waiter: number;
  event: number;
  waits: number;
  wait_ns: number;
}

export interface SyncGraph {
  threads: GraphThread[];
  events: GraphEvent[];
  links: GraphLink[];
  handovers: HandOver[];
  threads_in_all: number;
  events_in_all: number;
  links_in_all: number;
}

export interface Sites {
  sites: Place[];
}

export interface PathThread {
  thread: number;
  tid: number | null;
  name: string;
  ns: number;
}

export interface CriticalPath {
  length_ns: number;
  /** Most first, as the other two. */
  threads: PathThread[];
  objects: { object: number; name: string; times: number; ns: number }[];
  handing_over_ns: number;
  unknown_ns: number;
  what_if: { object: number; name: string; saved_ns: number }[];
}

export interface FlameFrame {
  kind: 'process' | 'thread' | 'code' | 'wait';
  /** The process, the thread, what was waited for; 0: code. */
  element: number;
  name: string;
  /** What has one colour: the module of code, "mutex" of waits. */
  group: string;
}

/** The nodes of a tree, by column: the root, then each behind its parent. */
export interface FlameColumns {
  /** With those that were left out. */
  nodes_in_all: number;
  /** Indices into the frames; -1: the root. */
  frame: number[];
  parent: number[];
  time_ns: number[];
  /** Of nodes below it that are not there. */
  left_out_ns: number[];
  site: number[];
}

export interface FlameStacks {
  frames: FlameFrame[];
  /** Without threads. */
  together: FlameColumns;
  each: FlameColumns;
}

export type FlameKind = 'waiting' | 'computing';
/** Of an event that was sampled: "times" are how often it occurred, where the unit is ''. */
export interface EventStacks extends FlameStacks {
  event: string;
  unit: string;
}
/** Of kinds that were recorded. */
export type Flames = Partial<Record<FlameKind, FlameStacks>> & { events?: EventStacks[] };

declare module '../session/documents' {
  interface DocumentTypes {
    'waits': Waits;
    'sync-graph': SyncGraph;
    'sites': Sites;
    'flames': Flames;
  }
}

/** "Drain() (queue.cpp:71)", or as much of it as is known. */
export function placeText(place: Place | null): string {
  if (!place) return '';
  const file = fileText(place);
  if (place.below) return `code below ${place.below} (${file || place.name})`;
  return place.function === '' ? file || place.name : `${place.function} (${file || place.name})`;
}

/** "queue.cpp:71"; '': not known. */
export function fileText(place: { file: string; line: number | null }): string {
  const file = place.file.slice(place.file.lastIndexOf('/') + 1);
  return file === '' || place.line === null ? file : `${file}:${place.line}`;
}
