// What the server says of when rows of a timeline were in some state, ready to be drawn: single spans, or sums by part of the time.

import type { RawMessage } from '../session/model';
import type { Frame } from '../wire/frame';
import { States } from '../wire/tables';

export interface TimelineRequest {
  id: number;
  t0: number;
  t1: number;
  buckets: number;
  /** Elements of the rows: of one of the two. */
  threads?: number[];
  ranks?: number[];
}

export interface Span {
  t0: number;
  t1: number;
  site: number;
}

/** Of a part of the time, which begins at t0 + bucket x width. */
export interface Sum {
  bucket: number;
  /** What was waited for, or the state. */
  kind: number;
  /** 0 to 1 */
  share: number;
}

const NOTHING: Float64Array = new Float64Array(0);

/** Sums by part of the time, of which there are many: those of one row lie behind each other. */
export class Sums {
  readonly rows = new Map<number, { from: number; to: number }>();

  constructor(row: Float64Array = NOTHING, readonly bucket = NOTHING, readonly state = NOTHING, readonly share = NOTHING) {
    for (let i = 0; i < row.length; i++) {
      const rows = this.rows.get(row[i]);
      if (rows) rows.to = i + 1;
      else this.rows.set(row[i], { from: i, to: i + 1 });
    }
  }

  of(row: number): Sum[] {
    const { from, to } = this.rows.get(row) ?? { from: 0, to: 0 };
    return Array.from({ length: to - from }, (_, i) => ({ bucket: this.bucket[from + i], kind: this.state[from + i], share: this.share[from + i] }));
  }
}

/** The part of an answer that all timelines have. */
export interface Answer<One extends Span> {
  id: number;
  t0: number;
  t1: number;
  width: number;
  single: boolean;
  /** By row, in order of time, what lies within another one behind it. */
  spans: Map<number, One[]>;
  sums: Sums;
}

/** @param origin of the page's times */
export function readHead<One extends Span>({ envelope, frames }: RawMessage, origin: bigint): Answer<One> {
  const relative = (key: string): number => Number(BigInt(envelope.get(key) ?? '0') - origin);
  const [t0, width, single] = [relative('t0_ns'), Math.max(1, Number(envelope.get('width_ns') ?? 1)), envelope.get('single') === '1'];
  return { id: Number(envelope.get('id')), t0, t1: relative('t1_ns'), width, single, spans: new Map(), sums: single ? new Sums() : readSums(frames[0], t0, width, origin) };
}

function readSums(frame: Frame | undefined, t0: number, width: number, origin: bigint): Sums {
  if (!frame || frame.rows === 0) return new Sums();
  const t = frame.ints[States.t_ns].numbers(origin);
  const [row, state, length] = [States.thread, States.kind, States.wait_ns].map((index) => frame.ints[index].numbers());
  return new Sums(row, t.map((begin) => Math.round((begin - t0) / width)), state, length.map((ns) => Math.min(1, ns / width)));
}

/** The list of a key, which is made where there is none. */
export function listOf<Value>(map: Map<number, Value[]>, key: number): Value[] {
  let list = map.get(key);
  if (!list) map.set(key, (list = []));
  return list;
}

/** The innermost span at a moment, or the nearest one within `slack`. @param spans in order of time */
export function spanAt<One extends Span>(spans: One[], t: number, slack: number): One | null {
  let best: One | null = null;
  let distance = slack;
  for (const span of spans) {
    const away = t < span.t0 ? span.t0 - t : t > span.t1 ? t - span.t1 : 0;
    if (away > distance) continue;
    // Of spans within each other the inner one is drawn last.
    best = span;
    distance = away;
  }
  return best;
}
