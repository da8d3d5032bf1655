// What a line does not say by itself: that its value is old, or refreshed more seldom than it is sampled.

import type { Points } from '../session/points';

export interface Freshness {
  /** Nanoseconds between changes, where values change far more seldom than they are sampled; else 0. */
  refresh: number;
  /** The value has been the same for so long at the moment asked for; 0: it just changed. */
  unchanged: number;
  /** Nothing has come for so long although others go on; 0: it is up to date. */
  silent: number;
}

/** Values that change in every fifth sample are slow; more often they are just even. */
const SLOW_SAMPLES = 5;
const MIN_CHANGES = 3;
/** This much looking back is enough, and bounds the cost. */
const MAX_POINTS = 4000;

/**
 * @param interval between samples, more than 0 @param moment asked for @param newest end of the data of all series
 * @param levels whether the values are somebody's that may refresh them more seldom
 */
export function freshness(points: Points, interval: number, moment: number, newest: number, levels: boolean): Freshness {
  const result: Freshness = { refresh: 0, unchanged: 0, silent: 0 };
  const last = points.holding(moment);
  if (last < 0) return result;
  const lastKnown = points.t[points.length - 1];
  // Slow sensors arrive late: twice their interval and a second are not silence.
  if (newest - lastKnown > interval * 3 + 1e9) result.silent = newest - lastKnown;
  if (!levels) return result;
  const { mean, low, high, t } = points;
  let changes = 0;
  let newestChange = NaN;
  let oldestChange = NaN;
  for (let i = last; i > 0 && i > last - MAX_POINTS; i--) {
    if (Number.isNaN(mean[i]) || Number.isNaN(mean[i - 1])) break;
    if (mean[i] === mean[i - 1] && low[i] === high[i]) continue;
    changes++;
    if (changes === 1) newestChange = t[i];
    oldestChange = t[i];
  }
  if (changes === 0) return result;
  result.unchanged = Math.max(0, moment - newestChange);
  const between = changes >= MIN_CHANGES ? (newestChange - oldestChange) / (changes - 1) : 0;
  if (between > interval * SLOW_SAMPLES) result.refresh = between;
  return result;
}
