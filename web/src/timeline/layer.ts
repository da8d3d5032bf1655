// A part of the timeline that the server answers by itself: the waits of threads, or the calls of ranks. Each is asked for what is on
// screen and some more, and asked anew when that no longer serves.

import type { RawMessage, SessionModel } from '../session/model';
import { Question } from '../session/question';
import type { Range, TimeView } from '../session/view';
import type { Answer, Span, TimelineRequest } from './spans';

export interface LayerHost {
  model: SessionModel;
  view: TimeView;
  ask(request: TimelineRequest): void;
}

export interface LayerKind<Given> {
  /** Rows of its questions, and of its answers. */
  rows: 'threads' | 'ranks';
  message: RawMessage['kind'];
  answerLimitMs: number;
  /** @param origin of the page's times */
  read(message: RawMessage, origin: bigint): Given;
}

/** The last question. */
export interface Asked extends Range {
  id: number;
  rows: Set<number>;
  /** The newest data that there was. */
  newest: number;
}

/** Part of the time on screen that is asked for on both sides. */
const MARGIN = 0.5;
const MAX_BUCKETS = 4096;
const REFRESH_MS = 500;

export class Layer<Given extends Answer<Span>> {
  answer: Given | null = null;
  /** Elements that the answer is of. */
  answeredRows = new Set<number>();
  asked: Asked | null = null;
  /** Why there is no answer. */
  error = '';
  private readonly question: Question;
  private lastId = 0;
  private answeredAt = 0;

  constructor(private readonly host: LayerHost, private readonly kind: LayerKind<Given>) {
    this.question = new Question(kind.answerLimitMs);
  }

  /** Whether there is an answer of these rows and of what is on screen. */
  isSettled(rows: number[]): boolean {
    return rows.length === 0 || (this.answer !== null && !this.question.inFlight && !this.needsAnswer(rows, -Infinity));
  }

  /** @param spare rows that are asked for as well, as many as those in sight or more @param now in ms */
  frame(rows: number[], spare: number[], plotWidth: number, now: number): void {
    if (this.question.isAwaited(now) || rows.length === 0 || plotWidth <= 0 || !this.needsAnswer(rows, now)) return;
    const { t0, t1 } = this.host.view.range;
    const margin = (t1 - t0) * MARGIN;
    const [id, from, to] = [++this.lastId, Math.round(t0 - margin), Math.round(t1 + margin)];
    this.asked = { id, t0: from, t1: to, rows: new Set(spare), newest: this.host.model.extent.t1 };
    this.question.ask(now);
    const buckets = Math.max(50, Math.min(MAX_BUCKETS, Math.round(plotWidth * Math.min(2, devicePixelRatio) * (1 + 2 * MARGIN))));
    this.host.ask({ id, t0: from, t1: to, buckets, [this.kind.rows]: spare });
  }

  /** @return whether it is a new answer, or why there is none */
  take(message: RawMessage): boolean {
    if (message.kind !== this.kind.message || Number(message.envelope.get('id')) !== this.asked?.id) return false;
    this.question.end();
    this.answeredAt = performance.now();
    this.error = message.envelope.get('error') ?? '';
    if (this.error !== '') return true;
    this.answer = this.kind.read(message, this.host.model.origin);
    this.answeredRows = this.asked.rows;
    return true;
  }

  /** @param forget another session */
  reconnected(forget: boolean): void {
    this.question.end();
    this.asked = null;
    if (forget) this.answer = null;
  }

  private needsAnswer(rows: number[], now: number): boolean {
    const { asked, answer } = this;
    if (!asked || !answer) return true;
    const { model, view } = this.host;
    const { t0, t1 } = view.range;
    if (rows.some((id) => !asked.rows.has(id))) return true;
    // The newest data is what an answer may lack.
    if (model.growing && asked.t1 > model.extent.t1 - 2 * REFRESH_MS * 1e6 && now - this.answeredAt > REFRESH_MS) return true;
    if (t0 < asked.t0 || t1 > asked.t1) return true;
    const zoomed = (asked.t1 - asked.t0) / (t1 - t0) / (1 + 2 * MARGIN);
    return zoomed < 0.6 || (zoomed > 1.5 && !answer.single);
  }
}
