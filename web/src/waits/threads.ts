// When each thread waited, and for what: a row a thread, drawn on a canvas. The time on screen is that of the charts, and moves
// as theirs does.

import { addGestures, addPointer } from '../app/gestures';
import { el, icon, ICONS } from '../app/dom';
import { formatDuration } from '../charts/format';
import { elementName, within } from '../charts/traces';
import { uses } from '../session/documents';
import { ElementKind, type Element, type RawMessage, type SessionModel } from '../session/model';
import { Question } from '../session/question';
import type { Range, TimeView } from '../session/view';
import { CriticalPathPanel } from './critical_path';
import { placeText, type Place } from './documents';
import { ALL_STATES, stateOfNumber, STATES, type State } from './states';
import { BAR, drawArrows, drawHolds, drawSpans, drawSums, drawTimeAxis, fit, holdColor, ROW, SumsImage, type Area } from './threads_draw';
import { arrowsOf, holdsAt, lastEnd, readTimeline, spanAt, type Arrow, type LockHold, type Timeline, type TimelineRequest, type WaitSpan } from './timeline';

export interface ThreadsHost {
  model: SessionModel;
  view: TimeView;
  css(name: string): string;
  ask(request: TimelineRequest): void;
  placeOf(site: number): Place | null;
  onMoved(): void;
  onCursor(t: number): void;
  onSource(place: Place): void;
  onObject(object: number): void;
  /** Draw soon. */
  redraw(): void;
}

interface Row {
  element: Element;
  isProcess: boolean;
  top: number;
}

const GUTTER = 172;
const AXIS = 24;
const RIGHT = 8;
const PROCESS_ROW = 24;
/** Rows out of sight that are asked for as well, so that scrolling shows something. */
const SPARE_ROWS = 32;
const MAX_THREADS = 512;
const MAX_BUCKETS = 4096;
/** Of the length of what is on screen, to both sides. */
const MARGIN = 0.5;
const REFRESH_MS = 500;
/** Waits of a live session come so much later than samples. */
const EVENTS_LATE_NS = 300e6;
const ANSWER_LIMIT_MS = 20_000;
const HIT_PX = 3;
const MAX_HOLD_LINES = 4;

export class Threads {
  readonly root: HTMLElement;
  readonly documents = [uses('waits', (waits) => this.criticalPath.show(waits.critical_path)), uses('sites')];
  readonly criticalPath: CriticalPathPanel;
  private readonly canvas = el('canvas', {});
  private readonly over = el('div', { className: 'threads-over' });
  private readonly tip = el('div', { className: 'threads-tip', hidden: true });
  private readonly stage: HTMLElement;
  private readonly spacer = el('div', {});
  private readonly scroller: HTMLElement;
  private readonly legend = el('div', { className: 'threads-legend' });
  private readonly note = el('span', { className: 'waits-summary' });
  private readonly search = el('input', { type: 'search', placeholder: 'Filter threads', 'aria-label': 'Filter threads', spellcheck: false });
  private readonly only = el('button', { className: 'only', type: 'button', hidden: true, title: 'All threads again' });
  private rows: Row[] = [];
  private rowsKey = '';
  private height = 0;
  private focused = new Set<number>();
  private readonly hidden = new Set<State>();
  private asked: (Range & { id: number; threads: Set<number>; newest: number }) | null = null;
  /** Until then it is known who waited; NaN: nothing is. */
  private known = NaN;
  private readonly question = new Question(ANSWER_LIMIT_MS);
  private lastId = 0;
  private answeredAt = 0;
  private answer: Timeline | null = null;
  private answeredThreads = new Set<number>();
  private arrows: Arrow[] = [];
  private image: SumsImage | null = null;
  private pointer: { x: number; y: number } | null = null;

  constructor(private readonly host: ThreadsHost) {
    this.criticalPath = new CriticalPathPanel({ onThreads: (threads) => this.focus(threads), onObject: (object) => host.onObject(object) });
    this.stage = el('div', { className: 'threads-stage' }, this.canvas, this.over, this.tip);
    this.scroller = el('div', { className: 'threads-scroller' }, this.stage, this.spacer);
    this.root = el('div', { className: 'threads' },
      el('div', { className: 'waits-bar' }, this.legend, this.note, el('span', { className: 'grow' }), this.only, el('label', { className: 'search' }, icon(ICONS.search), this.search)), this.criticalPath.root, this.scroller);
    this.search.addEventListener('input', () => this.changed());
    this.only.addEventListener('click', () => this.focus([]));
    this.scroller.addEventListener('scroll', () => host.redraw());
    addGestures(this.over, { view: host.view, onMoved: () => host.onMoved() });
    this.addPointer();
    new ResizeObserver(() => host.redraw()).observe(this.scroller);
  }

