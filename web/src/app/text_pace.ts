// Texts follow the charts: values and tables are read, not watched, and must not hold up a frame with new lines.

/** While the newest data is followed texts change no more often than this, */
const INTERVAL_MS = 125;
/** and they come with a frame that has no new lines; at last with one that has. */
const LATEST_MS = 250;

export class TextPace {
  /** Since when they have not been what the charts show; NaN: they are. */
  private oldSince = NaN;
  private written = -Infinity;

  chartsDrawn(now: number): void {
    if (Number.isNaN(this.oldSince)) this.oldSince = now;
  }

  /** @param fresh the frame had new lines to draw @return whether to write them now; they are then taken as written */
  isDue(now: number, fresh: boolean, following: boolean): boolean {
    if (Number.isNaN(this.oldSince) || (following && now - this.written < INTERVAL_MS)) return false;
    if (fresh && now - this.oldSince < LATEST_MS) return false;
    this.oldSince = NaN;
    this.written = now;
    return true;
  }
}
