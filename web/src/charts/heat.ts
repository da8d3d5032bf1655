// The heat map: a row a trace, a column a pixel, the colour says how much. An image of one pixel a cell is filled here and
// stretched over the plot by the canvas, so that the cost is that of its cells.

import type { Points } from '../session/points';
import { visibleRows, type Plane } from './draw';

export const SHADES = 256;

type Stop = [number, number, number];

/** From nothing to most: away from the background, evenly brighter (dark) or darker (light), also in grey. */
const DARK: Stop[] = [[24, 30, 42], [33, 62, 112], [24, 112, 148], [43, 166, 139], [158, 208, 84], [250, 222, 92], [255, 247, 190]];
const LIGHT: Stop[] = [[243, 246, 250], [196, 222, 238], [122, 190, 201], [54, 148, 160], [40, 100, 146], [52, 52, 118], [40, 16, 66]];

/** @param share 0 to 1 */
function channelsAt(share: number, dark: boolean): number[] {
  const stops = dark ? DARK : LIGHT;
  const at = share * (stops.length - 1);
  const below = Math.min(Math.floor(at), stops.length - 2);
  return stops[below].map((channel, i) => Math.round(channel + (stops[below + 1][i] - channel) * (at - below)));
}

/** RGBA values as the bytes of an ImageData hold them. */
export function shades(dark: boolean): Uint32Array {
  return Uint32Array.from({ length: SHADES }, (_, i) => {
    const [red, green, blue] = channelsAt(i / (SHADES - 1), dark);
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}

/** The same as a CSS gradient, for the scale beside the map. */
export function gradient(dark: boolean): string {
  const stops = dark ? DARK : LIGHT;
  return `linear-gradient(to right, ${stops.map((stop) => `rgb(${stop.join(' ')})`).join(', ')})`;
}

/** Relative luminance of an sRGB colour, 0 to 1 (Web Content Accessibility Guidelines 2.2). */
export function luminance(channels: number[]): number {
  const [red, green, blue] = channels.map((channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
  return red * 0.2126 + green * 0.7152 + blue * 0.0722;
}

/** The colour of a share, and of black and white the one that is further from it: at least 4.58 to 1. */
export function shadeAt(share: number, dark: boolean): { background: string; text: string } {
  const channels = channelsAt(Math.min(Math.max(share, 0), 1), dark);
  return { background: `rgb(${channels.join(' ')})`, text: luminance(channels) + 0.05 > Math.sqrt(1.05 * 0.05) ? '#000' : '#fff' };
}

export interface HeatRow {
  points: Points | null;
  factor: number;
  longestStep: number;
  /** Of the data: the last value holds up to here. */
  end: number;
}

/**
 * Fills one row of cells. Each holds the mean of the points that begin in it, weighted by their samples, or the value
 * that still holds from before; 0 (transparent) where nothing is known.
 */
export function fillRow(cells: Uint32Array, begin: number, columns: number, row: HeatRow, plane: Pick<Plane, 't0' | 't1' | 'low' | 'high'>, colors: Uint32Array): void {
  cells.fill(0, begin, begin + columns);
  const { points } = row;
  if (!points) return;
  const [from, to] = visibleRows(points, plane.t0, plane.t1);
  const perNs = columns / (plane.t1 - plane.t0);
  const scale = ((SHADES - 1) * row.factor) / (plane.high - plane.low);
  const offset = (plane.low / row.factor) * scale;
  const { t, mean, count } = points;
  let i = from;
  while (i < to) {
    const column = Math.floor((t[i] - plane.t0) * perNs);
    let sum = 0;
    let weight = 0;
    // All points of this cell.
    do {
      if (!Number.isNaN(mean[i])) {
        sum += mean[i] * count[i];
        weight += count[i];
      }
      i++;
    } while (i < to && Math.floor((t[i] - plane.t0) * perNs) === column);
    if (weight === 0) continue;
    const shade = Math.round((sum / weight) * scale - offset);
    const color = colors[shade < 0 ? 0 : shade >= SHADES ? SHADES - 1 : shade];
    const end = Math.min(i < points.length ? t[i] : row.end, t[i - 1] + row.longestStep);
    const last = Math.min(columns, Math.max(column + 1, Math.ceil((end - plane.t0) * perNs)));
    for (let cell = Math.max(0, column); cell < last; cell++) cells[begin + cell] = color;
  }
}

/** Draws rows of cells over the plane, the first row on top. */
export class HeatMap {
  private readonly canvas = document.createElement('canvas');
  private image: ImageData | null = null;
  private colors = shades(true);
  private dark = true;

  draw(context: CanvasRenderingContext2D, plane: Plane, rows: HeatRow[], dark: boolean): void {
    if (dark !== this.dark) {
      this.dark = dark;
      this.colors = shades(dark);
    }
    const columns = Math.max(1, Math.round(plane.width));
    const small = this.canvas.getContext('2d')!;
    if (!this.image || this.image.width !== columns || this.image.height !== rows.length) {
      this.canvas.width = columns;
      this.canvas.height = rows.length;
      this.image = small.createImageData(columns, rows.length);
    }
    const cells = new Uint32Array(this.image.data.buffer);
    rows.forEach((row, index) => fillRow(cells, index * columns, columns, row, plane, this.colors));
    small.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, plane.left, plane.top, plane.width, plane.height);
  }
}

/** Which rows have their name at the axis: as many as fit, evenly, the first one always. */
export function namedRows(count: number, height: number, lineHeight: number): number[] {
  const step = Math.max(1, Math.ceil((count * lineHeight) / height));
  const rows: number[] = [];
  for (let row = 0; row < count; row += step) rows.push(row);
  return rows;
}