  /** For the browser tests: whether what is on screen was answered. */
  get settled(): boolean {
    return this.answer !== null && !this.question.inFlight && !this.needsAnswer(-Infinity);
  }

  /** For the browser tests. */
  get shown(): { timeline: Timeline | null; rows: Row[]; arrows: Arrow[] } {
    return { timeline: this.answer, rows: this.rows, arrows: this.arrows };
  }

  /** Only these; none: all. */
  focus(threads: number[]): void {
    this.focused = new Set(threads);
    this.only.hidden = threads.length === 0;
    this.only.replaceChildren(`only ${this.focused.size} threads`, icon(ICONS.close));
    this.scroller.scrollTop = 0;
    this.changed();
  }

  reconnected(forget: boolean): void {
    this.question.end();
    this.asked = null;
    if (forget) this.answer = this.image = null;
  }

  /** Asks for what is missing. @param now in ms */
  frame(now: number): void {
    if (this.question.isAwaited(now)) return;
    this.layOut();
    if (!this.needsAnswer(now) || this.plotWidth <= 0) return;
    const { t0, t1 } = this.host.view.range;
    const margin = (t1 - t0) * MARGIN;
    const threads = this.threadsInSight();
    if (threads.length === 0) return;
    this.asked = { id: ++this.lastId, t0: Math.round(t0 - margin), t1: Math.round(t1 + margin), threads: new Set(threads), newest: this.host.model.extent.t1 };
    this.question.ask(now);
    const buckets = Math.max(50, Math.min(MAX_BUCKETS, Math.round(this.plotWidth * Math.min(2, devicePixelRatio) * (1 + 2 * MARGIN))));
    this.host.ask({ id: this.asked.id, t0: this.asked.t0, t1: this.asked.t1, buckets, threads });
  }

  take(message: RawMessage): void {
    if (message.kind !== 'timeline' || Number(message.envelope.get('id')) !== this.asked?.id) return;
    this.question.end();
    this.answeredAt = performance.now();
    const error = message.envelope.get('error');
    this.note.textContent = error ?? '';
    if (error !== undefined) return;
    this.answer = readTimeline(message, this.host.model.origin);
    this.answeredThreads = this.asked.threads;
    this.known = Math.max(this.asked.newest - EVENTS_LATE_NS, lastEnd(this.answer));
    this.arrows = arrowsOf(this.answer);
    this.image = null;
    this.showLegend();
    this.host.redraw();
  }

  /** Size or theme changed. */
  refresh(): void {
    this.image = null;
    this.showLegend();
    this.draw();
  }

