// The tree behind a flame graph: where its boxes lie, which are found by a search, and what stays when newer data comes. A
// node is as wide as its time; what is narrower than a pixel is never looked at one by one.

import type { FlameColumns, FlameFrame } from './documents';

/** The whole, of which all stacks are. */
export const ROOT = 0;

export interface Box {
  node: number;
  /** 0 is the root's. */
  depth: number;
  /** In pixels, within the width that was given. */
  left: number;
  width: number;
}

/** What a node is, in any tree of the same session. */
export type FlamePath = FlameFrame[];

const byName = new Intl.Collator('en', { numeric: true });

export class FlameTree {
  readonly size: number;
  readonly depth: Int32Array;
  readonly parent: Int32Array;
  readonly time: Float64Array;
  /** Nanoseconds of what lies to the left of a node, from the root's left edge on. */
  readonly start: Float64Array;
  readonly levels: number;
  /** Children of a node lie between first[node] and first[node + 1], from left to right. */
  private readonly first: Int32Array;
  private readonly children: Int32Array;

  constructor(readonly frames: FlameFrame[], private readonly columns: FlameColumns) {
    const { frame, parent, time_ns: time } = columns;
    this.size = frame.length;
    this.parent = Int32Array.from(parent);
    this.time = Float64Array.from(time);
    this.depth = new Int32Array(this.size);
    this.start = new Float64Array(this.size);
    this.first = new Int32Array(this.size + 1);
    this.children = new Int32Array(Math.max(0, this.size - 1));
    let levels = Math.min(1, this.size);
    for (let node = 1; node < this.size; node++) {
      this.depth[node] = this.depth[parent[node]] + 1;
      levels = Math.max(levels, this.depth[node] + 1);
      this.first[parent[node] + 1]++;
    }
    this.levels = levels;
    for (let node = 0; node < this.size; node++) this.first[node + 1] += this.first[node];
    const next = this.first.slice();
    for (const node of this.inOrderOfNames()) this.children[next[parent[node]]++] = node;
    for (let node = 0; node < this.size; node++) {
      let start = this.start[node];
      for (const child of this.childrenOf(node)) {
        this.start[child] = start;
        start += this.time[child];
      }
    }
  }

  /** From left to right. */
  childrenOf(node: number): Int32Array {
    return this.children.subarray(this.first[node], this.first[node + 1]);
  }

  /** null: of the root. */
  frameOf(node: number): FlameFrame | null {
    return this.frames[this.columns.frame[node]] ?? null;
  }

  frameIndexOf(node: number): number {
    return this.columns.frame[node];
  }

  /** Time of nodes below it that the server left out. */
  leftOutOf(node: number): number {
    return this.columns.left_out_ns[node];
  }

  get leftOutNodes(): number {
    return Math.max(0, this.columns.nodes_in_all - this.size);
  }

  /** Where in the code a node is, or else the one above it; 0: not known. */
  siteOf(node: number): number {
    for (let at = node; at > ROOT; at = this.parent[at]) if (this.columns.site[at] > 0) return this.columns.site[at];
    return 0;
  }

  /** From the one below the root to the node. */
  nodesTo(node: number): number[] {
    const nodes: number[] = [];
    for (let at = node; at > ROOT; at = this.parent[at]) nodes.push(at);
    return nodes.reverse();
  }

  pathOf(node: number): FlamePath {
    return this.nodesTo(node).map((at) => this.frames[this.columns.frame[at]]);
  }

  /** The node of a path of this or of another tree, or as much of it as there is. */
  find(path: FlamePath): number {
    let node = ROOT;
    for (const wanted of path) {
      const alike = [...this.childrenOf(node)].filter((child) => this.frameOf(child)?.kind === wanted.kind && this.frameOf(child)?.name === wanted.name);
      const next = alike.find((child) => this.frameOf(child)?.element === wanted.element) ?? alike[0];
      if (next !== undefined) node = next;
      // A tree of all threads together has none.
      else if (wanted.kind !== 'thread') return node;
    }
    return node;
  }

  isWithin(node: number, above: number): boolean {
    let at = node;
    while (at > above) at = this.parent[at];
    return at === above;
  }

