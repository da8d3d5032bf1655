import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ElementKind, SeriesKind, SessionModel, SumRule, type Element } from '../src/session/model';
import { Points } from '../src/session/points';
import { Accounts, factorOf, lineState, type Stretch } from '../src/timeline/account';
import { ActivityReader, unionOf } from '../src/timeline/activity';
import { composePicture, gridOf, type PictureRow } from '../src/timeline/compose';
import { Layer } from '../src/timeline/layer';
import { TimeView } from '../src/session/view';
import { concerns, isApart, markRanges, marksOf, rangeOf, waitsOf } from '../src/timeline/marks';
import { middlesOf, rowsOf, type Row } from '../src/timeline/rows';
import { readHead, Sums, type Answer, type Span, type TimelineRequest } from '../src/timeline/spans';
import { callState, LOOKS, ORDER, waitState } from '../src/timeline/states';
import { findingKey, type Account, type Finding } from '../src/waits/documents';
import { workspaceOf } from '../src/waits/workspaces';

function element(id: number, kind: ElementKind, parent: number, osId: number, name: string, start = id): Element {
  return { id, parent, kind, osId, name, start, end: NaN, host: 'here' };
}

/** Two ranks with two threads and one, their launcher, and a peer on another host. */
function job(): SessionModel {
  const model = new SessionModel();
  const all = [
    element(1, ElementKind.Process, 0, 100, 'mpirun -n 2 solver'), element(2, ElementKind.Thread, 1, 100, ''),
    element(10, ElementKind.Rank, 0, 1, 'rank 1'), element(11, ElementKind.Process, 10, 201, 'solver'), element(12, ElementKind.Thread, 11, 201, ''),
    element(20, ElementKind.Rank, 0, 0, 'rank 0'), element(21, ElementKind.Process, 20, 200, 'solver'), element(22, ElementKind.Thread, 21, 200, ''), element(23, ElementKind.Thread, 21, 202, 'progress'),
    { ...element(30, ElementKind.Rank, 0, 2, 'rank 2'), host: '' },
  ];
  for (const one of all) model.elements.set(one.id, one);
  return model;
}

const ALL = { detail: 'groups' as const, turned: new Set<number>(), words: [], focused: new Set<number>(), room: 0 };
const named = (rows: Row[]): (string | number)[][] => rows.map(({ kind, element: one, thread, rank }) => [kind, one?.id ?? 0, thread?.id ?? 0, rank?.id ?? 0]);

describe('rows of the timeline', () => {
  it('are ranks by their number, then other processes, while groups are folded', () => {
    const rows = rowsOf(job(), [], 0, ALL);
    expect(named(rows)).toEqual([['group', 20, 22, 20], ['group', 10, 12, 10], ['group', 1, 2, 0]]);
    expect(rows.map(({ threads }) => threads)).toEqual([2, 1, 1]);
  });

  it('have the threads below where there are several', () => {
    expect(named(rowsOf(job(), [], 0, { ...ALL, detail: 'threads' }))).toEqual([['group', 20, 0, 20], ['thread', 22, 22, 0], ['thread', 23, 23, 0], ['group', 10, 12, 10], ['group', 1, 2, 0]]);
    expect(rowsOf(job(), [], 0, { ...ALL, turned: new Set([20]) })).toHaveLength(5);
  });

  it('are filtered by words, and by numbers as a whole', () => {
    const ids = (words: string[]): number[] => rowsOf(job(), [], 0, { ...ALL, words }).map(({ element: one }) => one!.id);
    expect(ids(['1'])).toEqual([10]);
    expect(ids(['rank'])).toEqual([20, 10]);
    expect(ids(['progress'])).toEqual([20]);
    expect(ids(['201'])).toEqual([10]);
    expect(ids(['mpirun'])).toEqual([1]);
    expect(ids(['nothing'])).toEqual([]);
  });

  it('are those that were chosen: ranks with all of theirs, or threads', () => {
    expect(named(rowsOf(job(), [], 0, { ...ALL, focused: new Set([20]) }))).toEqual([['group', 20, 22, 20]]);
    expect(named(rowsOf(job(), [], 0, { ...ALL, focused: new Set([23]) }))).toEqual([['group', 20, 23, 20]]);
  });

  it('use the room that there is, where they are few', () => {
    const heights = (room: number): number[] => rowsOf(job(), [], 0, { ...ALL, room }).map(({ height }) => height);
    expect(heights(0)).toEqual([17, 17, 17]);
    expect(heights(90)).toEqual([30, 30, 30]);
    expect(heights(2000)).toEqual([51, 51, 51]);
  });

  it('of one process are its threads alone', () => {
    const model = new SessionModel();
    for (const one of [element(1, ElementKind.Process, 0, 9, 'solver'), element(2, ElementKind.Thread, 1, 9, ''), element(3, ElementKind.Thread, 1, 10, 'worker')]) model.elements.set(one.id, one);
    const rows = rowsOf(model, [], 0, { ...ALL, detail: 'threads' });
    expect(named(rows)).toEqual([['thread', 2, 2, 0], ['thread', 3, 3, 0]]);
    expect(middlesOf(rows).get(3)).toBe(rows[1].top + rows[1].height / 2);
  });
});

