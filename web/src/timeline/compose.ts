// The picture below the single spans of a timeline: the states of threads, as their accounts have them, and the sums of what they waited
// for and did in MPI where these are too many to be drawn one by one.

import type { Range } from '../session/view';
import { factorOf, type Stretch, type ThreadAccount } from './account';
import { unionOf } from './activity';
import { Picture } from './draw';
import type { Answer, Span } from './spans';
import { ORDER, type State } from './states';

export interface Layered {
  answer: Answer<Span>;
  /** Element of the answer; 0: the row has none. */
  element: number;
  stateOf(kind: number): State;
  /** What the answer has one by one. */
  spans: (Range & { state: State })[];
  /** What it has lies over the states of the account: calls, in which a thread may run as well as sleep. */
  isOver: boolean;
}

export interface PictureRow {
  key: number;
  /** When its thread was there. */
  life: Range;
  /** What its thread did; empty: not recorded. */
  stretches: Stretch[];
  /** null: not known. */
  account: ThreadAccount | null;
  layers: Layered[];
  /** Waits in MPI are those of a layer of calls. */
  dropsMpi: boolean;
}

export interface Grid {
  t0: number;
  width: number;
  columns: number;
}

interface Part {
  state: State;
  column: number;
  share: number;
}

/** The columns of the finest sums; without any, as many as fit on the screen. */
export function gridOf(answers: Answer<Span>[], screen: Grid): Grid {
  const sums = answers.filter(({ single }) => !single).sort((a, b) => a.width - b.width)[0];
  return sums ? { t0: sums.t0, width: sums.width, columns: Math.max(1, Math.ceil((sums.t1 - sums.t0) / sums.width)) } : screen;
}

/** Sums of an answer by the columns of a grid, which may be those of another one. */
function partsOf({ answer, element, stateOf }: Layered, grid: Grid, dropsMpi: boolean): Part[] {
  const rows = answer.sums.rows.get(element);
  if (!rows) return [];
  const { bucket, state: kinds, share } = answer.sums;
  const parts: Part[] = [];
  for (let i = rows.from; i < rows.to; i++) {
    const state = stateOf(kinds[i]);
    if (dropsMpi && state === 'mpi') continue;
    const begin = (answer.t0 + bucket[i] * answer.width - grid.t0) / grid.width;
    const last = Math.max(Math.round(begin), Math.round(begin + answer.width / grid.width) - 1);
    for (let column = Math.max(0, Math.round(begin)); column <= Math.min(grid.columns - 1, last); column++) parts.push({ state, column, share: share[i] });
  }
  return parts;
}

/** Shares of states, by column. */
class Shares {
  readonly of = new Map<State, Float64Array>();

  constructor(private readonly columns: number) {}

  add(state: State, column: number, share: number): void {
    let shares = this.of.get(state);
    if (!shares) this.of.set(state, (shares = new Float64Array(this.columns)));
    shares[column] += share;
  }

  sumOf(state: State): number {
    const shares = this.of.get(state);
    return shares ? shares.reduce((sum, share) => sum + share, 0) : 0;
  }
}

/** A row while its columns are filled. */
class RowFilling {
  readonly shares: Shares;
  /** Waits of which the times are known, also those that are drawn one by one, as the account has them. */
  private readonly known: Shares;
  /** Part of a column that has them. */
  private readonly covered: Float64Array;
  private readonly over: Float64Array;
  constructor(private readonly row: PictureRow, private readonly grid: Grid) {
    this.shares = new Shares(grid.columns);
    this.known = new Shares(grid.columns);
    this.covered = new Float64Array(grid.columns);
    this.over = new Float64Array(grid.columns);
    for (const layer of row.layers) (layer.answer.single ? this.addSingle(layer) : this.addSums(layer));
    this.addStretches(row.stretches);
  }

  /** A call in which the thread may as well run, where the account has no line of it. */
  private isOver(state: State, layer: Layered): boolean {
    return layer.isOver || (state === 'mpi' && !this.row.account?.sums.has(state));
  }

  private addSums(layer: Layered): void {
    for (const { state, column, share } of partsOf(layer, this.grid, this.row.dropsMpi)) {
      const isOver = this.isOver(state, layer);
      const part = isOver ? share : share * factorOf(this.row.account, state);
      if (part <= 0) continue;
      this.shares.add(state, column, part);
      if (isOver) this.over[column] += part;
      else this.known.add(state, column, part);
      this.covered[column] = Math.min(1, this.covered[column] + part);
    }
  }

