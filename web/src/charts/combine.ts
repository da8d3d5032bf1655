// Arithmetic on points: sums over elements, stacks, signed rates of levels, totals of a range.
//
// A point holds for a stretch of time. Single samples of a counter are rates since the sample before; buckets, and
// samples of levels, hold from their time on. Where the times of two series differ (another interval, another level of
// detail) they are brought to those of the coarser one by the share of each stretch that overlaps, so that amounts are
// kept.

import { medianStep, type Points, type PointColumns } from '../session/points';

export const enum Holds {
  /** From the point before to this one. */
  Before,
  /** From this point to the next one. */
  After,
}

export interface Member {
  points: Points;
  holds: Holds;
}

export type Rule = 'sum' | 'mean' | 'max';

/** Times are taken as the same when they are closer than this share of a step. */
const SAME_STEP = 0.75;
/** A point holds for at most this many steps: what comes later is not known. */
const LONGEST_HOLD = 2.5;

function sameTimes(points: Points, grid: Float64Array): boolean {
  if (points.length !== grid.length) return false;
  const { t } = points;
  for (let i = 0; i < grid.length; i++) if (t[i] !== grid[i]) return false;
  return true;
}

/** The times of the coarsest member; where it has none, those of the next one. */
export function commonTimes(members: Member[]): Float64Array {
  const steps = members.map(({ points }) => points.typicalStep());
  const order = members.map((_, i) => i).filter((i) => members[i].points.length > 0).sort((a, b) => steps[b] - steps[a]);
  if (order.length === 0) return new Float64Array(0);
  const first = members[order[0]].points;
  let grid = first.t.slice(0, first.length);
  for (const i of order.slice(1)) {
    const { points } = members[i];
    if (sameTimes(points, grid)) continue;
    const near = Math.max(steps[order[0]], steps[i]) * SAME_STEP;
    const merged: number[] = [];
    let at = 0;
    for (let row = 0; row < points.length; row++) {
      const t = points.t[row];
      while (at < grid.length && grid[at] <= t) merged.push(grid[at++]);
      const before = merged.length > 0 ? t - merged[merged.length - 1] : Infinity;
      const after = at < grid.length ? grid[at] - t : Infinity;
      if (before > near && after > near) merged.push(t);
    }
    if (merged.length + grid.length - at === grid.length) continue;
    while (at < grid.length) merged.push(grid[at++]);
    grid = Float64Array.from(merged);
  }
  return grid;
}

/** The time that a point holds for. */
export function stretchOf(t: ArrayLike<number>, length: number, i: number, holds: Holds, step: number): [number, number] {
  const longest = step * LONGEST_HOLD || Infinity;
  if (holds === Holds.Before) return [i > 0 ? Math.max(t[i - 1], t[i] - longest) : t[i] - step, t[i]];
  return [t[i], i + 1 < length ? Math.min(t[i + 1], t[i] + longest) : t[i] + step];
}

/** The member's values at the times of a grid whose points hold as `holds` says. NaN where it has none. */
export function resample(member: Member, grid: Float64Array, holds: Holds): PointColumns {
  const { points } = member;
  if (sameTimes(points, grid)) {
    const cut = (column: Float64Array): Float64Array => column.subarray(0, points.length);
    return { t: grid, count: cut(points.count), mean: cut(points.mean), low: cut(points.low), high: cut(points.high) };
  }
  const blank = (value: number): Float64Array => new Float64Array(grid.length).fill(value);
  const result: PointColumns = { t: grid, count: blank(0), mean: blank(NaN), low: blank(NaN), high: blank(NaN) };
  const step = points.typicalStep();
  const gridStep = medianStep(grid, grid.length) || step;
  let row = 0;
  for (let cell = 0; cell < grid.length; cell++) {
    const [begin, end] = stretchOf(grid, grid.length, cell, holds, gridStep);
    while (row < points.length && stretchOf(points.t, points.length, row, member.holds, step)[1] <= begin) row++;
    let weight = 0;
    let sum = 0;
    for (let i = row; i < points.length; i++) {
      const [from, to] = stretchOf(points.t, points.length, i, member.holds, step);
      if (from >= end) break;
      const overlap = Math.min(to, end) - Math.max(from, begin);
      if (!(overlap > 0) || Number.isNaN(points.mean[i])) continue;
      sum += points.mean[i] * overlap;
      weight += overlap;
      result.count[cell] += (points.count[i] * overlap) / (to - from);
      if (!(result.low[cell] <= points.low[i])) result.low[cell] = points.low[i];
      if (!(result.high[cell] >= points.high[i])) result.high[cell] = points.high[i];
    }
    if (weight > 0) result.mean[cell] = sum / weight;
  }
  return result;
}

