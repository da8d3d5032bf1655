// What the server says of when threads waited, ready to be drawn: single waits, what was handed over between threads and who
// had which lock, or sums by part of the time.

import type { RawMessage } from '../session/model';
import type { Frame } from '../wire/frame';
import { Events, EventsKind, Holds, States } from '../wire/tables';

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

/** A thread had a lock; or several times, too close to each other to be told apart. */
export interface LockHold {
  thread: number;
  t0: number;
  t1: number;
  object: number;
  /** Where it was acquired; 0: at several places. */
  site: number;
  holds: number;
  /** Of these together. */
  held: number;
  /** No release was recorded. */
  open: boolean;
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
  /** By thread, the longer ones first; of a trace. */
  holds: Map<number, LockHold[]>;
  /** There are too many of them in so long a time. */
  holdsLeftOut: boolean;
}


function listOf<Value>(map: Map<number, Value[]>, key: number): Value[] {
  let list = map.get(key);
  if (!list) map.set(key, (list = []));
  return list;
}

function readHolds(frame: Frame | undefined, origin: bigint): Map<number, LockHold[]> {
  const holds = new Map<number, LockHold[]>();
  if (!frame || frame.rows === 0) return holds;
  const t0 = frame.ints[Holds.t_ns].numbers(origin);
  const [thread, object, site, length, count, held, open] = [Holds.thread, Holds.object, Holds.site, Holds.length_ns, Holds.holds, Holds.held_ns, Holds.open]
    .map((index) => frame.ints[index].numbers());
  for (let row = 0; row < frame.rows; row++) {
    listOf(holds, thread[row]).push({ thread: thread[row], t0: t0[row], t1: t0[row] + length[row], object: object[row], site: site[row], holds: count[row], held: held[row], open: open[row] === 1 });
  }
  for (const list of holds.values()) list.sort((a, b) => b.t1 - b.t0 - (a.t1 - a.t0));
  return holds;
}

/** What a thread had at a moment, or within `slack` of it. */
export function holdsAt(holds: LockHold[], t: number, slack: number): LockHold[] {
  return holds.filter((hold) => hold.t0 - slack <= t && t <= hold.t1 + slack);
}

/** @param origin of the page's times */
export function readTimeline({ envelope, frames }: RawMessage, origin: bigint): Timeline {
  const relative = (key: string): number => Number(BigInt(envelope.get(key) ?? '0') - origin);
  const result: Timeline = {
    id: Number(envelope.get('id')), t0: relative('t0_ns'), t1: relative('t1_ns'), width: Math.max(1, Number(envelope.get('width_ns') ?? 1)),
    single: envelope.get('single') === '1', spans: new Map(), sums: new Map(), handOvers: [],
    holds: readHolds(frames[1], origin), holdsLeftOut: envelope.get('holds_left_out') === '1',
  };
  const frame = frames[0];
  if (!frame || frame.rows === 0) return result;
  const t = frame.ints[result.single ? Events.t_ns : States.t_ns].numbers(origin);
  const column = (index: number): Float64Array => frame.ints[index].numbers();
  const thread = column(result.single ? Events.thread : States.thread);
  if (!result.single) {
    const [kind, wait] = [column(States.kind), column(States.wait_ns)];
    for (let row = 0; row < frame.rows; row++) {
      listOf(result.sums, thread[row]).push({ bucket: Math.round((t[row] - result.t0) / result.width), kind: kind[row], share: Math.min(1, wait[row] / result.width) });
    }
    return result;
  }
  const [event, object, site, length, kind] = [Events.kind, Events.object, Events.site, Events.a, Events.b].map(column);
  for (let row = 0; row < frame.rows; row++) {
    if (event[row] === EventsKind.Wait) listOf(result.spans, thread[row]).push({ thread: thread[row], t0: t[row] - length[row], t1: t[row], kind: kind[row], object: object[row], site: site[row] });
    else if (event[row] === EventsKind.HandOver) result.handOvers.push({ t: t[row], thread: thread[row], object: object[row], site: site[row] });
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