  private addSingle(layer: Layered): void {
    for (const { state, ...span } of layer.spans) {
      const isOver = this.isOver(state, layer);
      this.columnsOf(span, (column, share) => (isOver ? (this.over[column] += share) : this.known.add(state, column, share * factorOf(this.row.account, state))));
    }
    for (const span of unionOf(layer.spans)) this.columnsOf(span, (column, share) => (this.covered[column] = Math.min(1, this.covered[column] + share)));
  }

  /** @param visit is given the part of a column that lies in the range */
  private columnsOf({ t0, t1 }: Range, visit: (column: number, share: number) => void): void {
    const { grid } = this;
    const [from, to] = [Math.max(0, (t0 - grid.t0) / grid.width), Math.min(grid.columns, (t1 - grid.t0) / grid.width)];
    for (let column = Math.floor(from); column < to; column++) {
      const share = Math.min(to, column + 1) - Math.max(from, column);
      if (share > 0) visit(column, share);
    }
  }

  /** Time of each state of a stretch, and what no wait has of it, in columns: less than 0 where the waits have more than the account has there. */
  private restsOf({ t0, t1, states }: Stretch): [State, { length: number; rest: number }][] {
    let inside = 0;
    this.columnsOf({ t0, t1 }, (_, share) => (inside += share));
    return states.map(([state, ns]) => {
      const length = (ns / (t1 - t0)) * inside;
      let rest = length;
      const shares = this.known.of.get(state);
      if (shares) this.columnsOf({ t0, t1 }, (column, share) => (rest -= share * shares[column]));
      return [state, { length, rest }];
    });
  }

  /** Of a column that lies in two stretches, the one may have too much and the other too little: together they have the account's time. */
  private addStretches(stretches: Stretch[]): void {
    const rests = stretches.map((stretch) => this.restsOf(stretch));
    const [all, found] = [new Map<State, number>(), new Map<State, number>()];
    for (const [state, { length, rest }] of rests.flat()) {
      all.set(state, (all.get(state) ?? 0) + length);
      found.set(state, (found.get(state) ?? 0) + Math.max(0, rest));
    }
    const part = (state: State): number => Math.max(0, all.get(state)! - this.known.sumOf(state)) / Math.max(Number.MIN_VALUE, found.get(state)!);
    stretches.forEach((stretch, i) => this.addStretch(stretch, rests[i].filter(([, { rest }]) => rest > 0).map(([state, { rest }]) => [state, rest * part(state)])));
  }

  /** What is left of it beside the waits is put between these; where there is no room, on top. */
  private addStretch({ t0, t1 }: Stretch, rests: [State, number][]): void {
    const { life } = this.row;
    const cut = { t0: Math.max(t0, life.t0), t1: Math.min(t1, life.t1) };
    const within = cut.t1 > cut.t0 ? cut : { t0, t1 };
    let [all, free, over] = [0, 0, 0];
    this.columnsOf(within, (column, share) => {
      all += share;
      free += share * (1 - this.covered[column]);
      over += share * this.over[column];
    });
    if (all <= 0) return;
    const wanted = rests.reduce((sum, [, rest]) => sum + rest, 0);
    const scale = over > 0 && wanted > free ? free / wanted : 1;
    for (const [state, rest] of rests) {
      if (rest * scale <= 0) continue;
      this.columnsOf(within, (column, share) => {
        const part = free > 1e-9 ? (share * (1 - this.covered[column])) / free : share / all;
        this.shares.add(state, column, rest * scale * part);
      });
    }
  }
}

/** @param colorOf a state, as pixelOf() gives it; null: it is hidden */
export function composePicture(rows: PictureRow[], grid: Grid, colorOf: (state: State) => number | null): Picture {
  const picture = new Picture(rows.map(({ key }) => key), grid.t0, grid.width, grid.columns);
  for (const row of rows) {
    const { shares } = new RowFilling(row, grid);
    const sums = new Map<State, number>();
    // Sums of some time may be more than it: they are known from several sources, each of which has its own moments.
    const totals = new Float64Array(grid.columns);
    for (const ofState of shares.of.values()) ofState.forEach((share, column) => (totals[column] += share));
    for (const state of ORDER) {
      const ofState = shares.of.get(state);
      if (!ofState) continue;
      const color = colorOf(state);
      let sum = 0;
      ofState.forEach((share, column) => {
        sum += share;
        if (color !== null) picture.add(row.key, column, share / Math.max(1, totals[column]), color);
      });
      sums.set(state, sum * grid.width);
    }
    picture.sums.set(row.key, sums);
  }
  return picture;
}
