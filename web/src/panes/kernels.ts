// Kernels of a dataflow graph or another task runtime, as it tells them itself (include/attune/work.h): what they cost and what they hand
// to each other, as a graph in layers and as rows.

import { el, svg } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { Segments } from '../app/widgets';
import { formatCount, formatDuration, formatValue } from '../charts/format';
import { count, longWords, share, time, words } from '../panels/columns';
import { Table } from '../panels/table';
import { uses, type DocumentName } from '../session/documents';
import type { Pane, OwnPane, PaneHost } from '../waits/workspaces';
import { boundBy, forecastText, layOut, pictureOf, savedIfHalved, type Work, type WorkEdge, type WorkKernel, type WorkNode, type WorkPicture } from '../work/graph';
import './kernels.css';

type Nodes = 'fields' | 'kernels';

const NODES: [Nodes, string, string][] = [['fields', 'With fields', 'Kernels, and the fields that they read and write'], ['kernels', 'Kernels alone', 'Who hands how much to whom']];
const HOW_TO: [string, string][] = [['Graphs of attune/flow.h and programs of P2G tell theirs by themselves:', 'attune run -- attune p2g run kmeans.p2g'], ['Other task runtimes do by attune/work.h:', 'attune_work_sums(&kernel, instances, dispatch_ns, body_ns);']];
const KERNEL_HEIGHT = 46;
const FIELD_HEIGHT = 26;
const LETTER = 7.2;
/** Pixels of the widest edge. */
const WIDEST = 9;
/** Percent of the colour of a kernel that has all the time. */
const STRONGEST = 60;

const allOf = ({ body_ns: body, dispatch_ns: dispatch }: WorkKernel): number => body + dispatch;
const bytesText = (bytes: number): string => formatValue(bytes, { unit: 'B', factor: 1, prefixes: 'binary' });

class KernelsPane implements Pane {
  readonly root: HTMLElement;
  readonly documents = [uses('work', (work) => this.show(work))];
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly forecast = el('p', { className: 'kernels-forecast' });
  private readonly nodes = new Segments<Nodes>(NODES, (nodes) => {
    this.host.choose([nodes]);
    this.draw();
  });
  private readonly canvas = el('div', { 'className': 'kernels-canvas', 'tabIndex': 0, 'role': 'region', 'aria-label': 'Graph of the kernels' });
  private readonly table = new Table<WorkKernel>('No kernels.', null);
  private readonly none = el('div', { className: 'kernels-none' }, el('p', {}, 'Being computed …'));
  private readonly bar: HTMLElement;
  private work: Work = { threads: 0, kernels: [], data: [], forecast: null };
  private all = 1;

  constructor(private readonly host: PaneHost) {
    this.table.root.setAttribute('aria-label', 'Kernels');
    this.table.setColumns([
      longWords<WorkKernel>('Kernel', 'minmax(120px, 1.4fr)', ({ kernel }) => kernel),
      count('Instances', 'That have ended', ({ instances }) => instances, '92px'),
      share('Share', 'Of the CPU time of all kernels', (kernel) => allOf(kernel) / this.all, '92px'),
      time('Body', 'CPU time of all instances themselves', ({ body_ns: body }) => body),
      time('Dispatch', 'CPU time of finding, claiming and handing on, of all instances', ({ dispatch_ns: dispatch }) => dispatch),
      time('Body each', 'Of an instance', ({ body_ns: body, instances }) => body / instances),
      time('Dispatch each', 'Of an instance', ({ dispatch_ns: dispatch, instances }) => dispatch / instances),
      count('Ages', 'That have ended', ({ ages }) => ages, '76px'),
      count('Grain', 'Instances that are dispatched together, at last', ({ grain }) => grain, '76px'),
      share('Saved if halved', 'Part of the run that is saved if its instances take half as long, by a model of the run', ({ kernel }) => savedIfHalved(this.work, kernel), '116px'),
      words<WorkKernel>('Behind', 'minmax(80px, 0.6fr)', ({ runs_behind: behind }) => behind),
    ], 'Share');
    this.bar = el('div', { className: 'waits-bar' }, this.nodes.root, this.summary, el('span', { className: 'grow' }), drawingChoice('Save the kernels', 'kernels', () => this.canvas));
    this.root = el('div', { className: 'kernels' }, this.bar, this.forecast, this.canvas, this.none, this.table.root);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.restore();
  }

  followsView(): DocumentName | null {
    return this.host.model.exported ? null : 'work';
  }

  restore(): void {
    this.nodes.show(this.shown);
    this.draw();
  }

  refresh(): void {
    this.draw();
    this.table.refresh();
  }

  private get shown(): Nodes {
    return this.host.chosen().includes('kernels') ? 'kernels' : 'fields';
  }

  private show(work: Work): void {
    this.work = work;
    const isEmpty = work.kernels.length === 0;
    for (const part of [this.bar, this.forecast, this.canvas, this.table.root]) part.hidden = isEmpty;
    this.none.hidden = !isEmpty;
    if (isEmpty) this.none.replaceChildren(el('h2', {}, 'No task runtime has told what its kernels cost'), ...HOW_TO.map(([what, line]) => el('p', {}, el('span', {}, what), el('code', {}, line))));
    this.all = Math.max(1, work.kernels.reduce((sum, kernel) => sum + allOf(kernel), 0));
    const dispatch = work.kernels.reduce((sum, kernel) => sum + kernel.dispatch_ns, 0);
    this.summary.textContent = `${work.kernels.length} kernels, ${formatDuration(this.all)} of CPU time, ${((100 * dispatch) / this.all).toFixed(1)} % of it dispatch`;
    this.forecast.textContent = forecastText(work);
    this.table.setRows(work.kernels);
    this.draw();
  }

