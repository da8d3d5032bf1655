// The timeline: what each rank, process and thread did when, and what the findings are about. Rows are drawn on a canvas: what the kernel
// says of a thread (it runs, or could run, or sleeps), over it what it waited for, over that its calls of MPI. The time on screen is that
// of the charts, and moves as theirs does.

import { button, dot, el, icon, ICONS } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { addGestures, addPointer } from '../app/gestures';
import { showTip } from '../app/tip';
import { Search, Segments } from '../app/widgets';
import { clipped, prepare, shortened, xOf } from '../charts/canvas';
import { shortCommand } from '../charts/format';
import { elementName } from '../charts/traces';
import { arrowAt, arrowsInSight, drawMeetings, drawMessageArrows } from '../messages/ranks_draw';
import { meetingsOf, readRanks, type Meeting, type MessageArrow, type RankSpan, type RankTimeline } from '../messages/timeline';
import { uses } from '../session/documents';
import { ElementKind, type Element, type RawMessage } from '../session/model';
import type { Range } from '../session/view';
import { CriticalPathPanel } from '../waits/critical_path';
import type { Finding, Place, Waits } from '../waits/documents';
import { drawArrows, drawHolds, holdColor } from '../waits/hold_draw';
import { arrowsOf, holdsAt, lastEnd, readTimeline, type Arrow, type LockHold, type Timeline as WaitTimeline, type WaitSpan } from '../waits/timeline';
import { Accounts, type Stretch } from './account';
import { ActivityReader, unionOf } from './activity';
import { composePicture, gridOf, type Layered } from './compose';
import { BAR, drawSpans, drawTimeAxis, pixelOf, ROW, type Area, type Picture } from './draw';
import { Layer, type LayerHost } from './layer';
import { BADGE, concerns, drawBadge, drawMark, drawMarkRow, isApart, markRanges, marksOf, rangeOf, waitsOf, type Mark } from './marks';
import { groupId, groupsOf, middlesOf, rowsOf, threadName, type Detail, type Group, type Row } from './rows';
import { spanAt } from './spans';
import { callState, LOOKS, ORDER, waitState, type State } from './states';
import { Tips } from './tips';

export interface TimelineHost extends LayerHost {
  css(name: string): string;
  placeOf(site: number): Place | null;
  onMoved(): void;
  onCursor(t: number): void;
  onSource(place: Place): void;
  onObject(object: number): void;
  /** Shows what is behind a finding. @param key of findingKey() */
  onFinding(key: string): void;
  /** Other series are wanted than before. */
  onSeries(): void;
  /** Draw soon. */
  redraw(): void;
}

type Entry = State | 'arrows';

const AXIS = 24;
const RIGHT = 8;
const GUTTER = 188;
const NARROW_GUTTER = 118;
/** A stage that is narrower has little room for names. */
const NARROW_PX = 640;
/** Rows out of sight that are asked for as well, so that scrolling shows something. */
const SPARE_ROWS = 32;
const MAX_ROWS = 512;
const HIT_PX = 3;
const ARROW_HIT_PX = 5;
const MAX_HOLD_LINES = 4;
/** A bar is that much of a high row, and no higher than this. */
const BAR_SHARE = 0.7;
const MOST_BAR = 2 * ROW;
/** Waits of a live session come so much later than samples. */
const EVENTS_LATE_NS = 300e6;
/** Samples of the kernel's sums come with each update. */
const PICTURE_MS = 400;
/** A part of an account that is wider on screen hides what samples say. */
const COARSE_PX = 40;
/** Findings that have a row at first. */
const FEW_FINDINGS = 4;
/** Opacity of the veil over rows that a chosen finding is not about. */
const DIMMED = 0.6;

export class Timeline {
  readonly root: HTMLElement;
  readonly documents = [uses('waits', (waits) => {
    this.criticalPath.show(waits.critical_path);
    [this.findings, this.times] = [waits.findings, waits.finding_times];
    this.accounts = new Accounts(waits.account, this.host.model.origin);
    this.picture = null;
    this.showLegend();
    this.changed();
  }), uses('sites')];
  readonly criticalPath: CriticalPathPanel;
  private readonly canvas = el('canvas', { 'role': 'img', 'aria-label': 'What each rank, process and thread did when' });
  private readonly over = el('div', { className: 'threads-over' });
  private readonly tip = el('div', { className: 'tip threads-tip', hidden: true });
  private readonly stage = el('div', { className: 'threads-stage' }, this.canvas, this.over, this.tip);
  private readonly spacer = el('div', {});
  private readonly scroller = el('div', { className: 'threads-scroller' }, this.stage, this.spacer);
  private readonly legend = el('div', { className: 'threads-legend' });
  private readonly note = el('span', { className: 'waits-summary', role: 'status' });
  private readonly search: Search;
  private readonly only: HTMLButtonElement;
  private readonly details: Segments<Detail>;
  private readonly activity: ActivityReader;
  private readonly tips: Tips;
  private readonly waits: Layer<WaitTimeline>;
  private readonly calls: Layer<RankTimeline>;
  private groups: Group[] = [];
  /** By rank. */
  private processes = new Map<number, Element>();
  private rows: Row[] = [];
  private rowsKey = '';
  /** Chosen by a person; null: by what there is. */
  private detail: Detail | null = null;
  private turned = new Set<number>();
  private focused = new Set<number>();
  private readonly hidden = new Set<Entry>();
  private accounts = new Accounts(null, 0n);
  private findings: Finding[] = [];
  private times: Waits['finding_times'];
  private marks: Mark[] = [];
  private allFindings = false;
  private chosen = '';
  private arrows: Arrow[] = [];
  private meetings: Meeting[] = [];
  private inSight: MessageArrow[] = [];
  /** Until then it is known who waited; NaN: nothing is. */
  private known = NaN;
  private picture: { image: Picture; key: string; madeAt: number } | null = null;
  private seriesKey = '';
  private pointer: { x: number; y: number } | null = null;

