import { describe, expect, it } from 'vitest';
import { FormulaError, parseFormula } from '../src/counters/formula';
import { countsOfFile, type HotLines } from '../src/counters/hot_lines';
import { CALLS, columnsOf, countedOf, type Region } from '../src/counters/regions';
import { hasWords, inOrder, readFormula, rowsOf, valueOf, type CountedEvent, type Counters } from '../src/counters/rows';
import { valuesIn, virtualCounters } from '../src/counters/virtual';
import { SeriesKind, SessionModel, type Series } from '../src/session/model';
import { Points } from '../src/session/points';

const VALUES: Record<string, number> = { 'page-faults': 12, 'task-clock': 4, 'cycles': 100, 'cycles:u': 60, 'cycles:k': 40, 'sched:sched_switch': 7, 'msr/tsc/': 9, 'cpu/event=0x3c,umask=0x0/': 5, 'page-faults-minor': 3 };
const valueIn = (text: string): number => parseFormula(text, Object.keys(VALUES)).evaluate((name) => VALUES[name]);

function errorOf(text: string): FormulaError {
  try {
    parseFormula(text, Object.keys(VALUES));
  } catch (error) {
    if (error instanceof FormulaError) return error;
  }
  throw new Error(`${text} is a formula`);
}

describe('Formulas', () => {
  it('have the usual order of operations', () => {
    expect(valueIn('1 + 2 * 3')).toBe(7);
    expect(valueIn('(1 + 2) * 3')).toBe(9);
    expect(valueIn('10 - 4 - 3')).toBe(3);
    expect(valueIn('24 / 4 / 2')).toBe(3);
    expect(valueIn('-2 * -(3 - 5)')).toBe(-4);
    expect(valueIn(' .5*1e2 + 2.5E-1 + 3. ')).toBe(53.25);
  });

  it('take the longest name that there is', () => {
    expect(valueIn('page-faults / task-clock * 1e6')).toBe(3e6);
    expect(valueIn('page-faults-task-clock')).toBe(8);
    expect(valueIn('page-faults-minor')).toBe(3);
    expect(valueIn('page-faults - 1')).toBe(11);
    expect(valueIn('cycles:u/cycles')).toBe(0.6);
    expect(valueIn('cycles:k+cycles:u-cycles')).toBe(0);
    expect(valueIn('sched:sched_switch*2')).toBe(14);
    expect(valueIn('msr/tsc//3')).toBe(3);
    expect(valueIn('cpu/event=0x3c,umask=0x0/ / 5')).toBe(1);
  });

  it('say what is wrong, and where', () => {
    expect(errorOf('').message).toBe('The formula is empty');
    expect(errorOf('page-faults /')).toMatchObject({ message: 'Expected a number or an event at the end', at: 13 });
    expect(errorOf('(1 + 2')).toMatchObject({ message: 'There is no ) for this (', at: 0 });
    expect(errorOf('1 + 2)')).toMatchObject({ message: 'There is no ( for this )', at: 5 });
    expect(errorOf('2 cycles').message).toBe('Expected + - * or / before “cycles”');
    expect(errorOf('1 + * 2')).toMatchObject({ message: 'Expected a number or an event before “* 2”', at: 4 });
    expect(errorOf('page-fault * 2').message).toBe('There is no “page-fault”: did you mean page-faults?');
    expect(errorOf('cycles:kk').message).toContain('There is no “cycles:kk”');
    expect(errorOf('nothing').message).toContain('there are cpu/event=0x3c,umask=0x0/, cycles');
    expect(errorOf('('.repeat(5000)).message).toBe('The formula is nested too deeply');
    expect(errorOf(`${'-'.repeat(5000)}1`).message).toBe('The formula is nested too deeply');
  });

  it('may have no value', () => {
    expect(valueIn('1 / 0')).toBe(Infinity);
    expect(valueIn('0 / 0')).toBeNaN();
  });
});

const counters: Counters = {
  time_ns: 2e9,
  events: [{ event: 'task-clock', unit: 'ns', count: 111, scaled: false }, { event: 'page-faults', unit: '', count: 18, scaled: false }],
  threads: [
    { element: 3, process_element: 2, pid: 40, tid: 41, thread: 'busy', process: './solver', counts: [60, 4] },
    { element: 6, process_element: 5, pid: 50, tid: 50, thread: 'sh', process: 'sh', counts: [30, 6] },
    { element: 4, process_element: 2, pid: 40, tid: 40, thread: 'idle', process: './solver', counts: [10, 3] },
    { element: 1, process_element: 0, pid: null, tid: null, thread: '', process: '', counts: [6, 2] },
  ],
  threads_in_all: 9,
  rest: { threads: 5, counts: [5, 3] },
  cpus: [{ host: 'a', cpu: 2, core_type: 1, counts: [40, 3] }, { host: 'a', cpu: 10, core_type: 0, counts: [65, 13] }, { host: 'a', cpu: null, core_type: null, counts: [6, 2] }],
  core_types: [{ core_type: 0, cpus: 1, counts: [65, 13] }, { core_type: 1, cpus: 1, counts: [40, 3] }, { core_type: null, cpus: 0, counts: [6, 2] }],
};

