// The task graph: ranks and what they send each other, free or on the machine.

import { el, svg } from '../app/dom';
import { machineOfHost, topologyOf } from '../machine/topology';
import type { SessionModel } from '../session/model';
import type { Pair, Rank } from './documents';
import { fitInto, layOutFree, layOutOnMachine, type Host, type Point } from './layout';
import { measureOf, measureText, sameChoice, type Choice, type Filtered, type Measure, type Ranks } from './model';

export type Layout = 'free' | 'machine';

export interface TaskGraphHost {
  model: SessionModel;
  onChoice(choice: Choice): void;
}

export interface GraphChoice {
  rows: Filtered;
  ranks: Ranks;
  choice: Choice;
  measure: Measure;
  layout: Layout;
  /** Edges below this share of the largest one are left out. */
  least: number;
}

/** More edges are a grey cloud. */
const MOST_EDGES = 1200;
const MARGIN = 34;
const LEAST_RADIUS = 9;
const MOST_RADIUS = 19;
const MOST_THICK = 11;
const LEAST_SCALE = 0.55;
/** Beyond it names are in the tooltip alone. */
const MOST_NAMED = 160;
export const DISTANCES = ['same CPU', 'same core', 'same node', 'same package', 'same machine', 'other host'];

export function distanceColor(distance: number | null): string {
  return distance === null ? 'var(--text-faint)' : `var(--far-${distance})`;
}

interface Drawn {
  at: Map<number, Point>;
  width: number;
  height: number;
  scale: number;
  boxes: SVGElement[];
}

export class TaskGraphView {
  readonly root = el('div', { className: 'task-graph graph-canvas' });
  /** What was left out; '': nothing. */
  note = '';
  private readonly free = new Map<number, Point>();
  private freeKey = '';
  private shown: GraphChoice | null = null;