const place = { id: 7, name: 'a+1', function: 'f', file: 'a.c', line: 1 };
function finding(change: Partial<Finding> = {}): Finding {
  const one = { id: 12, pid: 201, tid: 201, name: '', seconds: 1 };
  return { class: 'lock-contention', about: '', of_ranks: false, seconds: 1, share: 0.5, site: place, object: { id: 50, name: 'mutex' }, threads: [one], threads_in_all: 1, caused_by: [{ ...one, id: 23 }], waiters: [], places: [], evidence: [], advice: '', confidence: 'high', ...change };
}

function answer(spans: Map<number, Span[]>): Answer<Span> {
  return { id: 1, t0: 0, t1: 1000, width: 1, single: true, spans, sums: new Sums() };
}

describe('findings on the timeline', () => {
  const model = job();
  const rows = rowsOf(model, [], 0, { ...ALL, detail: 'threads' });
  const rowOf = (id: number): Row => rows.find(({ element: one }) => one?.id === id)!;

  it('mark the rows of those who lost, and of those because of whom', () => {
    const [mark] = marksOf([finding()], [], model);
    expect([12, 10, 23, 20, 22].map((id) => rowOf(id) && concerns(mark, rowOf(id)))).toEqual([undefined, 'loser', 'cause', 'cause', null]);
    expect([mark.number, mark.key]).toEqual([1, findingKey(finding())]);
  });

  it('are from their first part to their last, and all of the time where none is known', () => {
    model.origin = 1000n;
    const [mark, other] = marksOf([finding(), finding()], [[[1100, 1200, 50], [1400, 1500, 100]]], model);
    model.origin = 0n;
    expect(mark.parts).toEqual([{ t0: 100, t1: 200, weight: 0.5 }, { t0: 400, t1: 500, weight: 1 }]);
    expect([rangeOf(mark, { t0: 0, t1: 450 }), rangeOf(other, { t0: 0, t1: 450 })]).toEqual([{ t0: 100, t1: 450 }, { t0: 0, t1: 450 }]);
    expect(markRanges(mark, rowOf(10), { t0: 150, t1: 900 }, null)).toEqual([{ t0: 150, t1: 200 }, { t0: 400, t1: 500 }]);
  });

  it('lie on single waits for their object or at their places', () => {
    const spans = [{ t0: 1, t1: 2, site: 9, object: 50 }, { t0: 3, t1: 4, site: 7, object: 1 }, { t0: 5, t1: 6, site: 9, object: 1 }];
    const [mark, more] = marksOf([finding(), finding({ threads_in_all: 9 })], undefined, model);
    expect(waitsOf(mark, spans).map(({ t0 }) => t0)).toEqual([1, 3]);
    expect(markRanges(mark, rowOf(10), { t0: 0, t1: 9 }, answer(new Map([[12, spans]]))).map(({ t0 }) => t0)).toEqual([1, 3]);
    // Threads that are not listed.
    expect(markRanges(mark, rowOf(22), { t0: 0, t1: 9 }, answer(new Map([[22, spans]])))).toEqual([]);
    expect([isApart(mark, rowOf(22), null), isApart(more, rowOf(22), null), isApart(more, rowOf(22), answer(new Map())), isApart(more, rowOf(22), answer(new Map([[22, spans]])))]).toEqual([true, false, true, false]);
    expect(markRanges(more, rowOf(22), { t0: 0, t1: 9 }, answer(new Map([[22, spans]]))).map(({ t0 }) => t0)).toEqual([1, 3]);
  });
});

