import { describe, expect, it } from 'vitest';
import { combine, commonTimes, Holds, resample, signedRate, stack, totals, type Member } from '../src/charts/combine';
import { Points } from '../src/session/points';

function points(t: number[], mean: number[], spread = 0, exact = true): Points {
  const values = Float64Array.from(mean);
  return Points.of({
    t: Float64Array.from(t), count: values.map(() => 1), mean: values, low: values.map((x) => x - spread), high: values.map((x) => x + spread),
  }, exact);
}

const after = (p: Points): Member => ({ points: p, holds: Holds.After });
const before = (p: Points): Member => ({ points: p, holds: Holds.Before });
const list = (column: Float64Array): number[] => [...column];

describe('sums over elements', () => {
  it('of one stream are sums of its samples, bands included', () => {
    const sum = combine([after(points([0, 10, 20], [1, 2, 3], 0.5)), after(points([0, 10, 20], [10, 20, 30], 1))], 'sum');
    expect(list(sum.t)).toEqual([0, 10, 20]);
    expect(list(sum.mean)).toEqual([11, 22, 33]);
    expect(list(sum.low)).toEqual([9.5, 20.5, 31.5]);
    expect(list(sum.high)).toEqual([12.5, 23.5, 34.5]);
    expect(list(sum.count)).toEqual([2, 2, 2]);
  });

  it('leave out who has no value, and are missing where nobody has one', () => {
    const sum = combine([after(points([0, 10, 20], [1, NaN, NaN])), after(points([0, 10, 20], [5, 6, NaN]))], 'sum');
    expect(list(sum.mean)).toEqual([6, 6, NaN]);
    const mean = combine([after(points([0, 10, 20], [1, NaN, NaN])), after(points([0, 10, 20], [5, 6, NaN]))], 'mean');
    expect(list(mean.mean)).toEqual([3, 6, NaN]);
    const highest = combine([after(points([0, 10, 20], [-1, NaN, NaN])), after(points([0, 10, 20], [-5, -6, NaN]))], 'max');
    expect(list(highest.mean)).toEqual([-1, -6, NaN]);
  });

  it('keep amounts when the intervals differ', () => {
    // Rates: 100 a second every 10 ns, and 7 a second every 40 ns.
    const fine = points([10, 20, 30, 40, 50, 60, 70, 80], [100, 120, 80, 100, 40, 60, 50, 50]);
    const coarse = points([40, 80], [7, 9]);
    const sum = combine([before(fine), before(coarse)], 'sum');
    expect(list(sum.t)).toEqual([40, 80]);
    expect(list(sum.mean)).toEqual([107, 59]);
  });

  it('go on where the coarse one has ended', () => {
    const fine = points([0, 10, 20, 30, 40, 50, 60, 70], [1, 1, 1, 1, 1, 1, 1, 1]);
    const coarse = points([0, 20], [5, 5]);
    const sum = combine([after(fine), after(coarse)], 'sum');
    expect(list(sum.t)).toEqual([0, 20, 40, 60]);
    expect(list(sum.mean)).toEqual([6, 6, 1, 1]);
  });

  it('do not carry a value over a gap', () => {
    const gap = points([0, 10, 20, 100, 110], [4, 4, 4, 4, 4]);
    const whole = points([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110], new Array<number>(12).fill(1));
    const sum = combine([after(whole), after(gap)], 'sum');
    expect(sum.mean[list(sum.t).indexOf(70)]).toBe(1);
    expect(sum.mean[list(sum.t).indexOf(100)]).toBe(5);
  });

  it('of nothing are nothing', () => {
    expect(combine([after(points([], []))], 'sum').t.length).toBe(0);
  });
});

describe('common times', () => {
  it('are those of the coarsest', () => {
    expect(list(commonTimes([after(points([0, 1, 2, 3, 4], [0, 0, 0, 0, 0])), after(points([0, 4], [0, 0]))]))).toEqual([0, 4]);
  });
});

describe('resampling', () => {
  it('weights by the time that overlaps', () => {
    const member = after(points([0, 10, 20, 30], [0, 40, 0, 0]));
    expect(list(resample(member, Float64Array.of(0, 15), Holds.After).mean)).toEqual([200 / 15, 200 / 15]);
  });
});

describe('stacks', () => {
  it('stand on each other, and nothing is below zero', () => {
    const [first, second] = stack([after(points([0, 10], [1, -3])), after(points([0, 10], [4, NaN]))]);
    expect([list(first.low), list(first.high)]).toEqual([[0, 0], [1, 0]]);
    expect([list(second.low), list(second.high)]).toEqual([[1, 0], [5, 0]]);
  });
});

describe('signed rates', () => {
  it('are the change of the level a second', () => {
    const { mean } = signedRate(points([0, 1e9, 3e9], [10, 15, 5]));
    expect(list(mean)).toEqual([NaN, 5, -5]);
  });
});

describe('totals', () => {
  it('are amounts over the range only', () => {
    const rates = before(points([1e9, 2e9, 3e9, 4e9], [100, 200, 300, 400], 10));
    expect(totals(rates, 1e9, 3e9)).toEqual({ amount: 500, mean: 250, low: 190, high: 310 });
    expect(totals(rates, 1.5e9, 2e9)).toEqual({ amount: 100, mean: 200, low: 190, high: 210 });
    expect(totals(rates, 10e9, 20e9)).toEqual({ amount: NaN, mean: NaN, low: NaN, high: NaN });
  });
});
