// Where the grid lines stand: round values, and moments that are round on the wall clock.

const TIME_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The smallest of 1, 2 and 5 times a power of ten that is at least `value`. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const factor of [1, 2, 5]) if (factor * power >= value * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/** The smallest power of two that is at least `value`, so that bytes in KiB, MiB, ... have round steps; below one as other values. */
export function roundUpBinary(value: number): number {
  return value < 1 ? roundUp(value) : 2 ** Math.ceil(Math.log2(value) - 1e-9);
}

/** Step in nanoseconds for about `wanted` lines over `length`. */
export function timeStep(length: number, wanted: number): number {
  const step = length / wanted;
  if (step < 1e9) return roundUp(step);
  const found = TIME_STEPS_S.find((seconds) => seconds * 1e9 >= step);
  return found !== undefined ? found * 1e9 : Math.ceil(step / 86400e9) * 86400e9;
}

/** Multiples of `step` on the local wall clock within [t0, t1]. @param wallMs of the moment 0 */
export function timeTicks(t0: number, t1: number, step: number, wallMs: number): number[] {
  // Days begin at local midnight; an hour's change within the range shifts the lines by it, which is harmless.
  const zoneNs = step >= 60e9 ? new Date(wallMs + t0 / 1e6).getTimezoneOffset() * 60e9 : 0;
  // Only the remainder is needed, so that nothing is rounded at the size of the whole wall-clock time.
  const stepMs = step / 1e6;
  const remainder = stepMs >= 1 ? ((wallMs - zoneNs / 1e6) % stepMs) * 1e6 : (((wallMs % 1) * 1e6) % step);
  const ticks: number[] = [];
  for (let k = Math.ceil((t0 + remainder) / step); k * step - remainder <= t1; k++) ticks.push(k * step - remainder);
  return ticks;
}

export interface Scale {
  low: number;
  high: number;
  step: number;
}

/** Kernels account time in ticks: single samples go beyond what there can be. Means beyond it are real. */
const BEYOND_LIMIT = 1.08;

/** The range of an axis. @param limit the largest value that there can be; NaN: none @param round makes a step of at least a value */
export function fitScale(extent: { low: number; high: number; highMean: number }, limit: number, fromZero: boolean, round = roundUp): Scale {
  if (limit > 0 && extent.low >= 0 && extent.highMean <= limit * BEYOND_LIMIT) {
    const range = valueRange(extent.low, Math.min(extent.high, limit), fromZero, round);
    return extent.high > limit * 0.6 || range.high > limit ? { low: 0, high: limit, step: round === roundUp ? limit / 4 : round(limit / 4) } : range;
  }
  return valueRange(extent.low, extent.high, fromZero, round);
}

/** A round range around [low, high]; with zero, if all values are on one side of it and `fromZero`. */
export function valueRange(low: number, high: number, fromZero: boolean, round = roundUp): Scale {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return { low: 0, high: 1, step: 0.25 };
  let bottom = fromZero && low >= 0 ? 0 : low;
  let top = fromZero && high <= 0 ? 0 : high;
  if (top - bottom < Math.abs(top) * 1e-9 || top === bottom) {
    const spread = Math.abs(top) * 0.1 || 1;
    top += spread;
    if (!fromZero || bottom !== 0) bottom -= spread;
  }
  const step = round(((top - bottom) * 1.04) / 4);
  return { low: Math.floor(bottom / step + 1e-9) * step, high: Math.ceil((top * (1 + 1e-3)) / step - 1e-9) * step, step };
}
