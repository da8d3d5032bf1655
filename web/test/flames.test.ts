import { describe, expect, it } from 'vitest';
import { partsOf } from '../src/waits/critical_path';
import type { CriticalPath, FlameColumns, FlameFrame } from '../src/waits/documents';
import { boxesOf, codeColor, FlameTree, groupsOf, hashOf, hueOf, matchedTime, matchesOf, ROOT } from '../src/waits/flame_model';

function code(name: string, group = 'solver'): FlameFrame {
  return { kind: 'code', element: 0, name, group };
}

/** @param nodes [frame, parent, time], the root first */
function treeOf(frames: FlameFrame[], nodes: [number, number, number][], more: Partial<FlameColumns> = {}): FlameTree {
  return new FlameTree(frames, { nodes_in_all: nodes.length, frame: nodes.map((node) => node[0]), parent: nodes.map((node) => node[1]), time_ns: nodes.map((node) => node[2]), left_out_ns: nodes.map(() => 0), site: nodes.map(() => 0), ...more });
}

const FRAMES: FlameFrame[] = [
  { kind: 'process', element: 1, name: 'solver', group: '' }, { kind: 'thread', element: 2, name: 'worker 10', group: '' }, { kind: 'thread', element: 3, name: 'worker 9', group: '' },
  code('push'), code('drain', 'queue.so'), { kind: 'wait', element: 50, name: 'wait for mutex 0x1', group: 'mutex' },
];

/** solver 100 = worker 10 60 (push 60 = mutex 40) + worker 9 40 (drain 30 (push 10), push 10) */
const tree = treeOf(FRAMES, [[-1, -1, 100], [0, 0, 100], [1, 1, 60], [3, 2, 60], [5, 3, 40], [2, 1, 40], [4, 5, 30], [3, 6, 10], [3, 5, 10]], { site: [0, 0, 0, 7, 0, 0, 8, 0, 0], left_out_ns: [0, 0, 0, 20, 0, 0, 0, 0, 0], nodes_in_all: 12 });
const name = (node: number): string => tree.frameOf(node)?.name ?? 'all';

