// What the server says of when threads waited, ready to be drawn: single waits and what was handed over between threads, or
// sums by part of the time.

import type { RawMessage } from '../session/model';

export interface TimelineRequest {
  id: number;
  t0: number;
  t1: number;
  buckets: number;
  threads: number[];
}

export interface WaitSpan {
  thread: number;
  t0: number;
  t1: number;
  /** src/wire/sync.h */
  kind: number;
  object: number;
  site: number;
}

/** A thread released or signalled what another one waited for. */
export interface HandOver {
  t: number;
  thread: number;
  object: number;
  site: number;
}

export interface Arrow {
  from: HandOver;
  to: WaitSpan;
}

/** Time waited in the part that begins at t0 + bucket x width. */
export interface WaitSum {
  bucket: number;
  kind: number;
  /** 0 to 1 */
  share: number;
}

export interface Timeline {
  id: number;
  t0: number;
  t1: number;
  width: number;
  single: boolean;
  /** By thread, in order of time. */
  spans: Map<number, WaitSpan[]>;
  /** By thread; of each kind in order of time. */
  sums: Map<number, WaitSum[]>;
  handOvers: HandOver[];
}

const WAIT = 11;
const HAND_OVER = 14;

function listOf<Value>(map: Map<number, Value[]>, key: number): Value[] {
  let list = map.get(key);
  if (!list) map.set(key, (list = []));
  return list;
}

/** @param origin of the page's times */
export function readTimeline({ envelope, frames }: RawMessage, origin: bigint): Timeline {
  const relative = (key: string): number => Number(BigInt(envelope.get(key) ?? '0') - origin);
  const result: Timeline = {
    id: Number(envelope.get('id')), t0: relative('t0_ns'), t1: relative('t1_ns'), width: Math.max(1, Number(envelope.get('width_ns') ?? 1)),
    single: envelope.get('single') === '1', spans: new Map(), sums: new Map(), handOvers: [],
  };
  const frame = frames[0];
  if (!frame || frame.rows === 0) return result;
  const t = frame.ints[0].numbers(origin);
  const column = (index: number): Float64Array => frame.ints[index].numbers();
  const thread = column(1);
  if (!result.single) {
    const [kind, wait] = [column(2), column(3)];
    for (let row = 0; row < frame.rows; row++) {
      listOf(result.sums, thread[row]).push({ bucket: Math.round((t[row] - result.t0) / result.width), kind: kind[row], share: Math.min(1, wait[row] / result.width) });
    }
    return result;
  }
  const [event, object, site, length, kind] = [column(2), column(3), column(4), column(5), column(6)];
  for (let row = 0; row < frame.rows; row++) {
    if (event[row] === WAIT) listOf(result.spans, thread[row]).push({ thread: thread[row], t0: t[row] - length[row], t1: t[row], kind: kind[row], object: object[row], site: site[row] });
    else if (event[row] === HAND_OVER) result.handOvers.push({ t: t[row], thread: thread[row], object: object[row], site: site[row] });
  }
  return result;
}

/** When the last wait that is known of ended; -Infinity: there is none. */
export function lastEnd(timeline: Timeline): number {
  let last = -Infinity;
  for (const spans of timeline.spans.values()) for (const span of spans) last = Math.max(last, span.t1);
  for (const sums of timeline.sums.values()) for (const { bucket } of sums) last = Math.max(last, timeline.t0 + (bucket + 1) * timeline.width);
  return last;
}

/** Each hand-over goes to the other thread whose wait for that object ends next. */
export function arrowsOf(timeline: Timeline): Arrow[] {
  const byObject = new Map<number, WaitSpan[]>();
  for (const spans of timeline.spans.values()) for (const span of spans) listOf(byObject, span.object).push(span);
  for (const spans of byObject.values()) spans.sort((a, b) => a.t1 - b.t1);
  const arrows: Arrow[] = [];
  for (const from of timeline.handOvers) {
    const spans = byObject.get(from.object) ?? [];
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle].t1 < from.t) low = middle + 1;
      else high = middle;
    }
    while (low < spans.length && (spans[low].thread === from.thread || spans[low].t0 > from.t)) low++;
    if (low < spans.length) arrows.push({ from, to: spans[low] });
  }
  return arrows;
}

/** The span at a moment, or the nearest one within `slack`. @param spans in order of time */
export function spanAt(spans: WaitSpan[], t: number, slack: number): WaitSpan | null {
  let best: WaitSpan | null = null;
  let distance = slack;
  for (const span of spans) {
    const away = t < span.t0 ? span.t0 - t : t > span.t1 ? t - span.t1 : 0;
    if (away > distance) continue;
    // Of waits within each other the inner one is drawn last.
    best = span;
    distance = away;
  }
  return best;
}