  private draw(): void {
    this.nodes.show(this.shown);
    if (this.work.kernels.length === 0 || this.canvas.clientWidth === 0) return;
    const picture = pictureOf(this.work, this.shown === 'fields');
    const placed = layOut(picture, (node) => ({ width: this.widthOf(node), height: node.kernel ? KERNEL_HEIGHT : FIELD_HEIGHT }));
    const most = Math.max(1, ...picture.edges.map(({ bytes }) => bytes));
    const edges = picture.edges.flatMap((edge, i) => this.drawEdge(edge, placed.lines[i], edge.bytes / most));
    const nodes = picture.nodes.map((node) => this.drawNode(node, placed.nodes.get(node.key)!));
    // As large as it is laid out, and smaller where there is no room for that.
    const scale = Math.max(0.5, Math.min(1, this.canvas.clientWidth / placed.width));
    const left = Math.max(0, (this.canvas.clientWidth - placed.width * scale) / 2);
    const drawing = svg('svg', { 'width': placed.width * scale, 'height': placed.height * scale, 'viewBox': `${placed.left} ${placed.top} ${placed.width} ${placed.height}`, 'role': 'img', 'aria-label': describe(picture) }, ...edges, ...nodes);
    drawing.style.marginLeft = `${left}px`;
    this.canvas.replaceChildren(drawing);
  }

  private widthOf({ name, kernel }: WorkNode): number {
    return Math.max(kernel ? 144 : 48, Math.min(28, name.length) * LETTER + 24);
  }

  private classesOf({ kernel, runs_behind: behind }: WorkKernel): string {
    return ['kernel', ...(behind === '' ? [] : ['behind']), ...(kernel === boundBy(this.work) ? ['bounds'] : [])].join(' ');
  }

  private drawNode(node: WorkNode, { x, y }: { x: number; y: number }): SVGElement {
    const { name, kernel } = node;
    const [width, height] = [this.widthOf(node), kernel ? KERNEL_HEIGHT : FIELD_HEIGHT];
    const short = name.length > 28 ? `${name.slice(0, 27)}…` : name;
    const box = svg('rect', { 'x': x - width / 2, 'y': y - height / 2, width, height, 'rx': kernel ? 6 : 13, 'class': kernel ? this.classesOf(kernel) : 'field' });
    const title = svg('text', { 'x': x, 'y': y - (kernel ? 8 : 0), 'dy': '0.35em', 'text-anchor': 'middle', 'class': kernel ? 'name' : 'field-name' }, short);
    if (!kernel) return svg('g', {}, box, title);
    const part = allOf(kernel) / this.all;
    (box as SVGElement).style.fill = `color-mix(in srgb, var(--accent) ${Math.round(part * STRONGEST)}%, var(--surface-high))`;
    const each = kernel.instances > 0 ? formatDuration(kernel.body_ns / kernel.instances) : '–';
    const saved = savedIfHalved(this.work, name);
    const tip = `${name}: ${formatCount(kernel.instances)} instances, ${formatDuration(kernel.body_ns)} themselves, ${formatDuration(kernel.dispatch_ns)} dispatch${kernel.runs_behind === '' ? '' : `, right behind ${kernel.runs_behind}`}${saved > 0 ? `; if it took half as long: run −${(100 * saved).toFixed(1)} %` : ''}`;
    return svg('g', {}, svg('title', {}, tip), box, title, svg('text', { 'x': x, 'y': y + 11, 'dy': '0.35em', 'text-anchor': 'middle', 'class': 'note' }, `${(100 * part).toFixed(1)} % · ${each} each`));
  }

  private drawEdge({ bytes, from, to }: WorkEdge, points: { x: number; y: number }[], part: number): SVGElement[] {
    const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
    const middle = points[Math.floor(points.length / 2)];
    const [before, end] = points.slice(-2);
    const angle = (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI;
    const line = svg('path', { 'd': path, 'class': 'edge', 'stroke-width': Math.max(1.2, Math.sqrt(part) * WIDEST).toFixed(2) }, svg('title', {}, `${from} → ${to}: ${bytesText(bytes)}`));
    return [line, svg('path', { d: 'M-7 -4L0 0L-7 4Z', class: 'arrow', transform: `translate(${end.x} ${end.y}) rotate(${angle.toFixed(1)})` }), svg('text', { 'x': middle.x, 'y': middle.y - 7, 'text-anchor': 'middle', 'class': 'bytes' }, bytesText(bytes))];
  }
}

function describe({ nodes, edges }: WorkPicture): string {
  return `Graph of ${nodes.filter(({ kernel }) => kernel !== null).length} kernels: ${edges.map(({ from, to }) => `${from} to ${to}`).slice(0, 20).join(', ')}`;
}

export const PANE: OwnPane = { tab: ['kernels', 'Kernels', 'Kernels of a dataflow graph or task runtime: what they cost, and what they hand to each other'], make: (host) => new KernelsPane(host) };
