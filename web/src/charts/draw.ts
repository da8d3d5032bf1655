// Draws one line: the band between its lowest and highest values, and its mean; or its layer of a stack.

import type { Points } from '../session/points';
import type { Layer } from './combine';

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
  /** The width where points are a pixel or two apart. */
  denseWidth: number;
  bandOpacity: number;
  factor: number;
  /** A step between points that is longer than this breaks the line. */
  longestStep: number;
  /** Each value holds until the next one, as states and seldom refreshed levels do. */
  steps: boolean;
}

/** Index range of the points that are needed to draw the plane, one more on each side. */
export function visibleRows(points: Points, t0: number, t1: number): [number, number] {
  return [Math.max(0, points.holding(t0)), Math.min(points.length, points.indexAt(t1) + 1)];
}

/** Runs of points without a break. */
export function* runs(points: Points, from: number, to: number, longestStep: number): Generator<[number, number]> {
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

  // Wide lines and bands whose points are a pixel or two apart are shapes of thousands of corners, which take many times as long to fill
  // as lines of one pixel and columns do. Joins are not seen there.
  const isDense = to - from > plane.width / 2;
  const line = new Path2D();
  const band = new Path2D();
  context.fillStyle = context.strokeStyle = stroke.color;
  context.globalAlpha = stroke.bandOpacity;
  for (const [begin, end] of runs(points, from, to, stroke.longestStep)) {
    line.moveTo(x(begin), y(mean[begin]));
    // A sample by itself is a dot.
    if (end - begin === 1) line.lineTo(x(begin) + 0.5, y(mean[begin]));
    for (let i = begin + 1; i < end; i++) {
      if (stroke.steps) line.lineTo(x(i), y(mean[i - 1]));
      line.lineTo(x(i), y(mean[i]));
    }
    if (stroke.bandOpacity === 0 || !isWide(points, begin, end)) continue;
    if (isDense) {
      fillColumns(context, begin, end, x, (i) => y(high[i]), (i) => y(low[i]));
      continue;
    }
    band.moveTo(x(begin), y(high[begin]));
    for (let i = begin + 1; i < end; i++) band.lineTo(x(i), y(high[i]));
    for (let i = end - 1; i >= begin; i--) band.lineTo(x(i), y(low[i]));
    band.closePath();
  }
  context.fill(band);
  context.globalAlpha = 1;
  context.lineWidth = isDense ? stroke.denseWidth : stroke.width;
  context.lineJoin = isDense ? 'bevel' : 'round';
  context.stroke(line);
}

/** A band as columns of whole pixels, each from the top to the bottom of the points in it. */
function fillColumns(context: CanvasRenderingContext2D, begin: number, end: number, x: (i: number) => number, top: (i: number) => number, bottom: (i: number) => number): void {
  let column = Math.floor(x(begin));
  let [highest, lowest] = [top(begin), bottom(begin)];
  for (let i = begin + 1; i < end; i++) {
    const next = Math.floor(x(i));
    if (next > column) {
      context.fillRect(column, highest, next - column, lowest - highest);
      column = next;
      [highest, lowest] = [top(i), bottom(i)];
    } else {
      highest = Math.min(highest, top(i));
      lowest = Math.max(lowest, bottom(i));
    }
  }
  context.fillRect(column, highest, 1, lowest - highest);
}

/** True if there is anything between the lowest and highest values: single samples have no band. */
function isWide({ low, high }: Points, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (low[i] !== high[i]) return true;
  return false;
}

/** An area between the layer's two edges. Moments without a value are gaps of the layers below too. */
export function drawLayer(context: CanvasRenderingContext2D, layer: Layer, plane: Plane, color: string, factor: number, longestStep: number): void {
  const { t, low, high } = layer;
  const perNs = plane.width / (plane.t1 - plane.t0);
  const perValue = (plane.height / (plane.high - plane.low)) * factor;
  const bottom = plane.top + plane.height + plane.low * (plane.height / (plane.high - plane.low));
  const area = new Path2D();
  const edge = new Path2D();
  let begin = 0;
  while (begin < t.length && t[begin] < plane.t0) begin++;
  begin = Math.max(0, begin - 1);
  const x = (i: number): number => plane.left + (t[i] - plane.t0) * perNs;
  while (begin < t.length && t[begin] <= plane.t1) {
    let end = begin + 1;
    while (end < t.length && t[end] - t[end - 1] <= longestStep && t[end - 1] <= plane.t1) end++;
    area.moveTo(x(begin), bottom - high[begin] * perValue);
    edge.moveTo(x(begin), bottom - high[begin] * perValue);
    for (let i = begin + 1; i < end; i++) {
      area.lineTo(x(i), bottom - high[i] * perValue);
      edge.lineTo(x(i), bottom - high[i] * perValue);
    }
    for (let i = end - 1; i >= begin; i--) area.lineTo(x(i), bottom - low[i] * perValue);
    area.closePath();
    begin = end;
  }
  context.fillStyle = color;
  context.globalAlpha = 0.62;
  context.fill(area);
  context.globalAlpha = 1;
  context.strokeStyle = color;
  context.lineWidth = devicePixelRatio;
  context.stroke(edge);
}

export interface Extent {
  low: number;
  high: number;
  /** Of the means: what is left when single samples are looked over. */
  highMean: number;
}

/** Of the shown values in a range of time; NaN without any. */
export function valueExtent(points: Points, t0: number, t1: number, factor: number): Extent {
  const [from, to] = visibleRows(points, t0, t1);
  let lowest = Infinity;
  let highest = -Infinity;
  let highMean = -Infinity;
  for (let i = from; i < to; i++) {
    if (points.low[i] < lowest) lowest = points.low[i];
    if (points.high[i] > highest) highest = points.high[i];
    if (points.mean[i] > highMean) highMean = points.mean[i];
  }
  if (lowest > highest) return { low: NaN, high: NaN, highMean: NaN };
  return { low: lowest * factor, high: highest * factor, highMean: highMean * factor };
}

export function layerExtent(layer: Layer, t0: number, t1: number, factor: number): Extent {
  let highest = 0;
  for (let i = 0; i < layer.t.length; i++) if (layer.t[i] >= t0 && layer.t[i] <= t1 && layer.high[i] > highest) highest = layer.high[i];
  return { low: 0, high: highest * factor, highMean: highest * factor };
}
