// The strip that shows the whole session: how busy the CPUs were, where the range on screen lies, labels and gaps. Drag it to go elsewhere.

import { el } from '../app/dom';
import { css } from '../app/theme';
import { prepare } from '../charts/canvas';
import { formatClock } from '../charts/format';
import { timeStep, timeTicks } from '../charts/ticks';
import { Documents, uses, type DocumentRequest } from '../session/documents';
import { PAUSED, type RawMessage, type SessionModel } from '../session/model';
import type { Range } from '../session/view';

/** Shares of the CPUs' time, of parts of equal length; null: not known. Times are the host's. */
export interface Course {
  t0_ns: number;
  t1_ns: number;
  busy: (number | null)[];
}

declare module '../session/documents' {
  interface DocumentTypes {
    'course': Course;
  }
}

export interface NavigatorHost {
  model: SessionModel;
  range(): Range;
  onShow(range: Range): void;
  ask(request: DocumentRequest): void;
  /** Draw soon. */
  redraw(): void;
}

const HEIGHT = 34;
/** The course of the CPUs, beneath everything else. */
const COURSE_OPACITY = 0.32;
/** Below the names of the labels, which are at the upper edge. */
const COURSE_TOP = 4;

export class Navigator {
  readonly root: HTMLElement;
  private readonly canvas = el('canvas', { height: HEIGHT });
  private readonly window = el('div', { className: 'navigator-window', hidden: true });
  private dragFrom: number | null = null;
  private course: Course | null = null;
  /** Its own: what is shown beside all panes needs no threads. */
  private readonly documents: Documents;

  constructor(private readonly host: NavigatorHost) {
    const course = uses('course', (now) => {
      this.course = now;
      host.redraw();
    });
    this.documents = new Documents((request) => host.ask(request), () => course.changed(this.documents));
    this.root = el('div', { className: 'navigator', title: 'The whole session, and how busy the CPUs were: click or drag to go there' }, this.canvas, this.window);
    this.root.addEventListener('pointerdown', (event) => {
      this.root.setPointerCapture(event.pointerId);
      const { t0, t1 } = host.range();
      const t = this.timeAt(event.clientX);
      // Within the window it is grabbed where it is; elsewhere it comes to the pointer.
      this.dragFrom = t >= t0 && t <= t1 ? t - t0 : (t1 - t0) / 2;
      this.moveTo(event.clientX);
    });
    this.root.addEventListener('pointermove', (event) => this.dragFrom !== null && this.moveTo(event.clientX));
    this.root.addEventListener('pointerup', () => (this.dragFrom = null));
    this.root.addEventListener('pointercancel', () => (this.dragFrom = null));
  }

  /** Asks for what is due. @param now in ms */
  frame(now: number): void {
    this.documents.keep(['course'], now);
  }

  /** @return whether the message was for it */
  take(message: RawMessage): boolean {
    if (message.kind !== 'document' || message.envelope.get('name') !== 'course') return false;
    this.documents.take(message, performance.now());
    return true;
  }

  /** @param forget another session */
  reconnected(forget: boolean): void {
    this.documents.reconnected(forget);
    if (forget) this.course = null;
  }

  /** For the browser tests: what is drawn beneath. */
  get shown(): Course | null {
    return this.course;
  }

  draw(): void {
    const { model } = this.host;
    const width = this.root.clientWidth;
    const { t0, t1 } = this.extent();
    const x = (t: number): number => ((t - t0) / (t1 - t0)) * width;
    const context = prepare(this.canvas, width, HEIGHT);
    // Without data there is no moment to write.
    this.window.hidden = model.series.size === 0;
    if (model.series.size === 0) return;
    this.drawCourse(context, x);
    context.font = '10.5px system-ui, sans-serif';
    context.fillStyle = css('--text-faint');
    context.strokeStyle = css('--grid');
    const step = timeStep(t1 - t0, Math.max(2, width / 120));
    for (const t of timeTicks(t0, t1, step, model.wallMs(0))) {
      const at = Math.round(x(t)) + 0.5;
      context.beginPath();
      context.moveTo(at, 0);
      context.lineTo(at, HEIGHT);
      context.stroke();
      const text = formatClock(model.wallMs(t), step);
      if (at + 8 + context.measureText(text).width < width) context.fillText(text, at + 4, HEIGHT - 6);
    }
    for (const gap of model.gaps) {
      context.fillStyle = css(gap.reason === PAUSED ? '--text-faint' : '--gap-text');
      context.fillRect(x(gap.t0), 0, Math.max(1.5, x(gap.t1) - x(gap.t0)), 3);
    }
    for (const alarm of model.alarms) {
      context.fillStyle = css(alarm.critical ? '--bad' : '--warn');
      const end = Number.isNaN(alarm.end) ? model.extent.t1 : alarm.end;
      context.fillRect(x(alarm.start), HEIGHT - 3, Math.max(2, x(end) - x(alarm.start)), 3);
    }
    context.fillStyle = css('--label');
    for (const label of model.labels) context.fillRect(x(label.t) - 0.75, 0, 1.5, HEIGHT);
    const shown = this.host.range();
    const left = Math.min(Math.max(0, x(shown.t0)), width - 3);
    const right = Math.max(Math.min(width, x(shown.t1)), left + 3);
    this.window.style.transform = `translateX(${left}px)`;
    this.window.style.width = `${right - left}px`;
  }

  private drawCourse(context: CanvasRenderingContext2D, x: (t: number) => number): void {
    if (!this.course) return;
    const { t0_ns, t1_ns, busy } = this.course;
    // Both are of the host's clock: what it reads at the start is not exact as a number, the difference nearly is.
    const from = t0_ns - Number(this.host.model.origin);
    const part = (t1_ns - t0_ns) / busy.length;
    context.fillStyle = css('--accent');
    context.globalAlpha = COURSE_OPACITY;
    busy.forEach((share, i) => {
      if (share === null) return;
      const [left, right] = [x(from + i * part), x(from + (i + 1) * part)];
      const height = share * (HEIGHT - COURSE_TOP);
      context.fillRect(left, HEIGHT - height, right - left, height);
    });
    context.globalAlpha = 1;
  }

  private extent(): Range {
    const { t0, t1 } = this.host.model.extent;
    return { t0, t1: Math.max(t1, t0 + 1e6) };
  }

  private timeAt(clientX: number): number {
    const box = this.root.getBoundingClientRect();
    const { t0, t1 } = this.extent();
    return t0 + ((clientX - box.left) / box.width) * (t1 - t0);
  }

  private moveTo(clientX: number): void {
    const { t0, t1 } = this.host.range();
    const begin = this.timeAt(clientX) - (this.dragFrom ?? 0);
    this.host.onShow({ t0: begin, t1: begin + (t1 - t0) });
  }
}
