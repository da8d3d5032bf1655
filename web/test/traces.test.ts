import { describe, expect, it } from 'vitest';
import { arrangeFirstLook, defaultSelection, groupSeries, levelsOf, ruleFor, type Grouping } from '../src/charts/traces';
import { ElementKind, SeriesKind, SessionModel, SumRule, type Series } from '../src/session/model';
import { Points } from '../src/session/points';

const NATIVE = { percent: false, rate: false };
const PERCENT = { percent: true, rate: false };

/** Six boards with two nodes each; every board waits, every node has a temperature and memory. */
function machine(): SessionModel {
  const model = new SessionModel();
  const element = (id: number, parent: number, kind: ElementKind, name: string): void => {
    model.elements.set(id, { id, parent, kind, osId: id % 100, start: 0, end: NaN, name, host: 'h' });
  };
  element(1, 0, ElementKind.Machine, 'h');
  for (let board = 0; board < 6; board++) {
    element(100 + board, 1, ElementKind.Board, `board${board}`);
    for (const node of [board * 2, board * 2 + 1]) element(200 + node, 100 + board, ElementKind.Node, `node${node}`);
  }
  const add = (series: Partial<Series>): void => {
    const id = model.series.size + 1;
    model.series.set(id, { id, element: 1, kind: SeriesKind.Counter, maxPerSecond: NaN, sensor: 'link', signal: 'wait', unit: 'cycles', interval: 10, sum: SumRule.Sum, ...series });
  };
  for (let board = 0; board < 6; board++) add({ element: 100 + board, maxPerSecond: 200e6 });
  for (let node = 0; node < 12; node++) add({ element: 200 + node, sensor: 'node', signal: 'memory', unit: 'bytes', kind: SeriesKind.Gauge });
  for (let node = 0; node < 12; node++) add({ element: 200 + node, sensor: 'node', signal: 'temperature', unit: '°C', kind: SeriesKind.Gauge, sum: SumRule.Mean });
  add({ sensor: 'vmstat', signal: 'pgfault', unit: 'pages' });
  add({ sensor: 'vmstat', signal: 'pgalloc', unit: 'pages' });
  return model;
}

function groups(model: SessionModel, change: Partial<Grouping>): ReturnType<typeof groupSeries> {
  return groupSeries(model, model.series.keys(), { charts: 'signal', lines: 'each', linesOf: new Map(), placed: new Map(), ...change });
}

function set(model: SessionModel, series: number, value: number): void {
  const values = Float64Array.of(value, value);
  model.points.set(series, Points.of({ t: Float64Array.of(10, 20), count: Float64Array.of(1, 1), mean: values, low: values, high: values }, true));
}

