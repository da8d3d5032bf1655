// Where the ranks of the task graph stand: free, so that those that exchange much are close to each other, or on the machine.

import type { Place } from '../machine/topology';
import { ElementKind } from '../session/model';
import type { Rank } from './documents';

export interface Point {
  x: number;
  y: number;
}

export interface Spring {
  source: number;
  destination: number;
  /** 0 to 1 */
  weight: number;
}

const ITERATIONS = 260;
/** Of more ranks fewer rounds are enough for a picture of which nobody sees the details. */
const MOST_STEPS = 12e6;

/** Begins where the ranks were, the others on a circle; always the same for the same graph. @param at is changed */
export function layOutFree(ids: number[], springs: Spring[], at: Map<number, Point>): void {
  const count = ids.length;
  if (count === 0) return;
  const fresh = ids.filter((id) => !at.has(id));
  const ring = Math.max(1, count / 6);
  fresh.forEach((id) => {
    const angle = (ids.indexOf(id) / count) * Math.PI * 2;
    at.set(id, { x: Math.sin(angle) * ring, y: -Math.cos(angle) * ring });
  });
  const index = new Map(ids.map((id, i) => [id, i]));
  const points = ids.map((id) => at.get(id)!);
  const bonds = springs.flatMap(({ source, destination, weight }) => {
    const [a, b] = [index.get(source), index.get(destination)];
    return a === undefined || b === undefined || a === b ? [] : [{ a, b, weight }];
  });
  const rounds = Math.max(12, Math.min(ITERATIONS, Math.floor(MOST_STEPS / (count * count))));
  const [dx, dy] = [new Float64Array(count), new Float64Array(count)];
  for (let round = 0; round < rounds; round++) {
    dx.fill(0);
    dy.fill(0);
    for (let i = 0; i < count; i++) {
      for (let j = i + 1; j < count; j++) {
        const [x, y] = [points[i].x - points[j].x, points[i].y - points[j].y];
        const force = 1 / Math.max(0.01, x * x + y * y);
        dx[i] += x * force;
        dy[i] += y * force;
        dx[j] -= x * force;
        dy[j] -= y * force;
      }
    }
    for (const { a, b, weight } of bonds) {
      const [x, y] = [points[b].x - points[a].x, points[b].y - points[a].y];
      const pull = Math.hypot(x, y) * weight * 0.6;
      dx[a] += x * pull;
      dy[a] += y * pull;
      dx[b] -= x * pull;
      dy[b] -= y * pull;
    }
    // Colder with each round; those without messages do not drift away.
    const heat = 0.5 * (1 - round / rounds) + 0.01;
    for (let i = 0; i < count; i++) {
      const [x, y] = [dx[i] - points[i].x * 0.02, dy[i] - points[i].y * 0.02];
      const length = Math.hypot(x, y);
      const step = Math.min(heat, length * 0.2) / Math.max(1e-9, length);
      points[i].x += x * step;
      points[i].y += y * step;
    }
  }
}

/** Stretched into a box. */
export function fitInto(ids: number[], at: Map<number, Point>, width: number, height: number, margin: number): Map<number, Point> {
  const points = ids.map((id) => at.get(id)!);
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scaleX = (width - 2 * margin) / Math.max(1e-9, right - left);
  const scaleY = (height - 2 * margin) / Math.max(1e-9, bottom - top);
  const place = (value: number, low: number, high: number, scale: number, size: number): number => (high - low < 1e-6 ? size / 2 : margin + (value - low) * scale);
  return new Map(ids.map((id, i) => [id, { x: place(points[i].x, left, right, scaleX, width), y: place(points[i].y, top, bottom, scaleY, height) }]));
}

// ---- on the machine -----------------------------------------------------------------------------------------------------

