// What each rank did when: a row a rank, drawn on a canvas, with the messages between them. The time on screen is that of the
// charts, and moves as theirs does.

import { addGestures, addPointer } from '../app/gestures';
import { el, icon, ICONS } from '../app/dom';
import { formatBytes, formatCount, formatDuration } from '../charts/format';
import { elementName } from '../charts/traces';
import { uses } from '../session/documents';
import { ElementKind, type Element, type RawMessage, type SessionModel } from '../session/model';
import { Question } from '../session/question';
import type { Range, TimeView } from '../session/view';
import { placeText, type Place } from '../waits/documents';
import { BAR, drawSums, drawTimeAxis, fit, ROW, type Area } from '../waits/threads_draw';
import { noMessages } from './page';
import { arrowAt, arrowsInSight, colorOf, drawMeetings, drawMessageArrows, drawRankSpans, RankSumsImage } from './ranks_draw';
import { meetingsOf, rankSpanAt, RANK_STATES, RankState, readRanks, type Meeting, type MessageArrow, type RanksRequest, type RankSpan, type RankTimeline } from './timeline';

export interface RanksHost {
  model: SessionModel;
  view: TimeView;
  css(name: string): string;
  ask(request: RanksRequest): void;
  placeOf(site: number): Place | null;
  onMoved(): void;
  onCursor(t: number): void;
  onSource(place: Place): void;
  /** Draw soon. */
  redraw(): void;
}

interface Row {
  element: Element;
  top: number;
}

const GUTTER = 128;
const AXIS = 24;
const RIGHT = 8;
/** Rows out of sight that are asked for as well, so that scrolling shows something. */
const SPARE_ROWS = 32;
const MAX_RANKS = 512;
const MAX_BUCKETS = 4096;
/** Of the length of what is on screen, to both sides. */
const MARGIN = 0.5;
const REFRESH_MS = 500;
const ANSWER_LIMIT_MS = 60_000;
const HIT_PX = 3;
const ARROW_HIT_PX = 5;
const FEW_ROWS = 24;

export class RanksTimeline {
  readonly root: HTMLElement;
  readonly documents = [uses('sites')];
  private readonly canvas = el('canvas', { 'role': 'img', 'aria-label': 'What each rank did when' });
  private readonly over = el('div', { className: 'threads-over' });
  private readonly tip = el('div', { className: 'threads-tip', hidden: true });
  private readonly stage = el('div', { className: 'threads-stage' }, this.canvas, this.over, this.tip);
  private readonly spacer = el('div', {});
  private readonly scroller = el('div', { className: 'threads-scroller', tabIndex: 0, 'aria-label': 'Timeline of ranks: arrow keys move and zoom in time' }, this.stage, this.spacer);
  private readonly empty = noMessages();
  private readonly legend = el('div', { className: 'threads-legend' });
  private readonly note = el('span', { className: 'waits-summary', role: 'status' });
  private readonly search = el('input', { type: 'search', placeholder: 'Filter ranks', 'aria-label': 'Filter ranks', spellcheck: false });
  private readonly only = el('button', { className: 'only', type: 'button', hidden: true, title: 'All ranks again' });
  private rows: Row[] = [];
  private rowsKey = '';
  private rowHeight = ROW;
  private height = 0;
  private focused = new Set<number>();
  private readonly hidden = new Set<RankState | 'arrows'>();
  private asked: (Range & { id: number; ranks: Set<number> }) | null = null;
  private readonly question = new Question(ANSWER_LIMIT_MS);
  private lastId = 0;
  private answeredAt = 0;
  private answer: RankTimeline | null = null;
  private answeredRanks = new Set<number>();
  private meetings: Meeting[] = [];
  private image: RankSumsImage | null = null;
  /** Of the processes of ranks, by rank. */
  private lives = new Map<number, Element>();
  private inSight: MessageArrow[] = [];
  private pointer: { x: number; y: number } | null = null;

  constructor(private readonly host: RanksHost) {
    this.root = el('div', { className: 'ranks' },
      el('div', { className: 'waits-bar' }, this.legend, this.note, el('span', { className: 'grow' }), this.only, el('label', { className: 'search' }, icon(ICONS.search), this.search)), this.scroller, this.empty);
    this.search.addEventListener('input', () => this.changed());
    this.only.addEventListener('click', () => this.focus([]));
    this.scroller.addEventListener('scroll', () => host.redraw());
    addGestures(this.over, { view: host.view, onMoved: () => host.onMoved() });
    this.addPointer();
    new ResizeObserver(() => host.redraw()).observe(this.scroller);
    this.showLegend();
  }