describe('what the kernel says of threads', () => {
  function sampled(exact: boolean): ActivityReader {
    const model = job();
    const series = (id: number, signal: string) => ({ id, element: 12, kind: SeriesKind.Counter, maxPerSecond: NaN, sensor: 'thread', signal, unit: 'ns', sum: SumRule.Sum, interval: 100 });
    for (const one of [series(1, 'run'), series(2, 'wait')]) model.series.set(one.id, one);
    const columns = (mean: number[]) => ({ t: Float64Array.from([100, 200, 300]), count: Float64Array.from([1, 1, 1]), mean: Float64Array.from(mean), low: Float64Array.from(mean), high: Float64Array.from(mean) });
    model.points.set(1, Points.of(columns([1e9, 0.5e9, 0]), exact));
    model.points.set(2, Points.of(columns([0.5e9, 0.25e9, 0]), exact));
    return new ActivityReader(model);
  }

  it('are times before a sample, or from a bucket on', () => {
    const stretch = (t0: number, running: number, queued: number): Stretch => ({ t0, t1: t0 + 100, states: [['running', running], ['queued', queued]] });
    expect(sampled(true).of(12, 0, 1000)).toEqual([stretch(0, 100, 0), stretch(100, 50, 25), stretch(200, 0, 0)]);
    expect(sampled(false).of(12, 150, 250).map(({ t0, t1 }) => [t0, t1])).toEqual([[100, 200], [200, 300]]);
    expect(sampled(true).wanted([2, 12])).toEqual([1, 2]);
    expect([sampled(true).has(12), sampled(true).has(2), sampled(true).of(2, 0, 9)]).toEqual([true, false, []]);
    expect([sampled(true).stepOf(12), sampled(true).stepOf(2)]).toEqual([100, NaN]);
  });

  it('waits that overlap are one', () => {
    expect(unionOf([{ t0: 50, t1: 80 }, { t0: 10, t1: 60 }, { t0: 90, t1: 95 }])).toEqual([{ t0: 10, t1: 80 }, { t0: 90, t1: 95 }]);
  });
});

const ACCOUNT: Account = {
  threads: [{ id: 12, life_seconds: 40e-9, seconds: { running: 10e-9, queued_others: 2e-9, queued_wake: 1e-9, lock: 6e-9, 'OpenMP task wait': 1e-9, pipe: 12e-9 }, unknown_seconds: 8e-9 }],
  threads_in_all: 1,
  parts: { t0_ns: 1000, width_ns: 20, count: 2, threads: [{ id: 12, lines: [
    { state: 'running', waited_ns: 0, before_ns: 0, first: 0, ns: [4, 6] }, { state: 'queued_others', waited_ns: 0, before_ns: 0, first: 1, ns: [2] }, { state: 'queued_wake', waited_ns: 0, before_ns: 0, first: 1, ns: [1] },
    { state: 'lock', waited_ns: 12, before_ns: 0, first: 0, ns: [5, 1] }, { state: 'OpenMP task wait', waited_ns: 0, before_ns: 0, first: 1, ns: [1] }, { state: 'pipe', waited_ns: 0, before_ns: 0, first: 0, ns: [5, 7] }] }] },
};

describe('accounts of threads', () => {
  const accounts = new Accounts(ACCOUNT, 1000n);

  it('have sums, by the names of the page', () => {
    expect(['running', 'queued', 'queued_others', 'OpenMP ordered', 'thread creation', 'once', 'memory', 'call'].map(lineState)).toEqual(['running', 'queued', 'queued', 'openmp', 'create', 'once', 'memory', 'call']);
    const rounded = [...accounts.of(12)!.sums].map(([state, ns]) => [state, Math.round(ns)]);
    expect(rounded).toEqual([['running', 10], ['queued', 3], ['lock', 6], ['openmp', 1], ['pipe', 12]]);
    expect([accounts.of(13), accounts.step, accounts.end]).toEqual([null, 20, 40]);
  });

  it('have parts of the time', () => {
    expect(accounts.stretches(12, 25, 30)).toEqual([{ t0: 20, t1: 40, states: [['running', 6], ['queued', 3], ['lock', 1], ['openmp', 1], ['pipe', 7]] }]);
    expect([accounts.stretches(12, -50, 500).length, accounts.stretches(12, 40, 500).length, accounts.stretches(13, 0, 500).length]).toEqual([2, 0, 0]);
  });

  it('have a part of what was waited', () => {
    const account = accounts.of(12);
    expect([factorOf(account, 'lock'), factorOf(account, 'pipe'), factorOf(account, 'barrier'), factorOf(null, 'lock')]).toEqual([0.5, 1, 0, 1]);
  });
});