  constructor(private readonly host: TaskGraphHost) {
    this.root.addEventListener('click', (event) => event.target instanceof Element && this.choose(event.target.closest('[data-key]')?.getAttribute('data-key') ?? ''));
    this.root.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.shown && this.show(this.shown)).observe(this.root);
  }

  show(choice: GraphChoice): void {
    this.shown = choice;
    if (this.root.offsetParent === null) return;
    const { rows, ranks, measure, least, layout } = choice;
    const sized = rows.pairs.map((pair) => ({ pair, size: measureOf(pair, measure) })).filter(({ size }) => size > 0).sort((a, b) => b.size - a.size);
    const most = sized[0]?.size ?? 0;
    const large = sized.filter(({ size }) => size >= most * least);
    const edges = large.slice(0, MOST_EDGES);
    this.note = sized.length > edges.length ? `${sized.length - edges.length} smaller edges left out` : '';
    const ids = this.idsOf(choice, edges.map(({ pair }) => pair));
    if (ids.length === 0) {
      this.root.replaceChildren(el('p', { className: 'empty' }, 'No rank of this name, and no such message.'));
      return;
    }
    const drawn = layout === 'free' ? this.layOut(ids, sized, most) : this.onMachine(ids, ranks);
    const radii = this.radii(ids, ranks);
    const focused = document.activeElement instanceof Element && this.root.contains(document.activeElement) ? document.activeElement.getAttribute('data-key') : null;
    const [left, top] = [this.root.scrollLeft, this.root.scrollTop];
    this.root.replaceChildren(svg('svg', { 'width': drawn.width * drawn.scale, 'height': drawn.height * drawn.scale, 'viewBox': `0 0 ${drawn.width} ${drawn.height}`, 'class': choice.choice === null ? '' : 'has-selection', 'role': 'group', 'aria-label': 'Task graph: ranks and what they send each other' },
      ...drawn.boxes, ...edges.reverse().map(({ pair, size }) => this.edge(choice, pair, size, most, drawn.at, radii)), ...ids.map((id) => this.node(choice, ranks.get(id)!, drawn.at.get(id)!, radii.get(id)!, ids.length))));
    this.root.scrollTo(left, top);
    if (focused !== null) this.root.querySelector<SVGElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private idsOf({ rows, ranks }: GraphChoice, edges: Pair[]): number[] {
    const pairs = rows.pairs.length === edges.length ? edges : rows.pairs;
    const touched = new Set(pairs.flatMap((pair) => [pair.source, pair.destination]));
    return ranks.all.filter((rank) => touched.has(rank.id)).map((rank) => rank.id);
  }

  private layOut(ids: number[], sized: { pair: Pair; size: number }[], most: number): Drawn {
    const springs = sized.map(({ pair, size }) => ({ source: pair.source, destination: pair.destination, weight: 0.08 + 0.92 * Math.sqrt(size / most) }));
    // What grows evenly stays where it is.
    const key = `${ids.join()} ${springs.length}`;
    if (key !== this.freeKey) {
      layOutFree(ids, springs, this.free);
      this.freeKey = key;
    }
    const [width, height] = [Math.max(320, this.root.clientWidth - 4), Math.max(200, this.root.clientHeight - 8)];
    return { at: fitInto(ids, this.free, width, height, MARGIN), width, height, scale: 1, boxes: [] };
  }

  private hosts(ranks: Rank[]): Host[] {
    const { model } = this.host;
    const names = [...new Set(ranks.map((rank) => rank.host))].sort((a, b) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1));
    const own = names.filter((name) => name !== '');
    return names.map((name) => ({
      name: name === '' ? 'other hosts' : name,
      // Of one host the topology says more than the elements do.
      root: name === '' ? null : own.length === 1 ? topologyOf(model)?.root ?? null : machineOfHost(model, name),
      ranks: ranks.filter((rank) => rank.host === name),
    }));
  }

  private onMachine(ids: number[], ranks: Ranks): Drawn {
    const room: [number, number] = [Math.max(320, this.root.clientWidth - 8), Math.max(200, this.root.clientHeight - 10)];
    const { boxes, at, width, height } = layOutOnMachine(this.hosts(ids.map((id) => ranks.get(id)!)), room[0] / room[1]);
    // What is a bit too large is drawn smaller; what is much too large scrolls.
    const scale = Math.max(LEAST_SCALE, Math.min(1, room[0] / (width + 4), room[1] / (height + 4)));
    const [roomX, roomY] = [room[0] / scale, room[1] / scale];
    const [shiftX, shiftY] = [Math.max(2, (roomX - width) / 2), Math.max(2, (roomY - height) / 2)];
    return {
      at: new Map([...at].map(([id, { x, y }]) => [id, { x: x + shiftX, y: y + shiftY }])), width: Math.max(roomX, width + 4), height: Math.max(roomY, height + 4), scale,
      boxes: boxes.flatMap((box) => [
        svg('rect', { 'x': box.x + shiftX, 'y': box.y + shiftY, 'width': box.width, 'height': box.height, 'rx': 7, 'class': `machine-box depth-${Math.min(3, box.depth)}` }),
        svg('text', { 'x': box.x + shiftX + 10, 'y': box.y + shiftY + 17, 'class': 'machine-title' }, box.title)]),
    };
  }

  private radii(ids: number[], ranks: Ranks): Map<number, number> {
    const bytes = ids.map((id) => (ranks.get(id)?.sent.bytes ?? 0) + (ranks.get(id)?.received.bytes ?? 0));
    const most = Math.max(1, ...bytes);
    const largest = ids.length > MOST_NAMED ? LEAST_RADIUS : MOST_RADIUS;
    return new Map(ids.map((id, i) => [id, ids.length > MOST_NAMED ? Math.max(3, largest * Math.sqrt(bytes[i] / most)) : LEAST_RADIUS + (largest - LEAST_RADIUS) * Math.sqrt(bytes[i] / most)]));
  }

  private edge({ choice, measure, ranks }: GraphChoice, pair: Pair, size: number, most: number, at: Map<number, Point>, radii: Map<number, number>): SVGElement {
    const [from, to] = [at.get(pair.source)!, at.get(pair.destination)!];
    const chosen = choice !== null && ('rank' in choice ? pair.source === choice.rank || pair.destination === choice.rank : pair.source === choice.source && pair.destination === choice.destination);
    const thick = Math.max(1.1, MOST_THICK * Math.sqrt(size / most));
    const text = `${ranks.nameOf(pair.source)} → ${ranks.nameOf(pair.destination)}: ${measureText(size, measure)}, ${pair.apart === '?' ? 'distance not known' : pair.apart}`;
    const group = svg('g', { 'class': chosen ? 'task-edge chosen' : 'task-edge', 'data-key': `edge ${pair.source} ${pair.destination}`, 'tabindex': -1, 'role': 'button', 'aria-label': text });
    const { line, head } = arrow(from, to, radii.get(pair.source)!, radii.get(pair.destination)! + 2, thick);
    const color = distanceColor(pair.distance);
    group.append(svg('path', { 'd': line, 'class': 'task-line', 'stroke': color, 'stroke-width': thick.toFixed(2) }), svg('path', { 'd': head, 'class': 'task-head', 'fill': color }), svg('path', { 'd': line, 'class': 'task-hit' }), svg('title', {}, text));
    return group;
  }

  private node({ choice, ranks }: GraphChoice, rank: Rank, { x, y }: Point, radius: number, count: number): SVGElement {
    const chosen = choice !== null && ('rank' in choice ? rank.id === choice.rank : rank.id === choice.source || rank.id === choice.destination);
    const text = `${rank.name}: sends ${measureText(rank.sent.bytes, 'bytes')} in ${measureText(rank.sent.count, 'count')}, receives ${measureText(rank.received.bytes, 'bytes')} in ${measureText(rank.received.count, 'count')}${rank.cpu === null ? '' : `, most often on CPU ${rank.cpu}`}`;
    const group = svg('g', { 'class': chosen ? 'task-node chosen' : 'task-node', 'data-key': `rank ${rank.id}`, 'tabindex': 0, 'role': 'button', 'aria-pressed': String(chosen), 'aria-label': text });
    group.append(svg('circle', { 'cx': x, 'cy': y, 'r': radius.toFixed(1), 'class': rank.host === '' ? 'elsewhere' : '' }), svg('title', {}, text));
    if (count <= MOST_NAMED) group.append(svg('text', { 'x': x, 'y': y, 'dy': '0.35em', 'text-anchor': 'middle' }, ranks.labelOf(rank)));
    return group;
  }

  /** Enter chooses; right and left go to the next rank, down to what it sends, there right and left to the next one, up back. */
  private key(event: KeyboardEvent): void {
    const key = event.target instanceof Element ? event.target.getAttribute('data-key') ?? '' : '';
    if (event.key === 'Enter' || event.key === ' ') this.choose(key);
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') this.step(key, event.key === 'ArrowRight' ? 1 : -1);
    else if (event.key === 'ArrowDown' && key.startsWith('rank')) this.root.querySelector<SVGElement>(`.task-edge[data-key^="edge ${key.split(' ')[1]} "]`)?.focus();
    else if (event.key === 'ArrowUp' && key.startsWith('edge')) this.root.querySelector<SVGElement>(`[data-key="rank ${key.split(' ')[1]}"]`)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private step(key: string, by: number): void {
    const all = [...this.root.querySelectorAll<SVGElement>(key.startsWith('edge') ? `.task-edge[data-key^="edge ${key.split(' ')[1]} "]` : '.task-node')];
    const at = all.findIndex((one) => one.getAttribute('data-key') === key);
    if (all.length > 0) all[(at + by + all.length) % all.length].focus();
  }

  private choose(key: string): void {
    const [kind, ...ids] = key.split(' ');
    const now = this.shown?.choice ?? null;
    const next: Choice = kind === 'rank' ? { rank: Number(ids[0]) } : kind === 'edge' ? { source: Number(ids[0]), destination: Number(ids[1]) } : null;
    // A second click takes it back.
    this.host.onChoice(sameChoice(next, now) ? null : next);
  }
}

