// What each rank did when, with the messages between them.

import { el } from '../app/dom';
import { shortened } from '../charts/canvas';
import { formatBytes, formatCount, formatDuration } from '../charts/format';
import { elementName } from '../charts/traces';
import { uses } from '../session/documents';
import { ElementKind, type Element, type RawMessage } from '../session/model';
import { ROW, type Area } from '../timeline/draw';
import type { TimelineRequest } from '../timeline/spans';
import { middlesOf, TimelinePanel, type Row, type TimelineHost } from '../timeline/timeline';
import { noMessages } from './page';
import { arrowAt, arrowsInSight, drawMeetings, drawMessageArrows } from './ranks_draw';
import { meetingsOf, RANK_STATES, RankState, readRanks, type Meeting, type MessageArrow, type RankSpan, type RankTimeline } from './timeline';

type State = RankState | 'arrows';

const LOOK = { rows: 'ranks', message: 'ranks', gutter: 128, answerLimitMs: 60_000 } as const;
const ARROW_HIT_PX = 5;
const FEW_ROWS = 24;
/** Instead of a name that is not known. */
const OTHER = 'another one';

export class RanksTimeline extends TimelinePanel<RankSpan, RankTimeline, State> {
  readonly documents = [uses('sites')];
  private readonly empty = noMessages();
  private meetings: Meeting[] = [];
  /** Processes by their rank. */
  private lives = new Map<number, Element>();
  private inSight: MessageArrow[] = [];

