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

export class Points implements PointColumns {
  t = new Float64Array(0);
  count = new Float64Array(0);
  mean = new Float64Array(0);
  low = new Float64Array(0);
  high = new Float64Array(0);
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

  /** Replaces everything at or after `from` (NaN: everything) by the columns. */
  replaceFrom(from: number, columns: PointColumns): void {
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
  }

  /** Forgets points before `t`, but only when that frees at least half of them. */
  trimBefore(t: number): void {
    const cut = this.indexAt(t);
    if (cut === 0 || cut * 2 < this.length) return;
    this.version++;
    for (const name of NAMES) this[name].copyWithin(0, cut, this.length);
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
  const stride = Math.max(1, Math.floor(length / 64));
  const steps = new Float64Array(Math.ceil((length - 1) / stride));
  for (let i = 0; i < steps.length; i++) steps[i] = t[1 + i * stride] - t[i * stride];
  steps.sort();
  return steps[steps.length >> 1];
}