  /** For the browser tests: whether what is on screen was answered. */
  get settled(): boolean {
    return this.answer !== null && !this.question.inFlight && !this.needsAnswer(-Infinity);
  }

  /** For the browser tests. */
  get shown(): { timeline: RankTimeline | null; rows: Row[]; meetings: Meeting[]; inSight: MessageArrow[]; rowHeight: number } {
    return { timeline: this.answer, rows: this.rows, meetings: this.meetings, inSight: this.inSight, rowHeight: this.rowHeight };
  }

  /** Only these; none: all. */
  focus(ranks: number[]): void {
    this.focused = new Set(ranks);
    this.only.hidden = ranks.length === 0;
    this.only.replaceChildren(`only ${this.focused.size} ${this.focused.size === 1 ? 'rank' : 'ranks'}`, icon(ICONS.close));
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
    if (this.rows.length === 0 || this.plotWidth <= 0 || !this.needsAnswer(now)) return;
    const { t0, t1 } = this.host.view.range;
    const margin = (t1 - t0) * MARGIN;
    const ranks = this.ranksInSight();
    this.asked = { id: ++this.lastId, t0: Math.round(t0 - margin), t1: Math.round(t1 + margin), ranks: new Set(ranks) };
    this.question.ask(now);
    if (!this.answer) this.note.textContent = 'Reading the messages …';
    const buckets = Math.max(50, Math.min(MAX_BUCKETS, Math.round(this.plotWidth * Math.min(2, devicePixelRatio) * (1 + 2 * MARGIN))));
    this.host.ask({ id: this.asked.id, t0: this.asked.t0, t1: this.asked.t1, buckets, ranks });
  }

