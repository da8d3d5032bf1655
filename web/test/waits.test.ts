import { describe, expect, it } from 'vitest';
import { Documents, uses, type DocumentRequest } from '../src/session/documents';
import { fileText, placeText, type GraphThread, type SyncGraph } from '../src/waits/documents';
import { drawnGraph, groupOf, rowsOf } from '../src/waits/graph_model';
import { waitedByLine } from '../src/waits/source';
import { stateOf, stateOfNumber } from '../src/waits/states';
import { holdText } from '../src/timeline/tips';
import { pixelOf } from '../src/timeline/draw';
import { spanAt } from '../src/timeline/spans';
import { arrowsOf, holdsAt, lastEnd, readTimeline, type Timeline } from '../src/waits/timeline';
import { Int64Column } from '../src/wire/int64';
import type { RawMessage } from '../src/session/model';

const ORIGIN = 1_000_000_000_000n;

function column(values: number[]): Int64Column {
  const words = BigInt64Array.from(values.map(BigInt));
  const halves = new Int32Array(words.buffer);
  const low = Uint32Array.from(values, (_, i) => halves[2 * i] >>> 0);
  const high = Int32Array.from(values, (_, i) => halves[2 * i + 1]);
  return new Int64Column(high, low);
}

function message(kind: RawMessage['kind'], envelope: Record<string, string>, rows: number[][] = []): RawMessage {
  const ints = (rows[0] ?? []).map((_, i) => column(rows.map((row) => row[i])));
  return { kind, envelope: new Map(Object.entries(envelope)), frames: [{ table: 6, stream: 0, rows: rows.length, sequence: 0n, ints, texts: [] }] };
}

const at = (t: number): number => Number(ORIGIN) + t;

describe('a timeline', () => {
  const single = readTimeline(message('timeline', { id: '4', t0_ns: String(at(100)), t1_ns: String(at(900)), width_ns: '8', single: '1' }, [
    [at(300), 1, 11, 50, 9, 200, 1], [at(500), 1, 11, 50, 9, 100, 1], [at(520), 2, 11, 50, 9, 400, 1], [at(299), 3, 14, 50, 8, 0, 1], [at(505), 1, 14, 50, 9, 0, 1], [at(890), 1, 14, 50, 9, 0, 1],
  ]), ORIGIN);

  it('has single waits by thread, and what was handed over', () => {
    expect([single.id, single.t0, single.t1, single.single]).toEqual([4, 100, 900, true]);
    expect(single.spans.get(1)).toEqual([{ thread: 1, t0: 100, t1: 300, kind: 1, object: 50, site: 9 }, { thread: 1, t0: 400, t1: 500, kind: 1, object: 50, site: 9 }]);
    expect(single.handOvers).toHaveLength(3);
    expect(lastEnd(single)).toBe(520);
  });

  it('gives each hand-over to the other thread whose wait ends next', () => {
    const arrows = arrowsOf(single);
    expect(arrows.map(({ from, to }) => [from.thread, from.t, to.thread, to.t1])).toEqual([[3, 299, 1, 300], [1, 505, 2, 520]]);
  });

  it('has sums by bucket', () => {
    const sums = readTimeline(message('timeline', { id: '5', t0_ns: String(at(100)), t1_ns: String(at(180)), width_ns: '8', single: '0' }, [[at(100), 1, 1, 4], [at(116), 1, 6, 9]]), ORIGIN);
    expect(sums.sums.of(1)).toEqual([{ bucket: 0, kind: 1, share: 0.5 }, { bucket: 2, kind: 6, share: 1 }]);
    expect(lastEnd(sums)).toBe(124);
  });

  it('has who had which lock, the longer ones first', () => {
    const holds = (rows: number[][]): RawMessage => {
      const raw = message('timeline', { id: '7', t0_ns: String(at(0)), t1_ns: String(at(900)), single: '1', holds_left_out: '0' });
      const ints = rows[0].map((_, i) => column(rows.map((row) => row[i])));
      return { ...raw, frames: [...raw.frames, { table: 65, stream: 0, rows: rows.length, sequence: 0n, ints, texts: [] }] };
    };
    const timeline = readTimeline(holds([[at(100), 1, 50, 9, 1, 50, 1, 50, 0], [at(80), 1, 51, 0, 1, 400, 37, 300, 0], [at(500), 2, 50, 9, 1, 400, 1, 400, 1]]), ORIGIN);
    expect(timeline.holds.get(1)).toEqual([
      { thread: 1, t0: 80, t1: 480, object: 51, site: 0, holds: 37, held: 300, open: false }, { thread: 1, t0: 100, t1: 150, object: 50, site: 9, holds: 1, held: 50, open: false },
    ]);
    expect(timeline.holdsLeftOut).toBe(false);
    expect(holdsAt(timeline.holds.get(1)!, 120, 0).map(({ object }) => object)).toEqual([51, 50]);
    expect(holdsAt(timeline.holds.get(1)!, 155, 0).map(({ object }) => object)).toEqual([51]);
    expect(holdsAt(timeline.holds.get(1)!, 155, 5)).toHaveLength(2);
    expect([...timeline.holds.values()].flat().map((hold) => holdText(hold, 'a mutex'))).toEqual(['has a mutex 37 times in 400 ns, 75 % of it', 'has a mutex for 50 ns', 'has a mutex: its release is not recorded']);
  });

  it('without rows is empty', () => {
    const nothing: Timeline = readTimeline(message('timeline', { id: '6', t0_ns: '0', t1_ns: '8', single: '1' }), 0n);
    expect([nothing.spans.size, nothing.handOvers.length, arrowsOf(nothing).length]).toEqual([0, 0, 0]);
  });

  it('finds the wait at a moment, the inner one of two', () => {
    const spans = [{ thread: 1, t0: 0, t1: 100, kind: 5, object: 1, site: 1 }, { thread: 1, t0: 80, t1: 100, kind: 1, object: 2, site: 1 }];
    expect(spanAt(spans, 90, 0)?.kind).toBe(1);
    expect(spanAt(spans, 10, 0)?.kind).toBe(5);
    expect(spanAt(spans, 103, 5)).not.toBeNull();
    expect(spanAt(spans, 110, 5)).toBeNull();
  });
});

