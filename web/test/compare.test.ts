import { describe, expect, it } from 'vitest';
import { formatMean, formatRelative, intervalOf, position, readComparison, verdict, type Change } from '../src/compare/comparison';

function change(values: Partial<Change>): Change {
  return { sensor: 's', signal: 'x', element: '', unit: '1', rate: false, before: 100, after: 150, relative: 0.5, difference_low: 40, difference_high: 60, changed: true, ...values };
}

describe('a comparison', () => {
  it('is read from the document and says what is only in one of the two', () => {
    const result = JSON.stringify({ changed: 1, run: [{ name: 'wall_time', unit: 's', before: 2, after: 1 }], signals: [change({})], only_before: ['a.b'], only_after: [] });
    const read = readComparison({ kind: 'comparison', envelope: new Map([['title', 'b.attune'], ['before_ns', '5'], ['after_ns', '7'], ['result', result]]), frames: [] });
    expect([read.title, read.beforeNs, read.afterNs, read.signals.length, read.onlyBefore]).toEqual(['b.attune', 5, 7, 1, ['a.b']]);
    expect(() => readComparison({ kind: 'comparison', envelope: new Map(), frames: [] })).toThrow(SyntaxError);
  });

  it('says which way, by how much, or why not', () => {
    expect(verdict(change({}))).toBe('higher');
    expect(verdict(change({ after: 50, relative: -0.5, difference_low: -60, difference_high: -40 }))).toBe('lower');
    expect(verdict(change({ changed: false, difference_low: -1, difference_high: 2 }))).toBe('by chance');
    expect(verdict(change({ changed: false, difference_low: 1, difference_high: 2 }))).toBe('too little');
    expect([0.5, -0.98, 0.004, 20, null].map(formatRelative)).toEqual(['+50 %', '−98 %', '+0.4 %', '× 21.0', 'from nothing']);
    expect(formatMean(change({ before_percent: 97.04, after_percent: 2 }), 'before')).toBe('97.04 %');
    expect(formatMean(change({ unit: 'ns', rate: true, before: 5e8 }), 'before')).toBe('50 %');
  });

  it('draws small and large changes on one scale, evenly to both sides', () => {
    expect(position(0)).toBe(0);
    expect(position(9)).toBeCloseTo(1);
    expect(position(1e9)).toBe(1);
    expect(position(-1)).toBe(-1);
    expect(position(-0.5)).toBeCloseTo(-position(1));
    expect(position(0.1)).toBeGreaterThan(0.25);
    const interval = intervalOf(change({}))!;
    expect(interval.low < interval.mean && interval.mean < interval.high && interval.low > 0).toBe(true);
    expect(intervalOf(change({ before: 0, relative: null }))).toBeNull();
  });
});