/** A line that bends to its right, so that both directions are seen, and its head. */
function arrow(from: Point, to: Point, fromRadius: number, toRadius: number, thick: number): { line: string; head: string } {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const text = (x: number, y: number): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (length < 1) {
    // To itself: a loop above.
    const [x, y, r] = [from.x, from.y - fromRadius, 9];
    return { line: `M${text(x - 5, y + 2)}C${text(x - 14, y - 2 * r)} ${text(x + 14, y - 2 * r)} ${text(x + 5, y - 1)}`, head: `M${text(x + 4, y + 2)}L${text(x + 1, y - 6)}L${text(x + 10, y - 5)}Z` };
  }
  const [ux, uy] = [dx / length, dy / length];
  const bend = Math.min(46, 8 + length * 0.12);
  const [cx, cy] = [(from.x + to.x) / 2 - uy * bend, (from.y + to.y) / 2 + ux * bend];
  const toward = (point: Point, radius: number): Point => {
    const away = Math.hypot(cx - point.x, cy - point.y);
    return { x: point.x + ((cx - point.x) / away) * radius, y: point.y + ((cy - point.y) / away) * radius };
  };
  const headLength = 6 + thick * 0.9;
  const start = toward(from, fromRadius);
  const tip = toward(to, toRadius);
  const base = toward(to, toRadius + headLength);
  const [nx, ny] = [(tip.y - base.y) / headLength, -(tip.x - base.x) / headLength];
  const half = 3 + thick * 0.55;
  return { line: `M${text(start.x, start.y)}Q${text(cx, cy)} ${text(base.x, base.y)}`, head: `M${text(tip.x, tip.y)}L${text(base.x + nx * half, base.y + ny * half)}L${text(base.x - nx * half, base.y - ny * half)}Z` };
}