  constructor(private readonly host: TimelineHost) {
    this.activity = new ActivityReader(host.model);
    this.tips = new Tips(host);
    this.waits = new Layer(host, { rows: 'threads', message: 'timeline', answerLimitMs: 20_000, read: readTimeline });
    this.calls = new Layer(host, { rows: 'ranks', message: 'ranks', answerLimitMs: 60_000, read: readRanks });
    this.search = new Search('Filter rows', 'Filter rows', () => this.changed());
    this.only = button('only', null, () => this.focus([]), { hidden: true, title: 'All rows again' });
    this.details = new Segments<Detail>([['groups', 'Ranks', 'A row for each rank'], ['threads', 'Threads', 'A row for each thread']], (detail) => {
      [this.detail, this.turned] = [detail, new Set()];
      this.changed();
    });
    this.criticalPath = new CriticalPathPanel({ onThreads: (threads) => this.focus(threads), onObject: (object) => host.onObject(object) });
    this.root = el('div', { className: 'timeline' },
      el('div', { className: 'waits-bar' }, el('div', { className: 'timeline-words' }, this.legend, this.note),
        el('div', { className: 'timeline-choices' }, this.details.root, this.only, this.search.root, drawingChoice('Save the timeline', 'timeline', () => this.scroller))),
      this.criticalPath.root, this.scroller);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute('role', 'region');
    this.scroller.setAttribute('aria-label', 'Timeline: arrow keys move and zoom in time');
    this.scroller.addEventListener('scroll', () => host.redraw());
    addGestures(this.over, { view: host.view, onMoved: () => host.onMoved() });
    addPointer(this.over, this.scroller, (at) => this.pointed(at), () => this.clicked());
    this.canvas.addEventListener('click', (event) => this.clickedName(event));
    this.canvas.addEventListener('pointermove', (event) => (this.canvas.style.cursor = this.nameAction(event) ? 'pointer' : ''));
    new ResizeObserver(() => host.redraw()).observe(this.scroller);
  }

  /** For the browser tests. */
  get shown(): { rows: Row[]; timeline: WaitTimeline | null; arrows: Arrow[]; ranks: RankTimeline | null; meetings: Meeting[]; inSight: MessageArrow[]; marks: Mark[]; gutter: number; chosen: string; accounts: Accounts; sums: Picture['sums'] } {
    return { rows: this.rows, timeline: this.waits.answer, arrows: this.arrows, ranks: this.calls.answer, meetings: this.meetings, inSight: this.inSight, marks: this.marks, gutter: this.gutter, chosen: this.chosen, accounts: this.accounts, sums: this.picture?.image.sums ?? new Map() };
  }

  /** For the browser tests: whether what is on screen was answered. */
  get settled(): boolean {
    this.layOut();
    const rows = this.rowsInSight(0);
    return rows.length > 0 && this.waits.isSettled(threadsOf(rows)) && this.calls.isSettled(ranksOf(rows));
  }

  /** Series with the kernel's sums of the threads in sight. */
  wanted(): number[] {
    return this.activity.wanted(threadsOf(this.rowsInSight(0)));
  }

  /** Only these; none: all. @param elements threads, or ranks with all of theirs */
  focus(elements: number[]): void {
    this.focused = new Set(elements);
    this.only.hidden = elements.length === 0;
    this.only.replaceChildren(this.onlyText([...this.focused]), icon(ICONS.close));
    if (elements.length === 0) this.chosen = '';
    this.scroller.scrollTop = 0;
    this.changed();
  }

  /** The rows and the time of a finding. @return whether it is known */
  showFinding(key: string): boolean {
    this.marks = marksOf(this.findings, this.times, this.host.model);
    const mark = this.marks.find((one) => one.key === key);
    if (!mark) return false;
    const { model, view } = this.host;
    const elements = mark.finding.of_ranks ? this.ranksIn(mark) : [...mark.finding.threads, ...mark.finding.caused_by].map(({ id }) => id);
    if (!mark.finding.of_ranks && this.groups.some(({ rank }) => rank)) this.detail = 'threads';
    this.focus(elements);
    this.chosen = key;
    const { t0, t1 } = rangeOf(mark, model.extent);
    const margin = Math.max(1e6, (t1 - t0) * 0.04);
    view.show({ t0: t0 - margin, t1: t1 + margin });
    this.host.onMoved();
    return true;
  }