describe('a first look', () => {
  it('begins with what an alarm was raised for, on all boards', () => {
    const model = machine();
    expect(defaultSelection(model)[0]).not.toBe(1);
    const culprit = 2;
    model.alarms = [{ id: 1, start: 0, end: NaN, critical: false, element: 101, series: culprit, value: 97, threshold: 50, alarm: 'link.saturated', unit: '%', text: '', advice: '' }];
    expect(defaultSelection(model).slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('a first look at a machine', () => {
  it('stacks the kinds of CPU time, and puts reads and writes of all disks into one chart', () => {
    const model = machine();
    const add = (sensor: string, signal: string, element: number, kind: SeriesKind, unit: string): void => {
      const id = model.series.size + 1;
      model.series.set(id, { id, element, kind, maxPerSecond: NaN, sensor, signal, unit, interval: 10, sum: SumRule.Sum });
    };
    for (const id of [301, 302]) model.elements.set(id, { id, parent: 1, kind: ElementKind.Cpu, osId: id - 301, start: 0, end: NaN, name: `cpu${id - 301}`, host: 'h' });
    for (const [i, name] of ['sda', 'sdb', 'lo'].entries()) model.elements.set(401 + i, { id: 401 + i, parent: 1, kind: ElementKind.Device, osId: NaN, start: 0, end: NaN, name, host: 'h' });
    for (const signal of ['user', 'steal']) for (const cpu of [301, 302]) add('cpu', signal, cpu, SeriesKind.Counter, 'ns');
    for (const signal of ['read_bytes', 'write_bytes']) for (const disk of [401, 402]) add('block', signal, disk, SeriesKind.Counter, 'bytes');
    add('network', 'rx_bytes', 403, SeriesKind.Counter, 'bytes');
    const grouping: Grouping = { charts: 'signal', lines: 'each', linesOf: new Map(), placed: new Map() };
    const keys = arrangeFirstLook(model, grouping);
    expect(keys.map(({ stack }) => stack)).toEqual([true, false]);
    expect(groupSeries(model, defaultSelection(model), grouping).map((group) => [group.title, group.compact, group.traces.map((trace) => `${trace.name} ${trace.note}`)])).toEqual([
      ['CPU', true, ['user sum of 2', 'steal sum of 2']], ['disk', true, ['read_bytes sum of 2', 'write_bytes sum of 2']],
    ]);
  });
});

describe('charts', () => {
  it('are a signal each; single signals of a sensor share one', () => {
    expect(groups(machine(), {}).map((group) => [group.title, group.traces.length])).toEqual([
      ['link wait', 6], ['node memory', 12], ['node temperature', 12], ['vmstat', 2],
    ]);
  });

  it('are a board each, with what lies in it', () => {
    const boards = groups(machine(), { charts: ElementKind.Board });
    const first = boards.filter((group) => group.title.startsWith('board0'));
    expect(first.map((group) => [group.title, group.traces.map((trace) => trace.name)])).toEqual([
      ['board0 · link', ['wait']], ['board0 · node', ['node0', 'node1']], ['board0 · node', ['node0', 'node1']],
    ]);
    expect(boards.find((group) => group.title === 'h · vmstat')?.traces.map((trace) => trace.name)).toEqual(['pgfault', 'pgalloc']);
  });

  it('take a signal of another unit on the right axis, of the same unit on the left one, and no third one', () => {
    const model = machine();
    const place = (...signals: string[]): Map<number, string> => new Map([...model.series.values()].filter((series) => signals.includes(series.signal)).map((series) => [series.id, 'link.wait']));
    const sides = (placed: Map<number, string>): [string, number, number][] =>
      groups(model, { placed }).map((group) => [group.title, group.traces.filter((trace) => trace.side === 'left').length, group.traces.filter((trace) => trace.side === 'right').length]);
    expect(sides(place('temperature'))).toEqual([['link wait', 6, 12], ['node memory', 12, 0], ['vmstat', 2, 0]]);
    expect(sides(place('temperature', 'memory'))).toEqual([['link wait', 6, 12], ['vmstat', 2, 0], ['node temperature', 12, 0]]);
    const [chart] = groups(model, { placed: place('temperature') });
    expect([chart.traces[0].name, chart.traces[6].name]).toEqual(['wait board0', 'temperature node0']);
    const [summed] = groups(model, { placed: place('temperature'), lines: ElementKind.Machine });
    expect(summed.traces.map((trace) => `${trace.side} ${trace.name} ${trace.note}`)).toEqual(['left wait sum of 6', 'right temperature mean of 12']);
    // A chart that nobody shows any more cannot take anything.
    const memory = [...model.series.values()].filter((series) => series.signal === 'memory').map((series) => series.id);
    expect(groupSeries(model, memory, { charts: 'signal', lines: 'each', linesOf: new Map(), placed: new Map([[memory[0], 'link.wait']]) }).map((group) => group.traces.length)).toEqual([12]);
  });

  it('follow the wish of a single chart', () => {
    const [wait, memory] = groups(machine(), { linesOf: new Map([['link.wait', ElementKind.Machine]]) });
    expect([wait.traces.length, memory.traces.length]).toEqual([1, 12]);
  });
});

describe('sums', () => {
  it('are offered where something lies below', () => {
    const model = machine();
    expect(groups(model, {}).map((group) => group.levels)).toEqual([[ElementKind.Machine], [ElementKind.Machine, ElementKind.Board], [ElementKind.Machine, ElementKind.Board], []]);
    expect(levelsOf(model, [model.series.get(1)!])).toEqual([]);
  });

  it('of six boards go to 600 %, one of them to 100', () => {
    const model = machine();
    [0.025, 0.97, 0, 0, 0, 0].forEach((share, board) => set(model, board + 1, share * 200e6));
    const split = groups(model, {})[0].traces;
    expect(split.map((trace) => trace.limit(PERCENT))).toEqual([100, 100, 100, 100, 100, 100]);
    expect(split[1].member(model, PERCENT)!.points.mean[1] * split[1].display(PERCENT).factor).toBeCloseTo(97);
    const [sum] = groups(model, { lines: ElementKind.Machine })[0].traces;
    expect([sum.note, sum.limit(PERCENT), sum.limit(NATIVE)]).toEqual(['sum of 6', 600, 1.2e9]);
    expect(sum.member(model, PERCENT)!.points.mean[1] * sum.display(PERCENT).factor).toBeCloseTo(99.5);
    // New data of one board is in the sum.
    set(model, 1, 0.125 * 200e6);
    model.points.get(1)!.version = 1;
    expect(sum.member(model, PERCENT)!.points.mean[1] * sum.display(PERCENT).factor).toBeCloseTo(109.5);
  });

  it('are means of what does not add up, and say so', () => {
    const model = machine();
    const boards = groups(model, { lines: ElementKind.Board });
    expect(boards[1].traces.map((trace) => trace.note)).toEqual(new Array(6).fill('sum of 2'));
    expect(boards[2].traces.map((trace) => trace.note)).toEqual(new Array(6).fill('mean of 2'));
    set(model, 19, 40);
    set(model, 20, 50);
    expect(boards[2].traces[0].member(model, NATIVE)!.points.mean[0]).toBe(45);
    expect(ruleFor({ ...model.series.get(1)!, kind: SeriesKind.State })).toBe(null);
  });

  it('survive parents that go in a circle', () => {
    const model = machine();
    model.elements.get(100)!.parent = 100;
    expect(groups(model, { lines: ElementKind.Machine })[0].traces.length).toBe(2);
  });
});
