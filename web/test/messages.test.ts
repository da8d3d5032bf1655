import { describe, expect, it } from 'vitest';
import type { Place } from '../src/machine/topology';
import type { Link, Messages, Pair, Rank, Side } from '../src/messages/documents';
import { fitInto, layOutFree, layOutOnMachine, type Point } from '../src/messages/layout';
import { chosenOf, filtered, matrixOf, measureOf, Ranks, sameChoice, shareOf } from '../src/messages/model';
import { arrowAt, arrowsInSight } from '../src/messages/ranks_draw';
import { sizeText, waitedOf, hasRanks } from '../src/messages/tables';
import { meetingsOf, RankState, readRanks } from '../src/messages/timeline';
import { ElementKind, type RawMessage } from '../src/session/model';
import { shortened } from '../src/charts/canvas';
import { spanAt } from '../src/timeline/spans';
import { stateOf, stateOfNumber } from '../src/waits/states';
import { Int64Column } from '../src/wire/int64';

const ORIGIN = 1_000_000_000_000n;

function column(values: number[]): Int64Column {
  const halves = new Int32Array(BigInt64Array.from(values.map(BigInt)).buffer);
  return new Int64Column(Int32Array.from(values, (_, i) => halves[2 * i + 1]), Uint32Array.from(values, (_, i) => halves[2 * i] >>> 0));
}

function frame(table: number, rows: number[][]): RawMessage['frames'][0] {
  return { table, stream: 0, rows: rows.length, sequence: 0n, ints: (rows[0] ?? []).map((_, i) => column(rows.map((row) => row[i]))), texts: [] };
}

const at = (t: number): number => Number(ORIGIN) + t;
const side = (bytes: number, waited = 0, count = 1): Side => ({ count, bytes, time_ns: 10 + waited, waited_ns: waited, cycles: null, cycles_per_word: null, bandwidth: null });
const rank = (id: number, number: number, cpu: number | null = number): Rank => ({
  id, name: `rank ${number}`, rank: number, host: 'node1', pid: 100 + number, cpu, life_ns: 1000, calls: 4, mpi_ns: 300, sent: side(1, 5), received: side(1, 7), collectives: 1, collective_ns: 20, collective_waited_ns: 11,
});
const pair = (source: number, destination: number, bytes: number, waited = 0, apart = 'same core'): Pair => ({ source, destination, count: 2, bytes, distance: 1, apart, sender: side(bytes, waited), receiver: side(bytes, 2 * waited) });
const link = (source: number, destination: number, code: string): Link => ({ ...side(8), source, destination, side: 'sender', function: 'MPI_Send', site_id: 9, site: 'solver+0x9', code, file: '/src/solver.c', line: 12 });

function job(count: number, pairs: Pair[], links: Link[] = []): Messages {
  const ranks = Array.from({ length: count }, (_, i) => rank(10 + i, i));
  return {
    unmatched_sent: 0, unmatched_received: 0, elsewhere: 0, incomplete_collectives: 0, efficiency: null, ranks, pairs, links, collectives: [], sizes: [],
    ranks_in_all: count, pairs_in_all: pairs.length, links_in_all: links.length, collectives_in_all: 0,
  };
}