describe('Rows of counts', () => {
  it('are of threads', () => {
    const rows = rowsOf(counters, 'thread');
    expect(rows.map(({ name }) => name)).toEqual(['busy', 'sh', 'idle', 'threads too short-lived to be seen', '5 more threads']);
    expect(rows[0]).toMatchObject({ tid: 41, pid: 40, process: './solver', counts: [60, 4], elements: [3] });
    expect(rows[4]).toMatchObject({ threads: 5, counts: [5, 3], tid: NaN });
    expect(rows.reduce((sum, { counts }) => sum + counts[0], 0)).toBe(counters.events[0].count);
  });

  it('are of processes, and nothing is lost', () => {
    const rows = rowsOf(counters, 'process');
    expect(rows.map(({ name, threads, counts }) => [name, threads, ...counts])).toEqual([['./solver', 2, 70, 7], ['sh', 1, 30, 6], ['threads too short-lived to be seen', NaN, 6, 2], ['5 more threads', 5, 5, 3]]);
    expect(rows[0].elements).toEqual([2, 3, 4]);
    expect(rows[2].elements).toEqual([]);
    expect(counters.threads[0].counts).toEqual([60, 4]);
  });

  it('are of CPUs and kinds of cores, and nothing is lost', () => {
    const cpus = rowsOf(counters, 'cpu');
    expect(cpus.map(({ name, cpu, coreType, isRest, counts }) => [name, cpu, coreType, isRest, ...counts])).toEqual([['CPU 2', 2, 1, false, 40, 3], ['CPU 10', 10, 0, false, 65, 13], ['CPU not known', NaN, NaN, true, 6, 2]]);
    const types = rowsOf(counters, 'core type');
    expect(types.map(({ name, coreType, cpus: number, counts }) => [name, coreType, number, ...counts])).toEqual([['Core type 0', 0, 1, 65, 13], ['Core type 1', 1, 1, 40, 3], ['Core type not known', NaN, 0, 6, 2]]);
    expect(new Set([...cpus, ...types].map(({ key }) => key)).size).toBe(6);
    for (const rows of [cpus, types]) expect(rows.reduce((sum, { counts }) => sum + counts[0], 0)).toBe(counters.events[0].count);
    expect(rowsOf(counters, 'cpu').filter((row) => hasWords(row, ['cpu', '10'])).map(({ cpu }) => cpu)).toEqual([10]);
  });

  it('are found by words and ids', () => {
    const found = (...words: string[]): string[] => rowsOf(counters, 'thread').filter((row) => hasWords(row, words)).map(({ name }) => name);
    expect(found('solver')).toEqual(['busy', 'idle']);
    expect(found('solver', '41')).toEqual(['busy']);
    expect(found('nan')).toEqual([]);
    expect(found()).toHaveLength(5);
  });

  it('keep the order of events, whatever a part of the time has', () => {
    const known: CountedEvent[] = [];
    expect(inOrder(counters, known)).toEqual(counters);
    const part: Counters = { ...counters, events: [{ event: 'cycles', unit: '', count: 7, scaled: true }, { event: 'page-faults', unit: '', count: 5, scaled: false }], threads: [{ ...counters.threads[0], counts: [7, 5] }], rest: null, cpus: [{ ...counters.cpus[0], counts: [7, 5] }], core_types: [{ ...counters.core_types[0], counts: [7, 5] }] };
    const ordered = inOrder(part, known);
    expect(ordered.events.map(({ event, count }) => [event, count])).toEqual([['task-clock', 0], ['page-faults', 5], ['cycles', 7]]);
    expect(ordered.events[0].unit).toBe('ns');
    for (const rows of [ordered.threads, ordered.cpus, ordered.core_types]) expect(rows[0].counts).toEqual([0, 5, 7]);
    expect(inOrder(counters, known).threads[0].counts).toEqual([60, 4, 0]);
  });

  it('have values of formulas', () => {
    const value = (text: string, counts: number[]): number => {
      const events = counters.events.map(({ event }) => event);
      const formula = readFormula(text, events);
      if (formula instanceof FormulaError) throw formula;
      return valueOf(formula, { events, counts, seconds: counters.time_ns / 1e9 });
    };
    expect(value('task-clock / page-faults', [60, 4])).toBe(15);
    expect(value('page-faults / seconds', [60, 4])).toBe(2);
    expect(value('task-clock / page-faults', [60, 0])).toBeNaN();
    expect(readFormula('cycles', ['task-clock'])).toBeInstanceOf(FormulaError);
  });
});

