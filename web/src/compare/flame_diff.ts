// The difference of two flame graphs: one tree of the stacks of both runs. A box is as wide as the time of both together, so that boxes of a
// stack lie within each other; its colour says how much more or less of that time is the second run's.

import type { FlameFrame } from '../waits/documents';
import type { RunFlames } from './comparison';

export interface DiffNode {
  name: string;
  kind: FlameFrame['kind'] | 'all';
  group: string;
  /** Nanoseconds in each run. */
  before: number;
  after: number;
  children: DiffNode[];
}

type Stacks = NonNullable<RunFlames['waiting']>;

/** A name without what differs from run to run: addresses, and ids of processes. */
export function sameName({ kind, name }: Pick<FlameFrame, 'kind' | 'name'>): string {
  const plain = name.replace(/ ?\b0x[0-9a-f]+\b/g, '');
  return kind === 'process' || kind === 'thread' ? plain.replace(/ \d+$/, '') : plain;
}

export function diffOf(before: Stacks | undefined, after: Stacks | undefined): DiffNode {
  const root: DiffNode = { name: 'all', kind: 'all', group: '', before: 0, after: 0, children: [] };
  if (before) addTo(root, before, 'before');
  if (after) addTo(root, after, 'after');
  sortByTime(root);
  return root;
}

function addTo(root: DiffNode, { frames, together }: Stacks, run: 'before' | 'after'): void {
  const { frame, parent, time_ns: time } = together;
  const nodes: DiffNode[] = [root];
  root[run] += time[0] ?? 0;
  for (let i = 1; i < frame.length; i++) {
    const above = nodes[parent[i]];
    const { kind, group } = frames[frame[i]];
    const name = sameName(frames[frame[i]]);
    let node = above.children.find((child) => child.kind === kind && child.name === name);
    if (!node) above.children.push((node = { name, kind, group, before: 0, after: 0, children: [] }));
    node[run] += time[i];
    nodes[i] = node;
  }
}

export function timeOf({ before, after }: DiffNode): number {
  return before + after;
}

function sortByTime(node: DiffNode): void {
  node.children.sort((a, b) => timeOf(b) - timeOf(a));
  for (const child of node.children) sortByTime(child);
}

/** -1: there is none in the second run, 0: the same, 1: there was none in the first. */
export function shiftOf({ before, after }: DiffNode): number {
  return before + after > 0 ? (after - before) / (before + after) : 0;
}

export interface DiffBox {
  node: DiffNode;
  depth: number;
  /** Parts of the width, 0 to 1. */
  left: number;
  width: number;
}

/** Boxes in sight where a node fills the width. @param least narrower ones are left out */
export function diffBoxes(root: DiffNode, least: number): DiffBox[] {
  const boxes: DiffBox[] = [];
  const add = (node: DiffNode, depth: number, left: number, width: number): void => {
    if (width < least) return;
    boxes.push({ node, depth, left, width });
    let at = left;
    for (const child of node.children) {
      const wide = (timeOf(child) / timeOf(node)) * width;
      add(child, depth + 1, at, wide);
      at += wide;
    }
  };
  if (timeOf(root) > 0) add(root, 0, 0, 1);
  return boxes;
}
