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
