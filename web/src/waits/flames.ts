// What time was spent on, as a flame graph: the whole on top, what it is made of below, each as wide as its time. Drawn on a
// canvas: only what is at least a pixel wide is looked at. A click makes a box fill the width.

import { button, dot, el } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { showTip } from '../app/tip';
import { Search, Segments } from '../app/widgets';
import { prepare } from '../charts/canvas';
import { formatCount, formatDuration, shortCommand } from '../charts/format';
import { formatShare } from '../panels/columns';
import { fileText, placeText, type EventStacks, type FlameFrame, type FlameKind, type Flames, type FlameStacks, type Place } from './documents';
import { boxesOf, codeColor, FlameTree, groupsOf, matchedTime, matchesOf, ROOT, type Box, type FlamePath } from './flame_model';
import { uses } from '../session/documents';
import type { SessionModel } from '../session/model';
import type { Range } from '../session/view';
import { stateOf, STATES } from './states';

export interface FlamesHost {
  model: SessionModel;
  css(name: string): string;
  placeOf(site: number): Place | null;
  onSource(place: Place): void;
  /** When these threads waited. */
  onThreads(threads: number[]): void;
  /** What was waited for. */
  onObject(object: number): void;
}

type By = 'together' | 'each';
type When = 'view' | 'all';

interface Kind {
  name: string;
  hint: string;
  /** "1.2 s waited" */
  text(value: number): string;
  without: string;
  nothing: string;
}

/** An event has the kind "event NAME". */
type Shown = FlameKind | `event ${string}`;

const KINDS: Record<FlameKind, Kind> = {
  waiting: { name: 'Waiting', hint: 'What threads waited for, by time', text: (ns) => `${formatDuration(ns)} waited`, without: 'Waits were not recorded.', nothing: 'Nothing was waited for' },
  computing: { name: 'Computing', hint: 'Where threads ran on a CPU, by samples', text: (ns) => `${formatDuration(ns)} on a CPU`, without: 'No CPU samples were taken: --cpu-samples off, or the kernel refuses them, or nothing ran for long enough.', nothing: 'No CPU samples were taken' },
};
const KIND_NAMES = Object.keys(KINDS) as FlameKind[];

function kindOf({ event, unit }: EventStacks): Kind {
  const text = unit === 'ns' ? (ns: number): string => `${formatDuration(ns)} of ${event}` : (count: number): string => `${formatCount(count)} ${event}`;
  return { name: event, hint: `Where ${event} occurred, by samples`, text, without: `${event} was not sampled.`, nothing: `No ${event}` };
}
const BYS: [By, string, string][] = [['together', 'All threads together', 'The same stacks of several threads are one'], ['each', 'Each thread', 'Each thread by itself']];
const WHENS: [When, string, string][] = [['view', 'Time in view', 'Only the time that was chosen on the timeline; while the view follows the newest data, all of it'], ['all', 'All the time', 'The whole session']];
const ROW = 20;
/** Between a box and its text. */
const PADDING = 5;
/** Narrower boxes have no text. */
const LEAST_TEXT_PX = 26;
const LEAST_PX = 1;
/** Fewer say nothing. */
const LEAST_LETTERS = 3;
/** Rows above the one that fills the width that stay in sight. */
const ROWS_ABOVE = 3;
const MAX_GROUPS = 6;
const MAX_CRUMBS = 6;
const COMING = 'Being computed …';

export class FlameGraph {
  readonly root: HTMLElement;
  readonly documents = [uses('flames', (flames, range) => this.show(flames, range)), uses('sites')];
  private readonly canvas = el('canvas', { tabIndex: 0, 'aria-label': 'Flame graph. Arrow keys choose a box, Enter fills the width with it, Escape shows all again.', 'aria-describedby': 'flame-status' });
  private readonly tip = el('div', { className: 'tip threads-tip', hidden: true });
  private readonly spacer = el('div', {});
  private readonly stage: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly empty = el('p', { className: 'empty' }, COMING);
  private readonly crumbs = el('nav', { className: 'flame-crumbs', 'aria-label': 'What fills the width', hidden: true });
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly legend = el('span', { className: 'flame-legend' });
  private readonly found = el('output', { className: 'flame-found' });
  private readonly search = new Search('Find: function, lock, module', 'Find in the flame graph', () => this.find());
  private readonly chosenText = el('span', { className: 'flame-chosen', id: 'flame-status', 'aria-live': 'polite' });
  private readonly actions = el('span', { className: 'flame-actions' });
  private readonly kindsPlace = el('span', {});
  private kinds = this.segmentsOf([]);
  private readonly bys = new Segments(BYS, (by) => this.choose(this.kind, by));
  private readonly whens = new Segments(WHENS, (when) => {
    this.when = when;
    this.whens.show(when);
  });
  private flames: Flames | null = null;
  private kind: Shown = 'waiting';
  /** Until somebody chooses, what has data is shown. */
  private isKindChosen = false;
  private by: By = 'together';
  private when: When = 'view';
  /** That the data is of; null: all the time. */
  private range: Range | null = null;
  private tree: FlameTree | null = null;
  private matches: Uint8Array | null = null;
  private boxes: Box[] = [];
  private zoomed = ROOT;
  private selected = ROOT;
  /** They outlive the tree: newer data has another one. */
  private zoomPath: FlamePath = [];
  private selectedPath: FlamePath = [];
  private pointer: { x: number; y: number } | null = null;
  private isStale = true;

