// What was counted of threads, as rows of a table: threads or processes, and what is computed of their counts.

import { FormulaError, parseFormula, type Formula } from './formula';

export interface CountedEvent {
  event: string;
  /** "ns": a time; else '': how often. */
  unit: string;
  /** Of all threads. */
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
}

declare module '../session/documents' {
  interface DocumentTypes {
    'counters': Counters;
  }
}

export type CountersBy = 'thread' | 'process';

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
  counts: number[];
}

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
  };
}

export function rowsOf({ threads, rest }: Counters, by: CountersBy): CounterRow[] {
  const rows = new Map<string, CounterRow>();
  for (const thread of threads) {
    const row: CounterRow = {
      key: `thread ${thread.element}`, elements: thread.tid === null ? [] : [thread.element],
      threads: thread.tid === null ? NaN : 1, name: thread.tid === null ? SHORT_LIVED : thread.thread || 'thread',
      tid: thread.tid ?? NaN, pid: thread.pid ?? NaN, process: thread.process, counts: thread.counts,
    };
    // What was too short-lived is of no process that is known.
    if (by === 'process' && thread.pid !== null) [row.key, row.name, row.tid] = [`process ${thread.process_element}`, thread.process || 'process', NaN];
    const same = rows.get(row.key);
    if (same) [same.elements, same.threads, same.counts] = [[...same.elements, ...row.elements], same.threads + row.threads, add(same.counts, row.counts)];
    else rows.set(row.key, by === 'process' && thread.pid !== null ? { ...row, elements: [thread.process_element, ...row.elements] } : row);
  }
  const all = [...rows.values()];
  if (rest) all.push({ key: 'rest', elements: [], threads: rest.threads, name: `${rest.threads} more threads`, tid: NaN, pid: NaN, process: '', counts: rest.counts });
  return all;
}

/** Whether a row has all of these words, which are in small letters. */
export function hasWords({ name, tid, pid, process }: CounterRow, words: string[]): boolean {
  const text = [name, process, ...[tid, pid].filter((id) => !Number.isNaN(id))].join(' ').toLowerCase();
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