  draw(): void {
    if (this.root.offsetParent === null) return;
    this.layOut();
    const ratio = devicePixelRatio;
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.stage.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, this.height + AXIS - height)}px`;
    this.over.style.inset = `${AXIS}px ${RIGHT}px 0 ${GUTTER}px`;
    const context = this.canvas.getContext('2d')!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const range = this.host.view.range;
    const area: Area = { left: GUTTER, top: AXIS, width: this.plotWidth, height: height - AXIS, ...range, css: this.host.css };
    drawTimeAxis(context, area, AXIS, (t) => this.host.model.wallMs(t));
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    context.translate(0, AXIS - this.scroller.scrollTop);
    this.drawRows(context, area);
    context.restore();
    this.drawTip();
  }

  private get plotWidth(): number {
    return this.scroller.clientWidth - GUTTER - RIGHT;
  }

  private changed(): void {
    this.rowsKey = '';
    this.host.redraw();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  /** Threads by their process and their start. */
  private layOut(): void {
    const { model } = this.host;
    const key = `${model.revision} ${this.search.value} ${this.focused.size}`;
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const processes = new Map<number, Element[]>();
    for (const element of model.elements.values()) {
      if (element.kind !== ElementKind.Thread || (this.focused.size > 0 && !this.focused.has(element.id))) continue;
      const process = within(model, element.parent, ElementKind.Process);
      const text = `${nameOf(element, process)} ${element.osId} ${process ? elementName(process) : ''}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
      const threads = processes.get(process?.id ?? 0) ?? [];
      processes.set(process?.id ?? 0, threads);
      threads.push(element);
    }
    this.rows = [];
    this.height = 0;
    for (const [id, threads] of processes) {
      const process = model.elements.get(id);
      if (process && processes.size > 1) this.addRow(process, true);
      for (const thread of threads.sort((a, b) => a.start - b.start || a.osId - b.osId)) this.addRow(thread, false);
    }
  }

  private addRow(element: Element, isProcess: boolean): void {
    this.rows.push({ element, isProcess, top: this.height });
    this.height += isProcess ? PROCESS_ROW : ROW;
  }

  private rowsBetween(top: number, bottom: number): Row[] {
    return this.rows.filter((row) => row.top + PROCESS_ROW > top && row.top < bottom);
  }

  private threadsInSight(): number[] {
    const spare = SPARE_ROWS * ROW;
    const top = this.scroller.scrollTop;
    const rows = this.rowsBetween(top - spare, top + this.scroller.clientHeight + spare);
    return rows.filter((row) => !row.isProcess).slice(0, MAX_THREADS).map((row) => row.element.id);
  }

  private needsAnswer(now: number): boolean {
    const { asked, answer } = this;
    if (!asked || !answer) return true;
    const { model, view } = this.host;
    const { t0, t1 } = view.range;
    const top = this.scroller.scrollTop;
    const inSight = this.rowsBetween(top, top + this.scroller.clientHeight).filter((row) => !row.isProcess).slice(0, MAX_THREADS);
    if (inSight.some((row) => !asked.threads.has(row.element.id))) return true;
    if (model.growing && asked.t1 > this.lastExtent && now - this.answeredAt > REFRESH_MS) return true;
    if (t0 < asked.t0 || t1 > asked.t1) return true;
    const zoomed = (asked.t1 - asked.t0) / (t1 - t0) / (1 + 2 * MARGIN);
    return zoomed < 0.6 || (zoomed > 1.5 && !answer.single);
  }

  /** The newest data is what an answer may lack. */
  private get lastExtent(): number {
    return this.host.model.extent.t1 - 2 * REFRESH_MS * 1e6;
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private drawRows(context: CanvasRenderingContext2D, area: Area): void {
    const { model, css } = this.host;
    const { left, width, t0, t1 } = area;
    const x = (t: number): number => left + ((t - t0) / (t1 - t0)) * width;
    const top = this.scroller.scrollTop;
    const rows = this.rowsBetween(top, top + area.height);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    for (const row of rows) {
      const middle = row.top + (row.isProcess ? PROCESS_ROW : ROW) / 2;
      context.font = row.isProcess ? '600 12px system-ui, sans-serif' : '11.5px system-ui, sans-serif';
      context.fillStyle = css(row.isProcess ? '--text' : '--text-soft');
      const process = row.isProcess ? undefined : within(model, row.element.parent, ElementKind.Process);
      context.fillText(fit(context, row.isProcess ? shortCommand(elementName(row.element)) : nameOf(row.element, process), row.isProcess ? GUTTER + 300 : GUTTER - 66), 14, middle);
      if (row.isProcess) continue;
      context.fillStyle = css('--text-faint');
      context.textAlign = 'right';
      context.fillText(Number.isNaN(row.element.osId) ? '' : String(row.element.osId), GUTTER - 10, middle);
      context.textAlign = 'left';
      const { start, end } = row.element;
      const from = Math.max(left, Number.isNaN(start) ? left : x(start));
      const to = Math.min(left + width, x(Math.min(Number.isNaN(end) ? Infinity : end, model.growing ? this.known : model.extent.t1)));
      context.fillStyle = css('--runs');
      if (to > from) context.fillRect(from, row.top + (ROW - BAR) / 2, to - from, BAR);
    }
    const { answer } = this;
    if (!answer) return;
    context.save();
    context.beginPath();
    context.rect(left, top, width, area.height);
    context.clip();
    const threads = rows.filter((row) => !row.isProcess && this.answeredThreads.has(row.element.id));
    if (answer.single) {
      for (const row of threads) drawSpans(context, area, answer.spans.get(row.element.id) ?? [], row.top, this.hidden);
      for (const row of threads) drawHolds(context, area, answer.holds.get(row.element.id) ?? [], row.top);
      drawArrows(context, area, this.arrows, new Map(rows.map((row) => [row.element.id, row.top + ROW / 2])), this.hidden);
    } else {
      this.image ??= new SumsImage(answer, (kind) => (this.hidden.has(stateOfNumber(kind)) ? null : css(STATES[stateOfNumber(kind)].color)));
      for (const row of threads) drawSums(context, area, answer, this.image, row.element.id, row.top);
    }
    context.restore();
  }

  private showLegend(): void {
    const seen = new Set<State>();
    for (const spans of this.answer?.spans.values() ?? []) for (const span of spans) seen.add(stateOfNumber(span.kind));
    for (const sums of this.answer?.sums.values() ?? []) for (const sum of sums) seen.add(stateOfNumber(sum.kind));
    const entries = ALL_STATES.filter((state) => seen.has(state) || this.hidden.has(state)).map((state) => {
      const entry = el('button', { className: this.hidden.has(state) ? 'legend-entry off' : 'legend-entry', type: 'button', title: 'Show or hide' }, el('i', { className: 'state-dot' }), STATES[state].name);
      (entry.firstElementChild as HTMLElement).style.background = this.host.css(STATES[state].color);
      entry.addEventListener('click', () => {
        if (!this.hidden.delete(state)) this.hidden.add(state);
        this.refresh();
      });
      return entry;
    });
    const runs = el('span', { className: 'legend-entry plain' }, el('i', { className: 'state-dot' }), 'not waiting');
    (runs.firstElementChild as HTMLElement).style.background = this.host.css('--runs');
    this.legend.replaceChildren(el('span', { className: 'legend-title' }, 'Waits for'), ...entries, runs);
    this.note.textContent = this.noteText();
  }

  private noteText(): string {
    const { answer } = this;
    if (!answer) return '';
    if (!answer.single) return 'Height: share of the time · zoom in for single waits';
    const holds = answer.holdsLeftOut ? 'zoom in for who has which lock' : answer.holds.size > 0 ? 'thin bars: who has which lock' : '';
    const text = [this.arrows.length > 0 ? 'arrows: who let whom go on' : '', holds].filter(Boolean).join(' · ');
    return text.charAt(0).toUpperCase() + text.slice(1);
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  private addPointer(): void {
    const { host } = this;
    const onMove = (at: { x: number; y: number } | null) => {
      this.pointer = at;
      host.onCursor(at ? this.timeAt(at.x) : NaN);
      this.drawTip();
    };
    addPointer(this.over, this.scroller, onMove, () => {
      const span = this.spanUnderPointer();
      const place = span ? host.placeOf(span.site) : this.placeOfHold();
      if (place) host.onSource(place);
    });
  }

  private timeAt(x: number): number {
    const { t0, t1 } = this.host.view.range;
    return t0 + (x / this.plotWidth) * (t1 - t0);
  }

  private rowUnderPointer(): Row | null {
    if (!this.pointer) return null;
    const y = this.pointer.y + this.scroller.scrollTop;
    return this.rows.find((row) => !row.isProcess && y >= row.top && y < row.top + ROW) ?? null;
  }

  private spanUnderPointer(): WaitSpan | null {
    const row = this.rowUnderPointer();
    if (!row || !this.answer?.single || !this.pointer) return null;
    const { t0, t1 } = this.host.view.range;
    return spanAt((this.answer.spans.get(row.element.id) ?? []).filter((span) => !this.hidden.has(stateOfNumber(span.kind))), this.timeAt(this.pointer.x), ((t1 - t0) / this.plotWidth) * HIT_PX);
  }

  /** Where what the thread has was acquired. */
  private placeOfHold(): Place | null {
    const row = this.rowUnderPointer();
    if (!row || !this.pointer || !this.answer?.single) return null;
    const hold = holdsAt(this.answer.holds.get(row.element.id) ?? [], this.timeAt(this.pointer.x), 0).pop();
    return hold && hold.site > 0 ? this.host.placeOf(hold.site) : null;
  }

  private drawTip(): void {
    const row = this.rowUnderPointer();
    const lines = row && this.pointer ? this.tipLines(row, this.timeAt(this.pointer.x)) : null;
    this.tip.hidden = lines === null;
    if (!lines || !this.pointer) return;
    this.tip.replaceChildren(...lines);
    const [x, y] = [this.pointer.x + GUTTER, this.pointer.y + AXIS];
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.scroller.clientWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > this.scroller.clientHeight ? y - this.tip.offsetHeight - 8 : y + 18}px`;
  }

  /** What a thread has, the innermost lock last. */
  private holdLines(row: Row, t: number): Node[] {
    const { model, view, css } = this.host;
    const slack = ((view.range.t1 - view.range.t0) / this.plotWidth) * HIT_PX;
    const holds = this.answer?.single ? holdsAt(this.answer.holds.get(row.element.id) ?? [], t, slack) : [];
    return holds.slice(0, MAX_HOLD_LINES).map((hold) => {
      const dot = el('i', { className: 'state-dot' });
      dot.style.background = holdColor(hold.object, css);
      const object = model.elements.get(hold.object);
      const place = hold.site > 0 ? placeText(this.host.placeOf(hold.site)) : '';
      return el('p', {}, dot, holdText(hold, object ? elementName(object) : 'a lock') + (place === '' ? '' : `, from ${place}`));
    });
  }

  private tipLines(row: Row, t: number): Node[] | null {
    const { model } = this.host;
    const name = el('b', {}, `${nameOf(row.element, within(model, row.element.parent, ElementKind.Process))} ${row.element.osId}`);
    const dot = (kind: number): HTMLElement => {
      const result = el('i', { className: 'state-dot' });
      result.style.background = this.host.css(STATES[stateOfNumber(kind)].color);
      return result;
    };
    const span = this.spanUnderPointer();
    const holds = this.holdLines(row, t);
    if (span) {
      const object = model.elements.get(span.object);
      const arrow = this.arrows.find((one) => one.to === span);
      const giver = arrow && model.elements.get(arrow.from.thread);
      return [name, el('p', {}, dot(span.kind), `waits ${formatDuration(span.t1 - span.t0)} for ${object ? elementName(object) : STATES[stateOfNumber(span.kind)].name}`),
        el('p', {}, `at ${placeText(this.host.placeOf(span.site)) || 'an unknown place'}`), ...(giver ? [el('p', {}, `until ${elementName(giver)} let it go on`)] : []), ...holds];
    }
    if (!this.answer || this.answer.single) {
      const alive = !(t < row.element.start) && !(t > row.element.end) && t <= model.extent.t1;
      return this.answer && alive ? [name, el('p', {}, 'does not wait'), ...holds] : null;
    }
    const bucket = Math.floor((t - this.answer.t0) / this.answer.width);
    const sums = (this.answer.sums.get(row.element.id) ?? []).filter((sum) => sum.bucket === bucket && !this.hidden.has(stateOfNumber(sum.kind)));
    return [name, ...sums.map((sum) => el('p', {}, dot(sum.kind), `${Math.round(sum.share * 100)} % ${STATES[stateOfNumber(sum.kind)].name}`)),
      el('p', {}, sums.length > 0 ? `of ${formatDuration(this.answer.width)}` : `does not wait in these ${formatDuration(this.answer.width)}`)];
  }
}

/** "mutex 0x5581c0a01040 for 1.2 ms", or as much of it as is known. */
export function holdText(hold: LockHold, name: string): string {
  if (hold.open) return `has ${name}: its release is not recorded`;
  if (hold.holds === 1) return `has ${name} for ${formatDuration(hold.held)}`;
  return `has ${name} ${hold.holds} times in ${formatDuration(hold.t1 - hold.t0)}, ${Math.round((hold.held / Math.max(1, hold.t1 - hold.t0)) * 100)} % of it`;
}

/** A main thread has no name of its own. */
function nameOf(thread: Element, process: Element | undefined): string {
  if (thread.name !== '') return thread.name;
  return process ? shortCommand(elementName(process)).split(' ')[0] : elementName(thread);
}

/** "/usr/bin/xz -9" as "xz -9". */
export function shortCommand(command: string): string {
  const space = command.indexOf(' ');
  const program = space < 0 ? command : command.slice(0, space);
  return program.slice(program.lastIndexOf('/') + 1) + (space < 0 ? '' : command.slice(space));
}