  /** Takes back the choice of a finding. @return whether there was one */
  escape(): boolean {
    if (this.chosen === '') return false;
    this.chosen = '';
    this.changed();
    return true;
  }

  reconnected(forget: boolean): void {
    this.waits.reconnected(forget);
    this.calls.reconnected(forget);
    if (!forget) return;
    this.findings = [];
    this.accounts = new Accounts(null, 0n);
    this.picture = null;
    this.criticalPath.show(null);
    this.changed();
  }

  /** Asks for what is missing. @param now in ms */
  frame(now: number): void {
    this.layOut();
    const [rows, spare] = [this.rowsInSight(0), this.rowsInSight(SPARE_ROWS * ROW)];
    this.waits.frame(threadsOf(rows), threadsOf(spare), this.plotWidth, now);
    this.calls.frame(ranksOf(rows), ranksOf(spare), this.plotWidth, now);
    const key = this.wanted().join();
    if (key === this.seriesKey) return;
    this.seriesKey = key;
    this.host.onSeries();
  }

  take(message: RawMessage): void {
    if (this.waits.take(message)) {
      const { answer, asked } = this.waits;
      if (answer) this.known = Math.max((asked?.newest ?? NaN) - EVENTS_LATE_NS, lastEnd(answer));
      this.arrows = answer?.single ? arrowsOf(answer) : [];
    } else if (this.calls.take(message)) {
      this.meetings = this.calls.answer?.single ? meetingsOf(this.calls.answer) : [];
    } else {
      return;
    }
    this.picture = null;
    this.showLegend();
    this.showNote();
    this.host.redraw();
  }

  /** Size or theme changed. */
  refresh(): void {
    this.picture = null;
    this.showLegend();
    this.draw();
  }

