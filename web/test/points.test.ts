import { describe, expect, it } from 'vitest';
import { Points, type PointColumns } from '../src/session/points';

function columns(...t: number[]): PointColumns {
  const values = Float64Array.from(t);
  return { t: values, count: values.map(() => 1), mean: values.map((x) => x * 10), low: values, high: values };
}

const times = (points: Points): number[] => [...points.t.subarray(0, points.length)];

describe('Points', () => {
  it('continue from a moment and replace what was there', () => {
    const points = new Points();
    points.replaceFrom(NaN, columns(1, 2, 3));
    points.replaceFrom(3, columns(3, 4, 5));
    expect(times(points)).toEqual([1, 2, 3, 4, 5]);
    expect(points.mean[3]).toBe(40);
    points.replaceFrom(2.5, columns(2.5));
    expect(times(points)).toEqual([1, 2, 2.5]);
    points.replaceFrom(NaN, columns(9));
    expect(times(points)).toEqual([9]);
    expect(points.lastStart).toBe(9);
  });

  it('have nothing above the limit that comes of counting in steps, and the same sum', () => {
    const points = new Points();
    points.exact = true;
    const sampled = (from: number, ...ticks: number[]): PointColumns => {
      const t = Float64Array.from(ticks, (_, i) => (from + i) * 50e6);
      const mean = Float64Array.from(ticks, (count) => (count * 10e6) / 0.05);
      return { t, count: t.map(() => 1), mean, low: mean, high: mean };
    };
    const limit = { most: 1e9, step: 10e6, interval: 50e6 };
    points.replaceFrom(NaN, sampled(1, 5, 6, 4, 5, 6), limit);
    const shares = (): number[] => [...points.mean.subarray(0, points.length)].map((value) => Math.round(value / 1e7));
    expect(shares()).toEqual([100, 100, 100, 100, 100]);
    points.replaceFrom(6 * 50e6, sampled(6, 3, 0), limit);
    expect(shares()).toEqual([100, 100, 100, 100, 100, 80, 0]);
    expect([...points.high.subarray(0, 7)]).toEqual([...points.mean.subarray(0, 7)]);
    // What steps do not explain is real.
    points.replaceFrom(NaN, sampled(1, 5, 40, 5), limit);
    expect(shares()).toEqual([100, 800, 100]);
  });

  it('a tick within a sample of a millisecond is the ten milliseconds around', () => {
    const points = new Points();
    points.exact = true;
    const t = Float64Array.from({ length: 14 }, (_, i) => i * 1e6);
    const mean = t.map((_, i) => (i === 2 ? 10e9 : 0));
    points.replaceFrom(NaN, { t, count: t.map(() => 1), mean, low: mean, high: mean }, { most: 1e9, step: 10e6, interval: 1e6 });
    expect([...points.mean.subarray(0, 14)].map((value) => Math.round(value / 1e7))).toEqual([0, 0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 0, 0]);
  });

  it('find the point that holds', () => {
    const points = new Points();
    expect(points.holding(1)).toBe(-1);
    points.replaceFrom(NaN, columns(10, 20, 30));
    expect([9, 10, 15, 20, 99].map((t) => points.holding(t))).toEqual([-1, 0, 0, 1, 2]);
  });

  it('forget the old half only', () => {
    const points = new Points();
    points.replaceFrom(NaN, columns(1, 2, 3, 4));
    points.trimBefore(2);
    expect(times(points)).toEqual([1, 2, 3, 4]);
    points.trimBefore(3);
    expect(times(points)).toEqual([3, 4]);
  });
});
