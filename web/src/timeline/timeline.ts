// A timeline: a row for each thread or rank, drawn on a canvas, with what it waited for. The time on screen is that of the charts,
// and moves as theirs does. What rows there are, and what is drawn and said of them, is up to each timeline.

import { button, dot, el, icon, ICONS } from '../app/dom';
import { addGestures, addPointer } from '../app/gestures';
import { Search } from '../app/widgets';
import { clipped, prepare, xOf } from '../charts/canvas';
import { formatDuration } from '../charts/format';
import { elementName } from '../charts/traces';
import type { Element, RawMessage, SessionModel } from '../session/model';
import { Question } from '../session/question';
import type { Range, TimeView } from '../session/view';
import { placeText, type Place } from '../waits/documents';
import { BAR, drawSpans, drawTimeAxis, ROW, SumsImage, type Area } from './draw';
import { spanAt, type Answer, type Span, type TimelineRequest } from './spans';

export interface TimelineHost {
  model: SessionModel;
  view: TimeView;
  css(name: string): string;
  ask(request: TimelineRequest): void;
  placeOf(site: number): Place | null;
  onMoved(): void;
  onCursor(t: number): void;
  onSource(place: Place): void;
  /** Draw soon. */
  redraw(): void;
}

export interface TimelineLook {
  rows: 'threads' | 'ranks';
  /** Of answers. */
  message: RawMessage['kind'];
  /** Room for names. */
  gutter: number;
  answerLimitMs: number;
}

export interface Row {
  element: Element;
  /** Stands above others, and has no bar. */
  isHeading: boolean;
  top: number;
  height: number;
}

const AXIS = 24;
const RIGHT = 8;
/** Rows out of sight that are asked for as well, so that scrolling shows something. */
const SPARE_ROWS = 32;
const MAX_ROWS = 512;
const MAX_BUCKETS = 4096;
/** Of the length of what is on screen, to both sides. */
const MARGIN = 0.5;
const REFRESH_MS = 500;
const HIT_PX = 3;

export abstract class TimelinePanel<One extends Span, Given extends Answer<One>, State extends string | number> {
  readonly root: HTMLElement;
  protected readonly canvas = el('canvas', {});
  private readonly over = el('div', { className: 'threads-over' });
  private readonly tip = el('div', { className: 'threads-tip', hidden: true });
  private readonly stage = el('div', { className: 'threads-stage' }, this.canvas, this.over, this.tip);
  private readonly spacer = el('div', {});
  protected readonly scroller = el('div', { className: 'threads-scroller' }, this.stage, this.spacer);
  protected readonly legend = el('div', { className: 'threads-legend' });
  protected readonly note = el('span', { className: 'waits-summary' });
  protected readonly search: Search;
  private readonly only: HTMLButtonElement;
  protected rows: Row[] = [];
  private rowsKey = '';
  private height = 0;
  protected rowHeight = ROW;
  protected focused = new Set<number>();
  protected readonly hidden = new Set<State>();
  protected asked: (Range & { id: number; rows: Set<number>; newest: number }) | null = null;
  private readonly question: Question;
  private lastId = 0;
  private answeredAt = 0;
  protected answer: Given | null = null;
  private answeredRows = new Set<number>();
  private image: SumsImage | null = null;
  protected pointer: { x: number; y: number } | null = null;

  constructor(protected readonly host: TimelineHost, private readonly look: TimelineLook) {
    const { rows } = look;
    this.question = new Question(look.answerLimitMs);
    this.search = new Search(`Filter ${rows}`, `Filter ${rows}`, () => this.changed());
    this.only = button('only', null, () => this.focus([]), { hidden: true, title: `All ${rows} again` });
    this.root = el('div', { className: rows }, el('div', { className: 'waits-bar' }, this.legend, this.note, el('span', { className: 'grow' }), this.only, this.search.root), this.scroller);
    this.scroller.addEventListener('scroll', () => host.redraw());
    addGestures(this.over, { view: host.view, onMoved: () => host.onMoved() });
    this.addPointer();
    new ResizeObserver(() => host.redraw()).observe(this.scroller);
  }

  // ---- what each timeline has by itself -------------------------------------------------------------------------------

