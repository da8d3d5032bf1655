// What the server says of when ranks were in MPI, ready to be drawn: single calls with what was waited in them and the messages
// between ranks, or sums by part of the time.

import type { RawMessage } from '../session/model';
import { listOf, readHead, type Answer, type Span } from '../timeline/spans';
import { Arrows, Calls } from '../wire/tables';

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

export interface RankSpan extends Span {
  rank: number;
  state: RankState;
  function: number;
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

export interface RankTimeline extends Answer<RankSpan> {
  /** Rows of the tables in this time, about. */
  messages: number;
  /** All; where not `single`, those that were waited for longest. */
  arrows: MessageArrow[];
}

/** @param origin of the page's times */
export function readRanks(message: RawMessage, origin: bigint): RankTimeline {
  const result: RankTimeline = { ...readHead<RankSpan>(message, origin), messages: Number(message.envelope.get('messages') ?? 0), arrows: [] };
  const [rows, arrows] = message.frames;
  if (result.single && rows && rows.rows > 0) {
    const t = rows.ints[Calls.t_ns].numbers(origin);
    const [rank, state, length, call, site, communicator, sequence] = [Calls.rank, Calls.state, Calls.length_ns, Calls.function, Calls.site, Calls.communicator, Calls.sequence].map((index) => rows.ints[index].numbers());
    for (let row = 0; row < rows.rows; row++) {
      listOf(result.spans, rank[row]).push({ rank: rank[row], t0: t[row], t1: t[row] + length[row], state: state[row], function: call[row], site: site[row], communicator: communicator[row], sequence: sequence[row] });
    }
  }
  if (arrows && arrows.rows > 0) {
    const [sent, received] = [arrows.ints[Arrows.t_ns].numbers(origin), arrows.ints[Arrows.received_ns].numbers(origin)];
    const [from, to, bytes, tag, communicator, site, waited] = [Arrows.rank, Arrows.peer, Arrows.bytes, Arrows.tag, Arrows.communicator, Arrows.site, Arrows.waited_ns].map((index) => arrows.ints[index].numbers());
    for (let row = 0; row < arrows.rows; row++) result.arrows.push({ from: from[row], to: to[row], t0: sent[row], t1: received[row], bytes: bytes[row], tag: tag[row], communicator: communicator[row], site: site[row], waited: waited[row] });
  }
  return result;
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