  private inOrderOfNames(): number[] {
    const order = this.frames.map((_, i) => i).sort((a, b) => byName.compare(this.frames[a].name, this.frames[b].name) || this.frames[a].element - this.frames[b].element);
    const rank = new Int32Array(this.frames.length);
    order.forEach((index, i) => (rank[index] = i));
    return Array.from({ length: Math.max(0, this.size - 1) }, (_, i) => i + 1).sort((a, b) => rank[this.columns.frame[a]] - rank[this.columns.frame[b]]);
  }
}

/** What is seen: the node that fills the width, those above it, and of those below it what is at least `least` wide. Rows are
 * those from `top` up to `bottom`. */
export function boxesOf(tree: FlameTree, zoomed: number, width: number, top: number, bottom: number, least = 1): Box[] {
  const boxes: Box[] = [];
  if (tree.size === 0 || !(tree.time[zoomed] > 0)) return boxes;
  const add = (node: number, left: number, wide: number): void => {
    if (tree.depth[node] >= top && tree.depth[node] < bottom) boxes.push({ node, depth: tree.depth[node], left, width: wide });
  };
  if (zoomed !== ROOT) for (const node of [ROOT, ...tree.nodesTo(tree.parent[zoomed])]) add(node, 0, width);
  const scale = width / tree.time[zoomed];
  const waiting = [zoomed];
  while (waiting.length > 0) {
    const node = waiting.pop()!;
    const wide = tree.time[node] * scale;
    if (wide < least || tree.depth[node] >= bottom) continue;
    add(node, (tree.start[node] - tree.start[zoomed]) * scale, wide);
    for (const child of tree.childrenOf(node)) waiting.push(child);
  }
  return boxes;
}

/** Of each frame whether its name or group has all the words; null: nothing is looked for. */
export function matchesOf(frames: FlameFrame[], words: string[]): Uint8Array | null {
  if (words.length === 0) return null;
  return Uint8Array.from(frames, ({ name, group }) => {
    const text = `${name} ${group}`.toLowerCase();
    return words.every((word) => text.includes(word)) ? 1 : 0;
  });
}

/** Time of what was found within a node: of frames within each other once. */
export function matchedTime(tree: FlameTree, matches: Uint8Array, within: number): number {
  // 1: in sight and not found yet, 2: found, or below what is.
  const state = new Uint8Array(tree.size);
  let time = 0;
  for (let node = within; node < tree.size; node++) {
    const above = node === within ? 1 : state[tree.parent[node]];
    state[node] = above;
    if (above !== 1 || matches[tree.frameIndexOf(node)] !== 1) continue;
    state[node] = 2;
    time += tree.time[node];
  }
  return time;
}

/** Groups by their time, most first: within each other once. */
export function groupsOf(tree: FlameTree): { kind: FlameFrame['kind']; group: string; time: number }[] {
  const groups = new Map<string, { kind: FlameFrame['kind']; group: string; time: number }>();
  for (let node = 1; node < tree.size; node++) {
    const { kind, group } = tree.frameOf(node)!;
    if (kind !== 'code' && kind !== 'wait') continue;
    if (tree.nodesTo(tree.parent[node]).some((above) => tree.frameOf(above)?.group === group)) continue;
    const key = `${kind} ${group}`;
    const sum = groups.get(key) ?? { kind, group, time: 0 };
    groups.set(key, sum);
    sum.time += tree.time[node];
  }
  return [...groups.values()].sort((a, b) => b.time - a.time);
}

/** FNV-1a: the same on every page. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Found by trying: the libraries that most programs have are far from each other. */
const SPREAD = 0x3deb1e8d;

/** Degrees. The same on every page. */
export function hueOf(text: string): number {
  return Math.floor(((Math.imul(hashOf(text), SPREAD) >>> 0) / 2 ** 32) * 360);
}

/** The colour of code: a hue for its module, and a shade of it for the function. @param tone saturation and lightness, percent */
export function codeColor({ name, group }: { name: string; group: string }, [saturation, lightness]: [number, number]): string {
  const shade = hashOf(name);
  const hue = hueOf(group) + (shade % 17) - 8;
  return `hsl(${(hue + 360) % 360} ${saturation}% ${lightness + ((shade >>> 8) % 7) - 3}%)`;
}
