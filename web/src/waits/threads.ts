// When each thread waited, and for what.

import { el } from '../app/dom';
import { shortened } from '../charts/canvas';
import { formatDuration, shortCommand } from '../charts/format';
import { elementName, within } from '../charts/traces';
import { uses } from '../session/documents';
import { ElementKind, type Element, type RawMessage } from '../session/model';
import type { Area } from '../timeline/draw';
import type { TimelineRequest } from '../timeline/spans';
import { middlesOf, TimelinePanel, type Row, type TimelineHost } from '../timeline/timeline';
import { CriticalPathPanel } from './critical_path';
import { placeText } from './documents';
import { ALL_STATES, stateOfNumber, STATES, type State } from './states';
import { drawArrows, drawHolds, holdColor } from './threads_draw';
import { arrowsOf, holdsAt, lastEnd, readTimeline, type Arrow, type LockHold, type Timeline, type WaitSpan } from './timeline';

export interface ThreadsHost extends TimelineHost {
  onObject(object: number): void;
}

const LOOK = { rows: 'threads', message: 'timeline', gutter: 172, answerLimitMs: 20_000 } as const;
const PROCESS_ROW = 24;
/** Waits of a live session come so much later than samples. */
const EVENTS_LATE_NS = 300e6;
const MAX_HOLD_LINES = 4;

export class Threads extends TimelinePanel<WaitSpan, Timeline, State> {
  readonly documents = [uses('waits', (waits) => this.criticalPath.show(waits.critical_path)), uses('sites')];
  readonly criticalPath: CriticalPathPanel;
  /** Until then it is known who waited; NaN: nothing is. */
  private known = NaN;
  private arrows: Arrow[] = [];

  constructor(host: ThreadsHost) {
    super(host, LOOK);
    this.criticalPath = new CriticalPathPanel({ onThreads: (threads) => this.focus(threads), onObject: (object) => host.onObject(object) });
    this.scroller.before(this.criticalPath.root);
  }

  /** For the browser tests. */
  get shown(): { timeline: Timeline | null; rows: Row[]; arrows: Arrow[] } {
    return { timeline: this.answer, rows: this.rows, arrows: this.arrows };
  }

  protected override ask(request: TimelineRequest, threads: number[]): void {
    this.host.ask({ ...request, threads });
  }

  protected override read(message: RawMessage): Timeline {
    return readTimeline(message, this.host.model.origin);
  }