function thread(id: number, name: string): GraphThread {
  return { id, name, pid: 7, tid: 100 + id, rank: null, occurrences: 0, waits: 0, wait_ns: 0, average_ns: null, min_ns: null, max_ns: null, between_ns: null, hold_ns: null };
}

function graph(): SyncGraph {
  const figures = { average_ns: null, min_ns: null, max_ns: null, between_ns: null, hold_ns: null };
  const link = (id: number, event: number, kind: string, wait: number): SyncGraph['links'][number] => ({ thread: id, event, kind, site_id: 90, site: 'a+0x1', function: 'Add()', file: '/s/a.cpp', line: 7, occurrences: 10, waits: 2, wait_ns: wait, ...figures });
  return {
    threads: [thread(1, 'worker 1'), thread(2, 'worker-2'), thread(3, 'flusher')],
    events: [{ id: 50, name: 'mutex 0x1', kind: 'mutex', pid: 7, threads: 3, occurrences: 0, waits: 0, wait_ns: 0, ...figures }, { id: 51, name: 'condition 0x2', kind: 'condition', pid: 7, threads: 1, occurrences: 0, waits: 0, wait_ns: 0, ...figures }],
    links: [link(1, 50, 'mutex', 300), link(2, 50, 'mutex', 100), link(3, 51, 'wake', 0), link(1, 51, 'condition', 3)],
    handovers: [{ holder: 3, waiter: 1, event: 50, waits: 2, wait_ns: 350 }],
    threads_in_all: 3, events_in_all: 2, links_in_all: 4,
  };
}

describe('the synchronisation graph', () => {
  const edges = (choice: Partial<Parameters<typeof drawnGraph>[1]>): (string | number)[][] => drawnGraph(graph(), { together: 'each', size: 'waited', least: 0, words: [], ...choice }).edges.map(({ from, to, size }) => [from.name, to.name, size]);

  it('goes from who had it to who waited, without those who only wake others up', () => {
    expect(edges({})).toEqual([['mutex 0x1', 'worker 1 101', 300], ['mutex 0x1', 'worker-2 102', 100], ['condition 0x2', 'worker 1 101', 3], ['flusher 103', 'mutex 0x1', 350]]);
  });

  it('takes threads of a name together', () => {
    expect(edges({ together: 'name' })).toEqual([['mutex 0x1', 'worker', 400], ['condition 0x2', 'worker', 3], ['flusher', 'mutex 0x1', 350]]);
    expect(groupOf(thread(1, 'worker 12'), 'name')[0]).toBe(groupOf(thread(2, 'worker3'), 'name')[0]);
  });

  it('is sized by what is chosen, and leaves small edges out', () => {
    expect(edges({ size: 'occurrences' })[0]).toEqual(['mutex 0x1', 'worker 1 101', 10]);
    expect(edges({ least: 0.2 })).toHaveLength(3);
    expect(edges({ least: 0.5 })).toHaveLength(2);
  });

  it('is filtered by any name', () => {
    expect(edges({ words: ['worker-2'] })).toEqual([['mutex 0x1', 'worker-2 102', 100]]);
    expect(rowsOf(graph(), ['a.cpp:7', 'mutex']).links).toHaveLength(2);
    expect(rowsOf(graph(), ['flusher']).handovers).toHaveLength(1);
  });

  it('has a node for what there is no room for', () => {
    const large = graph();
    large.threads = Array.from({ length: 80 }, (_, i) => thread(i + 100, `t${i}x`));
    large.links = large.threads.map((one, i) => ({ ...large.links[0], thread: one.id, wait_ns: 1000 - i }));
    const { nodes, edges: drawn } = drawnGraph(large, { together: 'each', size: 'waited', least: 0, words: [] });
    const rest = nodes.find((node) => node.name === '32 more');
    expect(rest?.threads.size).toBe(32);
    expect(drawn.find((edge) => edge.to === rest)?.size).toBe(rest?.size);
  });
});

