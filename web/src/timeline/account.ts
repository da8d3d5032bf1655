// States of each thread by part of the time, with the sums of the report's account.

import type { Account, StateTimes } from '../waits/documents';
import { stateOf } from '../waits/states';
import type { State } from './states';

/** How long a thread was in some states, in ns. */
export interface Stretch {
  t0: number;
  t1: number;
  states: [State, number][];
}

/** A state of the page has all lines of the account that are called so, in ns. */
export interface ThreadAccount {
  life: number;
  unknown: number;
  sums: Map<State, number>;
  /** What events of waits say that it was; these have what was spun and queued, too. */
  waited: Map<State, number>;
  lines: StateTimes[];
}

export function lineState(name: string): State {
  if (name === 'running') return 'running';
  return name.startsWith('queued') ? 'queued' : stateOf(name);
}

export class Accounts {
  private readonly threads = new Map<number, ThreadAccount>();
  private readonly t0: number;
  private readonly width: number;
  private readonly count: number;

  /** @param origin of the page's times */
  constructor(account: Account | null, origin: bigint) {
    const parts = account?.parts;
    [this.t0, this.width, this.count] = parts ? [parts.t0_ns - Number(origin), parts.width_ns, parts.count] : [0, 1, 0];
    const lines = new Map(parts?.threads.map((thread) => [thread.id, thread.lines]));
    for (const thread of account?.threads ?? []) {
      const of: ThreadAccount = { life: thread.life_seconds * 1e9, unknown: thread.unknown_seconds * 1e9, sums: new Map(), waited: new Map(), lines: lines.get(thread.id) ?? [] };
      for (const [name, seconds] of Object.entries(thread.seconds)) add(of.sums, lineState(name), seconds * 1e9);
      for (const { state, waited_ns } of of.lines) if (waited_ns > 0) add(of.waited, lineState(state), waited_ns);
      this.threads.set(thread.id, of);
    }
  }

  of(thread: number): ThreadAccount | null {
    return this.threads.get(thread) ?? null;
  }

  /** Length of a part. */
  get step(): number {
    return this.width;
  }

  /** Until when it is known. */
  get end(): number {
    return this.t0 + this.width * this.count;
  }

  /** Parts that overlap a range, in order of time. */
  stretches(thread: number, t0: number, t1: number): Stretch[] {
    const lines = this.threads.get(thread)?.lines ?? [];
    const [from, to] = [Math.max(0, Math.floor((t0 - this.t0) / this.width)), Math.min(this.count, Math.ceil((t1 - this.t0) / this.width))];
    const result: Stretch[] = [];
    for (let part = from; part < to; part++) {
      const states = new Map<State, number>();
      for (const { state, first, ns } of lines) {
        const length = ns[part - first] ?? 0;
        if (length > 0) add(states, lineState(state), length);
      }
      const begin = this.t0 + part * this.width;
      if (states.size > 0) result.push({ t0: begin, t1: begin + this.width, states: [...states] });
    }
    return result;
  }
}

function add(sums: Map<State, number>, state: State, ns: number): void {
  sums.set(state, (sums.get(state) ?? 0) + ns);
}

/** The part of a wait, as events have it, that the account has of it. */
export function factorOf(account: ThreadAccount | null, state: State): number {
  if (account === null) return 1;
  const [sum, waited] = [account.sums.get(state) ?? 0, account.waited.get(state) ?? 0];
  return waited > 0 ? Math.min(1, sum / waited) : sum > 0 ? 1 : 0;
}
