// What is looked at: a range of time that is either fixed or follows the newest data, and the request for it.

export interface ViewRequest {
  id: number;
  series: number[];
  pixels: number;
  t0?: number;
  t1?: number;
  follow?: number;
  have?: (number | null)[];
}

export interface Range {
  t0: number;
  t1: number;
}

/** Below this the clock's own resolution shows. */
const MIN_LENGTH_NS = 1_000;
const MAX_LENGTH_NS = 2 ** 52;
/** A fixed range is asked for with this share of its length on both sides, so that panning shows data at once. */
const MARGIN = 0.5;

export class TimeView {
  /** Length in nanoseconds; the range ends at the newest data while following. */
  length = 60e9;
  following = true;
  private end = 0;
  private requested: Range | null = null;

  constructor(private extent: Range) {}

  get range(): Range {
    return { t0: this.end - this.length, t1: this.end };
  }

  follow(length = this.length): void {
    this.length = clampLength(length);
    this.following = true;
    this.requested = null;
  }

  show(range: Range): void {
    const middle = (range.t0 + range.t1) / 2;
    this.length = clampLength(range.t1 - range.t0);
    this.end = middle + this.length / 2;
    this.following = false;
  }

  /** Zooms by `factor` (< 1: closer) around the moment `t`. While following, the newest data stays in place. */
  zoom(factor: number, t: number): void {
    const length = clampLength(this.length * factor);
    if (this.following) {
      this.follow(length);
      return;
    }
    const { t0, t1 } = this.range;
    const share = (t1 - t) / (t1 - t0);
    this.length = length;
    this.end = t + share * length;
  }

  pan(by: number): void {
    this.following = false;
    this.end += by;
  }

  /** New data came. */
  setExtent(extent: Range): void {
    this.extent = extent;
  }

  /**
   * Moves the following end towards the newest data: with the clock, and never beyond it, so that the picture scrolls
   * evenly although data comes in portions.
   */
  tick(elapsedNs: number): void {
    if (!this.following) return;
    const newest = this.extent.t1;
    const behind = newest - this.end;
    if (behind > 1.5e9 || behind < 0) {
      this.end = newest;
      return;
    }
    this.end = Math.min(newest, this.end + elapsedNs + behind * 0.05);
  }

  /** Whether what was asked for last still serves the range. */
  needsRequest(): boolean {
    if (!this.requested) return true;
    if (this.following) return false;
    const { t0, t1 } = this.range;
    const asked = this.requested;
    const askedLength = (asked.t1 - asked.t0) / (1 + 2 * MARGIN);
    if (this.length < askedLength * 0.8 || this.length > askedLength * 1.25) return true;
    const spare = this.length * MARGIN * 0.4;
    return t0 < asked.t0 + spare || t1 > asked.t1 - spare;
  }

  /** Forgets what was asked for: series or size changed, or the connection is new. */
  invalidate(): void {
    this.requested = null;
  }

  request(id: number, series: number[], pixels: number): ViewRequest {
    if (this.following) {
      this.requested = this.range;
      return { id, series, pixels, follow: Math.round(this.length) };
    }
    const margin = this.length * MARGIN;
    this.requested = { t0: this.range.t0 - margin, t1: this.range.t1 + margin };
    return {
      id, series, pixels: Math.min(8192, Math.round(pixels * (1 + 2 * MARGIN))),
      t0: Math.round(this.requested.t0), t1: Math.round(this.requested.t1),
    };
  }
}

function clampLength(length: number): number {
  return Math.min(Math.max(length, MIN_LENGTH_NS), MAX_LENGTH_NS);
}