  draw(): void {
    if (this.root.offsetParent === null) return;
    this.layOut();
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    const context = prepare(this.canvas, width, height);
    this.stage.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, heightOf(this.rows) + AXIS - height)}px`;
    this.over.style.inset = `${AXIS}px ${RIGHT}px 0 ${this.gutter}px`;
    const area = this.area(height - AXIS);
    drawTimeAxis(context, area, AXIS, (t) => this.host.model.wallMs(t));
    clipped(context, 0, AXIS, width, height - AXIS, () => {
      context.translate(0, AXIS - this.scroller.scrollTop);
      this.drawRows(context, area);
    });
    this.drawTip();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  private get gutter(): number {
    return this.scroller.clientWidth < NARROW_PX ? NARROW_GUTTER : GUTTER;
  }

  private get plotWidth(): number {
    return this.scroller.clientWidth - this.gutter - RIGHT;
  }

  private area(height: number): Area {
    return { left: this.gutter, top: AXIS, width: this.plotWidth, height, ...this.host.view.range, css: this.host.css };
  }

  private changed(): void {
    this.rowsKey = '';
    this.host.redraw();
  }

  private layOut(): void {
    const { model } = this.host;
    const room = this.scroller.clientHeight - AXIS;
    const key = `${model.revision} ${model.elements.size} ${room} ${this.search.input.value}`;
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    this.groups = groupsOf(model);
    this.processes = new Map(this.groups.flatMap(({ rank, process }) => (rank && process ? [[rank.id, process]] : [])));
    const { groups } = this;
    const detail = this.detail ?? (groups.some(({ rank }) => rank) ? 'groups' : 'threads');
    this.marks = marksOf(this.findings, this.times, model);
    if (!this.marks.some((mark) => mark.key === this.chosen)) this.chosen = '';
    const isOfOne = this.focused.size > 0 && this.chosen !== '';
    const shown = isOfOne ? this.marks.filter((mark) => mark.key === this.chosen) : this.allFindings ? this.marks : this.marks.slice(0, FEW_FINDINGS);
    this.rows = rowsOf(model, shown, isOfOne ? 0 : this.marks.length - shown.length, { detail, turned: this.turned, words: this.search.words, focused: this.focused, room });
    this.details.root.hidden = groups.length < 2 || !groups.some(({ threads }) => threads.length > 1);
    this.details.show(detail);
    this.details.buttons[0].textContent = groups.some(({ rank }) => rank) ? 'Ranks' : 'Processes';
    this.picture = null;
  }

  /** @param spare pixels above and below that count, too */
  private rowsInSight(spare: number): Row[] {
    const top = this.scroller.scrollTop;
    return this.rowsBetween(top - spare, top + this.scroller.clientHeight + spare).filter(isBar).slice(0, MAX_ROWS);
  }

  private rowsBetween(top: number, bottom: number): Row[] {
    return this.rows.filter((row) => row.top + row.height > top && row.top < bottom);
  }

  private onlyText(elements: number[]): string {
    const areRanks = elements.every((id) => this.host.model.elements.get(id)?.kind === ElementKind.Rank);
    return `only ${elements.length} ${areRanks ? 'rank' : 'thread'}${elements.length === 1 ? '' : 's'}`;
  }

  private ranksIn({ losers, causes }: Mark): number[] {
    return [...new Set([...losers, ...causes])].filter((id) => this.host.model.elements.get(id)?.kind === ElementKind.Rank);
  }

  /** When the row's element began and ended. */
  private lifeOf({ thread, rank, element }: Row): Range {
    const { extent, growing } = this.host.model;
    const { start, end } = thread ?? this.processes.get(rank?.id ?? 0) ?? rank ?? element!;
    const until = growing ? this.known : extent.t1;
    return { t0: Number.isNaN(start) ? extent.t0 : start, t1: Math.min(Number.isNaN(end) ? Infinity : end, until) };
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private drawRows(context: CanvasRenderingContext2D, area: Area): void {
    const top = this.scroller.scrollTop;
    const rows = this.rowsBetween(top, top + area.height);
    const bars = rows.filter(isBar);
    const chosen = this.marks.find((mark) => mark.key === this.chosen) ?? null;
    context.textBaseline = 'middle';
    for (const row of rows) this.drawName(context, row);
    clipped(context, area.left, top, area.width, area.height, () => {
      this.drawBars(context, area, bars);
      if (chosen) this.dim(context, area, bars.filter((row) => isApart(chosen, row, this.waits.answer)));
      const middles = middlesOf(this.rows);
      if (this.waits.answer?.single && !this.hidden.has('arrows')) drawArrows(context, area, this.arrows, middles, this.hidden);
      this.inSight = this.calls.answer && !this.hidden.has('arrows') ? arrowsInSight(this.calls.answer.arrows, area, middles) : [];
      drawMessageArrows(context, area, this.inSight, middles, this.arrowUnderPointer());
      this.drawMarks(context, area, rows);
    });
  }

  private drawBars(context: CanvasRenderingContext2D, area: Area, bars: Row[]): void {
    const isSampled = bars.some(({ thread }) => this.isKnown(thread));
    for (const row of bars) {
      const { t0, t1 } = this.lifeOf(row);
      const [from, to] = [Math.max(area.left, xOf(area, t0)), Math.min(area.left + area.width, xOf(area, t1))];
      context.fillStyle = this.host.css(isSampled ? '--asleep' : '--runs');
      if (to > from) inBar(context, row, () => context.fillRect(from, (ROW - BAR) / 2, to - from, BAR));
    }
    const image = this.pictureOf(bars);
    for (const row of bars) inBar(context, row, () => image.draw(context, area, keyOf(row), 0));
    const waits = this.waits.answer?.single ? this.waits.answer : null;
    const calls = this.calls.answer?.single ? this.calls.answer : null;
    if (calls && !this.hidden.has('collective')) drawMeetings(context, area, this.meetings, middlesOf(this.rows));
    for (const row of bars) {
      const isIn = row.rank !== null && this.calls.answeredRows.has(row.rank.id);
      const color = (state: State): string | null => (this.hidden.has(state) || (isIn && state === 'mpi') ? null : this.host.css(LOOKS[state].color));
      inBar(context, row, () => {
        if (waits && row.thread) drawSpans(context, area, waits.spans.get(row.thread.id) ?? [], 0, (span) => color(waitState(span.kind)));
        if (calls && row.rank) drawSpans(context, area, calls.spans.get(row.rank.id) ?? [], 0, (span) => color(callState(span.state)));
        if (waits && row.thread) drawHolds(context, area, waits.holds.get(row.thread.id) ?? [], 0);
      });
    }
  }

  private dim(context: CanvasRenderingContext2D, area: Area, rows: Row[]): void {
    context.fillStyle = this.host.css('--surface');
    context.globalAlpha = DIMMED;
    for (const { top, height } of rows) context.fillRect(area.left, top, area.width, height);
    context.globalAlpha = 1;
  }

  /** Findings have rows of their own, and lines above the bars of their threads. */
  private drawMarks(context: CanvasRenderingContext2D, area: Area, rows: Row[]): void {
    const { model, css } = this.host;
    const single = this.waits.answer?.single === true;
    const whole = { t0: model.extent.t0, t1: model.growing ? Math.max(model.extent.t0, this.known) : model.extent.t1 };
    for (const row of rows) {
      if (row.mark) drawMarkRow(context, area, row.mark, single && !row.mark.parts ? this.singleWaits(row.mark) : [], whole, row.top, row.height, row.mark.key === this.chosen);
      if (!isBar(row)) continue;
      const life = this.lifeOf(row);
      for (const mark of this.marks) {
        if (this.chosen !== '' && mark.key !== this.chosen) continue;
        const ranges = markRanges(mark, row, life, this.waits.answeredRows.has(row.thread?.id ?? 0) ? this.waits.answer : null);
        drawMark(context, area, ranges, barTop(row), css(concerns(mark, row) === 'cause' ? '--bad' : '--warn'), mark.key === this.chosen ? 1 : 0.7);
      }
    }
  }

  /** Waits of a finding, in all rows that are known. */
  private singleWaits(mark: Mark): Range[] {
    return unionOf(waitsOf(mark, [...this.waits.answer!.spans.values()].flat()));
  }

  private pictureOf(bars: Row[]): Picture {
    const { view, css } = this.host;
    const { t0, t1 } = view.range;
    const answers = [this.waits.answer, this.calls.answer].filter((answer) => answer !== null);
    const versions = bars.reduce((sum, { thread }) => sum + (thread ? this.activity.version(thread.id) : 0), 0);
    const key = `${bars.map(keyOf).join()} ${versions} ${[...this.hidden].join()}`;
    const now = performance.now();
    const isOld = !this.picture || (this.picture.key !== key && now - this.picture.madeAt > PICTURE_MS) || !this.picture.key.startsWith(`${bars.map(keyOf).join()} `);
    if (!isOld) return this.picture!.image;
    const asked = this.waits.asked ?? { t0: t0 - (t1 - t0) / 2, t1: t1 + (t1 - t0) / 2 };
    const columns = Math.max(50, Math.min(4096, Math.round(this.plotWidth * 2)));
    const grid = gridOf(answers, { t0: asked.t0, width: Math.max(1, (asked.t1 - asked.t0) / columns), columns });
    const end = grid.t0 + grid.columns * grid.width;
    const rows = bars.map((row) => {
      const layers: Layered[] = [];
      const { answer: waits } = this.waits;
      const { answer: calls } = this.calls;
      const waitSpans = row.thread ? (waits?.spans.get(row.thread.id) ?? []).map(({ t0, t1, kind }) => ({ t0, t1, state: waitState(kind) })) : [];
      const callSpans = row.rank ? (calls?.spans.get(row.rank.id) ?? []).map(({ t0, t1, state }) => ({ t0, t1, state: callState(state) })) : [];
      if (waits && row.thread) layers.push({ answer: waits, element: row.thread.id, stateOf: waitState, spans: waitSpans, isOver: false });
      if (calls && row.rank) layers.push({ answer: calls, element: row.rank.id, stateOf: callState, spans: callSpans, isOver: true });
      const account = row.thread ? this.accounts.of(row.thread.id) : null;
      return { key: keyOf(row), life: this.lifeOf(row), stretches: this.stretchesOf(row.thread, grid.t0, end), account, layers, dropsMpi: row.rank !== null && this.calls.answer !== null };
    });
    const pixels = new Map(ORDER.map((state) => [state, this.hidden.has(state) ? null : pixelOf(css(LOOKS[state].color))]));
    this.picture = { image: composePicture(rows, grid, (state) => pixels.get(state) ?? null), key, madeAt: now };
    return this.picture.image;
  }

  /** Whether it is recorded what this thread did. */
  private isKnown(thread: Element | null): boolean {
    return thread !== null && (this.accounts.of(thread.id) !== null || this.activity.has(thread.id));
  }

  /** What a thread did: by its account, or by samples where these are finer and that is too coarse to be looked at. */
  private stretchesOf(thread: Element | null, from: number, to: number): Stretch[] {
    if (!thread) return [];
    const { accounts, activity } = this;
    if (!accounts.of(thread.id)) return activity.of(thread.id, from, to);
    const isCoarse = (accounts.step / this.host.view.length) * this.plotWidth > COARSE_PX && activity.stepOf(thread.id) < accounts.step / 2;
    const samples = activity.of(thread.id, isCoarse ? from : Math.max(from, accounts.end), to);
    const parts = accounts.stretches(thread.id, from, to);
    if (!isCoarse) return [...parts, ...samples];
    return samples.map((sample) => ({ ...sample, states: [...sample.states, ...sleepsIn(sample, parts)] }));
  }

  private drawName(context: CanvasRenderingContext2D, row: Row): void {
    const { css } = this.host;
    const { gutter } = this;
    const middle = row.top + row.height / 2;
    const write = (text: string, x: number, room: number): void => context.fillText(shortened(text, room, (part) => context.measureText(part).width), x, middle);
    context.textAlign = 'left';
    context.font = row.kind === 'heading' ? '600 12px system-ui, sans-serif' : '11.5px system-ui, sans-serif';
    context.fillStyle = css(row.kind === 'heading' || row.mark?.key === this.chosen ? '--text' : '--text-soft');
    if (row.kind === 'finding') {
      if (!row.mark) return write(`${row.threads} more ${row.threads === 1 ? 'finding' : 'findings'}`, 14, gutter - 20);
      const { finding, number } = row.mark;
      drawBadge(context, css, number, 14 + BADGE / 2, middle, row.mark.key === this.chosen);
      context.font = '600 11.5px system-ui, sans-serif';
      context.fillStyle = css('--warn');
      write(finding.class, 14 + BADGE + 6, gutter - BADGE - 28);
      return;
    }
    const left = row.isInner ? 30 : 14;
    if (this.isFoldable(row)) drawFold(context, css('--text-faint'), row.threads === 0, 6, middle);
    if (row.kind === 'heading') return write(shortCommand(elementName(row.element!)), left, gutter + 300);
    const badges = this.badgesOf(row);
    badges.forEach((mark, i) => drawBadge(context, css, mark.number, badgeX(gutter, badges.length, i), middle, mark.key === this.chosen));
    const right = gutter - 6 - (badges.length > 0 ? badges.length * (BADGE + 3) + 4 : 0);
    const number = row.kind === 'thread' && gutter === GUTTER && !Number.isNaN(row.element!.osId) ? String(row.element!.osId) : row.threads > 1 ? `${row.threads} threads` : '';
    context.font = '11.5px system-ui, sans-serif';
    context.fillStyle = css('--text-faint');
    context.textAlign = 'right';
    const numberWidth = number === '' ? 0 : context.measureText(number).width + 6;
    if (number !== '') context.fillText(number, right, middle);
    context.textAlign = 'left';
    context.fillStyle = css('--text-soft');
    write(this.nameOf(row), left, right - left - numberWidth);
  }

  private nameOf({ kind, element, thread, rank }: Row): string {
    if (rank && element === rank) return elementName(rank);
    if (kind === 'group') return shortCommand(elementName(element!));
    const process = this.host.model.elements.get(thread?.parent ?? 0);
    return threadName(element!, process?.kind === ElementKind.Process ? process : null);
  }

  /** Findings that the row has a part in. */
  private badgesOf(row: Row): Mark[] {
    return this.marks.filter((mark) => concerns(mark, row) !== null).slice(0, 3);
  }

  /** Threads below it can be shown or hidden. */
  private isFoldable({ kind, rank, thread, threads }: Row): boolean {
    return (kind === 'group' && (threads > 1 || (rank !== null && thread === null))) || (kind === 'heading' && rank === null);
  }

  // ---- the legend -----------------------------------------------------------------------------------------------------

  private showLegend(): void {
    const seen = new Set<State>();
    const bars = this.rowsInSight(0);
    const isSampled = bars.some(({ thread }) => this.isKnown(thread));
    if (isSampled) for (const state of ['running', 'queued'] as const) seen.add(state);
    for (const { thread } of bars) for (const [state, ns] of this.accounts.of(thread?.id ?? 0)?.sums ?? []) if (ns > 0) seen.add(state);
    for (const [answer, stateOf] of [[this.waits.answer, waitState], [this.calls.answer, callState]] as const) {
      for (const kind of answer?.sums.state ?? []) seen.add(stateOf(kind));
    }
    for (const spans of this.waits.answer?.spans.values() ?? []) for (const span of spans) seen.add(waitState(span.kind));
    for (const spans of this.calls.answer?.spans.values() ?? []) for (const span of spans) seen.add(callState(span.state));
    if (this.calls.answer && bars.every(({ rank }) => rank)) seen.delete('mpi');
    const hasMessages = this.calls.answer !== null;
    this.legend.replaceChildren(
      ...ORDER.filter((state) => state !== 'asleep' && (seen.has(state) || this.hidden.has(state))).map((state) => this.entry(state, LOOKS[state].name, this.host.css(LOOKS[state].color))),
      el('span', { className: 'legend-entry plain' }, dot(this.host.css(isSampled ? '--asleep' : '--runs')), isSampled ? LOOKS.asleep.name : hasMessages ? 'computes' : 'not waiting'),
      ...(hasMessages ? [this.entry('arrows', 'messages', this.host.css('--arrow'))] : []));
  }

  /** A state, which a click shows or hides. */
  private entry(state: Entry, name: string, color: string): HTMLElement {
    const isOff = this.hidden.has(state);
    const entry = button(isOff ? 'legend-entry off' : 'legend-entry', dot(color), () => {
      if (!this.hidden.delete(state)) this.hidden.add(state);
      this.refresh();
    }, { 'title': 'Show or hide', 'aria-pressed': String(!isOff) });
    entry.append(name);
    return entry;
  }

  private showNote(): void {
    const { answer: waits, error } = this.waits;
    const { answer: calls } = this.calls;
    const parts = [error, this.calls.error].filter(Boolean);
    if ((waits && !waits.single) || (calls && !calls.single)) parts.push('height: share of the time', 'zoom in for single waits');
    if (waits?.single && this.arrows.length > 0) parts.push('arrows: who let whom go on');
    if (waits?.single && waits.holdsLeftOut) parts.push('zoom in for who has which lock');
    else if (waits?.single && waits.holds.size > 0) parts.push('thin bars: who has which lock');
    if (calls?.single && this.meetings.length > 0) parts.push('bands: collective operations');
    else if (calls && !calls.single && calls.arrows.length > 0) parts.push(`arrows: the ${calls.arrows.length} messages that were waited for longest`);
    const text = parts.join(' · ');
    this.note.textContent = text.charAt(0).toUpperCase() + text.slice(1);
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  private pointed(at: { x: number; y: number } | null): void {
    this.pointer = at;
    this.host.onCursor(at ? this.timeAt(at.x) : NaN);
    if (this.calls.answer) this.host.redraw();
    else this.drawTip();
  }

  private clicked(): void {
    const row = this.rowUnderPointer();
    if (row?.kind === 'finding') return this.clickFinding(row);
    const site = this.callUnderPointer()?.site ?? this.waitUnderPointer()?.site ?? this.arrowUnderPointer()?.site ?? this.holdsUnderPointer(0).pop()?.site ?? 0;
    const place = this.host.placeOf(site);
    if (place) this.host.onSource(place);
  }

  private clickFinding({ mark }: Row): void {
    if (!mark) {
      this.allFindings = true;
      return this.changed();
    }
    this.chosen = this.chosen === mark.key ? '' : mark.key;
    if (this.chosen !== '') this.host.onFinding(mark.key);
    this.changed();
  }

  /** The effect of a click on a row's name; null: nothing. */
  private nameAction({ offsetX: x, offsetY: y }: MouseEvent): (() => void) | null {
    const at = y - AXIS + this.scroller.scrollTop;
    const row = this.rows.find(({ top, height }) => at >= top && at < top + height);
    if (!row || x > this.gutter || y < AXIS) return null;
    if (row.kind === 'finding') return () => this.clickFinding(row);
    const badges = isBar(row) ? this.badgesOf(row) : [];
    const badge = badges.find((_, i) => Math.abs(x - badgeX(this.gutter, badges.length, i)) <= BADGE / 2 + 1);
    if (badge) return () => this.clickFinding({ ...row, mark: badge });
    if (!this.isFoldable(row)) return null;
    return () => {
      const id = groupId({ rank: row.rank, process: row.element, threads: [] });
      if (!this.turned.delete(id)) this.turned.add(id);
      this.changed();
    };
  }

  private clickedName(event: MouseEvent): void {
    this.nameAction(event)?.();
  }

  private timeAt(x: number): number {
    const { t0, t1 } = this.host.view.range;
    return t0 + (x / this.plotWidth) * (t1 - t0);
  }

  /** Nanoseconds in which something is hit. */
  private get slack(): number {
    return (this.host.view.length / this.plotWidth) * HIT_PX;
  }

  private rowUnderPointer(): Row | null {
    if (!this.pointer) return null;
    const y = this.pointer.y + this.scroller.scrollTop;
    return this.rows.find((row) => row.kind !== 'heading' && y >= row.top && y < row.top + row.height) ?? null;
  }

  /** The row whose bar is under the pointer: between the bars there may be something else. */
  private barUnderPointer(): Row | null {
    const row = this.rowUnderPointer();
    if (!row || !isBar(row) || !this.pointer) return null;
    return Math.abs(this.pointer.y + this.scroller.scrollTop - row.top - row.height / 2) > barHeight(row) / 2 ? null : row;
  }

  private callUnderPointer(): RankSpan | null {
    const row = this.barUnderPointer();
    if (!row?.rank || !this.calls.answer?.single) return null;
    return spanAt((this.calls.answer.spans.get(row.rank.id) ?? []).filter((span) => !this.hidden.has(callState(span.state))), this.timeAt(this.pointer!.x), this.slack);
  }

  private waitUnderPointer(): WaitSpan | null {
    const row = this.barUnderPointer();
    if (!row?.thread || !this.waits.answer?.single) return null;
    return spanAt((this.waits.answer.spans.get(row.thread.id) ?? []).filter((span) => !this.hidden.has(waitState(span.kind))), this.timeAt(this.pointer!.x), this.slack);
  }

  private arrowUnderPointer(): MessageArrow | null {
    if (!this.pointer || this.callUnderPointer()) return null;
    return arrowAt(this.inSight, this.area(0), middlesOf(this.rows), this.pointer.x + this.gutter, this.pointer.y + this.scroller.scrollTop, ARROW_HIT_PX);
  }

  /** Locks that a thread has, the innermost one last. */
  private holdsUnderPointer(slack: number): LockHold[] {
    const row = this.rowUnderPointer();
    return row?.thread && this.waits.answer?.single ? holdsAt(this.waits.answer.holds.get(row.thread.id) ?? [], this.timeAt(this.pointer!.x), slack) : [];
  }

  private drawTip(): void {
    const lines = this.pointer ? this.tipLines(this.timeAt(this.pointer.x)) : null;
    this.tip.hidden = lines === null;
    if (lines && this.pointer) showTip(this.tip, this.over, lines, this.pointer.x, this.pointer.y);
  }

  /** null: there is nothing to say. */
  private tipLines(t: number): Node[] | null {
    const { tips } = this;
    const arrow = this.arrowUnderPointer();
    if (arrow) return tips.message(arrow);
    const row = this.rowUnderPointer();
    if (!row) return null;
    if (row.kind === 'finding') return row.mark ? tips.findingRow(row.mark) : null;
    const name = el('b', {}, row.rank && row.element === row.rank ? elementName(row.rank) : `${this.nameOf(row)} ${row.element?.osId ?? ''}`);
    const call = this.callUnderPointer();
    if (call) return [name, ...tips.call(call)];
    const holds = this.holdsUnderPointer(this.slack).slice(0, MAX_HOLD_LINES).map((hold) => tips.hold(hold, holdColor(hold.object, this.host.css)));
    const wait = this.waitUnderPointer();
    const about = this.marks.filter((mark) => concerns(mark, row) && (!wait || !this.waits.answer?.single || waitsOf(mark, [wait]).length > 0)).map((mark) => tips.finding(mark));
    const account = row.thread && this.accounts.of(row.thread.id);
    const all = account ? [tips.account(account)] : [];
    if (wait) return [name, ...tips.wait(wait, this.arrows.find((one) => one.to === wait)?.from.thread), ...about, ...holds, ...all];
    const { t0, t1 } = this.lifeOf(row);
    if (t < t0 || t > t1) return null;
    const sums = this.sumLines(row, t);
    const stretch = this.stretchesOf(row.thread, t, t + 1).find((one) => one.t0 <= t && one.t1 > t);
    const plain = sums.length > 0 || stretch ? [] : [el('p', {}, row.rank ? 'computes, or is in a call that neither sends nor receives' : 'does not wait')];
    return [name, ...sums, ...plain, ...(stretch ? tips.stretch(stretch) : []), ...(sums.length > 0 ? about : []), ...holds, ...all];
  }

  /** States of a row in the part of the time that is pointed at. */
  private sumLines(row: Row, t: number): Node[] {
    const layers = [[this.waits.answer, row.thread, waitState], [this.calls.answer, row.rank, callState]] as const;
    return layers.flatMap(([answer, element, stateOf]) => {
      if (!answer || answer.single || !element) return [];
      const bucket = Math.floor((t - answer.t0) / answer.width);
      const sums = answer.sums.of(element.id).filter((sum) => sum.bucket === bucket && !this.hidden.has(stateOf(sum.kind)));
      return sums.map(({ kind, share }) => this.tips.state(stateOf(kind), `${Math.round(share * 100)} % ${LOOKS[stateOf(kind)].name}`));
    });
  }
}

/** What else a thread did while it neither ran nor was queued, divided as in the part of its account there. */
function sleepsIn({ t0, t1, states }: Stretch, parts: Stretch[]): [State, number][] {
  const part = parts.find((one) => one.t1 > (t0 + t1) / 2);
  const isAsleep = ([state]: [State, number]): boolean => state !== 'running' && state !== 'queued';
  const active = (part?.states ?? []).reduce((sum, state) => sum + (isAsleep(state) ? 0 : state[1]), 0);
  const asleep = part ? part.t1 - part.t0 - active : 0;
  const rest = states.reduce((sum, [, ns]) => sum - ns, t1 - t0);
  return asleep <= 0 ? [] : (part?.states ?? []).filter(isAsleep).map(([state, ns]) => [state, (ns / asleep) * rest]);
}

/** Rows that have a bar. */
function isBar({ kind }: Row): boolean {
  return kind === 'group' || kind === 'thread';
}

function keyOf({ rank, thread }: Row): number {
  return rank?.id ?? thread?.id ?? 0;
}

function threadsOf(rows: Row[]): number[] {
  return rows.flatMap(({ thread }) => (thread ? [thread.id] : []));
}

function ranksOf(rows: Row[]): number[] {
  return rows.flatMap(({ rank }) => (rank ? [rank.id] : []));
}

function heightOf(rows: Row[]): number {
  const last = rows.at(-1);
  return last ? last.top + last.height : 0;
}

/** The bar's part of a row that may be higher: between high rows there is room for arrows. */
function barHeight({ height }: Row): number {
  return Math.max(ROW, Math.min(MOST_BAR, height * BAR_SHARE));
}

function barTop(row: Row): number {
  return row.top + (row.height - barHeight(row)) / 2;
}

/** Draws what is made for a row of the least height, from 0 on, as high as this row's bar is. */
function inBar(context: CanvasRenderingContext2D, row: Row, drawIt: () => void): void {
  context.save();
  context.translate(0, barTop(row));
  context.scale(1, barHeight(row) / ROW);
  drawIt();
  context.restore();
}

function badgeX(gutter: number, count: number, i: number): number {
  return gutter - 6 - (count - i - 0.5) * (BADGE + 3);
}

/** A triangle that points down where threads are shown below. */
function drawFold(context: CanvasRenderingContext2D, color: string, isOpen: boolean, x: number, y: number): void {
  context.fillStyle = color;
  context.beginPath();
  if (isOpen) {
    context.moveTo(x - 3, y - 2);
    context.lineTo(x + 4, y - 2);
    context.lineTo(x + 0.5, y + 3);
  } else {
    context.moveTo(x - 2, y - 3.5);
    context.lineTo(x + 3, y);
    context.lineTo(x - 2, y + 3.5);
  }
  context.fill();
}