describe('the tree of a flame graph', () => {
  it('has children from left to right by name, as a person counts', () => {
    expect([...tree.childrenOf(1)].map(name)).toEqual(['worker 9', 'worker 10']);
    expect([...tree.childrenOf(5)].map(name)).toEqual(['drain', 'push']);
    expect([tree.start[5], tree.start[2], tree.start[3], tree.start[6], tree.start[8]]).toEqual([0, 40, 40, 0, 30]);
    expect([tree.levels, tree.leftOutNodes, tree.leftOutOf(3)]).toEqual([5, 3, 20]);
  });

  it('knows where a node is in the code, or what is above it', () => {
    expect([tree.siteOf(3), tree.siteOf(4), tree.siteOf(7), tree.siteOf(2), tree.siteOf(ROOT)]).toEqual([7, 7, 8, 0, 0]);
  });

  it('is drawn as wide as time is', () => {
    const boxes = boxesOf(tree, ROOT, 1000, 0, 10);
    expect(boxes.find((box) => box.node === 2)).toEqual({ node: 2, depth: 2, left: 400, width: 600 });
    expect(boxes.find((box) => box.node === 4)).toEqual({ node: 4, depth: 4, left: 400, width: 400 });
    expect(boxes).toHaveLength(9);
    expect(boxesOf(tree, ROOT, 1000, 0, 10, 150).map((box) => name(box.node)).sort()).toEqual(['all', 'drain', 'push', 'solver', 'wait for mutex 0x1', 'worker 10', 'worker 9']);
    expect(boxesOf(tree, ROOT, 1000, 2, 3).map((box) => box.depth)).toEqual([2, 2]);
  });

  it('zoomed in has the box as wide as all, and those above it', () => {
    const boxes = boxesOf(tree, 6, 900, 0, 10);
    expect(boxes.map((box) => [name(box.node), Math.round(box.left), Math.round(box.width)])).toEqual([['all', 0, 900], ['solver', 0, 900], ['worker 9', 0, 900], ['drain', 0, 900], ['push', 0, 300]]);
  });

  it('without time draws nothing', () => {
    expect(boxesOf(treeOf([], [[-1, -1, 0]]), ROOT, 900, 0, 10)).toEqual([]);
    expect(boxesOf(treeOf([], []), ROOT, 900, 0, 10)).toEqual([]);
  });

  it('finds what was shown in newer data, and with the threads together', () => {
    const path = tree.pathOf(7);
    expect(tree.find(path)).toBe(7);
    // Other frames and nodes, in another order.
    const frames = [FRAMES[3], FRAMES[4], FRAMES[2], FRAMES[0]];
    const newer = treeOf(frames, [[-1, -1, 200], [3, 0, 200], [2, 1, 90], [1, 2, 60], [0, 3, 20], [0, 2, 5]]);
    expect(newer.find(path)).toBe(4);
    const together = treeOf(frames, [[-1, -1, 200], [3, 0, 200], [1, 1, 60], [0, 2, 20]]);
    expect(together.find(path)).toBe(3);
    expect(newer.find(tree.pathOf(4)), 'as much of it as there is').toBe(1);
    expect(tree.find([])).toBe(ROOT);
  });

  it('prefers the very thread of those of a name', () => {
    const frames: FlameFrame[] = [{ kind: 'thread', element: 8, name: 'worker', group: '' }, { kind: 'thread', element: 9, name: 'worker', group: '' }];
    const twins = treeOf(frames, [[-1, -1, 20], [0, 0, 10], [1, 0, 10]]);
    expect(twins.find([frames[1]])).toBe(2);
    expect(twins.find([{ ...frames[1], element: 77 }])).toBe(1);
  });

  it('is searched by all words of a name or module, and what is found within what is found counts once', () => {
    const within = (words: string[], node: number): number => matchedTime(tree, matchesOf(tree.frames, words)!, node);
    expect(within(['push'], ROOT)).toBe(80);
    expect(within(['queue.so'], ROOT)).toBe(30);
    expect(within(['solver'], ROOT), 'the process and code of it').toBe(100);
    expect(within(['push'], 6)).toBe(10);
    expect(within(['wait', 'mutex'], ROOT)).toBe(40);
    expect(within(['wait', 'barrier'], ROOT)).toBe(0);
    expect(matchesOf(tree.frames, [])).toBeNull();
  });

  it('has groups by time, each once where it is within itself', () => {
    expect(groupsOf(tree).map(({ group, time }) => [group, time])).toEqual([['solver', 80], ['mutex', 40], ['queue.so', 30]]);
  });

  it('has colours that are the same on every page', () => {
    expect(hashOf('libc.so.6')).toBe(hashOf('libc.so.6'));
    expect(hashOf('')).toBe(0x811c9dc5);
    expect(codeColor(code('push'), [50, 40])).toBe(codeColor(code('push'), [50, 40]));
    const hue = (text: string): number => Number(/hsl\((\d+)/.exec(text)![1]);
    const away = Math.abs(hue(codeColor(code('push'), [50, 40])) - hue(codeColor(code('drain'), [50, 40])));
    expect(Math.min(away, 360 - away), 'functions of a module are alike').toBeLessThanOrEqual(16);
    const hues = ['libc.so.6', 'libm.so.6', 'libstdc++.so.6', 'libgomp.so.1', 'libopenblas.so.0'].map(hueOf).sort((a, b) => a - b);
    expect(hues.every((one, i) => i === 0 || one - hues[i - 1] > 12), 'modules are not').toBe(true);
  });

  it('of a hundred thousand stacks draws no more than has room', () => {
    const frames = Array.from({ length: 1000 }, (_, i) => code(`f${i}`));
    const nodes: [number, number, number][] = [[-1, -1, 100_000]];
    for (let i = 0; i < 100; i++) nodes.push([i, 0, 1000]);
    for (let i = 0; i < 100_000; i++) nodes.push([i % 1000, 1 + Math.floor(i / 1000), 1]);
    const large = treeOf(frames, nodes);
    expect(boxesOf(large, ROOT, 1000, 0, 50)).toHaveLength(101);
    expect(boxesOf(large, 5, 1000, 0, 50)).toHaveLength(1002);
    expect(matchedTime(large, matchesOf(frames, ['f999'])!, ROOT)).toBe(100);
  });
});

describe('the critical path', () => {
  const path: CriticalPath = {
    length_ns: 1000, handing_over_ns: 50, unknown_ns: 30, what_if: [],
    threads: [{ thread: 1, tid: 11, name: 'worker', ns: 700 }, { thread: 2, tid: 12, name: '', ns: 200 }, { thread: 3, tid: 13, name: 'io', ns: 15 }, { thread: 4, tid: 14, name: 'io', ns: 5 }],
    objects: [{ object: 50, name: 'mutex 0x1', times: 7, ns: 50 }],
  };

  it('is made of parts that are all of it', () => {
    const parts = partsOf(path);
    expect(parts.map(({ kind, name: text }) => [kind, text])).toEqual([['thread', 'worker'], ['thread', 'thread 12'], ['others', '2 more'], ['handing-over', 'handing over'], ['unknown', 'not known']]);
    expect(parts.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
    expect(parts[0].hint).toBe('70.0 %, 700 ns: worker 11 ran');
    expect(parts[3].hint).toContain('most of it at mutex 0x1, 7 times');
  });

  it('has no parts that are nothing', () => {
    expect(partsOf({ ...path, threads: path.threads.slice(0, 2), handing_over_ns: 0, unknown_ns: 0 })).toHaveLength(2);
    expect(partsOf({ ...path, length_ns: 0, threads: [], handing_over_ns: 0, unknown_ns: 0 })).toEqual([]);
  });
});
