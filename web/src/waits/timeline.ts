// What the server says of when threads waited, ready to be drawn: single waits, what was handed over between threads and who
// had which lock, or sums by part of the time.

import type { RawMessage } from '../session/model';
import { listOf, readHead, type Answer, type Span } from '../timeline/spans';
import type { Frame } from '../wire/frame';
import { Events, EventsKind, Holds } from '../wire/tables';

export interface WaitSpan extends Span {
  thread: number;
  /** src/wire/sync.h */
  kind: number;
  object: number;
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

export interface Timeline extends Answer<WaitSpan> {
  handOvers: HandOver[];
  /** By thread, the longer ones first; of a trace. */
  holds: Map<number, LockHold[]>;
  /** There are too many of them in so long a time. */
  holdsLeftOut: boolean;
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
export function readTimeline(message: RawMessage, origin: bigint): Timeline {
  const { envelope, frames } = message;
  const result: Timeline = { ...readHead<WaitSpan>(message, origin), handOvers: [], holds: readHolds(frames[1], origin), holdsLeftOut: envelope.get('holds_left_out') === '1' };
  const frame = frames[0];
  if (!result.single || !frame || frame.rows === 0) return result;
  const t = frame.ints[Events.t_ns].numbers(origin);
  const [thread, event, object, site, length, kind] = [Events.thread, Events.kind, Events.object, Events.site, Events.a, Events.b].map((index) => frame.ints[index].numbers());
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
  for (const bucket of timeline.sums.bucket) last = Math.max(last, timeline.t0 + (bucket + 1) * timeline.width);
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
