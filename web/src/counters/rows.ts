// Rows of the pane Counters: counts by thread, process, CPU or core type, and formulas over them.

import { FormulaError, parseFormula, type Formula } from './formula';

export interface CountedEvent {
  event: string;
  /** "ns": a time; else '': how often. */
  unit: string;
  /** Counts of all threads on one CPU. */
  count: number;
  /** It shared a counter with others: its counts are estimates. */
  scaled: boolean;
}

export interface CountedThread {
  element: number;
  process_element: number;
  /** null: all threads that were too short-lived to be seen, as `tid`. */
  pid: number | null;
  tid: number | null;
  thread: string;
  process: string;
  /** In the order of the events. */
  counts: number[];
}

/** Of all threads. */
export interface CpuCounts {
  host: string;
  /** null: not known, as `core_type`. */
  cpu: number | null;
  /** 0 is the most capable. */
  core_type: number | null;
  counts: number[];
}

export interface CoreTypeCounts {
  core_type: number | null;
  /** CPUs that have counts. */
  cpus: number;
  counts: number[];
}

/** The document `counters`. */
export interface Counters {
  /** Length of the time that it is of. */
  time_ns: number;
  events: CountedEvent[];
  /** Those with most of the first event. */
  threads: CountedThread[];
  threads_in_all: number;
  /** The others together. */
  rest: { threads: number; counts: number[] } | null;
  /** Empty: an older recording does not have them. */
  cpus: CpuCounts[];
  /** Empty: there is one kind. */
  core_types: CoreTypeCounts[];
}

declare module '../session/documents' {
  interface DocumentTypes {
    'counters': Counters;
  }
}

export type CountersBy = 'thread' | 'process' | 'cpu' | 'core type';

export interface CounterRow {
  key: string;
  /** Ids of the elements that it is of: the thread, or the process and its threads; empty: none that is known. */
  elements: number[];
  /** How many there are; NaN: not known. */
  threads: number;
  name: string;
  /** NaN: several, or not known. */
  tid: number;
  pid: number;
  process: string;
  host: string;
  /** NaN: none, or not known, as `coreType` and `cpus`. */
  cpu: number;
  coreType: number;
  cpus: number;
  /** It stands for what has no row of its own. */
  isRest: boolean;
  counts: number[];
}

const NOTHING_KNOWN: Omit<CounterRow, 'key' | 'name' | 'counts'> = { elements: [], threads: NaN, tid: NaN, pid: NaN, process: '', host: '', cpu: NaN, coreType: NaN, cpus: NaN, isRest: false };

/** In formulas: the length of the time that was counted. */
export const SECONDS = 'seconds';

const SHORT_LIVED = 'threads too short-lived to be seen';

function add(counts: number[], more: number[]): number[] {
  return counts.map((count, i) => count + more[i]);
}

/**
 * The counts by these events, in their order: a part of the time may lack some, and have others first.
 * @param known events of earlier versions; those of this one are appended
 */
export function inOrder(counters: Counters, known: CountedEvent[]): Counters {
  for (const event of counters.events) if (!known.some((other) => other.event === event.event)) known.push(event);
  const places = known.map(({ event }) => counters.events.findIndex((other) => other.event === event));
  const ordered = (counts: number[]): number[] => places.map((place) => counts[place] ?? 0);
  return {
    ...counters,
    events: places.map((place, i) => counters.events[place] ?? { ...known[i], count: 0, scaled: false }),
    threads: counters.threads.map((thread) => ({ ...thread, counts: ordered(thread.counts) })),
    rest: counters.rest && { ...counters.rest, counts: ordered(counters.rest.counts) },
    cpus: counters.cpus.map((cpu) => ({ ...cpu, counts: ordered(cpu.counts) })),
    core_types: counters.core_types.map((type) => ({ ...type, counts: ordered(type.counts) })),
  };
}

export function rowsOf(counters: Counters, by: CountersBy): CounterRow[] {
  if (by === 'cpu') return counters.cpus.map(rowOfCpu);
  return by === 'core type' ? counters.core_types.map(rowOfCoreType) : rowsOfThreads(counters, by);
}

function rowOfCpu({ host, cpu, core_type: type, counts }: CpuCounts): CounterRow {
  return { ...NOTHING_KNOWN, key: `cpu ${cpu} ${host}`, name: cpu === null ? 'CPU not known' : `CPU ${cpu}`, host, cpu: cpu ?? NaN, coreType: type ?? NaN, isRest: cpu === null, counts };
}

function rowOfCoreType({ core_type: type, cpus, counts }: CoreTypeCounts): CounterRow {
  return { ...NOTHING_KNOWN, key: `core type ${type}`, name: type === null ? 'Core type not known' : `Core type ${type}`, coreType: type ?? NaN, cpus, isRest: type === null, counts };
}

function rowsOfThreads({ threads, rest }: Counters, by: 'thread' | 'process'): CounterRow[] {
  const rows = new Map<string, CounterRow>();
  for (const thread of threads) {
    const row: CounterRow = {
      ...NOTHING_KNOWN, key: `thread ${thread.element}`, elements: thread.tid === null ? [] : [thread.element],
      threads: thread.tid === null ? NaN : 1, name: thread.tid === null ? SHORT_LIVED : thread.thread || 'thread',
      tid: thread.tid ?? NaN, pid: thread.pid ?? NaN, process: thread.process, isRest: thread.tid === null, counts: thread.counts,
    };
    // What was too short-lived is of no process that is known.
    if (by === 'process' && thread.pid !== null) [row.key, row.name, row.tid] = [`process ${thread.process_element}`, thread.process || 'process', NaN];
    const same = rows.get(row.key);
    if (same) [same.elements, same.threads, same.counts] = [[...same.elements, ...row.elements], same.threads + row.threads, add(same.counts, row.counts)];
    else rows.set(row.key, by === 'process' && thread.pid !== null ? { ...row, elements: [thread.process_element, ...row.elements] } : row);
  }
  const all = [...rows.values()];
  if (rest) all.push({ ...NOTHING_KNOWN, key: 'rest', threads: rest.threads, name: `${rest.threads} more threads`, isRest: true, counts: rest.counts });
  return all;
}

/** Whether a row has all of these words, which are in small letters. */
export function hasWords({ name, tid, pid, process, host }: CounterRow, words: string[]): boolean {
  const text = [name, process, host, ...[tid, pid].filter((id) => !Number.isNaN(id))].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** What a formula is computed of. */
export interface Counted {
  events: readonly string[];
  /** In their order. */
  counts: readonly number[];
  seconds: number;
}

/** NaN: it has none. */
export function valueOf(formula: Formula, { events, counts, seconds }: Counted): number {
  const value = formula.evaluate((name) => (name === SECONDS ? seconds : (counts[events.indexOf(name)] ?? NaN)));
  return Number.isFinite(value) ? value : NaN;
}

/** @return the formula, or why the text is none */
export function readFormula(text: string, events: readonly string[]): Formula | FormulaError {
  try {
    return parseFormula(text, [...events, SECONDS]);
  } catch (error) {
    if (error instanceof FormulaError) return error;
    throw error;
  }
}