  /** Adds the rows of elements that are to be shown. @param words that their names have */
  protected abstract addRows(words: string[]): void;
  /** Asks for what was made ready. @param rows elements in sight */
  protected abstract ask(request: TimelineRequest, rows: number[]): void;
  protected abstract read(message: RawMessage): Given;
  /** An answer came. */
  protected abstract answered(answer: Given): void;
  protected abstract showLegend(): void;
  protected abstract noteText(answer: Given): string;
  protected abstract stateOf(span: One): State;
  protected abstract stateOfSum(kind: number): State;
  protected abstract colorOf(state: State): string;
  protected abstract stateName(state: State): string;
  protected abstract drawName(context: CanvasRenderingContext2D, row: Row): void;
  /** What lies over the spans. @param rows those in sight @param answered of them, those that the answer is of */
  protected abstract drawOver(context: CanvasRenderingContext2D, area: Area, answer: Given, rows: Row[], answered: Row[]): void;
  /** null: there is nothing to say. */
  protected abstract tipLines(t: number): Node[] | null;
  /** The place in the code of what is under the pointer; 0: none. */
  protected abstract siteUnderPointer(): number;

  /** What lies below the spans. */
  protected drawBelow(_context: CanvasRenderingContext2D, _area: Area, _answer: Given): void {}

  /** @return whether there is anything to draw */
  protected showEmpty(): boolean {
    return true;
  }

  /** When the element began and ended. */
  protected lifeOf(element: Element): { start: number; end: number } {
    return element;
  }

  /** Until then it is known what rows did. */
  protected get knownEnd(): number {
    return this.host.model.extent.t1;
  }

  protected onlyText(count: number): string {
    return `only ${count} ${this.look.rows}`;
  }

  protected pointed(): void {
    this.drawTip();
  }

  // ---- what they share ------------------------------------------------------------------------------------------------

  /** For the browser tests: whether what is on screen was answered. */
  get settled(): boolean {
    return this.answer !== null && !this.question.inFlight && !this.needsAnswer(-Infinity);
  }

  /** Only these; none: all. */
  focus(rows: number[]): void {
    this.focused = new Set(rows);
    this.only.hidden = rows.length === 0;
    this.only.replaceChildren(this.onlyText(this.focused.size), icon(ICONS.close));
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
    const spare = SPARE_ROWS * this.rowHeight;
    const rows = this.elementsInSight(spare);
    if (rows.length === 0) return;
    const { t0, t1 } = this.host.view.range;
    const margin = (t1 - t0) * MARGIN;
    const [id, from, to] = [++this.lastId, Math.round(t0 - margin), Math.round(t1 + margin)];
    this.asked = { id, t0: from, t1: to, rows: new Set(rows), newest: this.host.model.extent.t1 };
    this.question.ask(now);
    const buckets = Math.max(50, Math.min(MAX_BUCKETS, Math.round(this.plotWidth * Math.min(2, devicePixelRatio) * (1 + 2 * MARGIN))));
    this.ask({ id, t0: from, t1: to, buckets }, rows);
  }