describe('messages', () => {
  const messages = job(14, [pair(10, 11, 100, 3), pair(11, 10, 50), pair(13, 23, 1000, 0, 'other host')], [link(10, 11, 'exchange'), link(13, 23, 'report')]);
  const ranks = new Ranks(messages.ranks);

  it('are filtered by rank, place and distance; a number is a rank', () => {
    const pairsOf = (text: string): [number, number][] => filtered(messages, ranks, text.split(' ')).pairs.map(({ source, destination }) => [source, destination]);
    expect(pairsOf('3')).toEqual([[13, 23]]);
    expect(pairsOf('1')).toEqual([[10, 11], [11, 10]]);
    expect(pairsOf('exchange')).toEqual([[10, 11]]);
    expect(pairsOf('other host')).toEqual([[13, 23]]);
    expect(filtered(messages, ranks, ['report']).links).toHaveLength(1);
  });

  it('of a rank, and of a pair', () => {
    const all = filtered(messages, ranks, []);
    expect(chosenOf(all, { rank: 10 }).pairs).toHaveLength(2);
    expect(chosenOf(all, { source: 11, destination: 10 }).pairs.map((one) => one.bytes)).toEqual([50]);
    expect(chosenOf(all, { source: 10, destination: 11 }).links.map((one) => one.code)).toEqual(['exchange']);
    expect(chosenOf(all, null).pairs).toHaveLength(3);
  });

  it('as a matrix: rows send to columns', () => {
    const matrix = matrixOf(ranks, messages.pairs, 'bytes');
    expect(matrix.values[0 * 14 + 1]).toBe(100);
    expect(matrix.values[1 * 14 + 0]).toBe(50);
    expect(Number.isNaN(matrix.values[2])).toBe(true);
    expect([matrix.most, matrix.least, matrix.sent[3], matrix.received[13]]).toEqual([1000, 50, 1000, 1000]);
    expect(matrixOf(ranks, messages.pairs, 'waited').values[1]).toBe(9);
    expect(measureOf(messages.pairs[0], 'count')).toBe(2);
  });

  it('the matrix names processes, and ranks of two jobs apart', () => {
    const ranks = new Ranks([rank(1, 0), { ...rank(2, 0), name: 'rank 0 of job 2' }, { ...rank(3, 0), rank: null, name: 'producer' }]);
    expect(ranks.all.map((one) => ranks.labelOf(one))).toEqual(['0', '0 of job 2', 'producer']);
    const width = (text: string): number => 6 * text.length;
    expect(['12', 'producer'].map((text) => shortened(text, 30, width))).toEqual(['12', 'prod…']);
    expect(shortened('producer', 1, width)).toBe('p…');
  });

  it('a choice is the same whoever made it', () => {
    expect(sameChoice({ source: 1, destination: 2 }, { source: 1, destination: 2 })).toBe(true);
    expect(sameChoice({ rank: 1 }, null)).toBe(false);
  });

  it('the colours go by the order of magnitude', () => {
    expect(shareOf({ least: 10, most: 1000 }, 1000)).toBe(1);
    expect(shareOf({ least: 10, most: 1000 }, 100)).toBeCloseTo(0.575);
    expect(shareOf({ least: 10, most: 1000 }, 0)).toBe(0);
    expect(shareOf({ least: 7, most: 7 }, 7)).toBe(1);
  });

  it('waiting of a rank is that of all three kinds', () => expect(waitedOf(rank(1, 0))).toBe(23));

  it('sizes are read as bytes', () => {
    expect(sizeText({ low_bytes: 0, high_bytes: 0, count: 1, bytes: 0 })).toBe('0 B');
    expect(sizeText({ low_bytes: 4, high_bytes: 7, count: 1, bytes: 5 })).toBe('4 B – 7 B');
    expect(sizeText({ low_bytes: 1024, high_bytes: 2047, count: 1, bytes: 5 })).toBe('1 KiB – 2 KiB');
  });

  it('are of ranks, or of processes that have pipes between them', () => {
    expect([hasRanks({ ranks: [rank(1, 0, 0), rank(2, 1, 0)] }), hasRanks({ ranks: [{ ...rank(1, 0, 0), rank: null }] }), hasRanks({ ranks: [] })]).toEqual([true, false, false]);
  });

  it('MPI is a state of threads', () => expect([stateOfNumber(17), stateOf('MPI')]).toEqual(['mpi', 'mpi']));
});

describe('the layout of ranks', () => {
  const chain = Array.from({ length: 20 }, (_, i) => ({ source: i, destination: i + 1, weight: 1 }));
  const ids = Array.from({ length: 21 }, (_, i) => i);

  it('is the same each time, and within its box', () => {
    const [first, second] = [new Map<number, Point>(), new Map<number, Point>()];
    layOutFree(ids, chain, first);
    layOutFree(ids, chain, second);
    expect([...first]).toEqual([...second]);
    for (const { x, y } of fitInto(ids, first, 800, 400, 30).values()) {
      expect(x).toBeGreaterThanOrEqual(29.9);
      expect(x).toBeLessThanOrEqual(770.1);
      expect(y).toBeGreaterThanOrEqual(29.9);
      expect(y).toBeLessThanOrEqual(370.1);
    }
  });

  it('has those that exchange messages closer than others', () => {
    const points = new Map<number, Point>();
    layOutFree(ids, chain, points);
    const away = (a: number, b: number): number => Math.hypot(points.get(a)!.x - points.get(b)!.x, points.get(a)!.y - points.get(b)!.y);
    expect(away(3, 4)).toBeLessThan(away(0, 20) / 3);
  });

  it('of one rank is the middle', () => {
    const points = new Map<number, Point>();
    layOutFree([5], [], points);
    expect(fitInto([5], points, 100, 60, 10).get(5)).toEqual({ x: 50, y: 30 });
  });

  it('on the machine has each rank in the box of its CPU', () => {
    const cpu = (id: number): Place => ({ kind: ElementKind.Cpu, name: `cpu${id}`, element: 0, cpus: [id], notes: [], children: [] });
    const core = (id: number): Place => ({ kind: ElementKind.Core, name: `core${id}`, element: 0, cpus: [2 * id, 2 * id + 1], notes: [], children: [cpu(2 * id), cpu(2 * id + 1)] });
    const node = (id: number): Place => ({ kind: ElementKind.Node, name: `node${id}`, element: 0, cpus: [4 * id, 4 * id + 1, 4 * id + 2, 4 * id + 3], notes: [], children: [core(2 * id), core(2 * id + 1)] });
    const root: Place = { kind: ElementKind.Machine, name: 'machine', element: 0, cpus: [0, 1, 2, 3, 4, 5, 6, 7], notes: [], children: [node(0), node(1)] };
    const ranks = [rank(1, 0, 5), rank(2, 1, 5), rank(3, 2, 0), rank(4, 3, null)];
    const drawn = layOutOnMachine([{ name: 'node1', root, ranks }, { name: 'other hosts', root: null, ranks: [rank(9, 4, 0)] }], 1.7);
    const boxOf = (id: number): string[] => {
      const { x, y } = drawn.at.get(id)!;
      return drawn.boxes.filter((box) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height).map((box) => box.title);
    };
    expect(boxOf(1)).toEqual(['node1', 'machine', 'node1', 'core2', 'cpu5']);
    expect(boxOf(2)).toEqual(boxOf(1));
    expect(boxOf(3).at(-1)).toBe('cpu0');
    expect(boxOf(4)).toEqual(['node1', 'on a CPU that is not known']);
    expect(boxOf(9)).toEqual(['other hosts']);
    expect(drawn.at.get(1)).not.toEqual(drawn.at.get(2));
    for (const box of drawn.boxes) expect([box.x + box.width <= drawn.width + 1e-6, box.y + box.height <= drawn.height + 1e-6]).toEqual([true, true]);
  });
});