export interface Box {
  title: string;
  depth: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface OnMachine {
  boxes: Box[];
  at: Map<number, Point>;
  width: number;
  height: number;
}

export interface Host {
  name: string;
  /** null: nothing is known of it. */
  root: Place | null;
  ranks: Rank[];
}

/** Of a rank in a box. */
const CELL = 46;
const EMPTY_CELL = 26;
const PAD = 10;
const TITLE = 18;
const GAP = 10;
/** On larger machines boxes without ranks are left out. */
const MANY_CPUS = 48;

interface Part {
  title: string;
  ranks: Rank[];
  children: Part[];
  width: number;
  height: number;
}

function partOf(place: Place, byCpu: Map<number, Rank[]>, leaveOut: boolean): Part | null {
  const mine = place.cpus.flatMap((cpu) => byCpu.get(cpu) ?? []);
  if (leaveOut && mine.length === 0) return null;
  const children = place.children.flatMap((child) => partOf(child, byCpu, leaveOut) ?? []);
  // A core of one CPU, a package of one node: one box.
  if (place.children.length === 1 && children.length === 1) return { ...children[0], title: place.kind === ElementKind.Core ? children[0].title : `${place.name} · ${children[0].title}` };
  const left = place.children.length - children.length;
  return { title: `${place.name}${left > 0 ? ` (${left} more without ranks)` : ''}`, ranks: place.children.length === 0 ? mine : [], children, width: 0, height: 0 };
}

/** In rows, as wide as `aspect` times their height. @return width and height, of what `put` is told of */
function inRows(sizes: { width: number; height: number }[], gap: number, aspect: number, put: (index: number, x: number, y: number) => void): { width: number; height: number } {
  const area = sizes.reduce((sum, { width, height }) => sum + (width + gap) * (height + gap), 0);
  const most = Math.max(Math.sqrt(area * aspect), ...sizes.map(({ width }) => width));
  let [x, y, rowHeight, width] = [0, 0, 0, 0];
  sizes.forEach((size, i) => {
    if (x > 0 && x + size.width > most + 1) [x, y, rowHeight] = [0, y + rowHeight + gap, 0];
    put(i, x, y);
    x += size.width + gap;
    width = Math.max(width, x - gap);
    rowHeight = Math.max(rowHeight, size.height);
  });
  return { width, height: y + rowHeight };
}

function sizesIn(part: Part): { width: number; height: number }[] {
  return part.children.length > 0 ? part.children : part.ranks.length > 0 ? part.ranks.map(() => ({ width: CELL, height: CELL })) : [{ width: EMPTY_CELL, height: EMPTY_CELL }];
}

function measure(part: Part, aspect: number): void {
  for (const child of part.children) measure(child, aspect);
  const inner = inRows(sizesIn(part), part.children.length > 0 ? GAP : 0, aspect, () => undefined);
  // The title has to fit, more or less.
  part.width = Math.max(inner.width, Math.min(260, part.title.length * 6.2)) + 2 * PAD;
  part.height = inner.height + TITLE + 2 * PAD;
}

function place(part: Part, x: number, y: number, depth: number, aspect: number, result: OnMachine): void {
  result.boxes.push({ title: part.title, depth, x, y, width: part.width, height: part.height });
  inRows(sizesIn(part), part.children.length > 0 ? GAP : 0, aspect, (i, left, top) => {
    const [px, py] = [x + PAD + left, y + PAD + TITLE + top];
    if (part.children.length > 0) place(part.children[i], px, py, depth + 1, aspect, result);
    else if (part.ranks[i]) result.at.set(part.ranks[i].id, { x: px + CELL / 2, y: py + CELL / 2 });
  });
}

function hostPart({ name, root, ranks }: Host): Part {
  const byCpu = new Map<number, Rank[]>();
  const known = new Set(root?.cpus ?? []);
  const nowhere: Rank[] = [];
  for (const rank of ranks) {
    if (rank.cpu === null || !known.has(rank.cpu)) nowhere.push(rank);
    else byCpu.set(rank.cpu, [...(byCpu.get(rank.cpu) ?? []), rank]);
  }
  const part = root ? partOf(root, byCpu, root.cpus.length > MANY_CPUS) : null;
  if (nowhere.length === 0 && part) return { ...part, title: name || part.title };
  const rest: Part = { title: part ? 'on a CPU that is not known' : name || 'other hosts', ranks: nowhere, children: [], width: 0, height: 0 };
  return part ? { title: name, ranks: [], children: [part, rest], width: 0, height: 0 } : rest;
}

/** Hosts, packages, nodes, cores and CPUs as boxes in boxes, each rank where it was most often. @param aspect of the room: width by height */
export function layOutOnMachine(hosts: Host[], aspect: number): OnMachine {
  const parts = hosts.map(hostPart);
  const result: OnMachine = { boxes: [], at: new Map(), width: 0, height: 0 };
  for (const part of parts) measure(part, aspect);
  const { width, height } = inRows(parts, 2 * GAP, aspect, (i, x, y) => place(parts[i], x, y, 0, aspect, result));
  result.width = width;
  result.height = height;
  return result;
}