  protected override answered(timeline: Timeline): void {
    this.known = Math.max((this.asked?.newest ?? NaN) - EVENTS_LATE_NS, lastEnd(timeline));
    this.arrows = arrowsOf(timeline);
    this.showLegend();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  /** Threads by their process and their start. */
  protected override addRows(words: string[]): void {
    const { model } = this.host;
    const processes = new Map<number, Element[]>();
    for (const element of model.elements.values()) {
      if (element.kind !== ElementKind.Thread || !this.isFocused(element)) continue;
      const process = this.processOf(element);
      const text = `${nameOf(element, process)} ${element.osId} ${process ? elementName(process) : ''}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
      const threads = processes.get(process?.id ?? 0) ?? [];
      processes.set(process?.id ?? 0, threads);
      threads.push(element);
    }
    for (const [id, threads] of processes) {
      const process = model.elements.get(id);
      if (process && processes.size > 1) this.addRow(process, PROCESS_ROW, true);
      for (const thread of threads.sort((a, b) => a.start - b.start || a.osId - b.osId)) this.addRow(thread);
    }
  }

  private processOf(thread: Element): Element | undefined {
    return within(this.host.model, thread.parent, ElementKind.Process);
  }

  protected override get knownEnd(): number {
    const { growing, extent } = this.host.model;
    return growing ? this.known : extent.t1;
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  protected override drawName(context: CanvasRenderingContext2D, { element, isHeading, top, height }: Row): void {
    const { css } = this.host;
    const write = (text: string, room: number): void => context.fillText(shortened(text, room, (part) => context.measureText(part).width), 14, top + height / 2);
    context.font = isHeading ? '600 12px system-ui, sans-serif' : '11.5px system-ui, sans-serif';
    context.fillStyle = css(isHeading ? '--text' : '--text-soft');
    if (isHeading) {
      write(shortCommand(elementName(element)), LOOK.gutter + 300);
      return;
    }
    write(nameOf(element, this.processOf(element)), LOOK.gutter - 66);
    context.fillStyle = css('--text-faint');
    context.textAlign = 'right';
    context.fillText(Number.isNaN(element.osId) ? '' : String(element.osId), LOOK.gutter - 10, top + height / 2);
  }

  protected override drawOver(context: CanvasRenderingContext2D, area: Area, answer: Timeline, rows: Row[], answered: Row[]): void {
    if (!answer.single) return;
    for (const row of answered) drawHolds(context, area, answer.holds.get(row.element.id) ?? [], row.top);
    drawArrows(context, area, this.arrows, middlesOf(rows), this.hidden);
  }

  protected override stateOf(span: WaitSpan): State {
    return stateOfNumber(span.kind);
  }

  protected override stateOfSum(kind: number): State {
    return stateOfNumber(kind);
  }

  protected override colorOf(state: State): string {
    return this.host.css(STATES[state].color);
  }

  protected override stateName(state: State): string {
    return STATES[state].name;
  }

  protected override showLegend(): void {
    const seen = new Set([...this.answer?.sums.state ?? []].map(stateOfNumber));
    for (const spans of this.answer?.spans.values() ?? []) for (const span of spans) seen.add(stateOfNumber(span.kind));
    const shown = ALL_STATES.filter((state) => seen.has(state) || this.hidden.has(state));
    this.legend.replaceChildren(el('span', { className: 'legend-title' }, 'Waits for'), ...shown.map((state) => this.legendEntry(state, STATES[state].name, this.colorOf(state))), this.plainEntry('not waiting'));
  }

  protected override noteText(answer: Timeline): string {
    if (!answer.single) return 'Height: share of the time · zoom in for single waits';
    const holds = answer.holdsLeftOut ? 'zoom in for who has which lock' : answer.holds.size > 0 ? 'thin bars: who has which lock' : '';
    const text = [this.arrows.length > 0 ? 'arrows: who let whom go on' : '', holds].filter(Boolean).join(' · ');
    return text.charAt(0).toUpperCase() + text.slice(1);
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  /** Where the thread waits, or acquired what it has. */
  protected override siteUnderPointer(): number {
    return this.spanUnderPointer()?.site ?? this.holdsUnderPointer(0).pop()?.site ?? 0;
  }

  /** What a thread has, the innermost lock last. */
  private holdsUnderPointer(slack: number): LockHold[] {
    const row = this.rowUnderPointer();
    return row && this.answer?.single ? holdsAt(this.answer.holds.get(row.element.id) ?? [], this.pointedTime, slack) : [];
  }

  private holdLines(): Node[] {
    return this.holdsUnderPointer(this.slack).slice(0, MAX_HOLD_LINES).map((hold) => {
      const place = placeText(this.host.placeOf(hold.site));
      return this.line(holdColor(hold.object, this.host.css), holdText(hold, this.nameOf(hold.object, 'a lock')) + (place === '' ? '' : `, from ${place}`));
    });
  }

  protected override tipLines(t: number): Node[] | null {
    const { answer } = this;
    const row = this.rowUnderPointer();
    if (!row || !answer) return null;
    const name = el('b', {}, `${nameOf(row.element, this.processOf(row.element))} ${row.element.osId}`);
    const span = this.spanUnderPointer();
    if (span) {
      const state = this.stateOf(span);
      const giver = this.arrows.find((one) => one.to === span)?.from.thread;
      const until = giver !== undefined && this.host.model.elements.has(giver) ? [el('p', {}, `until ${this.nameOf(giver, '')} let it go on`)] : [];
      return [name, this.line(this.colorOf(state), `waits ${formatDuration(span.t1 - span.t0)} for ${this.nameOf(span.object, STATES[state].name)}`), this.placeLine('at', span.site), ...until, ...this.holdLines()];
    }
    if (answer.single) return this.isAlive(row.element, t) ? [name, el('p', {}, 'does not wait'), ...this.holdLines()] : null;
    return [name, ...this.sumLines(answer, row, t, 'does not wait in these')];
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
