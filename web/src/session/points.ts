// The points of one series that a page holds: parallel columns that grow at the end and are cut at the start.

/** Columns as the server sends them; times in nanoseconds after the origin, NaN where a value is missing. */
export interface PointColumns {
  t: Float64Array;
  count: Float64Array;
  mean: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

const NAMES = ['t', 'count', 'mean', 'low', 'high'] as const;

/** What a counter can be at most, and the steps in which it is counted. */
export interface Limit {
  /** A second. */
  most: number;
  /** Amount of one step: a tick of 10 ms is seen within one sample, however short that is. */
  step: number;
  /** Between samples, in nanoseconds; 0: not known. */
  interval: number;
}

/** A sample that a step falls into has a part of it that belongs to the time around, and so has the one before. */
const MOST_STEPS = 2;
/** Of counting with a fraction. */
const ROUNDING = 1 + 1e-9;

export class Points implements PointColumns {
  t = new Float64Array(0);
  count = new Float64Array(0);
  mean = new Float64Array(0);
  low = new Float64Array(0);
  high = new Float64Array(0);
  /** The part of the amount that was above the limit up to this point, and is added to those after it. */
  private owed = new Float64Array(0);
  length = 0;
  /** Whether the last answer had every sample by itself. */
  exact = false;
  /** Grows with every change. */
  version = 0;

  private stepVersion = -1;
  private step = 0;

  static of(columns: PointColumns, exact: boolean): Points {
    return Object.assign(new Points(), { t: columns.t, count: columns.count, mean: columns.mean, low: columns.low, high: columns.high, length: columns.t.length, exact });
  }

  /** Replaces everything at or after `from` (NaN: everything) by the columns. @param limit of what is counted; null: none is known */
  replaceFrom(from: number, columns: PointColumns, limit: Limit | null = null): void {
    this.version++;
    const kept = Number.isNaN(from) ? 0 : this.indexAt(from);
    const needed = kept + columns.t.length;
    for (const name of NAMES) {
      if (this[name].length < needed) {
        const larger = new Float64Array(Math.max(needed, Math.ceil(this[name].length * 1.5)));
        larger.set(this[name].subarray(0, kept));
        this[name] = larger;
      }
      this[name].set(columns[name], kept);
    }
    this.length = needed;
    if (limit) this.spread(kept, limit);
  }

  /** No rate is of less time than a step takes: what is above the limit by steps alone is put into the points after it. */
  private spread(first: number, { most, step, interval }: Limit): void {
    if (this.owed.length < this.t.length) {
      const larger = new Float64Array(this.t.length);
      larger.set(this.owed.subarray(0, first));
      this.owed = larger;
    }
    for (let i = first; i < this.length; i++) {
      const seconds = (i > 0 ? this.t[i] - this.t[i - 1] : this.length > 1 ? this.t[1] - this.t[0] : interval) / 1e9;
      const total = this.mean[i] * seconds + (i > 0 ? this.owed[i - 1] : 0);
      const above = total - most * seconds;
      // More than steps explain is real, or the limit is not the right one.
      const isKnown = seconds > 0 && above <= MOST_STEPS * step;
      this.owed[i] = isKnown && above > 0 ? above : 0;
      if (!isKnown) {
        if (total > 0 && seconds > 0) this.mean[i] = total / seconds;
        continue;
      }
      this.mean[i] = Math.max(0, Math.min(total / seconds, most));
      if (this.exact) {
        this.low[i] = this.high[i] = this.mean[i];
        continue;
      }
      if (this.high[i] > most && (this.high[i] - most) * (interval / 1e9) <= MOST_STEPS * step * ROUNDING) this.high[i] = most;
      this.low[i] = Math.min(this.low[i], this.mean[i]);
      this.high[i] = Math.max(this.high[i], this.mean[i]);
    }
  }

  /** Forgets points before `t`, but only when that frees at least half of them. */
  trimBefore(t: number): void {
    const cut = this.indexAt(t);
    if (cut === 0 || cut * 2 < this.length) return;
    this.version++;
    for (const name of NAMES) this[name].copyWithin(0, cut, this.length);
    this.owed.copyWithin(0, cut, this.length);
    this.length -= cut;
  }

  /** Index of the first point at or after `t`; `length` if there is none. */
  indexAt(t: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.t[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Index of the point that holds at `t`: the last one that starts at or before it; -1 if there is none. */
  holding(t: number): number {
    const next = this.indexAt(t);
    return next < this.length && this.t[next] === t ? next : next - 1;
  }

  /** Median of the steps between points. */
  typicalStep(): number {
    if (this.stepVersion !== this.version) {
      this.stepVersion = this.version;
      this.step = medianStep(this.t, this.length);
    }
    return this.step;
  }

  get lastStart(): number | null {
    return this.length > 0 ? this.t[this.length - 1] : null;
  }
}

/** Of times in order, from a few of them. */
export function medianStep(t: ArrayLike<number>, length: number): number {
  if (length < 2) return 0;
  const steps: number[] = [];
  const stride = Math.max(1, Math.floor(length / 64));
  for (let i = 1; i < length; i += stride) steps.push(t[i] - t[i - 1]);
  steps.sort((a, b) => a - b);
  return steps[steps.length >> 1];
}