  take(message: RawMessage): void {
    if (message.kind !== 'ranks' || Number(message.envelope.get('id')) !== this.asked?.id) return;
    this.question.end();
    this.answeredAt = performance.now();
    const error = message.envelope.get('error');
    if (error !== undefined) {
      this.note.textContent = error;
      return;
    }
    this.answer = readRanks(message, this.host.model.origin);
    this.answeredRanks = this.asked.ranks;
    this.meetings = this.answer.single ? meetingsOf(this.answer) : [];
    this.image = null;
    this.note.textContent = this.noteText();
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
    this.empty.hidden = this.rows.length > 0 || this.search.value !== '' || this.focused.size > 0;
    this.scroller.hidden = !this.empty.hidden;
    if (this.scroller.hidden) return;
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
    const area = this.area(height - AXIS);
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

  private area(height: number): Area {
    return { left: GUTTER, top: AXIS, width: this.plotWidth, height, ...this.host.view.range, css: this.host.css };
  }

  private get plotWidth(): number {
    return this.scroller.clientWidth - GUTTER - RIGHT;
  }

  private changed(): void {
    this.rowsKey = '';
    this.host.redraw();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  /** Ranks of this recording by their job and number; few of them have room between them for arrows. */
  private layOut(): void {
    const { model } = this.host;
    const key = `${model.revision} ${this.search.value} ${this.focused.size}`;
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.lives = new Map([...model.elements.values()].filter((element) => element.kind === ElementKind.Process).map((process) => [process.parent, process]));
    const job = (element: Element): string => element.name.replace(/^rank \d+/, '');
    const ranks = [...model.elements.values()].filter((element) => element.kind === ElementKind.Rank && element.host !== '' && (this.focused.size === 0 || this.focused.has(element.id)) &&
      words.every((word) => (/^\d+$/.test(word) ? element.osId === Number(word) : elementName(element).toLowerCase().includes(word))));
    ranks.sort((a, b) => (job(a) < job(b) ? -1 : job(a) > job(b) ? 1 : a.osId - b.osId || a.id - b.id));
    this.rowHeight = ranks.length <= FEW_ROWS / 3 ? ROW * 3 : ranks.length <= FEW_ROWS ? ROW * 1.6 : ROW;
    this.rows = ranks.map((element, i) => ({ element, top: i * this.rowHeight }));
    this.height = ranks.length * this.rowHeight;
  }

  private rowsBetween(top: number, bottom: number): Row[] {
    return this.rows.filter((row) => row.top + this.rowHeight > top && row.top < bottom);
  }

  private ranksInSight(): number[] {
    const spare = SPARE_ROWS * this.rowHeight;
    const top = this.scroller.scrollTop;
    return this.rowsBetween(top - spare, top + this.scroller.clientHeight + spare).slice(0, MAX_RANKS).map((row) => row.element.id);
  }

  private needsAnswer(now: number): boolean {
    const { asked, answer } = this;
    if (!asked || !answer) return true;
    const { model, view } = this.host;
    const { t0, t1 } = view.range;
    const top = this.scroller.scrollTop;
    if (this.rowsBetween(top, top + this.scroller.clientHeight).slice(0, MAX_RANKS).some((row) => !asked.ranks.has(row.element.id))) return true;
    if (model.growing && asked.t1 > model.extent.t1 - 2 * REFRESH_MS * 1e6 && now - this.answeredAt > REFRESH_MS) return true;
    if (t0 < asked.t0 || t1 > asked.t1) return true;
    const zoomed = (asked.t1 - asked.t0) / (t1 - t0) / (1 + 2 * MARGIN);
    return zoomed < 0.6 || (zoomed > 1.5 && !answer.single);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private middles(): Map<number, number> {
    return new Map(this.rows.map((row) => [row.element.id, row.top + this.rowHeight / 2]));
  }

  private drawRows(context: CanvasRenderingContext2D, area: Area): void {
    const { model, css } = this.host;
    const { left, width, t0, t1 } = area;
    const x = (t: number): number => left + ((t - t0) / (t1 - t0)) * width;
    const top = this.scroller.scrollTop;
    const rows = this.rowsBetween(top, top + area.height);
    const barTop = (row: Row): number => row.top + (this.rowHeight - ROW) / 2;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.font = '11.5px system-ui, sans-serif';
    for (const row of rows) {
      context.fillStyle = css('--text-soft');
      context.fillText(fit(context, elementName(row.element), GUTTER - 24), 14, row.top + this.rowHeight / 2);
      const { start, end } = this.lifeOf(row.element);
      const [from, to] = [Math.max(left, Number.isNaN(start) ? left : x(start)), Math.min(left + width, x(Math.min(Number.isNaN(end) ? Infinity : end, model.extent.t1)))];
      context.fillStyle = css('--runs');
      if (to > from) context.fillRect(from, barTop(row) + (ROW - BAR) / 2, to - from, BAR);
    }
    const { answer } = this;
    if (!answer) return;
    context.save();
    context.beginPath();
    context.rect(left, top, width, area.height);
    context.clip();
    const middles = this.middles();
    const hidden = this.hidden as Set<RankState>;
    const answered = rows.filter((row) => this.answeredRanks.has(row.element.id));
    if (answer.single) {
      if (!hidden.has(RankState.Collective)) drawMeetings(context, area, this.meetings, middles);
      for (const row of answered) drawRankSpans(context, area, answer.spans.get(row.element.id) ?? [], barTop(row), hidden);
    } else {
      this.image ??= new RankSumsImage(answer, hidden, css);
      for (const row of answered) drawSums(context, area, answer, this.image, row.element.id, barTop(row));
    }
    this.inSight = this.hidden.has('arrows') ? [] : arrowsInSight(answer.arrows, area, middles);
    drawMessageArrows(context, area, this.inSight, middles, this.arrowUnderPointer());
    context.restore();
  }

  /** Of the rank's process, which lies below it. */
  private lifeOf(rank: Element): { start: number; end: number } {
    return this.lives.get(rank.id) ?? rank;
  }

  private showLegend(): void {
    const { css } = this.host;
    const entry = (key: RankState | 'arrows', name: string, color: string): HTMLElement => {
      const button = el('button', { className: this.hidden.has(key) ? 'legend-entry off' : 'legend-entry', type: 'button', title: 'Show or hide', 'aria-pressed': String(!this.hidden.has(key)) }, el('i', { className: 'state-dot' }), name);
      (button.firstElementChild as HTMLElement).style.background = color;
      button.addEventListener('click', () => {
        if (!this.hidden.delete(key)) this.hidden.add(key);
        this.refresh();
      });
      return button;
    };
    const runs = el('span', { className: 'legend-entry plain' }, el('i', { className: 'state-dot' }), 'computes');
    (runs.firstElementChild as HTMLElement).style.background = css('--runs');
    this.legend.replaceChildren(...RANK_STATES.map(([state, name]) => entry(state, name, colorOf(state, css))), runs, entry('arrows', 'messages', css('--arrow')));
  }

  private noteText(): string {
    const { answer } = this;
    if (!answer) return '';
    if (answer.single) return this.meetings.length > 0 ? 'Bands: collective operations' : '';
    const some = answer.arrows.length > 0 ? `arrows: the ${answer.arrows.length} messages that were waited for longest` : 'zoom in for messages';
    return `Height: share of the time · ${some}`;
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  private addPointer(): void {
    const { host } = this;
    const onMove = (at: { x: number; y: number } | null) => {
      this.pointer = at;
      host.onCursor(at ? this.timeAt(at.x) : NaN);
      host.redraw();
    };
    addPointer(this.over, this.scroller, onMove, () => {
      const site = this.spanUnderPointer()?.site ?? this.arrowUnderPointer()?.site ?? 0;
      const place = host.placeOf(site);
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
    return this.rows.find((row) => y >= row.top && y < row.top + this.rowHeight) ?? null;
  }

  /** On its bar: between the bars are arrows. */
  private spanUnderPointer(): RankSpan | null {
    const row = this.rowUnderPointer();
    if (!row || !this.answer?.single || !this.pointer) return null;
    const fromMiddle = Math.abs(this.pointer.y + this.scroller.scrollTop - row.top - this.rowHeight / 2);
    if (fromMiddle > ROW / 2) return null;
    const { t0, t1 } = this.host.view.range;
    const spans = (this.answer.spans.get(row.element.id) ?? []).filter((span) => !this.hidden.has(span.state));
    return rankSpanAt(spans, this.timeAt(this.pointer.x), ((t1 - t0) / this.plotWidth) * HIT_PX);
  }

  private arrowUnderPointer(): MessageArrow | null {
    if (!this.pointer || this.spanUnderPointer()) return null;
    return arrowAt(this.inSight, this.area(0), this.middles(), this.pointer.x + GUTTER, this.pointer.y + this.scroller.scrollTop, ARROW_HIT_PX);
  }

  private drawTip(): void {
    const lines = this.pointer ? this.tipLines(this.timeAt(this.pointer.x)) : null;
    this.tip.hidden = lines === null;
    if (!lines || !this.pointer) return;
    this.tip.replaceChildren(...lines);
    const [x, y] = [this.pointer.x + GUTTER, this.pointer.y + AXIS];
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.scroller.clientWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > this.scroller.clientHeight ? y - this.tip.offsetHeight - 8 : y + 18}px`;
  }

  private nameOf(element: number): string {
    const found = this.host.model.elements.get(element);
    return found ? elementName(found) : 'another one';
  }

  private line(state: RankState, text: string): HTMLElement {
    const dot = el('i', { className: 'state-dot' });
    dot.style.background = colorOf(state, this.host.css);
    return el('p', {}, dot, text);
  }

  private tipLines(t: number): Node[] | null {
    const arrow = this.arrowUnderPointer();
    if (arrow) return this.arrowLines(arrow);
    const row = this.rowUnderPointer();
    if (!row || !this.answer) return null;
    const name = el('b', {}, elementName(row.element));
    const span = this.spanUnderPointer();
    if (span) return [name, ...this.spanLines(span)];
    const { end, start } = this.lifeOf(row.element);
    if (t < start || t > end || t > this.host.model.extent.t1) return null;
    if (this.answer.single) return [name, el('p', {}, 'computes, or is in a call that neither sends nor receives')];
    const bucket = Math.floor((t - this.answer.t0) / this.answer.width);
    const sums = this.answer.sums.of(row.element.id).filter((sum) => sum.bucket === bucket && !this.hidden.has(sum.kind));
    return [name, ...sums.map((sum) => this.line(sum.kind, `${Math.round(sum.share * 100)} % ${RANK_STATES[sum.kind - 1]?.[1] ?? ''}`)), el('p', {}, `of ${formatDuration(this.answer.width)}`)];
  }

  private spanLines(span: RankSpan): Node[] {
    const call = this.nameOf(span.function);
    const where = el('p', {}, `at ${placeText(this.host.placeOf(span.site)) || 'an unknown place'}`);
    const length = formatDuration(span.t1 - span.t0);
    const of = span.sequence > 0 ? ` of ${this.nameOf(span.communicator)}, its ${formatCount(span.sequence)}.` : '';
    if (span.state === RankState.Messages) return [this.line(span.state, `sends or receives for ${length}, by ${call}`), where];
    if (span.state === RankState.Collective) return [this.line(span.state, `in ${call}${of} for ${length}`), where];
    const whom = span.state === RankState.LateSender ? 'a message that is not sent yet' : span.state === RankState.LateReceiver ? 'its message to be received' : 'others to come';
    return [this.line(span.state, `waits ${length} for ${whom}, by ${call}${of}`), where];
  }

  private arrowLines(arrow: MessageArrow): Node[] {
    const waited = arrow.waited > 0 ? `, waited for ${formatDuration(arrow.waited)}` : '';
    return [el('b', {}, `${this.nameOf(arrow.from)} → ${this.nameOf(arrow.to)}`), el('p', {}, `${formatBytes(arrow.bytes)}, tag ${arrow.tag}, ${this.nameOf(arrow.communicator)}`),
      el('p', {}, `there after ${formatDuration(arrow.t1 - arrow.t0)}${waited}`), el('p', {}, `sent at ${placeText(this.host.placeOf(arrow.site)) || 'an unknown place'}`)];
  }
}
