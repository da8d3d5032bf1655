// States of a thread or rank on the timeline: what the kernel says of it, what it waits for, and what it does in MPI.

import { RankState, RANK_STATES } from '../messages/timeline';
import { ALL_STATES, STATES as WAITS, stateOfNumber, type State as Wait } from '../waits/states';

export type Activity = 'running' | 'queued' | 'asleep';
export type Call = 'messages' | 'late-sender' | 'late-receiver' | 'collective' | 'collective-wait';
export type State = Activity | Wait | Call;

const CALLS: Record<RankState, Call> = {
  [RankState.Messages]: 'messages', [RankState.LateSender]: 'late-sender', [RankState.LateReceiver]: 'late-receiver',
  [RankState.Collective]: 'collective', [RankState.CollectiveWait]: 'collective-wait',
};

interface Look {
  name: string;
  /** A variable of the style sheet. */
  color: string;
}

/** In the order of the legend. */
export const LOOKS = Object.fromEntries([
  ['running', { name: 'running', color: '--running' }],
  ['queued', { name: 'runnable, no CPU', color: '--queued' }],
  ...ALL_STATES.map((wait): [Wait, Look] => [wait, WAITS[wait]]),
  ...RANK_STATES.map(([state, name]): [Call, Look] => [CALLS[state], { name, color: `--mpi-${state}` }]),
  ['asleep', { name: 'asleep, not known for what', color: '--asleep' }],
]) as Record<State, Look>;
export const ORDER = Object.keys(LOOKS) as State[];

export function waitState(kind: number): Wait {
  return stateOfNumber(kind);
}

/** A state that the server may come to know is one of messages. */
export function callState(state: number): Call {
  return CALLS[state as RankState] ?? 'messages';
}
