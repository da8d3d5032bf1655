// How waits look: boxes where they are few; else a picture with a column for each part of the time, made once an answer and
// then only moved and stretched, so that scrolling stays smooth.

import { formatClock } from '../charts/format';
import { timeStep, timeTicks } from '../charts/ticks';
import { stateOfNumber, STATES, type State } from './states';
import { hueOf } from './flame_model';
import type { Arrow, LockHold, WaitSpan, WaitSum } from './timeline';

export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
  t0: number;
  t1: number;
  css(name: string): string;
}

/** Sums by part of the time, which begin at t0. */
export interface Sums {
  t0: number;
  t1: number;
  width: number;
  sums: Map<number, WaitSum[]>;
}

/** Of a thread, in pixels; the bar lies in the middle. */
export const ROW = 17;
export const BAR = 13;
/** Of a lock that a thread has. */
const HOLD = 4;
/** Of a row in the picture. */
export const SUM_ROWS = 12;
const LEAST_PX = 0.7;
const MOST_ARROWS = 400;
/** Shorter arrows are only a mess. */
const LEAST_GAP_PX = 4;

/** "#rrggbb" as a pixel of ImageData. */
export function pixelOf(color: string): number {
  const value = parseInt(color.slice(1, 7), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export function drawSpans(context: CanvasRenderingContext2D, { left, width, t0, t1, css }: Area, spans: WaitSpan[], top: number, hidden: Set<State>): void {
  const scale = width / (t1 - t0);
  const y = top + (ROW - BAR) / 2;
  let color = '';
  for (const span of spans) {
    if (span.t1 < t0 || span.t0 > t1) continue;
    const state = stateOfNumber(span.kind);
    if (hidden.has(state)) continue;
    const wanted = css(STATES[state].color);
    if (wanted !== color) context.fillStyle = color = wanted;
    const from = Math.max(left - 1, left + (span.t0 - t0) * scale);
    const to = Math.min(left + width + 1, left + (span.t1 - t0) * scale);
    context.fillRect(from, y, Math.max(LEAST_PX, to - from - 0.5), BAR);
  }
}

/** The colour of a lock, in all rows. */
export function holdColor(object: number, css: (name: string) => string): string {
  return `hsl(${hueOf(String(object))} ${css('--hold')})`;
}

/** Who has a lock: a thin bar below the waits; a lock within another one lies on it. @param holds the longer ones first */
export function drawHolds(context: CanvasRenderingContext2D, { left, width, t0, t1, css }: Area, holds: LockHold[], top: number): void {
  const scale = width / (t1 - t0);
  const y = top + ROW - HOLD - 1;
  for (const hold of holds) {
    if (hold.t1 < t0 || hold.t0 > t1) continue;
    const from = Math.max(left - 1, left + (hold.t0 - t0) * scale);
    const to = Math.min(left + width + 1, left + (hold.t1 - t0) * scale);
    const wide = Math.max(LEAST_PX, to - from - 0.5);
    context.fillStyle = css('--surface');
    context.fillRect(from, y - 1, wide, HOLD + 2);
    context.fillStyle = holdColor(hold.object, css);
    // What is not known to have ended, and what is not all of the time.
    context.globalAlpha = hold.open ? 0.4 : Math.max(0.35, Math.min(1, hold.held / Math.max(1, hold.t1 - hold.t0)));
    context.fillRect(from, y, wide, HOLD);
    context.globalAlpha = 1;
  }
}

/** @param middles of the rows in sight, by thread */
export function drawArrows(context: CanvasRenderingContext2D, { left, width, t0, t1, css }: Area, arrows: Arrow[], middles: Map<number, number>, hidden: Set<State>): void {
  const scale = width / (t1 - t0);
  const inSight = arrows.filter(({ from, to }) => from.t >= t0 && from.t <= t1 && middles.has(from.thread) && middles.has(to.thread) && !hidden.has(stateOfNumber(to.kind)));
  // As many as can be told apart.
  if (inSight.length > MOST_ARROWS || (inSight.length > 1 && width / inSight.length < LEAST_GAP_PX)) return;
  context.strokeStyle = context.fillStyle = css('--text');
  context.lineWidth = 1;
  context.globalAlpha = 0.75;
  for (const { from, to } of inSight) {
    const [x0, y0] = [left + (from.t - t0) * scale, middles.get(from.thread)!];
    const [x1, y1] = [left + (to.t1 - t0) * scale, middles.get(to.thread)!];
    const down = Math.sign(y1 - y0);
    const bend = Math.max(6, Math.min(30, Math.abs(y1 - y0) * 0.3));
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0 + (y1 - y0) * 0.25, x1 - bend * 0.2, y1 - down * bend, x1, y1 - down * (BAR / 2));
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1 - down * (BAR / 2 - 2));
    context.lineTo(x1 - 3, y1 - down * (BAR / 2 + 4));
    context.lineTo(x1 + 3, y1 - down * (BAR / 2 + 4));
    context.fill();
    context.beginPath();
    context.arc(x0, y0, 2, 0, Math.PI * 2);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** Times above, lines below. @param axis its height @param wallMs of a moment */
export function drawTimeAxis(context: CanvasRenderingContext2D, { left, width, height, t0, t1, css }: Area, axis: number, wallMs: (t: number) => number): void {
  const step = timeStep(t1 - t0, Math.max(2, Math.floor(width / 120)));
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const t of timeTicks(t0, t1, step, wallMs(0))) {
    const x = left + ((t - t0) / (t1 - t0)) * width;
    context.fillStyle = css('--grid');
    context.fillRect(Math.round(x), axis, 1, height);
    context.fillStyle = css('--text-faint');
    if (x > left + 30 && x < left + width - 30) context.fillText(formatClock(wallMs(t), step), x, axis / 2);
  }
}

/** As much of a text as fits. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

/** A row for each thread of an answer, a column for each part of the time; kinds on top of each other. */
export class SumsImage {
  readonly canvas: HTMLCanvasElement;
  readonly rowOf = new Map<number, number>();

  /** @param colorOf a kind, as #rrggbb; null: it is hidden */
  constructor(timeline: Sums, colorOf: (kind: number) => string | null) {
    const buckets = Math.max(1, Math.ceil((timeline.t1 - timeline.t0) / timeline.width));
    const threads = [...timeline.sums.keys()];
    threads.forEach((thread, row) => this.rowOf.set(thread, row));
    this.canvas = document.createElement('canvas');
    this.canvas.width = buckets;
    this.canvas.height = Math.max(1, threads.length * SUM_ROWS);
    const context = this.canvas.getContext('2d')!;
    const picture = context.createImageData(this.canvas.width, this.canvas.height);
    const pixels = new Uint32Array(picture.data.buffer);
    for (const [thread, sums] of timeline.sums) {
      const floor = (this.rowOf.get(thread)! + 1) * SUM_ROWS - 1;
      const filled = new Float32Array(buckets);
      for (const { bucket, kind, share } of sums) {
        const css = bucket < 0 || bucket >= buckets ? null : colorOf(kind);
        if (css === null) continue;
        const color = pixelOf(css);
        const from = Math.round(filled[bucket] * SUM_ROWS);
        filled[bucket] = Math.min(1, filled[bucket] + share);
        // What is there at all is seen.
        const to = Math.max(from + (from === 0 ? 1 : 0), Math.round(filled[bucket] * SUM_ROWS));
        for (let y = from; y < Math.min(SUM_ROWS, to); y++) pixels[(floor - y) * buckets + bucket] = color;
      }
    }
    context.putImageData(picture, 0, 0);
  }
}

export function drawSums(context: CanvasRenderingContext2D, { left, width, t0, t1 }: Area, timeline: { t0: number; width: number }, image: { canvas: HTMLCanvasElement; rowOf: Map<number, number> }, thread: number, top: number): void {
  const at = image.rowOf.get(thread);
  if (at === undefined) return;
  const scale = width / (t1 - t0);
  context.imageSmoothingEnabled = false;
  context.drawImage(image.canvas, 0, at * SUM_ROWS, image.canvas.width, SUM_ROWS, left + (timeline.t0 - t0) * scale, top + (ROW - BAR) / 2, image.canvas.width * timeline.width * scale, BAR);
}