describe('documents', () => {
  it('are asked for again while more may come, and only one at a time', () => {
    const asked: DocumentRequest[] = [];
    const changed: string[] = [];
    const documents = new Documents((request) => asked.push(request), (name) => changed.push(name));
    documents.keep(['sites'], 0);
    documents.keep(['sites'], 5000);
    expect(asked).toEqual([{ name: 'sites', version: 0 }]);
    documents.take(message('document', { name: 'sites', version: '3', growing: '1', text: '{"sites":[]}' }), 6000);
    expect(documents.get('sites')).toEqual({ sites: [] });
    documents.keep(['sites'], 7999);
    expect(asked).toHaveLength(1);
    documents.keep(['sites'], 8000);
    expect(asked[1]).toEqual({ name: 'sites', version: 3 });
    documents.take(message('document', { name: 'sites', version: '3', growing: '0' }), 9000);
    documents.keep(['sites'], 1e9);
    expect(asked).toHaveLength(2);
    expect(changed).toEqual(['sites']);
    documents.reconnected(false);
    expect(documents.get('sites')).toEqual({ sites: [] });
    documents.keep(['sites'], 1e9);
    expect(asked[2]).toEqual({ name: 'sites', version: 0 });
  });

  it('say what is wrong and keep what there was', () => {
    const documents = new Documents(() => undefined, () => undefined);
    documents.keep(['sites'], 0);
    documents.take(message('document', { name: 'sites', version: '1', growing: '1', text: '{"sites":[]}' }), 0);
    documents.keep(['sites'], 3000);
    documents.take(message('document', { name: 'sites', version: '2', growing: '1', error: 'the disk is gone' }), 0);
    expect(documents.errorOf('sites')).toBe('the disk is gone');
    expect(documents.get('sites')).not.toBeNull();
  });

  it('are shown by the panels that use them', () => {
    const shown: unknown[] = [];
    const use = uses('flames', (flames, range) => shown.push(flames, range));
    const documents: Documents = new Documents(() => undefined, (name) => name === use.name && use.changed(documents));
    documents.keep(['flames'], 0, { flames: { t0: 1, t1: 5 } });
    documents.take(message('document', { name: 'flames', version: '1', growing: '1', error: 'the disk is gone' }), 0);
    expect(shown).toEqual([]);
    documents.keep(['flames'], 3000, { flames: { t0: 1, t1: 5 } });
    documents.take(message('document', { name: 'flames', version: '2', growing: '1', text: '{"waiting":{}}' }), 3000);
    expect(shown).toEqual([{ waiting: {} }, { t0: 1, t1: 5 }]);
  });
});

describe('places and states', () => {
  it('are named as far as they are known', () => {
    const place = { id: 1, name: 'a+0x1', function: 'Add()', file: '/s/a.cpp', line: 7 };
    expect(placeText(place)).toBe('Add() (a.cpp:7)');
    expect(placeText({ ...place, file: '', line: null })).toBe('Add() (a+0x1)');
    expect(placeText({ ...place, function: '', file: '', line: null })).toBe('a+0x1');
    expect(placeText({ ...place, function: 'a+0x0 (no symbols)', file: '', line: null, below: 'step()' })).toBe('code below step() (a+0x1)');
    expect(placeText(null)).toBe('');
    expect(fileText({ file: '/s/a.cpp', line: null })).toBe('a.cpp');
  });

  it('have a state for each kind, by number and by name', () => {
    expect([1, 4, 5, 6, 7, 8, 10, 12, 15, 16, 99].map(stateOfNumber)).toEqual(['lock', 'lock', 'condition', 'barrier', 'semaphore', 'join', 'futex', 'barrier', 'once', 'file', 'lock']);
    expect(['mutex', 'rwlock', 'condition', 'OpenMP barrier', 'futex', 'file'].map(stateOf)).toEqual(['lock', 'lock', 'condition', 'barrier', 'futex', 'file']);
  });

  it('are drawn in the colour of the style sheet', () => {
    expect(pixelOf('#ff7a90')).toBe(0xff907aff);
  });

  it('of a file say how long was waited at each line', () => {
    const site = { id: 1, name: '', function: '', file: '/a.c', line: 5, threads: 1, waits: 1, wait_ns: 10 };
    const object = { object: 1, name: '', kind: 'mutex', pid: 1, threads: 1, count: 1, waits: 1, wait_ns: 1, share: 0, contended: 0, hold_ns: null, holders: [] };
    const waits = { findings: [], critical_path: null, waits: { thread_ns: 1, wait_ns: 1, acquisitions: 1, locks_in_all: 1, others_in_all: 1, locks: [{ ...object, sites: [site, { ...site, file: '/b.c' }] }], others: [{ ...object, sites: [site, { ...site, line: null }] }] } };
    expect([...waitedByLine(waits, '/a.c')]).toEqual([[5, 20]]);
  });
});