describe('states of the timeline', () => {
  it('have a name and a colour each, whatever the server calls them', () => {
    expect([1, 6, 17, 18, 19, 20, 21, 22, 99].map(waitState)).toEqual(['lock', 'barrier', 'mpi', 'create', 'child', 'sleep', 'poll', 'future', 'lock']);
    expect([1, 2, 5, 99].map(callState)).toEqual(['messages', 'late-sender', 'collective-wait', 'messages']);
    expect(ORDER.every((state) => LOOKS[state].name !== '' && LOOKS[state].color.startsWith('--'))).toBe(true);
  });

  it('are drawn by the columns of the finest sums', () => {
    const sums = (width: number): Answer<Span> => ({ ...answer(new Map()), single: false, width });
    expect(gridOf([answer(new Map()), sums(10), sums(4)], { t0: 5, width: 1, columns: 3 })).toEqual({ t0: 0, width: 4, columns: 250 });
    expect(gridOf([answer(new Map())], { t0: 5, width: 1, columns: 3 })).toEqual({ t0: 5, width: 1, columns: 3 });
  });

  it('older links lead to the timeline', () => expect(['threads', 'ranks', 'timeline', 'locks', 'x', ''].map(workspaceOf)).toEqual(['timeline', 'timeline', 'timeline', 'locks', 'charts', 'charts']));
});

describe('a part of the timeline that the server answers', () => {
  beforeAll(() => vi.stubGlobal('devicePixelRatio', 1));

  function layer(): { asked: TimelineRequest[]; view: TimeView; model: SessionModel; one: Layer<Answer<Span>>; answer(single: boolean): boolean } {
    const model = job();
    model.extent = { t0: 0, t1: 1000 };
    const view = new TimeView(model.extent);
    view.show({ t0: 100_000, t1: 200_000 });
    const asked: TimelineRequest[] = [];
    const one = new Layer<Answer<Span>>({ model, view, ask: (request) => asked.push(request) }, { rows: 'threads', message: 'timeline', answerLimitMs: 1000, read: readHead });
    const answered = (single: boolean): boolean => {
      const { id, t0, t1 } = asked[asked.length - 1];
      return one.take({ kind: 'timeline', envelope: new Map(Object.entries({ id: String(id), t0_ns: String(t0), t1_ns: String(t1), width_ns: '10', single: single ? '1' : '0' })), frames: [] });
    };
    return { asked, view, model, one, answer: answered };
  }

  it('is asked once for what is on screen and as much beside it, and for rows out of sight', () => {
    const { asked, one, answer: take } = layer();
    one.frame([12], [12, 22], 500, 0);
    one.frame([12], [12, 22], 500, 1);
    expect(asked).toEqual([{ id: 1, t0: 50_000, t1: 250_000, buckets: 1000, threads: [12, 22] }]);
    expect(one.isSettled([12])).toBe(false);
    expect(take(true)).toBe(true);
    expect([one.isSettled([12]), one.isSettled([22]), one.isSettled([23]), one.isSettled([])]).toEqual([true, true, false, true]);
    one.frame([22], [22], 500, 2);
    expect(asked).toHaveLength(1);
    one.frame([23], [23], 500, 3);
    expect(asked[1].threads).toEqual([23]);
  });

  it('is asked again where it has been moved, or zoomed into sums', () => {
    const { asked, view, one, answer: take } = layer();
    one.frame([12], [12], 500, 0);
    take(true);
    view.show({ t0: 130_000, t1: 150_000 });
    one.frame([12], [12], 500, 10);
    expect(asked).toHaveLength(1);
    view.show({ t0: 200_000, t1: 300_000 });
    one.frame([12], [12], 500, 20);
    expect(asked).toHaveLength(2);
    take(false);
    view.show({ t0: 230_000, t1: 250_000 });
    one.frame([12], [12], 500, 30);
    expect(asked).toHaveLength(3);
  });

  it('keeps its answer on another connection, and says what went wrong', () => {
    const { one, asked, answer: take } = layer();
    one.frame([12], [12], 500, 0);
    take(true);
    one.reconnected(false);
    expect([one.answer !== null, one.isSettled([12])]).toEqual([true, false]);
    one.frame([12], [12], 500, 10);
    expect(one.take({ kind: 'timeline', envelope: new Map([['id', String(asked[1].id)], ['error', 'the disk is gone']]), frames: [] })).toBe(true);
    expect([one.error, one.answer !== null]).toEqual(['the disk is gone', true]);
    expect(one.take({ kind: 'timeline', envelope: new Map([['id', '1']]), frames: [] })).toBe(false);
    one.reconnected(true);
    expect(one.answer).toBeNull();
  });
});

