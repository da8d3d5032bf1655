// What the server computes of the data as a whole, kept up to date while somebody looks: it is asked for again two seconds
// after each answer, until nothing more can come.

import type { RawMessage } from '../session/model';
import type { Messages } from '../messages/documents';
import type { Range } from '../session/view';

/** A place in the code. */
export interface Place {
  id: number;
  /** "solver+0x1234" */
  name: string;
  /** '': not known, as the file. */
  function: string;
  file: string;
  line: number | null;
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

export interface Waits {
  findings: Finding[];
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
/** Of kinds that were recorded. */
export type Flames = Partial<Record<FlameKind, FlameStacks>>;

export interface DocumentTypes {
  'waits': Waits;
  'sync-graph': SyncGraph;
  'sites': Sites;
  'flames': Flames;
  'messages': Messages;
}
export type DocumentName = keyof DocumentTypes;

export interface DocumentRequest {
  name: DocumentName;
  version: number;
  /** Of this part of the time; absent: of all. */
  t0?: number;
  t1?: number;
}

const ASK_AGAIN_MS = 2000;

interface Held {
  version: number;
  text: unknown;
  /** That `text` is of, and that was asked for; null: all the time. */
  range: Range | null;
  askedRange: Range | null;
  error: string;
  asked: boolean;
  /** When to ask again; Infinity: nothing more comes. */
  due: number;
}

export class Documents {
  private readonly held = new Map<DocumentName, Held>();

  /** @param onChange another version, or another error, came */
  constructor(private readonly ask: (request: DocumentRequest) => void, private readonly onChange: (name: DocumentName) => void) {}

  get<Name extends DocumentName>(name: Name): DocumentTypes[Name] | null {
    return (this.held.get(name)?.text ?? null) as DocumentTypes[Name] | null;
  }

  /** Why there is none; '': there is one, or it is being computed. */
  errorOf(name: DocumentName): string {
    return this.held.get(name)?.error ?? '';
  }

  /** The part of the time that the document is of; null: all. */
  rangeOf(name: DocumentName): Range | null {
    return this.held.get(name)?.range ?? null;
  }

  /** Asks for what is due. @param now in ms, as of requestAnimationFrame  @param ranges parts of the time, of those that are not wanted of all */
  keep(names: Iterable<DocumentName>, now: number, ranges: Partial<Record<DocumentName, Range>> = {}): void {
    for (const name of names) {
      const held = this.held.get(name) ?? { version: 0, text: null, range: null, askedRange: null, error: '', asked: false, due: 0 };
      this.held.set(name, held);
      if (held.asked) continue;
      const range = ranges[name] ?? null;
      if (!sameRange(range, held.askedRange)) [held.askedRange, held.version, held.due] = [range, 0, 0];
      if (now < held.due) continue;
      held.asked = true;
      this.ask({ name, version: held.version, ...range });
    }
  }

  /** A new connection: what was asked for is not answered any more. @param forget another session */
  reconnected(forget: boolean): void {
    if (forget) this.held.clear();
    for (const held of this.held.values()) [held.asked, held.due, held.version] = [false, 0, 0];
  }

  take({ envelope }: RawMessage, now: number): void {
    const name = envelope.get('name') as DocumentName;
    const held = this.held.get(name);
    if (!held) return;
    held.asked = false;
    held.due = envelope.get('growing') === '1' ? now + ASK_AGAIN_MS : Infinity;
    held.version = Number(envelope.get('version') ?? 0);
    held.error = envelope.get('error') ?? '';
    const text = envelope.get('text');
    if (text !== undefined) [held.text, held.range] = [JSON.parse(text), held.askedRange];
    if (text !== undefined || held.error !== '') this.onChange(name);
  }
}

export function sameRange(a: Range | null, b: Range | null): boolean {
  return a?.t0 === b?.t0 && a?.t1 === b?.t1;
}

/** "Drain() (queue.cpp:71)", or as much of it as is known. */
export function placeText(place: Place | null): string {
  if (!place) return '';
  const file = fileText(place);
  return place.function === '' ? file || place.name : `${place.function} (${file || place.name})`;
}

/** "queue.cpp:71"; '': not known. */
export function fileText(place: { file: string; line: number | null }): string {
  const file = place.file.slice(place.file.lastIndexOf('/') + 1);
  return file === '' || place.line === null ? file : `${file}:${place.line}`;
}