/** How points that come from several members hold. */
function jointHolds(members: Member[]): Holds {
  return members.every((member) => member.holds === Holds.Before) ? Holds.Before : Holds.After;
}

/**
 * One series from several. Members without a value at a time are left out there; where none has one, there is none. The
 * band of a sum is the sum of the bands: what happened lies within it.
 */
export function combine(members: Member[], rule: Rule): PointColumns {
  const grid = commonTimes(members);
  const holds = jointHolds(members);
  const zero = (): Float64Array => new Float64Array(grid.length);
  const result = { t: grid, count: zero(), mean: zero(), low: zero(), high: zero() };
  const present = new Uint32Array(grid.length);
  for (const member of members) {
    const values = resample(member, grid, holds);
    for (let i = 0; i < grid.length; i++) {
      result.count[i] += values.count[i];
      if (Number.isNaN(values.mean[i])) continue;
      present[i]++;
      if (rule === 'max') {
        const first = present[i] === 1;
        if (first || values.mean[i] > result.mean[i]) result.mean[i] = values.mean[i];
        if (first || values.low[i] > result.low[i]) result.low[i] = values.low[i];
        if (first || values.high[i] > result.high[i]) result.high[i] = values.high[i];
      } else {
        result.mean[i] += values.mean[i];
        result.low[i] += values.low[i];
        result.high[i] += values.high[i];
      }
    }
  }
  for (let i = 0; i < grid.length; i++) {
    const divisor = rule === 'mean' ? present[i] : 1;
    for (const column of [result.mean, result.low, result.high]) column[i] = present[i] === 0 ? NaN : column[i] / divisor;
  }
  return result;
}

export interface Layer {
  t: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

/** Each member's area on top of those before it. Levels and rates below zero count as zero: areas cannot be negative. */
export function stack(members: Member[]): Layer[] {
  const grid = commonTimes(members);
  const holds = jointHolds(members);
  let base = new Float64Array(grid.length);
  return members.map((member) => {
    const { mean } = resample(member, grid, holds);
    const top = new Float64Array(grid.length);
    for (let i = 0; i < grid.length; i++) top[i] = base[i] + Math.max(0, mean[i] || 0);
    const layer = { t: grid, low: base, high: top };
    base = top;
    return layer;
  });
}

/** How fast a level changed since the point before, a second. */
export function signedRate(points: Points): PointColumns {
  const { t, mean, length } = points;
  const rate = new Float64Array(length).fill(NaN);
  for (let i = 1; i < length; i++) rate[i] = ((mean[i] - mean[i - 1]) * 1e9) / (t[i] - t[i - 1]);
  return { t: t.subarray(0, length), count: points.count.subarray(0, length), mean: rate, low: rate, high: rate };
}

export interface Totals {
  /** Over time: of a rate a second the amount, of a level the level times seconds. */
  amount: number;
  mean: number;
  low: number;
  high: number;
}

/** Of a range of time; NaN where nothing is known. */
export function totals({ points, holds }: Member, t0: number, t1: number): Totals {
  const step = points.typicalStep();
  const result: Totals = { amount: 0, mean: NaN, low: NaN, high: NaN };
  let known = 0;
  for (let i = Math.max(0, points.holding(t0)); i < points.length; i++) {
    if (Number.isNaN(points.mean[i])) continue;
    const [from, to] = stretchOf(points.t, points.length, i, holds, step);
    if (from >= t1) break;
    const overlap = Math.min(to, t1) - Math.max(from, t0);
    if (!(overlap > 0)) continue;
    known += overlap;
    result.amount += (points.mean[i] * overlap) / 1e9;
    if (!(result.low <= points.low[i])) result.low = points.low[i];
    if (!(result.high >= points.high[i])) result.high = points.high[i];
  }
  if (known === 0) return { ...result, amount: NaN };
  result.mean = (result.amount * 1e9) / known;
  return result;
}