  constructor(host: TimelineHost) {
    super(host, LOOK);
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'What each rank did when');
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute('aria-label', 'Timeline of ranks: arrow keys move and zoom in time');
    this.note.setAttribute('role', 'status');
    this.root.append(this.empty);
    this.showLegend();
  }

  /** For the browser tests. */
  get shown(): { timeline: RankTimeline | null; rows: Row[]; meetings: Meeting[]; inSight: MessageArrow[]; rowHeight: number } {
    return { timeline: this.answer, rows: this.rows, meetings: this.meetings, inSight: this.inSight, rowHeight: this.rowHeight };
  }

  protected override ask(request: TimelineRequest, ranks: number[]): void {
    if (!this.answer) this.note.textContent = 'Reading the messages …';
    this.host.ask({ ...request, ranks });
  }

  protected override read(message: RawMessage): RankTimeline {
    return readRanks(message, this.host.model.origin);
  }

  protected override answered(timeline: RankTimeline): void {
    this.meetings = timeline.single ? meetingsOf(timeline) : [];
  }

  protected override showEmpty(): boolean {
    this.empty.hidden = this.rows.length > 0 || this.search.input.value !== '' || this.focused.size > 0;
    this.scroller.hidden = !this.empty.hidden;
    return this.empty.hidden;
  }

  protected override onlyText(count: number): string {
    return `only ${count} ${count === 1 ? 'rank' : 'ranks'}`;
  }

  /** The arrow that is pointed at looks different. */
  protected override pointed(): void {
    this.host.redraw();
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  /** Ranks of this recording by their job and number; few of them have room between them for arrows. */
  protected override addRows(words: string[]): void {
    const all = [...this.host.model.elements.values()];
    this.lives = new Map(all.filter((element) => element.kind === ElementKind.Process).map((process) => [process.parent, process]));
    const job = (element: Element): string => element.name.replace(/^rank \d+/, '');
    const ranks = all.filter((element) => element.kind === ElementKind.Rank && element.host !== '' && this.isFocused(element) &&
      words.every((word) => (/^\d+$/.test(word) ? element.osId === Number(word) : elementName(element).toLowerCase().includes(word))));
    ranks.sort((a, b) => (job(a) < job(b) ? -1 : job(a) > job(b) ? 1 : a.osId - b.osId || a.id - b.id));
    this.rowHeight = ranks.length <= FEW_ROWS / 3 ? ROW * 3 : ranks.length <= FEW_ROWS ? ROW * 1.6 : ROW;
    for (const rank of ranks) this.addRow(rank);
  }

  /** The life of the rank's process, which lies below it. */
  protected override lifeOf(rank: Element): Element {
    return this.lives.get(rank.id) ?? rank;
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  protected override drawName(context: CanvasRenderingContext2D, { element, top, height }: Row): void {
    context.font = '11.5px system-ui, sans-serif';
    context.fillStyle = this.host.css('--text-soft');
    context.fillText(shortened(elementName(element), LOOK.gutter - 24, (part) => context.measureText(part).width), 14, top + height / 2);
  }

  protected override drawBelow(context: CanvasRenderingContext2D, area: Area): void {
    if (!this.hidden.has(RankState.Collective)) drawMeetings(context, area, this.meetings, middlesOf(this.rows));
  }

  protected override drawOver(context: CanvasRenderingContext2D, area: Area, answer: RankTimeline): void {
    const middles = middlesOf(this.rows);
    this.inSight = this.hidden.has('arrows') ? [] : arrowsInSight(answer.arrows, area, middles);
    drawMessageArrows(context, area, this.inSight, middles, this.arrowUnderPointer());
  }

  protected override stateOf(span: RankSpan): State {
    return span.state;
  }

  protected override stateOfSum(kind: number): State {
    return kind;
  }

  protected override colorOf(state: State): string {
    return this.host.css(`--mpi-${state}`);
  }

  protected override stateName(state: State): string {
    return RANK_STATES.find(([known]) => known === state)?.[1] ?? '';
  }

  protected override showLegend(): void {
    this.legend.replaceChildren(...RANK_STATES.map(([state, name]) => this.legendEntry(state, name, this.colorOf(state))), this.plainEntry('computes'), this.legendEntry('arrows', 'messages', this.host.css('--arrow')));
  }

  protected override noteText(answer: RankTimeline): string {
    if (answer.single) return this.meetings.length > 0 ? 'Bands: collective operations' : '';
    const some = answer.arrows.length > 0 ? `arrows: the ${answer.arrows.length} messages that were waited for longest` : 'zoom in for messages';
    return `Height: share of the time · ${some}`;
  }

  // ---- the pointer ----------------------------------------------------------------------------------------------------

  protected override siteUnderPointer(): number {
    return this.spanUnderPointer()?.site ?? this.arrowUnderPointer()?.site ?? 0;
  }

  private arrowUnderPointer(): MessageArrow | null {
    if (!this.pointer || this.spanUnderPointer()) return null;
    return arrowAt(this.inSight, this.area(0), middlesOf(this.rows), this.pointer.x + LOOK.gutter, this.pointer.y + this.scroller.scrollTop, ARROW_HIT_PX);
  }

  protected override tipLines(t: number): Node[] | null {
    const arrow = this.arrowUnderPointer();
    if (arrow) return this.arrowLines(arrow);
    const { answer } = this;
    const row = this.rowUnderPointer();
    if (!row || !answer) return null;
    const name = el('b', {}, elementName(row.element));
    const span = this.spanUnderPointer();
    if (span) return [name, this.line(this.colorOf(span.state), this.spanText(span)), this.placeLine('at', span.site)];
    if (!this.isAlive(row.element, t)) return null;
    if (answer.single) return [name, el('p', {}, 'computes, or is in a call that neither sends nor receives')];
    return [name, ...this.sumLines(answer, row, t, 'of')];
  }

  private spanText(span: RankSpan): string {
    const call = this.nameOf(span.function, OTHER);
    const length = formatDuration(span.t1 - span.t0);
    const of = span.sequence > 0 ? ` of ${this.nameOf(span.communicator, OTHER)}, its ${formatCount(span.sequence)}.` : '';
    if (span.state === RankState.Messages) return `sends or receives for ${length}, by ${call}`;
    if (span.state === RankState.Collective) return `in ${call}${of} for ${length}`;
    const whom = span.state === RankState.LateSender ? 'a message that is not sent yet' : span.state === RankState.LateReceiver ? 'its message to be received' : 'others to come';
    return `waits ${length} for ${whom}, by ${call}${of}`;
  }

  private arrowLines(arrow: MessageArrow): Node[] {
    const waited = arrow.waited > 0 ? `, waited for ${formatDuration(arrow.waited)}` : '';
    return [el('b', {}, `${this.nameOf(arrow.from, OTHER)} → ${this.nameOf(arrow.to, OTHER)}`), el('p', {}, `${formatBytes(arrow.bytes)}, tag ${arrow.tag}, ${this.nameOf(arrow.communicator, OTHER)}`),
      el('p', {}, `there after ${formatDuration(arrow.t1 - arrow.t0)}${waited}`), this.placeLine('sent at', arrow.site)];
  }
}