describe('Hot lines', () => {
  const site = (file: string, line: number | null): HotLines['lines'][number]['site'] => ({ id: 1, name: 'a+1', function: 'f', file, line, module: '/bin/a' });
  const hot: HotLines = {
    events: [{ event: 'cpu-time', unit: 'ns', count: 9e6, samples: 3 }, { event: 'page-faults', unit: '', count: 5, samples: 5 }],
    lines: [{ site: null, counts: [1e6, 1], share: 0.1 }, { site: site('/a.c', 3), counts: [9e6, 0], share: 1 }, { site: site('/a.c', 7), counts: [0, 4], share: 0.8 }, { site: site('/b.c', 3), counts: [0, 1], share: 0.2 }, { site: site('/b.c', null), counts: [1, 0], share: 0 }],
    lines_in_all: 4,
  };

  it('have the counts of each line of a file', () => {
    expect(countsOfFile(hot, '/a.c').map(({ event, counts }) => [event.event, [...counts]])).toEqual([['cpu-time', [[3, 9e6]]], ['page-faults', [[7, 4]]]]);
    expect(countsOfFile(hot, '/b.c').map(({ event }) => event.event)).toEqual(['page-faults']);
    expect(countsOfFile(hot, '/c.c')).toEqual([]);
  });
});

describe('Regions', () => {
  const region = (name: string, counts: Region['counts'], metrics: Region['metrics']): Region => ({ name, processes: 1, threads: 1, count: 4, total_ns: 2e9, self_ns: 1e9, mean_ns: 5e8, p50_ns: 5e8, p99_ns: 5e8, max_ns: 5e8, begins_without_end: 0, ends_without_begin: 0, counts, metrics });
  const regions = [region('a', [{ event: 'cycles', unit: '', total: 8 }], []), region('b', [{ event: 'task-clock:u', unit: 'ns', total: 5 }, { event: 'cycles', unit: '', total: 2 }], [{ metric: 'IPC', unit: '', value: 1.5 }])];

  it('have the columns of all of them', () => {
    expect(columnsOf(regions)).toEqual({ events: [{ name: 'cycles', unit: '' }, { name: 'task-clock:u', unit: 'ns' }], metrics: [{ name: 'IPC', unit: '' }] });
  });

  it('have values of formulas over events, calls and seconds', () => {
    const names = ['cycles', 'task-clock:u', CALLS];
    const value = (text: string, of: Region): number => valueOf(parseFormula(text, [...names, 'seconds']), countedOf(of, names));
    expect(value('cycles / calls', regions[0])).toBe(2);
    expect(value('calls / seconds', regions[1])).toBe(2);
    expect(value('task-clock:u', regions[0])).toBeNaN();
  });
});

describe('Virtual counters', () => {
  const series = (id: number, element: number, sensor: string, signal: string, kind: SeriesKind, interval: number): [number, Series] => [id, { id, element, kind, maxPerSecond: NaN, sensor, signal, unit: '1', sum: 0, interval }];
  const model = new SessionModel();
  for (const [id, one] of [series(1, 3, 'speedup', 'ipc', SeriesKind.Gauge, 0), series(2, 4, 'speedup', 'ipc', SeriesKind.Gauge, 0), series(3, 3, 'thread', 'user', SeriesKind.Counter, 1e8), series(4, 3, 'memory', 'rss', SeriesKind.Gauge, 1e8), series(5, 2, 'program', 'frames', SeriesKind.Counter, 0)]) model.series.set(id, one);

  it('are levels that come at no fixed interval', () => {
    expect(virtualCounters(model).map(({ key, series: all }) => [key, all.map(({ id }) => id)])).toEqual([['speedup ipc', [1, 2]]]);
  });

  it('have their values in a range', () => {
    const points = (t: number[], mean: number[], count: number[]): Points => Points.of({ t: Float64Array.from(t), mean: Float64Array.from(mean), count: Float64Array.from(count), low: Float64Array.from(mean), high: Float64Array.from(mean) }, true);
    model.points.set(1, points([0, 10, 20], [5, 1, 2], [1, 1, 1]));
    model.points.set(2, points([10, 20], [4, NaN], [3, 0]));
    const [ipc] = virtualCounters(model);
    expect(valuesIn(model, ipc, { t0: 5, t1: 20 })).toEqual({ last: 3, mean: (1 + 2 + 3 * 4) / 5 });
    expect(valuesIn(model, ipc, { t0: 30, t1: 40 })).toEqual({ last: NaN, mean: NaN });
  });
});
