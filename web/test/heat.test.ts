import { describe, expect, it } from 'vitest';
import { fillRow, luminance, namedRows, shadeAt, SHADES, shades } from '../src/charts/heat';
import { freshness } from '../src/charts/stale';
import { fitScale } from '../src/charts/ticks';
import { Points } from '../src/session/points';

function points(t: number[], mean: number[]): Points {
  const values = Float64Array.from(mean);
  return Points.of({ t: Float64Array.from(t), count: values.map(() => 1), mean: values, low: values, high: values }, true);
}

/** The shade is the colour here, one more than 0, which is "nothing". */
const NUMBERED = Uint32Array.from({ length: SHADES }, (_, i) => i + 1);

function row(p: Points | null, columns: number, longestStep: number, low = 0, high = 255, factor = 1): number[] {
  const cells = new Uint32Array(columns + 2).fill(9);
  fillRow(cells, 1, columns, { points: p, factor, longestStep, end: 100 }, { t0: 0, t1: 100, low, high }, NUMBERED);
  expect([cells[0], cells[columns + 1]]).toEqual([9, 9]);
  return [...cells.subarray(1, columns + 1)];
}

describe('heat map rows', () => {
  it('hold a value until the next one, and nothing where nothing is known', () => {
    expect(row(points([0, 20, 40, 60, 80], [10, 20, 30, 40, 50]), 10, 25)).toEqual([11, 11, 21, 21, 31, 31, 41, 41, 51, 51]);
    expect(row(points([0, 20, 80], [10, 20, 50]), 10, 25)).toEqual([11, 11, 21, 21, 21, 0, 0, 0, 51, 51]);
    expect(row(points([0, 20, 40, 60, 80], [10, NaN, 30, 40, 50]), 10, 25)).toEqual([11, 11, 0, 0, 31, 31, 41, 41, 51, 51]);
    expect(row(null, 3, 25)).toEqual([0, 0, 0]);
  });

  it('average what falls into one cell', () => {
    expect(row(points([0, 10, 20, 30, 50, 60, 70, 80, 90], [0, 100, 0, 100, 8, 8, 8, 8, 8]), 2, 25)).toEqual([51, 9]);
  });

  it('colour by the range of the scale and stay within it', () => {
    expect(row(points([0, 25, 50, 75], [0, 51, 100, 150]), 4, 60, 0, 100)).toEqual([1, 131, 256, 256]);
    expect(row(points([0, 25, 50, 75], [0, 0.51, 1, -1]), 4, 60, 0, 100, 100)).toEqual([1, 131, 256, 1]);
  });

  it('begin with what held before the range', () => {
    expect(row(points([-10, 50], [7, 8]), 4, 60)).toEqual([8, 8, 9, 9]);
  });

  it('are named as far as there is room', () => {
    expect(namedRows(4, 60, 15)).toEqual([0, 1, 2, 3]);
    expect(namedRows(512, 300, 15).length).toBe(20);
  });

  it('have shades that are opaque and differ', () => {
    for (const dark of [true, false]) {
      const all = shades(dark);
      expect(new Set(all).size).toBeGreaterThan(200);
      expect([...all].every((color) => color >>> 24 === 255)).toBe(true);
    }
  });

  it('have a text that can be read on each of them', () => {
    for (const dark of [true, false]) {
      for (let share = 0; share <= 1; share += 1 / 1024) {
        const { background, text } = shadeAt(share, dark);
        const [low, high] = [luminance(background.match(/\d+/g)!.map(Number)), text === '#fff' ? 1 : 0].sort((a, b) => a - b);
        expect((high + 0.05) / (low + 0.05)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});

describe('axes', () => {
  it('in percent end at what there can be', () => {
    expect(fitScale({ low: 0, high: 106, highMean: 99 }, 100, true)).toEqual({ low: 0, high: 100, step: 25 });
    expect(fitScale({ low: 0, high: 1000, highMean: 40 }, 100, true)).toEqual({ low: 0, high: 100, step: 25 });
    expect(fitScale({ low: 0, high: 99, highMean: 99 }, 600, true).high).toBeLessThanOrEqual(150);
    expect(fitScale({ low: 0, high: 500, highMean: 480 }, 600, true)).toEqual({ low: 0, high: 600, step: 150 });
    expect(fitScale({ low: 0, high: 2.5, highMean: 2.5 }, 100, true).high).toBeLessThan(5);
    for (let high = 1; high <= 100; high++) expect(fitScale({ low: 0, high, highMean: high }, 100, true).high).toBeLessThanOrEqual(100);
  });

  it('show what really is beyond it', () => {
    expect(fitScale({ low: 0, high: 160, highMean: 150 }, 100, true).high).toBeGreaterThanOrEqual(160);
  });

  it('without a limit are round', () => {
    expect(fitScale({ low: 0, high: 7.3, highMean: 7 }, NaN, true)).toEqual({ low: 0, high: 8, step: 2 });
  });
});

describe('freshness', () => {
  const everyMs = (n: number, value: (i: number) => number): Points => points(Array.from({ length: n }, (_, i) => i * 1e6), Array.from({ length: n }, (_, i) => value(i)));

  it('marks what is sampled at 1 kHz but refreshed once a second', () => {
    const seldom = everyMs(4500, (i) => Math.floor(i / 1000));
    const fresh = freshness(seldom, 1e6, 4.4e9, 4.5e9, true);
    expect(fresh.refresh).toBe(1e9);
    expect(fresh.unchanged).toBeCloseTo(0.4e9);
    expect(fresh.silent).toBe(0);
  });

  it('does not mark what changes, or what never does', () => {
    expect(freshness(everyMs(1000, (i) => i), 1e6, 0.9e9, 1e9, true).refresh).toBe(0);
    expect(freshness(everyMs(1000, () => 5), 1e6, 0.9e9, 1e9, true)).toEqual({ refresh: 0, unchanged: 0, silent: 0 });
  });

  it('marks what has ended while others go on', () => {
    expect(freshness(everyMs(1000, (i) => i), 1e6, 5e9, 5e9, false).silent).toBeCloseTo(4.001e9);
  });
});