  constructor(private readonly host: FlamesHost) {
    this.whens.show(this.when);
    this.kindsPlace.append(this.kinds.root);
    this.stage = el('div', { className: 'threads-stage' }, this.canvas, this.tip);
    this.scroller = el('div', { className: 'flames-scroller' }, this.stage, this.spacer);
    this.root = el('div', { className: 'flames' },
      el('div', { className: 'waits-bar' }, this.kindsPlace, this.bys.root, this.whens.root, this.summary, this.legend,
        el('span', { className: 'grow' }), this.found, this.search.root, drawingChoice('Save the flame graph', 'flames', () => this.stage)),
      this.crumbs, this.empty, this.scroller, el('div', { className: 'waits-bar flame-status' }, this.chosenText, el('span', { className: 'grow' }), this.actions));
    this.scroller.addEventListener('scroll', () => this.draw());
    this.addPointer();
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  /** For the browser tests. */
  get shown(): { boxes: Box[]; tree: FlameTree | null; zoomed: number; kind: Shown; range: Range | null } {
    return { boxes: this.boxes, tree: this.tree, zoomed: this.zoomed, kind: this.kind, range: this.range };
  }

  followsView(): 'flames' | null {
    return this.isOfAllTime ? null : 'flames';
  }

  /** Whatever part of it is in view. */
  private get isOfAllTime(): boolean {
    return this.when === 'all' || this.host.model.exported;
  }

  /** @param range that they are of; null: all the time */
  show(flames: Flames, range: Range | null): void {
    this.flames = flames;
    this.range = range;
    this.isStale = true;
    if (this.root.offsetParent !== null) this.rebuild();
  }

  /** Another session. */
  forget(): void {
    this.flames = this.tree = null;
    this.zoomPath = this.selectedPath = [];
    this.zoomed = this.selected = ROOT;
    this.empty.hidden = false;
    this.empty.textContent = COMING;
    for (const each of [this.summary, this.legend, this.found, this.chosenText, this.actions]) each.replaceChildren();
    this.showCrumbs();
    this.draw();
  }

  /** Size or theme changed, or it comes into sight. */
  refresh(): void {
    if (this.isStale && this.flames) this.rebuild();
    else {
      this.showLegend();
      this.draw();
    }
  }

  /** @return whether something else than all had filled the width */
  escape(): boolean {
    if (this.zoomed === ROOT) return false;
    this.zoom(ROOT);
    return true;
  }

  // ---- the tree -------------------------------------------------------------------------------------------------------

  private segmentsOf(events: string[]): Segments<Shown> {
    const shown: Shown[] = [...KIND_NAMES, ...events.map((event) => `event ${event}` as const)];
    return new Segments(shown.map((kind) => [kind, kind in KINDS ? KINDS[kind as FlameKind].name : kind.slice('event '.length)] as const), (kind) => {
      this.isKindChosen = true;
      this.choose(kind, this.by);
    });
  }

  private stacksOf(kind: Shown): FlameStacks | undefined {
    if (kind in KINDS) return this.flames?.[kind as FlameKind];
    return this.flames?.events?.find(({ event }) => `event ${event}` === kind);
  }

  /** Of what is shown. */
  private get shownKind(): Kind {
    const stacks = this.stacksOf(this.kind);
    return stacks && 'event' in stacks ? kindOf(stacks as EventStacks) : KINDS[this.kind in KINDS ? (this.kind as FlameKind) : 'computing'];
  }

  private choose(kind: Shown, by: By): void {
    // What computes is not what waits: only within a kind there is the same to be seen.
    if (kind !== this.kind) this.zoomPath = this.selectedPath = [];
    this.kind = kind;
    this.by = by;
    this.rebuild();
  }

  private hasTime(kind: Shown): boolean {
    return (this.stacksOf(kind)?.together.time_ns[0] ?? 0) > 0;
  }

  /** Choices for the kinds, and for each event. */
  private showKinds(flames: Flames): void {
    const names = [...KIND_NAMES.map((kind) => KINDS[kind].name), ...(flames.events ?? []).map(({ event }) => event)];
    if (this.kinds.buttons.map((one) => one.textContent).join('\n') !== names.join('\n')) {
      this.kinds = this.segmentsOf((flames.events ?? []).map(({ event }) => event));
      this.kindsPlace.replaceChildren(this.kinds.root);
    }
    KIND_NAMES.forEach((kind, i) => {
      const segment = this.kinds.buttons[i];
      segment.disabled = flames[kind] === undefined;
      segment.title = segment.disabled ? KINDS[kind].without : KINDS[kind].hint;
    });
    (flames.events ?? []).forEach((stacks, i) => (this.kinds.buttons[KIND_NAMES.length + i].title = kindOf(stacks).hint));
    this.kinds.show(this.kind);
  }

  private rebuild(): void {
    const { flames } = this;
    if (!flames) return;
    if (!this.isKindChosen && !this.hasTime(this.kind)) this.kind = KIND_NAMES.find((kind) => this.hasTime(kind)) ?? this.kind;
    this.showKinds(flames);
    const { exported } = this.host.model;
    this.whens.buttons[0].disabled = exported;
    if (exported) this.whens.buttons[0].title = 'An exported page has the flame graph of all the time; attune view shows that of any part';
    this.whens.show(this.isOfAllTime ? 'all' : 'view');
    this.bys.show(this.by);
    const stacks = this.stacksOf(this.kind);
    const kind = this.shownKind;
    this.tree = stacks ? new FlameTree(stacks.frames, stacks[this.by]) : null;
    this.isStale = false;
    this.zoomed = this.tree?.find(this.zoomPath) ?? ROOT;
    this.selected = this.tree?.find(this.selectedPath) ?? ROOT;
    const total = this.tree?.time[ROOT] ?? 0;
    this.empty.hidden = total > 0;
    this.empty.textContent = stacks ? `${kind.nothing}${this.range ? ' in the time in view' : ''}.` : kind.without;
    const leftOut = this.tree?.leftOutNodes ?? 0;
    this.summary.textContent = total > 0 ? `${kind.text(total)}${this.range ? ` in the ${formatDuration(this.range.t1 - this.range.t0)} in view` : ''}${leftOut > 0 ? ` · the ${formatCount(leftOut)} smallest boxes left out` : ''}` : '';
    this.showLegend();
    this.showCrumbs();
    this.find();
  }

  private zoom(node: number): void {
    if (!this.tree) return;
    this.zoomed = node;
    this.zoomPath = this.tree.pathOf(node);
    this.select(node);
    this.showCrumbs();
    const above = Math.max(0, this.tree.depth[node] - ROWS_ABOVE) * ROW;
    if (this.scroller.scrollTop > above || this.tree.depth[node] * ROW > this.scroller.scrollTop + this.scroller.clientHeight / 2) this.scroller.scrollTop = above;
    this.find();
  }

  private select(node: number): void {
    this.selected = node;
    this.selectedPath = this.tree?.pathOf(node) ?? [];
    this.showChosen();
  }

  private find(): void {
    const { tree } = this;
    this.matches = tree ? matchesOf(tree.frames, this.search.words) : null;
    this.found.textContent = '';
    if (tree && this.matches) {
      const time = matchedTime(tree, this.matches, this.zoomed);
      this.found.textContent = time > 0 ? `found ${formatShare(time / tree.time[this.zoomed])}, ${this.shownKind.text(time)}` : 'not found';
    }
    this.showChosen();
    this.draw();
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private draw(): void {
    if (this.root.offsetParent === null) return;
    const { tree } = this;
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    const context = prepare(this.canvas, width, height);
    this.stage.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, (tree?.levels ?? 0) * ROW - height)}px`;
    const top = this.scroller.scrollTop;
    this.boxes = tree ? boxesOf(tree, this.zoomed, width, Math.floor(top / ROW), Math.ceil((top + height) / ROW), LEAST_PX) : [];
    context.font = '11.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const hovered = this.boxAt(this.pointer);
    for (const box of this.boxes) this.drawBox(context, tree!, box, box.depth * ROW - top, box === hovered);
    this.drawTip(hovered);
  }

  private drawBox(context: CanvasRenderingContext2D, tree: FlameTree, { node, left, width }: Box, y: number, isHovered: boolean): void {
    const { css } = this.host;
    const isAbove = node < this.zoomed && tree.isWithin(this.zoomed, node);
    const isFound = this.matches === null || this.matches[tree.frameIndexOf(node)] === 1;
    const wide = Math.max(0.6, width - 1);
    context.globalAlpha = (isAbove ? 0.5 : 1) * (isFound ? 1 : 0.4);
    context.fillStyle = this.colorOf(tree.frameOf(node));
    context.fillRect(left, y, wide, ROW - 1);
    context.globalAlpha = isAbove || !isFound ? 0.7 : 1;
    if (width >= LEAST_TEXT_PX) {
      context.fillStyle = css('--text');
      context.fillText(fit(context, this.nameOf(tree, node), wide - 2 * PADDING), left + PADDING, y + ROW / 2);
    }
    context.globalAlpha = 1;
    const outline = node === this.selected && node !== ROOT ? '--accent' : isHovered ? '--text-soft' : this.matches !== null && isFound ? '--warn' : '';
    if (outline === '' || width < 3) return;
    context.strokeStyle = css(outline);
    context.lineWidth = outline === '--text-soft' ? 1 : 1.6;
    context.strokeRect(left + 0.8, y + 0.8, Math.max(0.5, wide - 1.6), ROW - 2.6);
  }

  private colorOf(frame: FlameFrame | null): string {
    const { css } = this.host;
    if (frame?.kind === 'wait') return `${css(STATES[stateOf(frame.group)].color)}8c`;
    if (frame?.kind !== 'code' || frame.group === '') return css('--flame-frame');
    const [saturation, lightness] = css('--flame-code').split(' ').map(parseFloat);
    return codeColor(frame, [saturation, lightness]);
  }

  private nameOf(tree: FlameTree, node: number): string {
    const frame = tree.frameOf(node);
    if (!frame) return `all, ${this.shownKind.text(tree.time[ROOT])}`;
    return frame.kind === 'process' ? shortCommand(frame.name) : frame.name;
  }

  /** "worker 1 4711: 1.2 s, 12 % of all, 30 % of ./solver" */
  private textsOf(tree: FlameTree, node: number): { name: string; shares: string; place: string } {
    const frame = tree.frameOf(node);
    const time = tree.time[node];
    const parts = [this.shownKind.text(time)];
    if (node !== ROOT) {
      const above = tree.parent[node];
      parts.push(`${formatShare(time / tree.time[ROOT])} of all`);
      if (above !== ROOT) parts.push(`${formatShare(time / tree.time[above])} of ${this.nameOf(tree, above)}`);
    }
    if (tree.leftOutOf(node) > 0) parts.push(`${this.shownKind.text(tree.leftOutOf(node))} in boxes that are left out`);
    const place = frame?.kind === 'code' || frame?.kind === 'wait' ? this.host.placeOf(tree.siteOf(node)) : null;
    const where = place && place.function === frame?.name ? fileText(place) : placeText(place);
    return { name: frame ? frame.name : 'All', shares: parts.join(', '), place: [where === frame?.name ? '' : where, frame?.kind === 'code' ? frame.group : ''].filter(Boolean).join(', ') };
  }

  private drawTip(box: Box | null): void {
    const { pointer, tree } = this;
    this.tip.hidden = !box || !pointer;
    if (!box || !pointer || !tree) return;
    const { name, shares, place } = this.textsOf(tree, box.node);
    showTip(this.tip, this.canvas, [el('b', {}, name), el('p', {}, shares), ...(place === '' ? [] : [el('p', {}, place)])], pointer.x, pointer.y);
  }

  // ---- beside it ------------------------------------------------------------------------------------------------------

  private showLegend(): void {
    const groups = this.tree ? groupsOf(this.tree).filter(({ group }) => group !== '').slice(0, MAX_GROUPS) : [];
    this.legend.replaceChildren(...groups.map(({ kind, group, time }) => {
      const color = this.colorOf({ kind, group, element: 0, name: '' });
      return el('span', { title: this.shownKind.text(time) }, dot(color), group);
    }));
  }

  private showCrumbs(): void {
    const { tree } = this;
    this.crumbs.hidden = !tree || this.zoomed === ROOT;
    if (!tree || this.zoomed === ROOT) return;
    const nodes = [ROOT, ...tree.nodesTo(this.zoomed)];
    const shown = nodes.length > MAX_CRUMBS ? [ROOT, ...nodes.slice(1 - MAX_CRUMBS)] : nodes;
    this.crumbs.replaceChildren(...shown.flatMap((node, i) => {
      const crumb = button('link', node === ROOT ? 'all' : this.nameOf(tree, node), () => this.zoom(node), node === this.zoomed ? { 'aria-current': 'true' } : {});
      return i === 0 ? [crumb] : [i === 1 && shown.length < nodes.length ? ' › … › ' : ' › ', crumb];
    }));
  }

  private showChosen(): void {
    const { tree } = this;
    if (!tree || tree.time[ROOT] === 0) {
      this.chosenText.textContent = '';
      this.actions.replaceChildren();
      return;
    }
    const { name, shares, place } = this.textsOf(tree, this.selected);
    this.chosenText.replaceChildren(el('b', {}, name), ` ${shares}${place === '' ? '' : `, ${place}`}`);
    this.chosenText.title = this.chosenText.textContent ?? '';
    const frame = tree.frameOf(this.selected);
    const action = (text: string, onClick: () => void): HTMLElement => button('finding-action', text, onClick);
    const actions: HTMLElement[] = [];
    const source = frame?.kind === 'code' || frame?.kind === 'wait' ? this.host.placeOf(tree.siteOf(this.selected)) : null;
    if (source) actions.push(action('Source', () => this.host.onSource(source)));
    if (frame?.kind === 'wait') actions.push(action('Lock and places', () => this.host.onObject(frame.element)));
    if (frame?.kind === 'thread' && frame.element > 0) actions.push(action('When it waited', () => this.host.onThreads([frame.element])));
    this.actions.replaceChildren(...actions);
  }

  // ---- pointer and keys -----------------------------------------------------------------------------------------------

  private boxAt(point: { x: number; y: number } | null): Box | null {
    if (!point) return null;
    const depth = Math.floor((point.y + this.scroller.scrollTop) / ROW);
    return this.boxes.find((box) => box.depth === depth && point.x >= box.left && point.x < box.left + Math.max(box.width, LEAST_PX)) ?? null;
  }

  private addPointer(): void {
    const { canvas } = this;
    const at = (event: PointerEvent | MouseEvent): { x: number; y: number } => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener('pointermove', (event) => {
      this.pointer = at(event);
      canvas.style.cursor = this.boxAt(this.pointer) ? 'pointer' : 'default';
      this.draw();
    });
    canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.draw();
    });
    canvas.addEventListener('click', (event) => {
      const box = this.boxAt(at(event));
      if (box) this.zoom(box.node);
    });
  }

  private key(event: KeyboardEvent): void {
    const { tree } = this;
    if (!tree || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.nextFor(tree, event.key);
    if (next !== null) this.moveTo(tree, next);
    else if (event.key === 'Enter' || event.key === ' ') this.zoom(this.selected);
    else if (event.key === 'Backspace') this.zoom(Math.max(ROOT, tree.parent[this.zoomed]));
    else return;
    // These keys mean something else elsewhere.
    event.preventDefault();
    event.stopPropagation();
  }

  /** null: no key that moves. */
  private nextFor(tree: FlameTree, key: string): number | null {
    const { selected } = this;
    const seen = (node: number): boolean => (tree.time[node] / tree.time[this.zoomed]) * this.scroller.clientWidth >= LEAST_PX;
    if (key === 'Home') return ROOT;
    if (key === 'ArrowUp') return Math.max(ROOT, tree.parent[selected]);
    if (key === 'ArrowDown') {
      // Above what fills the width, only the way to it is seen.
      const below = [...tree.childrenOf(selected)].filter((child) => seen(child) && (tree.isWithin(child, this.zoomed) || tree.isWithin(this.zoomed, child)));
      return below.reduce((most, child) => (tree.time[child] > tree.time[most] ? child : most), below[0] ?? selected);
    }
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return null;
    if (selected === ROOT || !tree.isWithin(tree.parent[selected], this.zoomed)) return selected;
    const beside = [...tree.childrenOf(tree.parent[selected])].filter(seen);
    const to = beside.indexOf(selected) + (key === 'ArrowLeft' ? -1 : 1);
    return beside[to] ?? selected;
  }

  private moveTo(tree: FlameTree, node: number): void {
    this.select(node);
    const y = tree.depth[node] * ROW;
    if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
    if (y + ROW > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = y + ROW - this.scroller.clientHeight;
    this.draw();
  }
}

/** Of whole names: to measure is what takes longest. */
const widths = new Map<string, number>();
const MAX_WIDTHS = 50_000;

/** As much of a text as has room. */
function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (widths.size > MAX_WIDTHS) widths.clear();
  const wide = widths.get(text) ?? context.measureText(text).width;
  widths.set(text, wide);
  if (wide <= width) return text;
  // Letters differ: the guess is made shorter until it fits.
  let length = Math.floor((text.length * width) / wide);
  while (length > 0 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return length >= LEAST_LETTERS ? `${text.slice(0, length)}…` : '';
}
