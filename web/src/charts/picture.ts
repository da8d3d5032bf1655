// A chart as an SVG document, for reports: title, legend, axes and lines as they are on screen, in vectors.

import type { Points } from '../session/points';
import type { Layer } from './combine';
import { runs, visibleRows, type Plane } from './draw';

export interface PictureLine {
  name: string;
  value: string;
  color: string;
  points: Points;
  plane: Plane;
  factor: number;
  longestStep: number;
  steps: boolean;
  /** Its layer of a stack; null: it is a line by itself. */
  layer: Layer | null;
}

export interface Tick {
  at: number;
  text: string;
  color: string;
}

export interface Picture {
  title: string;
  unit: string;
  width: number;
  height: number;
  /** Of the plot within the picture; the head is above it. */
  area: { left: number; top: number; width: number; height: number };
  time: Tick[];
  left: Tick[];
  right: Tick[];
  lines: PictureLine[];
  /** A heat map, as an image in the place of lines. */
  image: string | null;
  css(name: string): string;
}

/** Room for title and legend. */
export const PICTURE_HEAD = 46;
const LETTER = 6.4;
const FONT = 'system-ui, sans-serif';

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function text(x: number, y: number, color: string, content: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${escaped(color)}" ${more}>${escaped(content)}</text>`;
}

function legendOf({ lines, width, css }: Picture): string {
  let x = 16;
  let result = '';
  for (const { name, value, color } of lines) {
    const length = (name.length + value.length + 2) * LETTER + 30;
    if (x + length > width) return result + text(x, 38, css('--text-faint'), `and ${lines.length} lines in all`);
    result += `<rect x="${x}" y="33" width="9" height="3" fill="${escaped(color)}"/>${text(x + 14, 38, css('--text-soft'), name)}${text(x + 20 + name.length * LETTER, 38, css('--text'), value)}`;
    x += length;
  }
  return result;
}

function axesOf({ area, time, left, right, css }: Picture): string {
  const grid = (x1: number, y1: number, x2: number, y2: number): string => `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${css('--grid')}"/>`;
  const [bottom, end] = [area.top + area.height, area.left + area.width];
  return [
    ...time.map(({ at, text: moment, color }) => grid(at, area.top, at, bottom) + text(at, bottom + 17, color, moment, 'text-anchor="middle"')),
    ...left.map(({ at, text: value, color }) => grid(area.left, at, end, at) + text(area.left - 8, at + 4, color, value, 'text-anchor="end"')),
    ...right.map(({ at, text: value, color }) => text(end + 8, at + 4, color, value)),
  ].join('');
}

function pathOf(xs: ArrayLike<number>, ys: (i: number) => number, from: number, to: number, plane: Plane, steps: boolean): string {
  const x = (i: number): string => (plane.left + ((xs[i] - plane.t0) / (plane.t1 - plane.t0)) * plane.width).toFixed(2);
  const y = (i: number): string => (plane.top + plane.height - ((ys(i) - plane.low) / (plane.high - plane.low)) * plane.height).toFixed(2);
  const backwards = to < from;
  let result = '';
  for (let i = from; backwards ? i > to : i < to; i += backwards ? -1 : 1) {
    if (steps && i > from) result += `H${x(i)}`;
    result += `${result === '' ? '' : 'L'}${x(i)},${y(i)}`;
  }
  return result;
}

function lineOf({ points, plane, factor, longestStep, steps, color }: PictureLine): string {
  const [from, to] = visibleRows(points, plane.t0, plane.t1);
  const row = (column: Float64Array) => (i: number): number => column[i] * factor;
  let line = '';
  let band = '';
  for (const [begin, end] of runs(points, from, to, longestStep)) {
    line += `M${pathOf(points.t, row(points.mean), begin, end, plane, steps)}`;
    if (!points.exact) band += `M${pathOf(points.t, row(points.high), begin, end, plane, false)}L${pathOf(points.t, row(points.low), end - 1, begin - 1, plane, false)}Z`;
  }
  return `${band === '' ? '' : `<path d="${band}" fill="${escaped(color)}" fill-opacity="0.16"/>`}<path d="${line}" fill="none" stroke="${escaped(color)}" stroke-width="1.35" stroke-linejoin="round"/>`;
}

function layerOf({ layer, plane, factor, color }: PictureLine): string {
  if (!layer || layer.t.length === 0) return '';
  const row = (column: Float64Array) => (i: number): number => column[i] * factor;
  const edge = pathOf(layer.t, row(layer.high), 0, layer.t.length, plane, false);
  const below = pathOf(layer.t, row(layer.low), layer.t.length - 1, -1, plane, false);
  return `<path d="M${edge}L${below}Z" fill="${escaped(color)}" fill-opacity="0.62"/><path d="M${edge}" fill="none" stroke="${escaped(color)}"/>`;
}

export function svgOf(picture: Picture): string {
  const { title, unit, width, height, area, lines, image, css } = picture;
  // The upper layers first: the edge of each is over the area above it.
  const content = image !== null
    ? `<image href="${image}" x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}" preserveAspectRatio="none"/>`
    : [...lines].reverse().map((line) => (line.layer ? layerOf(line) : lineOf(line))).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}" font-size="11">`
    + `<rect width="100%" height="100%" fill="${css('--surface')}"/>`
    + text(16, 20, css('--text'), title, 'font-size="13" font-weight="600"') + text(24 + title.length * 7.6, 20, css('--text-faint'), unit)
    + (image === null ? legendOf(picture) : '') + axesOf(picture)
    + `<svg x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}" viewBox="${area.left} ${area.top} ${area.width} ${area.height}" preserveAspectRatio="none">${content}</svg></svg>\n`;
}
