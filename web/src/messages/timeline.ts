// What the server says of when ranks were in MPI, ready to be drawn: single calls with what was waited in them and the messages
// between ranks, or sums by part of the time.

import type { RawMessage } from '../session/model';
import { Arrows, Calls, States } from '../wire/tables';
import type { WaitSum } from '../waits/timeline';

export interface RanksRequest {
  id: number;
  t0: number;
  t1: number;
  buckets: number;
  ranks: number[];
}

/** As in src/analysis/timeline/rank_activity.h. */
export const enum RankState {
  Messages = 1,
  LateSender,
  LateReceiver,
  Collective,
  CollectiveWait,
}

export const RANK_STATES: [RankState, string][] = [
  [RankState.Messages, 'sends, receives'], [RankState.LateSender, 'waits for a late sender'], [RankState.LateReceiver, 'waits for a late receiver'],
  [RankState.Collective, 'collective'], [RankState.CollectiveWait, 'waits for others in a collective'],
];

export interface RankSpan {
  rank: number;
  t0: number;
  t1: number;
  state: RankState;
  function: number;
  site: number;
  /** Of collective operations: the same in all their parts. */
  communicator: number;
  sequence: number;
}

export interface MessageArrow {
  from: number;
  to: number;
  /** When the sending was begun, and when it was there. */
  t0: number;
  t1: number;
  bytes: number;
  tag: number;
  communicator: number;
  site: number;
  waited: number;
}

/** Sums by part of the time, of which there are many: rows of one rank lie behind each other. */
export class RankSums {
  readonly rows = new Map<number, { from: number; to: number }>();

  /** @param bucket the part that begins at t0 + bucket x width @param share of it, 0 to 1 */
  constructor(rank: Float64Array, readonly bucket: Float64Array, readonly state: Float64Array, readonly share: Float64Array) {
    for (let row = 0; row < rank.length; row++) {
      const rows = this.rows.get(rank[row]);
      if (rows) rows.to = row + 1;
      else this.rows.set(rank[row], { from: row, to: row + 1 });
    }
  }

  of(rank: number): WaitSum[] {
    const { from, to } = this.rows.get(rank) ?? { from: 0, to: 0 };
    return Array.from({ length: to - from }, (_, i) => ({ bucket: this.bucket[from + i], kind: this.state[from + i], share: this.share[from + i] }));
  }
}

const NOTHING = new Float64Array(0);

export interface RankTimeline {
  id: number;
  t0: number;
  t1: number;
  width: number;
  single: boolean;
  /** Rows of the tables in this time, about. */
  messages: number;
  /** By rank, in order of time, what lies within another one behind it. */
  spans: Map<number, RankSpan[]>;
  sums: RankSums;
  /** All; where not `single`, those that were waited for longest. */
  arrows: MessageArrow[];
}

function listOf<Value>(map: Map<number, Value[]>, key: number): Value[] {
  let list = map.get(key);
  if (!list) map.set(key, (list = []));
  return list;
}

/** @param origin of the page's times */
export function readRanks({ envelope, frames }: RawMessage, origin: bigint): RankTimeline {
  const relative = (key: string): number => Number(BigInt(envelope.get(key) ?? '0') - origin);
  const result: RankTimeline = {
    id: Number(envelope.get('id')), t0: relative('t0_ns'), t1: relative('t1_ns'), width: Math.max(1, Number(envelope.get('width_ns') ?? 1)), single: envelope.get('single') === '1',
    messages: Number(envelope.get('messages') ?? 0), spans: new Map(), sums: new RankSums(NOTHING, NOTHING, NOTHING, NOTHING), arrows: [],
  };
  const [rows, arrows] = frames;
  if (rows && rows.rows > 0) {
    const t = rows.ints[Calls.t_ns].numbers(origin);
    const columns = result.single ? [Calls.rank, Calls.state, Calls.length_ns] : [States.thread, States.kind, States.wait_ns];
    const [rank, state, length] = columns.map((index) => rows.ints[index].numbers());
    if (result.single) {
      const [call, site, communicator, sequence] = [Calls.function, Calls.site, Calls.communicator, Calls.sequence].map((index) => rows.ints[index].numbers());
      for (let row = 0; row < rows.rows; row++) {
        listOf(result.spans, rank[row]).push({ rank: rank[row], t0: t[row], t1: t[row] + length[row], state: state[row], function: call[row], site: site[row], communicator: communicator[row], sequence: sequence[row] });
      }
    } else {
      for (let row = 0; row < rows.rows; row++) {
        t[row] = Math.round((t[row] - result.t0) / result.width);
        length[row] = Math.min(1, length[row] / result.width);
      }
      result.sums = new RankSums(rank, t, state, length);
    }
  }
  if (arrows && arrows.rows > 0) {
    const [sent, received] = [arrows.ints[Arrows.t_ns].numbers(origin), arrows.ints[Arrows.received_ns].numbers(origin)];
    const [from, to, bytes, tag, communicator, site, waited] = [Arrows.rank, Arrows.peer, Arrows.bytes, Arrows.tag, Arrows.communicator, Arrows.site, Arrows.waited_ns].map((index) => arrows.ints[index].numbers());
    for (let row = 0; row < arrows.rows; row++) result.arrows.push({ from: from[row], to: to[row], t0: sent[row], t1: received[row], bytes: bytes[row], tag: tag[row], communicator: communicator[row], site: site[row], waited: waited[row] });
  }
  return result;
}

/** The innermost span at a moment, or the nearest one within `slack`. @param spans in order of time */
export function rankSpanAt(spans: RankSpan[], t: number, slack: number): RankSpan | null {
  let best: RankSpan | null = null;
  let distance = slack;
  for (const span of spans) {
    const away = t < span.t0 ? span.t0 - t : t > span.t1 ? t - span.t1 : 0;
    if (away > distance) continue;
    best = span;
    distance = away;
  }
  return best;
}

/** A collective operation: from when the first rank came until the last one was done, of the ranks that are there. */
export interface Meeting {
  communicator: number;
  sequence: number;
  t0: number;
  t1: number;
  /** By rank. */
  parts: RankSpan[];
}

export function meetingsOf(timeline: RankTimeline): Meeting[] {
  const meetings = new Map<string, Meeting>();
  for (const spans of timeline.spans.values()) {
    for (const span of spans) {
      if (span.state !== RankState.Collective || span.sequence <= 0) continue;
      const key = `${span.communicator} ${span.sequence}`;
      const meeting = meetings.get(key);
      if (!meeting) {
        meetings.set(key, { communicator: span.communicator, sequence: span.sequence, t0: span.t0, t1: span.t1, parts: [span] });
        continue;
      }
      meeting.t0 = Math.min(meeting.t0, span.t0);
      meeting.t1 = Math.max(meeting.t1, span.t1);
      meeting.parts.push(span);
    }
  }
  return [...meetings.values()].filter((meeting) => meeting.parts.length > 1);
}
