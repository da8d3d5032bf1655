// How the rows of a timeline look: boxes where there are few spans; else a picture with a column for each part of the time, made
// once an answer and then only moved and stretched, so that scrolling stays smooth.

import { xOf } from '../charts/canvas';
import { formatClock } from '../charts/format';
import { timeStep, timeTicks } from '../charts/ticks';
import type { Span } from './spans';
import type { State } from './states';

export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
  t0: number;
  t1: number;
  css(name: string): string;
}

/** Of a row, in pixels; the bar lies in the middle. */
export const ROW = 17;
export const BAR = 13;
export const LEAST_PX = 0.7;
/** Of a row in the picture. */
const SUM_ROWS = 12;

/** "#rrggbb" as a pixel of ImageData. */
export function pixelOf(color: string): number {
  const value = parseInt(color.slice(1, 7), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** From where to where a stretch of time is drawn; null: it is not in sight. */
export function extentOf(area: Area, { t0, t1 }: { t0: number; t1: number }): { from: number; to: number } | null {
  if (t1 < area.t0 || t0 > area.t1) return null;
  return { from: Math.max(area.left - 1, xOf(area, t0)), to: Math.min(area.left + area.width + 1, xOf(area, t1)) };
}

/** @param colorOf a span; null: it is hidden */
export function drawSpans<One extends Span>(context: CanvasRenderingContext2D, area: Area, spans: One[], top: number, colorOf: (span: One) => string | null): void {
  let color = '';
  for (const span of spans) {
    const at = extentOf(area, span);
    const wanted = at && colorOf(span);
    if (!at || !wanted) continue;
    if (wanted !== color) context.fillStyle = color = wanted;
    const wide = at.to - at.from;
    context.fillRect(at.from, top + (ROW - BAR) / 2, Math.max(LEAST_PX, wide - (wide > 2 ? 0.5 : 0)), BAR);
  }
}

/** Times above, lines below. @param axis its height @param wallMs of a moment */
export function drawTimeAxis(context: CanvasRenderingContext2D, area: Area, axis: number, wallMs: (t: number) => number): void {
  const { left, width, height, t0, t1, css } = area;
  const step = timeStep(t1 - t0, Math.max(2, Math.floor(width / 120)));
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const t of timeTicks(t0, t1, step, wallMs(0))) {
    const x = xOf(area, t);
    context.fillStyle = css('--grid');
    context.fillRect(Math.round(x), axis, 1, height);
    context.fillStyle = css('--text-faint');
    if (x > left + 30 && x < left + width - 30) context.fillText(formatClock(wallMs(t), step), x, axis / 2);
  }
}

/** Shares of states by part of the time, on top of each other: a row for each of some elements, a column for each part. */
export class Picture {
  /** Time of each row by state, in ns: what the columns have together. */
  readonly sums = new Map<number, Map<State, number>>();
  private readonly canvas = document.createElement('canvas');
  private readonly rowOf = new Map<number, number>();
  private readonly picture: ImageData;
  private readonly pixels: Uint32Array;
  /** Filled part of each row and column: 0 to 1. */
  private readonly filled: Float32Array;
  private isPut = false;

  /** @param width of a part of the time, in ns */
  constructor(rows: Iterable<number>, private readonly t0: number, private readonly width: number, private readonly columns: number) {
    for (const row of rows) this.rowOf.set(row, this.rowOf.size);
    this.canvas.width = Math.max(1, columns);
    this.canvas.height = Math.max(1, this.rowOf.size * SUM_ROWS);
    this.picture = new ImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.picture.data.buffer);
    this.filled = new Float32Array(this.canvas.width * Math.max(1, this.rowOf.size));
  }

  /** Filled part of a column: 0 to 1. */
  filledAt(row: number, column: number): number {
    return this.filled[(this.rowOf.get(row) ?? 0) * this.canvas.width + column] ?? 0;
  }

  /** On top of what is there. @param color of pixelOf() */
  add(row: number, column: number, share: number, color: number): void {
    const at = this.rowOf.get(row);
    if (at === undefined || !(column >= 0 && column < this.columns) || !(share > 0)) return;
    const { width } = this.canvas;
    const [floor, cell] = [(at + 1) * SUM_ROWS - 1, at * width + column];
    const low = Math.round(this.filled[cell] * SUM_ROWS);
    this.filled[cell] = Math.min(1, this.filled[cell] + share);
    // The smallest share is seen, too.
    const high = Math.min(SUM_ROWS, Math.max(low + (low === 0 ? 1 : 0), Math.round(this.filled[cell] * SUM_ROWS)));
    for (let y = low; y < high; y++) this.pixels[(floor - y) * width + column] = color;
  }

  draw(context: CanvasRenderingContext2D, area: Area, row: number, top: number): void {
    const at = this.rowOf.get(row);
    if (at === undefined) return;
    if (!this.isPut) this.canvas.getContext('2d')!.putImageData(this.picture, 0, 0);
    this.isPut = true;
    const scale = area.width / (area.t1 - area.t0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, 0, at * SUM_ROWS, this.canvas.width, SUM_ROWS, xOf(area, this.t0), top + (ROW - BAR) / 2, this.canvas.width * this.width * scale, BAR);
  }
}
