import { describe, expect, it } from 'vitest';
import { diffBoxes, diffOf, sameName, shiftOf } from '../src/compare/flame_diff';
import { atPlace, betterFigure, betterSignal, formatMean, formatRelative, intervalOf, judgeChange, judgeFigure, position, readComparison, verdict, type Change } from '../src/compare/comparison';

function change(values: Partial<Change>): Change {
  return { sensor: 's', signal: 'x', element: '', unit: '1', rate: false, before: 100, after: 150, relative: 0.5, difference_low: 40, difference_high: 60, changed: true, ...values };
}

describe('a comparison', () => {
  it('is read from the document and says what is only in one of the two', () => {
    const result = JSON.stringify({ changed: 1, run: [{ name: 'wall_time', unit: 's', before: 2, after: 1 }, { name: 'major_faults', unit: '1', before: 0, after: 0 }], findings: [], waits_seen: false, waits: [], busier: 'after', cpus: { before: { cpus: 2, program: 0.5, others: 0.03, idle: 0.47 }, after: { cpus: 2, program: 0.5, others: 0.45, idle: 0.05 } }, signals: [change({})], only_before: ['a.b'], only_after: [] });
    const read = readComparison({ kind: 'comparison', envelope: new Map([['title', 'b.attune'], ['before_ns', '5'], ['after_ns', '7'], ['result', result]]), frames: [] });
    expect([read.title, read.beforeNs, read.afterNs, read.signals.length, read.onlyBefore]).toEqual(['b.attune', 5, 7, 1, ['a.b']]);
    expect([read.run.map(({ name }) => name), read.waits, read.flames]).toEqual([['wall_time'], null, { before: {}, after: {} }]);
    expect(read.busier).toContain('busier after: other programs had 3 % of the CPUs before, and 45 % after');
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

describe('changes for the better', () => {
  it('are those to less where less is better', () => {
    expect([judgeChange(2, 1, 'lower'), judgeChange(1, 2, 'lower'), judgeChange(1, 2, 'higher'), judgeChange(1, 1, 'lower'), judgeChange(2, 1, null)]).toEqual(['good', 'bad', 'good', '', '']);
    expect(['wall_time', 'parallel_efficiency', 'messages'].map(betterFigure)).toEqual(['lower', 'higher', null]);
    expect(judgeFigure({ name: 'wall_time', unit: 's', before: 8, after: 6 })).toBe('good');
    expect(judgeFigure({ name: 'wall_time', unit: 's', before: 8, after: 8.3 })).toBe('');
    expect(judgeFigure({ name: 'waited', unit: 's', before: 0, after: 1 })).toBe('bad');
  });

  it('are known of what a program waits for, loses or does again', () => {
    const signals = [['cpu', 'steal'], ['thread', 'wait'], ['vmstat', 'pgmajfault'], ['pressure', 'cpu_some'], ['memory', 'MemAvailable'], ['cpu', 'user'], ['network', 'rx_bytes']];
    expect(signals.map(([sensor, signal]) => betterSignal({ sensor, signal }))).toEqual(['lower', 'lower', 'lower', 'lower', null, null, null]);
  });

  it('are named by their place', () => {
    expect(atPlace('lock-contention', { id: 1, name: 'a+1', function: 'f', file: '/x/a.c', line: 3 })).toBe('lock-contention at f (a.c:3)');
    expect(atPlace('small-io', null)).toBe('small-io');
  });
});

describe('the difference of flame graphs', () => {
  const stacks = (names: string[], parents: number[], times: number[]) => ({
    frames: names.map((name, i) => ({ kind: i === 0 ? 'process' as const : name.startsWith('wait') ? 'wait' as const : 'code' as const, element: i, name, group: 'solver' })),
    together: { nodes_in_all: times.length, frame: [-1, ...names.map((_, i) => i)], parent: [-1, ...parents], time_ns: times, left_out_ns: [], site: [] },
  });
  const before = stacks(['solver 100', 'work', 'wait for mutex 0x5581'], [0, 1, 2], [100, 100, 100, 60]);
  const after = stacks(['solver 200', 'work', 'wait for mutex 0x7f01', 'more'], [0, 1, 2, 1], [50, 50, 30, 20, 20]);

  it('has the stacks of both, whatever their addresses and ids are', () => {
    expect([sameName({ kind: 'wait', name: 'wait for mutex 0x5581' }), sameName({ kind: 'process', name: 'solver 12' }), sameName({ kind: 'code', name: 'f(int) 2' })]).toEqual(['wait for mutex', 'solver', 'f(int) 2']);
    const tree = diffOf(before, after);
    expect([tree.before, tree.after, tree.children.length]).toEqual([100, 50, 1]);
    const [work, more] = tree.children[0].children;
    expect([work.name, work.before, work.after, work.children[0].before, work.children[0].after]).toEqual(['work', 100, 30, 60, 20]);
    expect([more.name, shiftOf(more), shiftOf(work) < 0]).toEqual(['more', 1, true]);
  });

  it('is drawn with boxes that lie within each other', () => {
    const boxes = diffBoxes(diffOf(before, after), 0.2);
    expect(boxes.map(({ node, depth }) => `${node.name} ${depth}`)).toEqual(['all 0', 'solver 1', 'work 2', 'wait for mutex 3']);
    expect(boxes[2].width).toBeCloseTo(130 / 150);
    expect(diffBoxes(diffOf(undefined, undefined), 0.2)).toEqual([]);
  });
});