describe('the timeline of ranks', () => {
  const raw = (single: boolean, rows: number[][], arrows: number[][]): RawMessage => ({
    kind: 'ranks', envelope: new Map(Object.entries({ id: '3', t0_ns: String(at(0)), t1_ns: String(at(800)), width_ns: '8', single: single ? '1' : '0', messages: '12' })), frames: [frame(66, rows), frame(67, arrows)],
  });
  const single = readRanks(raw(true, [[at(100), 10, 4, 300, 5, 9, 7, 1], [at(100), 10, 5, 200, 5, 9, 7, 1], [at(300), 11, 4, 50, 5, 9, 7, 1], [at(500), 11, 1, 20, 6, 9, 0, 0]], [[at(90), 10, 11, at(140), 4096, 3, 7, 9, 25]]), ORIGIN);

  it('has calls by rank, and messages', () => {
    expect(single.spans.get(10)?.map(({ t0, t1, state }) => [t0, t1, state])).toEqual([[100, 400, RankState.Collective], [100, 300, RankState.CollectiveWait]]);
    expect(single.arrows).toEqual([{ from: 10, to: 11, t0: 90, t1: 140, bytes: 4096, tag: 3, communicator: 7, site: 9, waited: 25 }]);
    expect([single.single, single.messages, single.width]).toEqual([true, 12, 8]);
  });

  it('the innermost span is found', () => {
    const spans = single.spans.get(10)!;
    expect(spanAt(spans, 200, 0)?.state).toBe(RankState.CollectiveWait);
    expect(spanAt(spans, 350, 0)?.state).toBe(RankState.Collective);
    expect(spanAt(spans, 405, 10)?.state).toBe(RankState.Collective);
    expect(spanAt(spans, 600, 10)).toBeNull();
  });

  it('a collective operation lasts from the first one to the last one', () => {
    expect(meetingsOf(single).map(({ t0, t1, parts }) => [t0, t1, parts.length])).toEqual([[100, 400, 2]]);
  });

  it('has sums by part of the time', () => {
    const sums = readRanks(raw(false, [[at(0), 10, 1, 4], [at(16), 10, 2, 8]], []), ORIGIN);
    expect(sums.sums.of(10)).toEqual([{ bucket: 0, kind: 1, share: 0.5 }, { bucket: 2, kind: 2, share: 1 }]);
  });

  it('arrows that were waited for longest lie on top, and are found', () => {
    const arrows = [{ ...single.arrows[0], waited: 50 }, { ...single.arrows[0], t0: 300, t1: 310, waited: 0 }, { ...single.arrows[0], t0: 900, t1: 950 }];
    const middles = new Map([[10, 10], [11, 40]]);
    const inSight = arrowsInSight(arrows, { t0: 0, t1: 800 }, middles);
    expect(inSight.map((arrow) => arrow.waited)).toEqual([0, 50]);
    const area = { left: 0, top: 0, width: 800, height: 100, t0: 0, t1: 800, css: () => '' };
    expect(arrowAt(inSight, area, middles, 115, 25, 5)?.t0).toBe(90);
    expect(arrowAt(inSight, area, middles, 200, 25, 5)).toBeNull();
  });
});