describe('the picture below single waits', () => {
  beforeAll(() => {
    vi.stubGlobal('document', { createElement: () => ({ width: 0, height: 0 }) });
    vi.stubGlobal('ImageData', class {
      readonly data: Uint8ClampedArray;
      constructor(width: number, height: number) {
        this.data = new Uint8ClampedArray(width * height * 4);
      }
    });
  });

  const sumsOf = (...rows: [bucket: number, kind: number, share: number][]): Answer<Span> => {
    const columns = [0, 1, 2].map((i) => Float64Array.from(rows.map((row) => row[i])));
    return { ...answer(new Map()), single: false, t1: 40, width: 10, sums: new Sums(Float64Array.from(rows.map(() => 12)), columns[0], columns[1], columns[2]) };
  };
  const rowOf = (sums: Answer<Span>, change: Partial<PictureRow> = {}): PictureRow => ({
    key: 12, life: { t0: 0, t1: 40 }, stretches: [], account: null, layers: [{ answer: sums, element: 12, stateOf: waitState, spans: [], isOver: false }], dropsMpi: false, ...change,
  });

  it('has waits and, in what is left of each part, what the kernel says', () => {
    const sums = sumsOf([0, 1, 0.5], [1, 17, 1]);
    const row = rowOf(sums, { stretches: [{ t0: 0, t1: 20, states: [['running', 2.5], ['queued', 2.5]] }] });
    const grid = gridOf([sums], { t0: 0, width: 1, columns: 1 });
    const all = composePicture([row], grid, () => 1);
    // A quarter of these 20 ns is not waited: all of it ran or was queued.
    expect([0, 1, 2, 3].map((column) => all.filledAt(12, column))).toEqual([1, 1, 0, 0]);
    expect([...all.sums.get(12)!]).toEqual([['running', 2.5], ['queued', 2.5], ['lock', 5], ['mpi', 10]]);
    const waits = composePicture([row], grid, (state) => (state === 'lock' || state === 'mpi' ? 1 : null));
    expect([0, 1, 2].map((column) => waits.filledAt(12, column))).toEqual([0.5, 1, 0]);
    const withoutMpi = composePicture([{ ...row, dropsMpi: true }], grid, (state) => (state === 'mpi' ? 1 : null));
    expect(withoutMpi.filledAt(12, 1)).toBe(0);
  });

  it('has the sums of the account, wherever the waits are', () => {
    const accounts = new Accounts(ACCOUNT, 1000n);
    const account = accounts.of(12);
    for (const sums of [sumsOf([0, 1, 0.4], [1, 1, 0.6], [3, 1, 0.2]), sumsOf([0, 1, 1], [1, 1, 0.2]), sumsOf()]) {
      const picture = composePicture([rowOf(sums, { account, stretches: accounts.stretches(12, 0, 40) })], gridOf([sums], { t0: 0, width: 1, columns: 1 }), () => 1);
      for (const [state, ns] of account!.sums) expect(picture.sums.get(12)!.get(state), state).toBeCloseTo(ns, 9);
    }
  });

  it('leaves room for single waits', () => {
    const accounts = new Accounts(ACCOUNT, 1000n);
    const single = { answer: answer(new Map()), element: 12, stateOf: waitState, spans: [{ t0: 0, t1: 10, state: 'lock' as const }], isOver: false };
    const row = rowOf(sumsOf(), { layers: [single], account: accounts.of(12), stretches: accounts.stretches(12, 0, 20) });
    const picture = composePicture([row], { t0: 0, width: 10, columns: 4 }, () => 1);
    expect([0, 1].map((column) => picture.filledAt(12, column) > 0)).toEqual([false, true]);
    expect(picture.sums.get(12)!.get('lock')).toBeUndefined();
    expect(picture.sums.get(12)!.get('running')).toBeCloseTo(4, 9);
  });

  it('has calls over what the thread did in them', () => {
    const calls = sumsOf([0, 1, 1], [1, 1, 1]);
    const row = rowOf(calls, { layers: [{ answer: calls, element: 12, stateOf: callState, spans: [], isOver: true }], stretches: [{ t0: 0, t1: 40, states: [['running', 40]] }] });
    const picture = composePicture([row], gridOf([calls], { t0: 0, width: 1, columns: 1 }), () => 1);
    expect([...picture.sums.get(12)!]).toEqual([['running', 20], ['messages', 20]]);
  });
});
