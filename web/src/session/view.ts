// The time on screen: a range that is either fixed or follows the newest data, and the request for it. While there is less data than
// the window is long, the range is all of it: it grows until the window is full, and then slides.

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
/** A window that grows is at least as long as this part of its full length: at first the data grows in it, from the left edge. */
const LEAST_PART = 1 / 30;
/** It is asked for at the resolution of a window that is longer by this, so that it need not be asked for with each update. */
const SPARE = 1.5;

export class TimeView {
  /** Full length of the window in nanoseconds, while following; else of the range. */
  window = 60e9;
  following = true;
  private end = 0;
  private requested: Range | null = null;
  /** The window from before the range was stopped while it grew. */
  private stopped: { length: number; window: number } | null = null;

  constructor(private extent: Range) {}

  get range(): Range {
    if (!this.isGrowing) return { t0: this.end - this.window, t1: this.end };
    const { t0 } = this.extent;
    return { t0, t1: Math.max(this.end, t0 + this.window * LEAST_PART) };
  }

  /** Length of the range. */
  get length(): number {
    const { t0, t1 } = this.range;
    return t1 - t0;
  }

  /** Whether there is less data than the window is long. */
  get isGrowing(): boolean {
    return this.following && this.end - this.extent.t0 < this.window;
  }

  follow(window = this.stopped?.length === this.window ? this.stopped.window : this.window): void {
    this.window = clampLength(window);
    this.following = true;
    this.requested = null;
    this.stopped = null;
  }

  show(range: Range): void {
    const middle = (range.t0 + range.t1) / 2;
    this.window = clampLength(range.t1 - range.t0);
    this.end = middle + this.window / 2;
    this.following = false;
  }

  /** Zooms by `factor` (< 1: closer) around the moment `t`. While following, the newest data stays in place. */
  zoom(factor: number, t: number): void {
    const length = clampLength(this.length * factor);
    if (this.following) {
      // There is nothing to zoom out to.
      this.follow(this.isGrowing && factor > 1 ? Math.max(this.window, length) : length);
      return;
    }
    const { t0, t1 } = this.range;
    const share = (t1 - t) / (t1 - t0);
    this.window = length;
    this.end = t + share * length;
  }

  pan(by: number): void {
    this.stop();
    this.end += by;
  }

  /** The range stays as it is. */
  private stop(): void {
    if (!this.following) return;
    const { t0, t1 } = this.range;
    this.stopped = this.isGrowing ? { length: t1 - t0, window: this.window } : null;
    [this.window, this.end] = [t1 - t0, t1];
    this.following = false;
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
    const asked = this.requested;
    if (this.following) return Math.min(this.window, this.length) > asked.t1 - asked.t0;
    const { t0, t1 } = this.range;
    const { length } = this;
    const askedLength = (asked.t1 - asked.t0) / (1 + 2 * MARGIN);
    if (length < askedLength * 0.8 || length > askedLength * 1.25) return true;
    const spare = length * MARGIN * 0.4;
    return t0 < asked.t0 + spare || t1 > asked.t1 - spare;
  }

  /** Forgets what was asked for: series or size changed, or the connection is new. */
  invalidate(): void {
    this.requested = null;
  }

  request(id: number, series: number[], pixels: number): ViewRequest {
    const { length, range } = this;
    if (this.following) {
      const follow = Math.round(this.isGrowing ? Math.min(this.window, length * SPARE) : this.window);
      this.requested = { t0: range.t1 - follow, t1: range.t1 };
      return { id, series, pixels, follow };
    }
    const margin = length * MARGIN;
    this.requested = { t0: range.t0 - margin, t1: range.t1 + margin };
    return {
      id, series, pixels: Math.min(8192, Math.round(pixels * (1 + 2 * MARGIN))),
      t0: Math.round(this.requested.t0), t1: Math.round(this.requested.t1),
    };
  }
}

function clampLength(length: number): number {
  return Math.min(Math.max(length, MIN_LENGTH_NS), MAX_LENGTH_NS);
}
