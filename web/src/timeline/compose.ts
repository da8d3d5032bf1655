// The picture below the single spans of a timeline: what the kernel says of threads, and the sums of what they waited for and did in MPI
// where these are too many to be drawn one by one.

import { besideWaits, lengthIn, unionOf, type Shares } from './activity';
import { Picture } from './draw';
import type { Answer, Span } from './spans';
import type { State } from './states';

export interface Layered {
  answer: Answer<Span>;
  /** Element of the answer; 0: the row has none. */
  element: number;
  stateOf(kind: number): State;
}

export interface PictureRow {
  key: number;
  /** Shares of its thread's time; empty: not recorded. */
  shares: Shares[];
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

/** @param colorOf a state, as pixelOf() gives it; null: it is hidden */
export function composePicture(rows: PictureRow[], grid: Grid, colorOf: (state: State) => number | null): Picture {
  const picture = new Picture(rows.map(({ key }) => key), grid.t0, grid.width, grid.columns);
  const end = grid.t0 + grid.columns * grid.width;
  for (const { key, shares, layers, dropsMpi } of rows) {
    const parts = layers.filter(({ answer }) => !answer.single).flatMap((layer) => partsOf(layer, grid, dropsMpi));
    const waited = new Float64Array(grid.columns);
    for (const { column, share } of parts) waited[column] = Math.min(1, waited[column] + share);
    const add = (column: number, state: State, share: number): void => {
      const color = colorOf(state);
      if (color !== null) picture.add(key, column, share, color);
    };
    if (shares.length > 0) {
      const single = lengthIn(unionOf(layers.filter(({ answer }) => answer.single).flatMap(({ answer, element }) => answer.spans.get(element) ?? [])));
      const sums = sumsIn(waited, grid);
      const known = { t0: Math.max(grid.t0, ...layers.map(({ answer }) => answer.t0)), t1: Math.min(end, ...layers.map(({ answer }) => answer.t1)) };
      for (const { t0, t1, running, queued } of besideWaits(shares, known, (from, to) => single(from, to) + sums(from, to))) {
        const first = Math.max(0, Math.round((t0 - grid.t0) / grid.width));
        const last = Math.min(grid.columns, Math.round((Math.min(t1, end) - grid.t0) / grid.width));
        for (let column = first; column < last; column++) {
          const rest = 1 - waited[column];
          add(column, 'running', rest * running);
          add(column, 'queued', rest * queued);
        }
      }
    }
    for (const { column, state, share } of parts) add(column, state, share);
  }
  return picture;
}

/** Time waited between two moments, by the columns. */
function sumsIn(waited: Float64Array, { t0, width, columns }: Grid): (from: number, to: number) => number {
  const before = new Float64Array(columns + 1);
  for (let column = 0; column < columns; column++) before[column + 1] = before[column] + waited[column] * width;
  const until = (t: number): number => {
    const at = Math.max(0, Math.min(columns, (t - t0) / width));
    const column = Math.min(columns - 1, Math.floor(at));
    return before[column] + waited[column] * width * (at - column);
  };
  return (from, to) => until(to) - until(from);
}