  take(message: RawMessage): void {
    if (message.kind !== this.look.message || Number(message.envelope.get('id')) !== this.asked?.id) return;
    this.question.end();
    this.answeredAt = performance.now();
    const error = message.envelope.get('error');
    if (error !== undefined) {
      this.note.textContent = error;
      return;
    }
    this.answer = this.read(message);
    this.answeredRows = this.asked.rows;
    this.image = null;
    this.answered(this.answer);
    this.showNote();
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
    if (!this.showEmpty()) return;
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    const context = prepare(this.canvas, width, height);
    this.stage.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, this.height + AXIS - height)}px`;
    this.over.style.inset = `${AXIS}px ${RIGHT}px 0 ${this.look.gutter}px`;
    const area = this.area(height - AXIS);
    drawTimeAxis(context, area, AXIS, (t) => this.host.model.wallMs(t));
    clipped(context, 0, AXIS, width, height - AXIS, () => {
      context.translate(0, AXIS - this.scroller.scrollTop);
      this.drawRows(context, area);
    });
    this.drawTip();
  }

  protected area(height: number): Area {
    return { left: this.look.gutter, top: AXIS, width: this.plotWidth, height, ...this.host.view.range, css: this.host.css };
  }

  protected showNote(): void {
    this.note.textContent = this.answer ? this.noteText(this.answer) : '';
  }

  /** Nanoseconds in which something is hit. */
  protected get slack(): number {
    const { t0, t1 } = this.host.view.range;
    return ((t1 - t0) / this.plotWidth) * HIT_PX;
  }

  private get plotWidth(): number {
    return this.scroller.clientWidth - this.look.gutter - RIGHT;
  }

  private changed(): void {
    this.rowsKey = '';
    this.host.redraw();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  private layOut(): void {
    const key = `${this.host.model.revision} ${this.search.input.value} ${this.focused.size}`;
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    this.rows = [];
    this.height = 0;
    this.addRows(this.search.words);
  }

  /** Whether an element is one of those that a person chose. */
  protected isFocused({ id }: Element): boolean {
    return this.focused.size === 0 || this.focused.has(id);
  }

  protected addRow(element: Element, height = this.rowHeight, isHeading = false): void {
    this.rows.push({ element, isHeading, top: this.height, height });
    this.height += height;
  }

  private rowsBetween(top: number, bottom: number): Row[] {
    return this.rows.filter((row) => row.top + row.height > top && row.top < bottom);
  }

  /** @param spare pixels above and below that count, too */
  private elementsInSight(spare: number): number[] {
    const top = this.scroller.scrollTop;
    return this.rowsBetween(top - spare, top + this.scroller.clientHeight + spare).filter((row) => !row.isHeading).slice(0, MAX_ROWS).map((row) => row.element.id);
  }

  private needsAnswer(now: number): boolean {
    const { asked, answer } = this;
    if (!asked || !answer) return true;
    const { model, view } = this.host;
    const { t0, t1 } = view.range;
    if (this.elementsInSight(0).some((id) => !asked.rows.has(id))) return true;
    // The newest data is what an answer may lack.
    if (model.growing && asked.t1 > model.extent.t1 - 2 * REFRESH_MS * 1e6 && now - this.answeredAt > REFRESH_MS) return true;
    if (t0 < asked.t0 || t1 > asked.t1) return true;
    const zoomed = (asked.t1 - asked.t0) / (t1 - t0) / (1 + 2 * MARGIN);
    return zoomed < 0.6 || (zoomed > 1.5 && !answer.single);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private drawRows(context: CanvasRenderingContext2D, area: Area): void {
    const top = this.scroller.scrollTop;
    const rows = this.rowsBetween(top, top + area.height);
    context.textBaseline = 'middle';
    for (const row of rows) {
      context.textAlign = 'left';
      this.drawName(context, row);
      if (!row.isHeading) this.drawLife(context, area, row);
    }
    const { answer } = this;
    if (answer) clipped(context, area.left, top, area.width, area.height, () => this.drawAnswer(context, area, answer, rows));
  }

  /** The bar that says when the element was there. */
  private drawLife(context: CanvasRenderingContext2D, area: Area, row: Row): void {
    const { start, end } = this.lifeOf(row.element);
    const from = Math.max(area.left, Number.isNaN(start) ? area.left : xOf(area, start));
    const to = Math.min(area.left + area.width, xOf(area, Math.min(Number.isNaN(end) ? Infinity : end, this.knownEnd)));
    context.fillStyle = this.host.css('--runs');
    if (to > from) context.fillRect(from, barTop(row) + (ROW - BAR) / 2, to - from, BAR);
  }

  private drawAnswer(context: CanvasRenderingContext2D, area: Area, answer: Given, rows: Row[]): void {
    const shown = (state: State): string | null => (this.hidden.has(state) ? null : this.colorOf(state));
    const answered = rows.filter((row) => !row.isHeading && this.answeredRows.has(row.element.id));
    if (answer.single) {
      this.drawBelow(context, area, answer);
      for (const row of answered) drawSpans(context, area, answer.spans.get(row.element.id) ?? [], barTop(row), (span) => shown(this.stateOf(span)));
    } else {
      this.image ??= new SumsImage(answer, (kind) => shown(this.stateOfSum(kind)));
      for (const row of answered) this.image.draw(context, area, row.element.id, barTop(row));
    }
    this.drawOver(context, area, answer, rows, answered);
  }

  // ---- the legend -----------------------------------------------------------------------------------------------------

  /** A state, which a click shows or hides. */
  protected legendEntry(state: State, name: string, color: string): HTMLElement {
    const isOff = this.hidden.has(state);
    const entry = button(isOff ? 'legend-entry off' : 'legend-entry', dot(color), () => {
      if (!this.hidden.delete(state)) this.hidden.add(state);
      this.refresh();
    }, { 'title': 'Show or hide', 'aria-pressed': String(!isOff) });
    entry.append(name);
    return entry;
  }

  /** The state of what is in none. */
  protected plainEntry(name: string): HTMLElement {
    return el('span', { className: 'legend-entry plain' }, dot(this.host.css('--runs')), name);
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  private addPointer(): void {
    const { host } = this;
    const onMove = (at: { x: number; y: number } | null) => {
      this.pointer = at;
      host.onCursor(at ? this.timeAt(at.x) : NaN);
      this.pointed();
    };
    addPointer(this.over, this.scroller, onMove, () => {
      const place = host.placeOf(this.siteUnderPointer());
      if (place) host.onSource(place);
    });
  }

  private timeAt(x: number): number {
    const { t0, t1 } = this.host.view.range;
    return t0 + (x / this.plotWidth) * (t1 - t0);
  }

  /** The moment under the pointer; NaN: it is elsewhere. */
  protected get pointedTime(): number {
    return this.pointer ? this.timeAt(this.pointer.x) : NaN;
  }

  protected rowUnderPointer(): Row | null {
    if (!this.pointer) return null;
    const y = this.pointer.y + this.scroller.scrollTop;
    return this.rows.find((row) => !row.isHeading && y >= row.top && y < row.top + row.height) ?? null;
  }

  /** On its bar: between the bars there may be something else. */
  protected spanUnderPointer(): One | null {
    const row = this.rowUnderPointer();
    if (!row || !this.answer?.single || !this.pointer) return null;
    if (Math.abs(this.pointer.y + this.scroller.scrollTop - row.top - row.height / 2) > ROW / 2) return null;
    const spans = (this.answer.spans.get(row.element.id) ?? []).filter((span) => !this.hidden.has(this.stateOf(span)));
    return spanAt(spans, this.pointedTime, this.slack);
  }

  private drawTip(): void {
    const lines = this.pointer ? this.tipLines(this.pointedTime) : null;
    this.tip.hidden = lines === null;
    if (!lines || !this.pointer) return;
    showTip(this.tip, this.scroller, lines, this.pointer.x + this.look.gutter, this.pointer.y + AXIS);
  }

  /** A line of the tip that begins with a state's colour. */
  protected line(color: string, text: string): HTMLElement {
    return el('p', {}, dot(color), text);
  }

  /** "at add_result (queue.cpp:71)" */
  protected placeLine(before: string, site: number): HTMLElement {
    return el('p', {}, `${before} ${placeText(this.host.placeOf(site)) || 'an unknown place'}`);
  }

  /** What a row did in the part of the time that is pointed at. @param without what stands there without any */
  protected sumLines({ t0, width, sums }: Given, row: Row, t: number, without: string): Node[] {
    const bucket = Math.floor((t - t0) / width);
    const shown = sums.of(row.element.id).filter((sum) => sum.bucket === bucket && !this.hidden.has(this.stateOfSum(sum.kind)));
    const lines = shown.map(({ kind, share }) => this.line(this.colorOf(this.stateOfSum(kind)), `${Math.round(share * 100)} % ${this.stateName(this.stateOfSum(kind))}`));
    return [...lines, el('p', {}, `${shown.length > 0 ? 'of' : without} ${formatDuration(width)}`)];
  }

  protected isAlive(element: Element, t: number): boolean {
    const { start, end } = this.lifeOf(element);
    return !(t < start) && !(t > end) && t <= this.host.model.extent.t1;
  }

  /** @param otherwise without such an element */
  protected nameOf(id: number, otherwise: string): string {
    const element = this.host.model.elements.get(id);
    return element ? elementName(element) : otherwise;
  }
}

/** The top of the bar's part of a row that may be higher. */
function barTop(row: Row): number {
  return row.top + (row.height - ROW) / 2;
}

/** Middles of rows, by element. */
export function middlesOf(rows: Row[]): Map<number, number> {
  return new Map(rows.map((row) => [row.element.id, row.top + row.height / 2]));
}

/** Shows lines beside a point, within what scrolls. */
export function showTip(tip: HTMLElement, scroller: HTMLElement, lines: Node[], x: number, y: number): void {
  tip.replaceChildren(...lines);
  tip.style.left = `${Math.max(4, Math.min(x + 14, scroller.clientWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > scroller.clientHeight ? Math.max(0, y - tip.offsetHeight - 8) : y + 18}px`;
}
