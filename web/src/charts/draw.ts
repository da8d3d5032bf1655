// Draws one series: the band between its lowest and highest values, and its mean as a line.

import type { Points } from '../session/points';

/** Maps nanoseconds and shown values to canvas pixels. */
export interface Plane {
  left: number;
  top: number;
  width: number;
  height: number;
  t0: number;
  t1: number;
  low: number;
  high: number;
}

export interface Stroke {
  color: string;
  width: number;
  bandOpacity: number;
  factor: number;
  /** A step between points that is longer than this breaks the line. */
  longestStep: number;
}

/** Index range of the points that are needed to draw the plane, one more on each side. */
export function visibleRows(points: Points, t0: number, t1: number): [number, number] {
  return [Math.max(0, points.holding(t0)), Math.min(points.length, points.indexAt(t1) + 1)];
}

/** Runs of points without a break. */
function* runs(points: Points, from: number, to: number, longestStep: number): Generator<[number, number]> {
  let begin = -1;
  for (let i = from; i < to; i++) {
    const missing = Number.isNaN(points.mean[i]);
    const jump = begin >= 0 && points.t[i] - points.t[i - 1] > longestStep;
    if (begin >= 0 && (missing || jump)) {
      yield [begin, i];
      begin = -1;
    }
    if (begin < 0 && !missing) begin = i;
  }
  if (begin >= 0) yield [begin, to];
}

export function drawSeries(context: CanvasRenderingContext2D, points: Points, plane: Plane, stroke: Stroke): void {
  const [from, to] = visibleRows(points, plane.t0, plane.t1);
  const perNs = plane.width / (plane.t1 - plane.t0);
  const perValue = plane.height / (plane.high - plane.low);
  const bottom = plane.top + plane.height;
  const { t, mean, low, high } = points;
  const x = (i: number): number => plane.left + (t[i] - plane.t0) * perNs;
  const y = (value: number): number => bottom - (value * stroke.factor - plane.low) * perValue;

  const line = new Path2D();
  const band = new Path2D();
  let hasBand = false;
  for (const [begin, end] of runs(points, from, to, stroke.longestStep)) {
    line.moveTo(x(begin), y(mean[begin]));
    // A sample by itself is a dot.
    if (end - begin === 1) line.lineTo(x(begin) + 0.5, y(mean[begin]));
    for (let i = begin + 1; i < end; i++) line.lineTo(x(i), y(mean[i]));
    if (stroke.bandOpacity === 0) continue;
    hasBand = true;
    band.moveTo(x(begin), y(high[begin]));
    for (let i = begin + 1; i < end; i++) band.lineTo(x(i), y(high[i]));
    for (let i = end - 1; i >= begin; i--) band.lineTo(x(i), y(low[i]));
    band.closePath();
  }
  if (hasBand) {
    context.globalAlpha = stroke.bandOpacity;
    context.fillStyle = stroke.color;
    context.fill(band);
    context.globalAlpha = 1;
  }
  context.strokeStyle = stroke.color;
  context.lineWidth = stroke.width;
  context.lineJoin = 'round';
  context.stroke(line);
}

/** Lowest and highest shown value in a range of time; NaN without any. */
export function valueExtent(points: Points, t0: number, t1: number, factor: number): [number, number] {
  const [from, to] = visibleRows(points, t0, t1);
  let lowest = Infinity;
  let highest = -Infinity;
  for (let i = from; i < to; i++) {
    if (points.low[i] < lowest) lowest = points.low[i];
    if (points.high[i] > highest) highest = points.high[i];
  }
  return lowest > highest ? [NaN, NaN] : [lowest * factor, highest * factor];
}
